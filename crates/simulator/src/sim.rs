//! The simulation as clients and workers see it: the time, and servers that may crash any time.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use perennial_engine::{Span, Time};
use perennial_runtime::simulation::Clock;
use perennial_runtime::{Refusal, Runtime};

use crate::audit::{Auditor, Told, ToldOfSchedule};
use crate::chance::Chance;
use crate::executor::Act;
use crate::trace::Trace;

/// The phase of the simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Faults are injected.
    Wild,
    /// No more faults, and all actors try to finish.
    Quiescing,
}

/// A server as its clients see it.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) runtime: Runtime,
    pub(crate) is_alive: Rc<Cell<bool>>,
}

/// The state that all actors share.
pub(crate) struct Sim {
    pub(crate) clock: Clock,
    pub(crate) phase: Cell<Phase>,
    pub(crate) current: RefCell<Option<Server>>,
    /// Whether the server has been replaced without knowing it.
    pub(crate) replaced: RefCell<Option<Server>>,
    pub(crate) auditor: Arc<Mutex<Auditor>>,
    pub(crate) trace: Arc<Mutex<Trace>>,
    alarms: RefCell<BTreeSet<Time>>,
    spawned: RefCell<Vec<Act>>,
    next_id: Cell<u64>,
}

impl Sim {
    pub(crate) fn new(
        clock: Clock,
        auditor: Arc<Mutex<Auditor>>,
        trace: Arc<Mutex<Trace>>,
    ) -> Rc<Self> {
        Rc::new(Self {
            clock,
            phase: Cell::new(Phase::Wild),
            current: RefCell::default(),
            replaced: RefCell::default(),
            auditor,
            trace,
            alarms: RefCell::default(),
            spawned: RefCell::default(),
            next_id: Cell::new(0),
        })
    }

    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    pub(crate) fn is_quiescing(&self) -> bool {
        self.phase.get() == Phase::Quiescing
    }

    /// The next time that an actor waits for.
    pub(crate) fn next_alarm(&self) -> Option<Time> {
        let mut alarms = self.alarms.borrow_mut();
        *alarms = alarms.split_off(&Time(self.now().0 + 1));
        alarms.first().copied()
    }

    pub(crate) fn spawn(&self, act: impl Future<Output = ()> + 'static) {
        self.spawned.borrow_mut().push(Box::pin(act));
    }

    pub(crate) fn take_spawned(&self) -> Vec<Act> {
        std::mem::take(&mut self.spawned.borrow_mut())
    }

    pub(crate) fn say(&self, text: String) {
        let mut trace = self.trace.lock().unwrap_or_else(PoisonError::into_inner);
        trace.say(self.now(), text);
    }

    fn wait_for(&self, time: Time) -> bool {
        let is_there = self.now() >= time;
        if !is_there {
            self.alarms.borrow_mut().insert(time);
        }
        is_there
    }
}

/// A client or a worker.
pub(crate) struct Actor {
    pub(crate) sim: Rc<Sim>,
    pub(crate) chance: Chance,
    pub(crate) name: String,
}

impl Actor {
    pub(crate) fn new(sim: &Rc<Sim>, chance: Chance, name: String) -> Self {
        Self { sim: Rc::clone(sim), chance, name }
    }

    /// The same actor, for a concurrent task.
    pub(crate) fn fork(&self) -> Self {
        Self::new(&self.sim, self.chance.fork(), self.name.clone())
    }

    /// Generates a unique id.
    pub(crate) fn fresh_id(&self, of: &str) -> String {
        let id = self.sim.next_id.get() + 1;
        self.sim.next_id.set(id);
        format!("{of}-{id}")
    }

    pub(crate) fn say(&self, text: &str) {
        self.sim.say(format!("{}: {text}", self.name));
    }

    /// Notes a reply, which must hold from now on.
    pub(crate) fn told(&self, told: Told) {
        self.say(&format!("is told {told:?}"));
        let mut auditor = self.sim.auditor.lock().unwrap_or_else(PoisonError::into_inner);
        auditor.told(self.sim.now(), told);
    }

    /// Notes a reply about a schedule.
    pub(crate) fn told_of_schedule(&self, told: ToldOfSchedule) {
        self.say(&format!("is told {told:?}"));
        let mut auditor = self.sim.auditor.lock().unwrap_or_else(PoisonError::into_inner);
        auditor.told_of_schedule(told);
    }

    /// Whether the message that starts a run was delivered a second time, and may come late.
    pub(crate) fn may_be_started_again(&self, run_id: &str) -> bool {
        let auditor = self.sim.auditor.lock().unwrap_or_else(PoisonError::into_inner);
        auditor.may_be_started_again(run_id)
    }

    pub(crate) async fn sleep(&self, span: Span) {
        let until = self.sim.now().after(span);
        poll_fn(|_| if self.sim.wait_for(until) { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// Sends a request to a server, and waits no longer than `patience` and no longer than the server lives.
    pub(crate) async fn ask<T, F>(
        &self,
        patience: Span,
        ask: impl FnOnce(Runtime) -> F,
    ) -> Result<T, Refusal>
    where
        F: Future<Output = Result<T, Refusal>>,
    {
        let Some(server) = self.any_server() else {
            self.sleep(Span::millis(50)).await;
            return Err(Refusal::Unavailable("nobody is there".to_owned()));
        };
        let until = self.sim.now().after(patience);
        let mut answer = pin!(ask(server.runtime.clone()));
        poll_fn(|cx| {
            if !server.is_alive.get() {
                let why = "the connection is broken".to_owned();
                return Poll::Ready(Err(Refusal::Unavailable(why)));
            }
            if let Poll::Ready(answer) = answer.as_mut().poll(cx) {
                return Poll::Ready(answer);
            }
            if self.sim.wait_for(until) {
                return Poll::Ready(Err(Refusal::TimedOut));
            }
            Poll::Pending
        })
        .await
    }

    /// Sometimes picks a server that has been replaced.
    fn any_server(&self) -> Option<Server> {
        let replaced = self.sim.replaced.borrow().clone();
        match replaced {
            Some(replaced) if self.chance.percent(40) => Some(replaced),
            _ => self.sim.current.borrow().clone(),
        }
    }
}
