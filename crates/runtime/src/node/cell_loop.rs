//! A cell in its surroundings: takes what has arrived, steps the cell, lets out what may leave.

use std::sync::Arc;
use std::time::{Duration, Instant};

use perennial_engine::{FreshIds, SlotRange, Time};
use perennial_proto::store::EntityMessage;
use perennial_store::{Batch, CellId, Epoch, Error, LastBatch, Lease};

use super::attendance::Attendance;
use super::loads::Load;
use super::suspension::Suspension;
use super::{Node, ToCell};
use crate::cell::{Cell, CellConfig, Effects, Input, Release, Rules, World};

/// Inputs taken into one step.
pub(crate) const STEP_INPUTS: usize = 512;
/// A message that couldn't be delivered is tried again after this long.
const REDELIVER_AFTER: Duration = Duration::from_millis(200);
/// A turn that takes longer than this is worth a line in the log: everyone else waits.
const SLOW_TURN: Duration = Duration::from_millis(100);
const IDLE: Duration = Duration::from_secs(3600);

/// A cell and what happens around its steps. Whoever owns one calls [`CellLoop::turn`] again and again: a
/// thread, or a simulated world.
pub(crate) struct CellLoop {
    /// Which of the node's cells it is.
    index: usize,
    slots: SlotRange,
    /// The lease that the cell began under, whatever leases it has taken since: as long as the cell lives, what was
    /// asked for earlier is of use.
    epoch: Epoch,
    cell: Cell,
    /// Messages that couldn't be delivered.
    later: Vec<Arc<EntityMessage>>,
    /// The store takes no writes.
    suspension: Option<Suspension>,
    /// Outlives leases: a new one for the same cell is no gap.
    attendance: Attendance,
    is_stopping: bool,
}

/// An input, and under which lease it was asked for if that matters.
type Arrived = (Option<Epoch>, Input);

/// What follows after a turn.
pub(crate) enum Next {
    /// This is done outside the cell; then another turn, when something has arrived or its time has come.
    GoOn(Work),
    /// It is over.
    End,
}

/// What a turn leaves to be done outside the cell.
pub(crate) struct Work {
    /// A batch to commit. The cell is told of it.
    pub(crate) commit: Option<Batch>,
    /// What to read. The cell is told what was found.
    pub(crate) loads: Vec<Load>,
    /// What to read before the next turn.
    pub(crate) awaited_loads: Vec<Load>,
}

impl CellLoop {
    /// Takes over the cell.
    pub(crate) fn lease(node: &Node, index: usize) -> Result<Self, Error> {
        let slots = node.slots_of(index);
        let Leased { epoch, cell, sent, .. } = lease(node, slots)?;
        deliver_all(node, sent, epoch);
        let attendance = Attendance::begin(&node.surroundings, node.evaluation);
        let (later, suspension) = (Vec::new(), None);
        let is_stopping = false;
        Ok(Self { index, slots, epoch, cell, later, suspension, attendance, is_stopping })
    }

    /// Handles what has arrived.
    pub(crate) fn turn(
        &mut self,
        node: &Arc<Node>,
        arrived: impl IntoIterator<Item = ToCell>,
    ) -> Next {
        let mut undelivered = std::mem::take(&mut self.later);
        let (mut inputs, mut failed) = (Vec::new(), None);
        for what in arrived {
            match what {
                ToCell::Input(input) => inputs.push((None, input)),
                ToCell::UnderLease(epoch, input) => inputs.push((Some(epoch), input)),
                ToCell::Committed => release_all(node, self.cell.committed(), self.epoch),
                ToCell::CommitFailed(why) => failed = Some(why),
                ToCell::DeliverLater(epoch, message) if epoch == self.epoch => {
                    self.later.push(message);
                }
                // It has been on its way again since.
                ToCell::DeliverLater(..) => {}
                ToCell::Stop => self.is_stopping = true,
            }
        }
        if failed.is_none() && self.suspension.is_none() && self.cell.needs_keys() {
            failed = self.renew_lease(node).err();
        }
        if failed.is_some() || self.is_to_be_tried_again(node) {
            match self.begin_anew(node, failed) {
                Ok(held) => inputs.extend(held.into_iter().map(|input| (None, input))),
                Err(Fenced(why)) => return self.end(node, &why),
            }
            // They are among those that are on their way again, or will be when there is a new lease.
            undelivered.clear();
            self.later.clear();
        }
        // What was read under an earlier lease may be older than what has been committed since, and a message that
        // was answered then is asked about again.
        let is_good = |(read, _): &Arrived| read.is_none_or(|epoch| epoch == self.epoch);
        let mut inputs = inputs.into_iter().filter(is_good).map(|(_, input)| input).collect();
        if let Some(suspension) = &mut self.suspension {
            inputs = suspension.let_through(inputs);
        }
        if self.suspension.is_none() {
            self.attendance.attend(&node.surroundings);
        }
        let work = self.step(node, inputs);
        if self.is_stopping && (self.cell.is_at_rest() || self.suspension.is_some()) {
            return Next::End;
        }
        deliver_all(node, undelivered, self.epoch);
        Next::GoOn(work)
    }

    /// The lease it began under.
    pub(crate) fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Whether the store takes no writes of it.
    pub(crate) fn is_suspended(&self) -> bool {
        self.suspension.is_some()
    }

    /// Bytes of the runs and schedules that it has in memory.
    pub(crate) fn cached_bytes(&self) -> usize {
        self.cell.cached_bytes()
    }

    /// Which of the node's cells it is.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Has nothing to do until something arrives, or for as long as this returns.
    pub(crate) fn rest(&mut self, node: &Node) -> Duration {
        let wait = self.wait(node);
        self.attendance.leave(&node.surroundings, wait);
        wait
    }

    /// How long until a thread that waits as [`Self::rest`] says would take the next turn, or one that looks again.
    pub(crate) fn until_next_turn(&self, node: &Node) -> Duration {
        self.wait(node).min(self.attendance.remaining(&node.surroundings))
    }

    /// How long to wait for something to arrive.
    fn wait(&self, node: &Node) -> Duration {
        if let Some(suspension) = &self.suspension {
            let is_simulated = node.surroundings.is_simulated();
            return if is_simulated { Duration::ZERO } else { suspension.wait() };
        }
        let until_wake = self.cell.next_wake().map_or(IDLE, |at| {
            let nanos = at.0.saturating_sub(node.now().0).max(0);
            Duration::from_nanos(nanos.unsigned_abs()).min(IDLE)
        });
        if self.has_undelivered() { until_wake.min(REDELIVER_AFTER) } else { until_wake }
    }

    /// Whether there are messages to be delivered once more.
    pub(crate) fn has_undelivered(&self) -> bool {
        !self.later.is_empty()
    }

    fn step(&mut self, node: &Node, inputs: Vec<Input>) -> Work {
        let namespaces = node.namespaces();
        let now: Time = node.now();
        let (queues, damage) = (&node.queues, node.damage.as_ref());
        let evaluated = self.attendance.evaluated();
        let monotonic = node.monotonic();
        let world = World { now, monotonic, evaluated, queues, namespaces: &namespaces, damage };
        let (begun, asked) = (Instant::now(), inputs.first().map(Input::describe));
        let count = inputs.len();
        let Effects { loads, awaited_loads, commit, releases, load_wakes } =
            self.cell.step(inputs, &world);
        let took = begun.elapsed();
        tracing::trace!(
            cell = %self.slots,
            inputs = count,
            first = asked,
            microseconds = took.as_micros() as u64,
            commits = commit.is_some(),
            loads = loads.len() + awaited_loads.len(),
            "took a turn"
        );
        if took > SLOW_TURN {
            let (cell, first) = (self.slots, asked.unwrap_or_default());
            let milliseconds = took.as_millis() as u64;
            tracing::warn!(
                %cell,
                milliseconds,
                inputs = count,
                first,
                "a turn of the cell took long: everyone else waited"
            );
        }
        release_all(node, releases, self.epoch);
        let (cell, epoch) = (self.index, self.epoch);
        let load = |wanted| Load::Entity { cell, epoch, wanted };
        let wakes = load_wakes.map(|(after, up_to)| Load::Wakes { cell, epoch, after, up_to });
        let loads = loads.into_iter().map(load).chain(wakes).collect();
        Work { commit, loads, awaited_loads: awaited_loads.into_iter().map(load).collect() }
    }

    /// Takes another lease for its keys. One that may or may not have been given is like a commit that may or may
    /// not have landed: the cell begins anew.
    fn renew_lease(&mut self, node: &Node) -> Result<(), Error> {
        let epoch = node.store.lease(CellId(self.slots.first()), &node.id)?.epoch;
        tracing::info!(
            cell = %self.slots,
            epoch = epoch.0,
            "took a new lease: the keys of the last one ran low"
        );
        self.cell.go_on_under(epoch);
        Ok(())
    }

    fn is_to_be_tried_again(&self, node: &Node) -> bool {
        self.suspension.is_some() && self.wait(node) == Duration::ZERO
    }

    /// What isn't durable hasn't happened: the cell begins anew from the store, under a new lease. Without one it
    /// reads until the store gives one. One whose place another has taken ends. Returns what was kept meanwhile.
    fn begin_anew(&mut self, node: &Node, failed: Option<Error>) -> Result<Vec<Input>, Fenced> {
        if let Some(Error::Fenced(why)) = failed {
            return Err(Fenced(why));
        }
        let leased = lease(node, self.slots).and_then(|leased| {
            node.restore(self.slots)?;
            Ok(leased)
        });
        match (leased, failed) {
            (Ok(leased), failed) => {
                if let Some(why) = failed {
                    tracing::warn!(
                        cell = %self.slots, error = %why,
                        "a commit failed: what it held is undone, unless the store has it"
                    );
                    self.resolve_batch_in_flight(node, leased.last_batch, &why);
                }
                self.epoch = leased.epoch;
                self.cell = leased.cell;
                deliver_all(node, leased.sent, self.epoch);
                Ok(self.suspension.take().map_or_else(Vec::new, |it| it.end(self.slots)))
            }
            (Err(Error::Fenced(why)), _) => Err(Fenced(why)),
            (Err(_), Some(why)) => {
                self.give_up(node, &why);
                let mut cell = cell_under(node, self.slots, self.cell.epoch());
                cell.suspend();
                self.cell = cell;
                match &mut self.suspension {
                    Some(suspension) => suspension.go_on(why),
                    None => self.suspension = Some(Suspension::because(self.slots, why)),
                }
                Ok(Vec::new())
            }
            (Err(why), None) => {
                if let Some(suspension) = &mut self.suspension {
                    suspension.go_on(why);
                }
                Ok(Vec::new())
            }
        }
    }

    /// A commit failed, and the new lease says whether it happened all the same.
    fn resolve_batch_in_flight(&mut self, node: &Node, stored: LastBatch, why: &Error) {
        if self.cell.batch_in_flight() == Some(stored) {
            for release in self.cell.committed() {
                match release {
                    Release::Reply(..) | Release::Grant(..) | Release::Repoll(_) => {
                        node.release(release, self.epoch);
                    }
                    // They are stored, and read from the store by the cell that begins anew; or, as queries are,
                    // lost with this one.
                    Release::Offer { .. } | Release::OfferQuery(_) | Release::Deliver(_) => {}
                }
            }
        }
        self.give_up(node, why);
    }

    /// Nothing that isn't durable has happened: whoever waits for it is told.
    fn give_up(&mut self, node: &Node, why: &Error) {
        for release in self.cell.abandon() {
            node.take_back(release, why);
        }
    }

    /// Nothing goes on here: callers ask elsewhere, and polls end.
    fn end(&mut self, node: &Node, why: &str) -> Next {
        for release in self.cell.abandon() {
            if let Release::Reply(reply, _) = release {
                reply.send(Err(crate::Refusal::Unavailable(why.to_owned())));
            }
        }
        node.failure.set(why);
        Next::End
    }
}

/// Another owner has the cell, or the store can't be written any more.
struct Fenced(String);

fn release_all(node: &Node, releases: Vec<Release>, epoch: Epoch) {
    for release in releases {
        node.release(release, epoch);
    }
}

fn deliver_all(node: &Node, messages: Vec<Arc<EntityMessage>>, epoch: Epoch) {
    for message in messages {
        node.deliver(message, epoch);
    }
}

/// A cell that has just been taken over.
struct Leased {
    epoch: Epoch,
    last_batch: LastBatch,
    cell: Cell,
    /// Messages that it left in the store, and knows of.
    sent: Vec<Arc<EntityMessage>>,
}

fn lease(node: &Node, slots: SlotRange) -> Result<Leased, Error> {
    let Lease { epoch, last_batch, .. } = node.store.lease(CellId(slots.first()), &node.id)?;
    let mut cell = cell_under(node, slots, epoch);
    let sent: Vec<_> = node.stored_messages(slots)?.into_iter().map(Arc::new).collect();
    for message in &sent {
        cell.has_sent(message);
    }
    Ok(Leased { epoch, last_batch, cell, sent })
}

/// A cell with nothing in memory.
fn cell_under(node: &Node, slots: SlotRange, epoch: Epoch) -> Cell {
    Cell::new(CellConfig {
        slots,
        epoch,
        keys_per_lease: node.keys_per_lease,
        rules: Rules {
            ids: FreshIds::from_seed(node.surroundings.fresh_seed()),
            limits: Arc::clone(&node.limits),
            zones: Arc::clone(&node.zones),
        },
        entities_cached: node.entities_cached,
        shares: node.shares.of_one_cell(node.cell_count()),
        evaluation: node.evaluation,
    })
}
