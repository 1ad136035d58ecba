//! Looks after the store: once a second, whether it can do its work.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use perennial_store::Error;

use super::Node;
use super::failure::Watched;

const EVERY: Duration = Duration::from_secs(1);

/// Ends the thread when it is dropped.
pub(super) type StopWatching = Sender<()>;

pub(super) fn start(node: &Arc<Node>) -> Result<(StopWatching, JoinHandle<()>), crate::OpenError> {
    let (stop, stopped) = mpsc::channel::<()>();
    let watched = Watched::of(node);
    let node = Arc::downgrade(node);
    let body = move || {
        let _watched = watched;
        while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(EVERY) {
            let Some(node) = node.upgrade() else { return };
            node.look_after_the_store();
        }
    };
    Ok((stop, thread::Builder::new().name("watch".to_owned()).spawn(body)?))
}

impl Node {
    fn look_after_the_store(&self) {
        let problem = self.store.health().err();
        if let Some(error @ Error::Fenced(_)) = &problem {
            self.failure.set(&error.to_string());
        }
        self.set_store_problem(problem.map(|error| error.to_string()));
    }
}
