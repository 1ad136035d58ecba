//! How tasks learn that the server stops.

use tokio::sync::watch;

/// Stops the server. Kept by the services.
#[derive(Debug)]
pub(crate) struct StopSwitch(watch::Sender<bool>);

/// Is set once, when the server stops.
#[derive(Debug, Clone)]
pub(crate) struct StopSignal(watch::Receiver<bool>);

impl StopSwitch {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    pub(crate) fn stop(&self) {
        self.0.send_replace(true);
    }

    pub(crate) fn signal(&self) -> StopSignal {
        StopSignal(self.0.subscribe())
    }
}

impl StopSignal {
    /// Also true when the services are gone without having been stopped.
    pub(crate) fn is_set(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }

    /// Waits until the signal is set, or the services are gone.
    pub(crate) async fn wait(&mut self) {
        while !*self.0.borrow_and_update() {
            if self.0.changed().await.is_err() {
                return;
            }
        }
    }
}
