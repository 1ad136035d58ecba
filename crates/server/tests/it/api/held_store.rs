//! A store that lets a test act in the middle of a reading.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use perennial_store::{Error, MemoryStore, Read, Store, StoreWrapper};
use tokio::sync::oneshot;

/// Holds up one reading of a history before it begins.
#[derive(Default)]
pub(crate) struct HeldStore {
    inner: MemoryStore,
    held: Mutex<Option<(oneshot::Sender<()>, Receiver<()>)>>,
}

/// A reading that will be held up.
pub(crate) struct Holding {
    entered: oneshot::Receiver<()>,
    release: Sender<()>,
}

/// A reading that is held up.
pub(crate) struct Held(Sender<()>);

impl HeldStore {
    pub(crate) fn hold_history(&self) -> Holding {
        let (enter, entered) = oneshot::channel();
        let (release, released) = channel();
        *self.held.lock().unwrap() = Some((enter, released));
        Holding { entered, release }
    }
}

impl Holding {
    pub(crate) async fn entered(self) -> Held {
        self.entered.await.unwrap();
        Held(self.release)
    }
}

impl Held {
    pub(crate) fn release(self) {
        self.0.send(()).unwrap();
    }
}

impl StoreWrapper for HeldStore {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    fn before_read(&self, read: Read) -> Result<(), Error> {
        let held = if read == Read::History { self.held.lock().unwrap().take() } else { None };
        if let Some((enter, released)) = held {
            enter.send(()).unwrap();
            released.recv().unwrap();
        }
        Ok(())
    }
}
