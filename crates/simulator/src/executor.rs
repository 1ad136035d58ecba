//! Runs clients and workers: polls one ready actor at a time, chosen by the world.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// The future of an actor.
pub(crate) type Act = Pin<Box<dyn Future<Output = ()>>>;

/// All actors of a world.
#[derive(Default)]
pub(crate) struct Executor {
    actors: BTreeMap<u64, Actor>,
    next_id: u64,
}

struct Actor {
    act: Act,
    is_ready: Arc<Ready>,
}

struct Ready(AtomicBool);

impl Wake for Ready {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Executor {
    pub(crate) fn spawn(&mut self, act: Act) {
        self.next_id += 1;
        let is_ready = Arc::new(Ready(AtomicBool::new(true)));
        self.actors.insert(self.next_id, Actor { act, is_ready });
    }

    /// The actors that are ready.
    pub(crate) fn ready(&self) -> Vec<u64> {
        let is_ready = |actor: &Actor| actor.is_ready.0.load(Ordering::SeqCst);
        self.actors.iter().filter(|(_, actor)| is_ready(actor)).map(|(id, _)| *id).collect()
    }

    /// Polls one actor.
    pub(crate) fn poll(&mut self, id: u64) {
        let Some(actor) = self.actors.get_mut(&id) else { return };
        actor.is_ready.0.store(false, Ordering::SeqCst);
        let waker = Waker::from(Arc::clone(&actor.is_ready));
        if let Poll::Ready(()) = actor.act.as_mut().poll(&mut Context::from_waker(&waker)) {
            self.actors.remove(&id);
        }
    }

    /// Wakes all actors, because the time or the set of servers has changed.
    pub(crate) fn wake_all(&self) {
        for actor in self.actors.values() {
            actor.is_ready.0.store(true, Ordering::SeqCst);
        }
    }
}
