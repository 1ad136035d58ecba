//! The way to one address: its connection, made when it is needed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio::time::Instant;

use crate::call::PeerNode;
use crate::connection::{Connection, Settings};

/// The outcome of an attempt to connect, `None` until it is there.
type Attempt = watch::Receiver<Option<Result<Connection, Arc<str>>>>;

/// The way to one address. At most one attempt to connect is in progress, and concurrent callers share it.
pub(crate) struct Link {
    address: Arc<str>,
    settings: Arc<Settings>,
    state: Mutex<State>,
}

enum State {
    Idle,
    Connecting(Attempt),
    Connected(Connection),
    /// Calls fail at once until the time is over: a node that is down would make each of them wait.
    Failed {
        until: Instant,
        reason: Arc<str>,
    },
    /// Nobody may connect any more.
    Closed,
}

impl Link {
    pub(crate) fn new(address: &str, settings: Arc<Settings>) -> Arc<Self> {
        Arc::new(Self { address: address.into(), settings, state: Mutex::new(State::Idle) })
    }

    /// A connection that may be used. An error says why there is none.
    pub(crate) async fn connection(self: &Arc<Self>) -> Result<Connection, Arc<str>> {
        let mut attempt = {
            let mut state = self.state();
            match &*state {
                State::Connected(connection) if connection.is_usable() => {
                    return Ok(connection.clone());
                }
                State::Failed { until, reason } if Instant::now() < *until => {
                    return Err(Arc::clone(reason));
                }
                State::Closed => return Err(self.closed()),
                State::Connecting(attempt) if attempt.has_changed().is_ok() => attempt.clone(),
                State::Idle
                | State::Connected(_)
                | State::Failed { .. }
                // Its task is gone without an outcome.
                | State::Connecting(_) => {
                    let attempt = self.connect();
                    *state = State::Connecting(attempt.clone());
                    attempt
                }
            }
        };
        match attempt.wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone().unwrap_or_else(|| Err(self.closed())),
            Err(_) => Err("the attempt to connect was interrupted".into()),
        }
    }

    /// The node at the other end, if there is a connection.
    pub(crate) fn node(&self) -> Option<PeerNode> {
        match &*self.state() {
            State::Connected(connection) if connection.is_usable() => {
                Some(connection.node().clone())
            }
            State::Connected(_)
            | State::Idle
            | State::Connecting(_)
            | State::Failed { .. }
            | State::Closed => None,
        }
    }

    /// Ends the connection, and the attempt to make one.
    pub(crate) fn close(&self) {
        if let State::Connected(connection) = std::mem::replace(&mut *self.state(), State::Closed) {
            connection.close();
        }
    }

    /// Begins to connect. It is a task of its own: a caller that gives up doesn't end the attempt of others.
    fn connect(self: &Arc<Self>) -> Attempt {
        let (outcome, attempt) = watch::channel(None);
        let link = Arc::clone(self);
        tokio::spawn(async move {
            let opened = Connection::open(&link.address, &link.settings).await;
            let opened = opened.map_err(Arc::<str>::from);
            let opened = link.finish(opened);
            outcome.send_replace(Some(opened));
        });
        attempt
    }

    fn finish(&self, opened: Result<Connection, Arc<str>>) -> Result<Connection, Arc<str>> {
        let mut state = self.state();
        if let State::Closed = *state {
            if let Ok(connection) = opened {
                connection.close();
            }
            return Err(self.closed());
        }
        *state = match &opened {
            Ok(connection) => State::Connected(connection.clone()),
            Err(reason) => {
                let until = Instant::now() + self.settings.limits.retry_pause;
                State::Failed { until, reason: Arc::clone(reason) }
            }
        };
        opened
    }

    fn closed(&self) -> Arc<str> {
        format!("the node at {} has left the cluster", self.address).into()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
