//! A world: made from a seed, wild for a while, then left to quiesce, then audited.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use perennial_engine::{NamespaceKey, SlotRange, Span, Time};
use perennial_proto::store::{Address, entity_message::Body};
use perennial_proto::store::{EntityMessage, NamespaceRecord};
use perennial_runtime::simulation::{Acknowledge, Clock, Node};
use perennial_runtime::{Evaluation, RuntimeConfig};
use perennial_store::Store;

use crate::actors::client::Nudge;
use crate::actors::{
    NAMESPACES, QUEUE, Worker, activity_worker, client, schedule_client, workflow_worker,
};
use crate::audit::{Auditor, Violation};
use crate::chance::Chance;
use crate::disk::{Disk, Path};
use crate::executor::Executor;
use crate::report::{Outcome, Report};
use crate::sabotage::Sabotage;
use crate::sim::{Actor, Phase, Server, Sim};
use crate::trace::Trace;

/// 2026-11-16T00:00:00Z.
const BEGIN: Time = Time(1_794_787_200_000_000_000);
/// Turns before the world quiesces.
const WILD_TURNS: usize = 4_000;
/// Turns it may take to quiesce; far more than it needs.
const QUIESCE_TURNS: usize = 200_000;
/// Time it may take to quiesce.
const QUIESCE_WITHIN: Span = Span::seconds(3600);
/// While it quiesces, schedules go on for this long.
const SCHEDULES_GO_ON: Span = Span::seconds(40);
/// While it quiesces, open runs are reminded this often.
const NUDGE_EVERY: Span = Span::seconds(600);
/// Messages that are on their way twice, at most.
const DELAYED_MAX: usize = 16;
/// Lines shown of a world that broke a promise.
const LINES_SHOWN: usize = 150;

/// Makes a world from a seed and sees whether all promises hold in it.
pub fn simulate(seed: u64, sabotage: Sabotage) -> Report {
    let auditor: Arc<Mutex<Auditor>> = Arc::default();
    let trace: Arc<Mutex<Trace>> = Arc::default();
    let mut world = World::new(seed, sabotage, &auditor, &trace);
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| world.live())) {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
        lock(&auditor).report(Violation {
            promise: "nothing panics",
            workflow_id: String::new(),
            run_id: String::new(),
            what: said.unwrap_or("something did").to_owned(),
        });
    }
    let (auditor, trace) = (lock(&auditor), lock(&trace));
    let outcome = match auditor.violation() {
        None => Outcome::Held,
        Some(violation) => {
            let trace = trace.about(&violation.concerned(), LINES_SHOWN);
            Outcome::Broken { violation: violation.clone(), trace }
        }
    };
    Report {
        seed,
        sabotage,
        outcome,
        turns: world.turns,
        crashes: world.crashes,
        runs: auditor.runs(),
        fingerprint: trace.fingerprint(),
    }
}

struct World {
    sim: Rc<Sim>,
    chance: Chance,
    executor: Executor,
    disk: Arc<Disk>,
    config: RuntimeConfig,
    sabotage: Sabotage,
    /// There are schedules in it, and long times without a server.
    has_schedules: bool,
    /// The server, and after it one that was replaced and doesn't know yet.
    servers: Vec<Running>,
    /// Messages that arrive a second time, while the server lives.
    delayed: Vec<EntityMessage>,
    opened: u64,
    turns: usize,
    crashes: usize,
}

/// A server from within.
struct Running {
    node: Node,
    is_alive: Rc<Cell<bool>>,
    is_replaced: Arc<AtomicBool>,
    turns_left: usize,
    /// Its number.
    server: u64,
    /// Cells that haven't taken a turn since their machine slept.
    asleep: BTreeSet<usize>,
}

/// Something that can happen next.
enum Turn {
    Act(u64),
    Step { server: usize, cell: usize },
    Commit { server: usize },
    Read { server: usize },
}

impl World {
    fn new(
        seed: u64,
        sabotage: Sabotage,
        auditor: &Arc<Mutex<Auditor>>,
        trace: &Arc<Mutex<Trace>>,
    ) -> Self {
        let chance = Chance::from_seed(seed);
        let clock = Clock::at(BEGIN);
        let disk = Disk::new(chance.fork(), &clock, sabotage, auditor, trace);
        let config = RuntimeConfig {
            // Few, so that entities are forgotten and loaded again.
            entities_cached: 1 + chance.below(6),
            ..RuntimeConfig::default()
        };
        // In every third world cells take new leases all the time, for their keys.
        let keys_per_lease = match seed % 3 {
            0 => 1 + (seed % 20) as u32,
            _ => config.keys_per_lease,
        };
        // In every fifth, memory is so short that tasks wait in the store and requests are refused.
        let memory_budget = match seed % 5 {
            0 => 64 * 1024,
            _ => config.memory_budget,
        };
        // In every seventh, schedules are evaluated only when someone asks.
        let evaluation = match seed % 7 {
            0 => Evaluation::OnDemand,
            _ => Evaluation::ByItself,
        };
        if evaluation == Evaluation::OnDemand {
            lock(auditor).set_on_demand();
        }
        let config = RuntimeConfig { keys_per_lease, memory_budget, evaluation, ..config };
        Self {
            sim: Sim::new(clock, Arc::clone(auditor), Arc::clone(trace)),
            executor: Executor::default(),
            disk,
            config,
            sabotage,
            has_schedules: seed.is_multiple_of(2),
            servers: Vec::new(),
            delayed: Vec::new(),
            opened: 0,
            turns: 0,
            crashes: 0,
            chance,
        }
    }

    fn live(&mut self) {
        self.open_server();
        self.populate();
        self.disk.set_faulty(true);
        while self.turns < WILD_TURNS && !self.is_broken() {
            self.wild_turn();
        }
        self.check_folds();
        if !self.is_broken() {
            self.quiesce();
        }
        if !self.is_broken() {
            lock(&self.sim.auditor).check_quiescent(self.disk.store(), self.sim.now());
        }
    }

    /// Namespaces first, then everyone who lives there.
    fn populate(&mut self) {
        let registrar = Actor::new(&self.sim, self.chance.fork(), "registrar".to_owned());
        self.executor.spawn(Box::pin(async move {
            for name in NAMESPACES {
                let id =
                    format!("{:032x}", NAMESPACES.iter().position(|it| *it == name).unwrap_or(0));
                let record =
                    NamespaceRecord { name: name.to_owned(), id, ..NamespaceRecord::default() };
                let registered = registrar.ask(Span::seconds(60), |runtime| async move {
                    runtime.register_namespace(record).await
                });
                if let Err(refusal) = registered.await {
                    registrar.say(&format!("can't register {name}: {refusal}"));
                }
            }
        }));
        while let Some(turn) = self.any_turn() {
            self.take(turn);
        }
        for (namespace, number) in [(1, 1), (1, 2), (2, 3)] {
            let worker =
                Worker { namespace: NamespaceKey(namespace), identity: format!("worker-{number}") };
            let actor = || Actor::new(&self.sim, self.chance.fork(), worker.identity.clone());
            for queue in [QUEUE.to_owned(), worker.sticky_queue()] {
                self.sim.spawn(workflow_worker::work(actor(), worker.clone(), queue));
            }
            self.sim.spawn(activity_worker::work(actor(), worker.clone()));
        }
        let clients = if self.has_schedules { 2 } else { 4 };
        for number in 1..=clients {
            let actor = Actor::new(&self.sim, self.chance.fork(), format!("client-{number}"));
            let deeds = 10 + self.chance.below(20);
            self.sim.spawn(client::live(actor, deeds));
        }
        for number in 1..=if self.has_schedules { 2 } else { 0 } {
            let actor = Actor::new(&self.sim, self.chance.fork(), format!("planner-{number}"));
            let deeds = 20 + self.chance.below(30);
            self.sim.spawn(schedule_client::live(actor, deeds));
        }
        let evaluators = match self.config.evaluation {
            _ if !self.has_schedules => 0,
            Evaluation::OnDemand => 3,
            Evaluation::ByItself => 1,
        };
        for number in 1..=evaluators {
            let actor = Actor::new(&self.sim, self.chance.fork(), format!("evaluator-{number}"));
            self.sim.spawn(schedule_client::evaluate(actor));
        }
    }

    fn wild_turn(&mut self) {
        match self.chance.below(1_000) {
            0..4 => self.crash(),
            4..8 => self.disk.land_late(),
            8..20 => self.duplicate_message(),
            20..28 => self.deliver_delayed(),
            28..44 => self.pass(Span::millis(self.chance.between(1, 500))),
            44 => self.pass(Span::millis(self.chance.between(4_000, 120_000))),
            45 => self.set_clock(Span::seconds(self.chance.between(5, 120))),
            46..48 => self.set_clock(Span::seconds(-self.chance.between(1, 20))),
            48 if self.has_schedules => self.be_away(),
            _ => match self.any_turn() {
                Some(turn) => self.take_wildly(turn),
                None => self.pass_to_next(),
            },
        }
        self.turns += 1;
    }

    /// Servers crash at commits most of all: before, and between the commit and its answer.
    fn take_wildly(&mut self, turn: Turn) {
        let is_commit = matches!(turn, Turn::Commit { server: 0 });
        if is_commit && self.chance.permille(15) {
            return self.crash();
        }
        self.take(turn);
        if is_commit && self.chance.permille(15) {
            self.crash();
        }
        if let Some(replaced) = self.servers.get_mut(1) {
            replaced.turns_left = replaced.turns_left.saturating_sub(1);
            if replaced.turns_left == 0 || replaced.node.has_ended() {
                self.bury();
            }
        }
    }

    fn any_turn(&mut self) -> Option<Turn> {
        for act in self.sim.take_spawned() {
            self.executor.spawn(act);
        }
        let mut turns: Vec<_> = self.executor.ready().into_iter().map(Turn::Act).collect();
        for (server, running) in self.servers.iter_mut().enumerate() {
            for cell in 0..running.node.cells() {
                if running.node.arrived(cell) > 0 {
                    turns.push(Turn::Step { server, cell });
                }
            }
            if running.node.uncommitted() > 0 {
                turns.push(Turn::Commit { server });
            }
            if running.node.unread() > 0 {
                turns.push(Turn::Read { server });
            }
        }
        let index = self.chance.below(turns.len());
        (index < turns.len()).then(|| turns.swap_remove(index))
    }

    fn take(&mut self, turn: Turn) {
        self.pass_a_little();
        match turn {
            Turn::Act(id) => self.executor.poll(id),
            Turn::Step { server, cell } => {
                let Some(running) = self.servers.get_mut(server) else { return };
                let arrived = running.node.arrived(cell);
                let inputs = 1 + self.chance.below(arrived);
                running.node.step(cell, inputs);
                // One that may not write is still away.
                if !running.node.is_suspended(cell) && running.asleep.remove(&cell) {
                    let id = running.node.cell_ids()[cell];
                    lock(&self.sim.auditor).cell_woke(running.server, id, self.sim.now());
                }
            }
            Turn::Commit { server } => {
                let Some(running) = self.servers.get_mut(server) else { return };
                let batches = 1 + self.chance.below(running.node.uncommitted());
                running.node.commit(batches);
            }
            Turn::Read { server } => {
                let Some(running) = self.servers.get_mut(server) else { return };
                // As many at once as there are threads that read.
                let index = self.chance.below(running.node.unread().min(2));
                running.node.read(index);
            }
        }
    }

    /// The server is gone with all it had in memory, or it lives on and doesn't know that another has taken
    /// its place.
    fn crash(&mut self) {
        self.bury();
        self.delayed.clear();
        self.crashes += 1;
        let lives_on = self.chance.percent(40);
        self.sim.say(format!(
            "world: server {} {}",
            self.opened,
            if lives_on { "is replaced" } else { "crashes" }
        ));
        if lives_on {
            if let Some(replaced) = self.servers.first_mut() {
                replaced.is_replaced.store(true, Ordering::SeqCst);
                replaced.turns_left = self.chance.below(300) + 20;
            }
            *self.sim.replaced.borrow_mut() = self.sim.current.borrow().clone();
        } else if let Some(gone) = self.servers.pop() {
            gone.is_alive.set(false);
        }
        self.check_folds();
        self.open_server();
    }

    /// For a while, or for minutes, nobody serves.
    fn be_away(&mut self) {
        self.bury();
        self.delayed.clear();
        self.crashes += 1;
        self.sim.say(format!("world: server {} is gone for long", self.opened));
        if let Some(gone) = self.servers.pop() {
            gone.is_alive.set(false);
        }
        let away = if self.chance.percent(50) { (100, 10_000) } else { (10_000, 400_000) };
        self.pass(Span::millis(self.chance.between(away.0, away.1)));
        self.open_server();
    }

    /// The server that was replaced is gone for good.
    fn bury(&mut self) {
        *self.sim.replaced.borrow_mut() = None;
        if self.servers.len() > 1
            && let Some(gone) = self.servers.pop()
        {
            gone.is_alive.set(false);
            self.executor.wake_all();
        }
    }

    fn open_server(&mut self) {
        self.opened += 1;
        // Whoever looks after a server starts it again until it runs.
        loop {
            let path = Path::new(&self.disk, self.opened);
            let is_replaced = path.is_replaced();
            // Every server divides the slots as it likes: its predecessor may still believe in other cells.
            let cells = Some(1 + self.chance.below(4) as u32);
            let config = RuntimeConfig { cells, ..self.config.clone() };
            let opened = Node::open(Arc::new(path), &config, &self.sim.clock, self.chance.next());
            match opened {
                Ok(mut node) => {
                    if self.sabotage == Sabotage::WaitForCommit {
                        node.set_acknowledge(Acknowledge::BeforeCommit);
                    }
                    let is_alive = Rc::new(Cell::new(true));
                    let server = Server { runtime: node.runtime(), is_alive: Rc::clone(&is_alive) };
                    *self.sim.current.borrow_mut() = Some(server);
                    let (server, asleep) = (self.opened, BTreeSet::new());
                    let cells = node.cell_ids();
                    lock(&self.sim.auditor).server_began(server, cells, self.sim.now());
                    let running =
                        Running { node, is_alive, is_replaced, turns_left: 0, server, asleep };
                    self.servers.insert(0, running);
                    break;
                }
                Err(error) => self.sim.say(format!("world: server {}: {error}", self.opened)),
            }
        }
        self.executor.wake_all();
    }

    /// A message is on its way twice, and the second time it may take long.
    fn duplicate_message(&mut self) {
        if let Some(message) = self.disk.any_undelivered(&self.chance)
            && self.delayed.len() < DELAYED_MAX
        {
            self.delayed.push(message);
        }
    }

    fn deliver_delayed(&mut self) {
        if self.delayed.is_empty() {
            return;
        }
        let message = self.delayed.swap_remove(self.chance.below(self.delayed.len()));
        // A second delivery of a start is recognised by the run it started. If that run may have been deleted, the second
        // delivery could start it again, and nothing is promised about that: it isn't simulated.
        if let Some(Body::StartRun(child)) = &message.body {
            let mut auditor = lock(&self.sim.auditor);
            if auditor.may_be_deleted(&child.run_id) {
                return;
            }
            auditor.started_again(&child.run_id);
        }
        // Refusals aren't stored. A start that was refused because another run had the workflow id could succeed at its
        // second delivery, although the schedule was told that it failed: that isn't simulated.
        let schedule = message.sender.as_ref().and_then(Address::schedule);
        if let (Some(_), Some(Body::StartRun(start)), Some(target)) =
            (schedule, &message.body, &message.target)
            && lock(&self.sim.auditor).may_be_refused(&target.id, &start.run_id)
        {
            return;
        }
        let sender = message.sender.clone().unwrap_or_default().run_id;
        self.sim.say(format!("world: delivers {} of {sender} again", message.request_id));
        if let Some(running) = self.servers.first() {
            running.node.deliver(message);
        }
    }

    /// Nothing fails any more, and everyone does their best: all runs come to an end.
    fn quiesce(&mut self) {
        self.disk.set_faulty(false);
        self.disk.land_late();
        self.bury();
        if self.chance.percent(50) {
            self.crash();
            self.bury();
        }
        self.sim.say("world: quiesces".to_owned());
        self.sim.phase.set(Phase::Quiescing);
        self.executor.wake_all();
        let end = self.sim.now().after(QUIESCE_WITHIN);
        let nudge = if self.chance.percent(50) { Nudge::Signal } else { Nudge::Update };
        let mut next_nudge = self.sim.now();
        let schedules_end = self.sim.now().after(SCHEDULES_GO_ON);
        let mut schedules_end = self.has_schedules.then_some(schedules_end);
        for _ in 0..QUIESCE_TURNS {
            self.turns += 1;
            if self.is_broken() || self.sim.now() > end {
                return;
            }
            if let Some(turn) = self.any_turn() {
                self.take(turn);
                continue;
            }
            lock(&self.sim.auditor).check_idle(self.sim.now());
            if schedules_end.take_if(|end| *end <= self.sim.now()).is_some() {
                self.end_schedules();
                continue;
            }
            let open = lock(&self.sim.auditor).open_runs();
            let messages = self.disk.store().messages(SlotRange::ALL, i64::MIN, 1);
            let is_quiet = open.is_empty() && messages.is_ok_and(|it| it.is_empty());
            if is_quiet && schedules_end.is_none() {
                return;
            }
            if self.sim.now() >= next_nudge {
                next_nudge = self.sim.now().after(NUDGE_EVERY);
                for run in open {
                    let actor = Actor::new(&self.sim, self.chance.fork(), "nudger".to_owned());
                    self.sim.spawn(client::nudge(actor, run, nudge));
                }
            } else {
                self.pass_to_next();
            }
        }
    }

    /// From now on schedules start only what they were asked for.
    fn end_schedules(&mut self) {
        let schedules = lock(&self.sim.auditor).schedules();
        for schedule in schedules {
            let actor = Actor::new(&self.sim, self.chance.fork(), "closer".to_owned());
            self.sim.spawn(schedule_client::pause_for_good(actor, schedule));
        }
    }

    fn pass(&mut self, span: Span) {
        self.sim.clock.pass(span);
        for running in &mut self.servers {
            running.asleep.extend(0..running.node.cells());
        }
        self.sim.say(format!("world: {} ms pass", span.0 / 1_000_000));
        self.executor.wake_all();
    }

    /// The clock is put forward or back, and no time passes.
    fn set_clock(&mut self, by: Span) {
        let clock = &self.sim.clock;
        clock.set(Time(clock.now().0 + by.0));
        if by.0 < 0 {
            lock(&self.sim.auditor).clock_put_back(clock.now());
        }
        self.sim.say(format!("world: the clock is set by {:+} ms", by.0 / 1_000_000));
        self.executor.wake_all();
    }

    fn pass_a_little(&self) {
        self.sim.clock.pass(Span(self.chance.between(1_000, 2_000_000)));
    }

    /// Nothing can be done before something is due.
    fn pass_to_next(&mut self) {
        let wakes = self.servers.iter().filter_map(|running| running.node.next_wake());
        let next = wakes.chain(self.sim.next_alarm()).min();
        let now = self.sim.now();
        let next = next.unwrap_or(now).max(now.after(Span(1_000)));
        self.sim.clock.pass(Span(next.0 - now.0));
        self.executor.wake_all();
    }

    fn is_broken(&self) -> bool {
        lock(&self.sim.auditor).violation().is_some()
    }

    fn check_folds(&self) {
        lock(&self.sim.auditor).check_folds(self.disk.store());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
