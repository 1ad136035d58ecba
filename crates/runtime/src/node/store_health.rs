//! Checks the store's health once a second.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use perennial_store::Error;

use super::Node;
use super::failure::PanicGuard;

const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Stops the thread when dropped.
pub(super) type StopChecks = Sender<()>;

pub(super) fn start(node: &Arc<Node>) -> Result<(StopChecks, JoinHandle<()>), crate::OpenError> {
    let (stop, stopped) = mpsc::channel::<()>();
    let guard = PanicGuard::of(node);
    let node = Arc::downgrade(node);
    let body = move || {
        let _guard = guard;
        while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(CHECK_INTERVAL) {
            let Some(node) = node.upgrade() else { return };
            node.check_store();
        }
    };
    Ok((stop, thread::Builder::new().name("store-health".to_owned()).spawn(body)?))
}

impl Node {
    fn check_store(&self) {
        let problem = self.store.health().err();
        if let Some(error @ Error::Fenced(_)) = &problem {
            self.failure.set(&error.to_string());
        }
        self.set_store_problem(problem.map(|error| error.to_string()));
    }
}
