//! When a traced call's requests to cells were asked, handled and answered.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

/// The most requests to cells of one call that become spans.
const MAX_REQUESTS: usize = 64;

tokio::task_local! {
    /// The times of the traced call that the current task handles.
    static CURRENT: CallTimes;
}

/// The times of a traced call's requests to cells. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct CallTimes(Arc<Mutex<Vec<Arc<CellTimes>>>>);

/// What follows a cell's turn before a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterTurn {
    /// The batch with its changes is committed.
    Commit,
    /// An event, a worker or an update is awaited.
    Wait,
    /// The answer, at once.
    Answer,
}

/// The times of one request to a cell.
#[derive(Debug)]
pub struct CellTimes {
    pub(super) after_turn: AfterTurn,
    pub(super) asked_at: SystemTime,
    pub(super) begun_at: OnceLock<SystemTime>,
    pub(super) handled_at: OnceLock<SystemTime>,
    pub(super) answered_at: OnceLock<SystemTime>,
}

impl CallTimes {
    /// Handles a call: what it asks of cells is recorded here.
    pub async fn record<T>(self, call: impl Future<Output = T>) -> T {
        CURRENT.scope(self, call).await
    }

    /// The call that the current task handles asks something of a cell. `None` if nobody traces the call.
    pub fn ask(after_turn: impl FnOnce() -> AfterTurn) -> Option<Arc<CellTimes>> {
        CURRENT.try_with(|call| call.add(after_turn())).ok().flatten()
    }

    fn add(&self, after_turn: AfterTurn) -> Option<Arc<CellTimes>> {
        let mut requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if requests.len() >= MAX_REQUESTS {
            return None;
        }
        let (begun_at, handled_at) = (OnceLock::new(), OnceLock::new());
        let (asked_at, answered_at) = (SystemTime::now(), OnceLock::new());
        let times = CellTimes { after_turn, asked_at, begun_at, handled_at, answered_at };
        requests.push(Arc::new(times));
        requests.last().cloned()
    }

    pub(super) fn take(&self) -> Vec<Arc<CellTimes>> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl CellTimes {
    /// The cell begins to handle the request.
    pub fn begin(&self) {
        self.begun_at.get_or_init(SystemTime::now);
    }

    /// The cell has handled the request.
    pub fn handled(&self) {
        self.handled_at.get_or_init(SystemTime::now);
    }

    /// The answer leaves.
    pub fn answered(&self) {
        self.answered_at.get_or_init(SystemTime::now);
    }
}
