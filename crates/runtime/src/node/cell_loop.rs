//! Runs a cell: takes inputs from its inbox, steps it, and sends out its releases.

use std::sync::Arc;
use std::time::{Duration, Instant};

use perennial_engine::{FreshIds, SlotRange, Time};
use perennial_proto::store::EntityMessage;
use perennial_store::{Batch, BatchId, Epoch, Error, Lease};

use super::evaluation_gaps::EvaluationGaps;
use super::loads::Load;
use super::suspension::Suspension;
use super::{CellEntry, Node, ToCell};
use crate::Refusal;
use crate::cell::{Cell, CellConfig, Input, Lookups, Release, Rules, StepContext, StepResult};

/// Inputs handled in one step.
pub(crate) const INPUTS_PER_STEP: usize = 512;
/// Delay before a message that couldn't be delivered is sent again.
const REDELIVERY_DELAY: Duration = Duration::from_millis(200);
/// A slower turn is logged: all other requests to the cell wait for it.
const SLOW_TURN: Duration = Duration::from_millis(100);
const IDLE_WAIT_MAX: Duration = Duration::from_secs(3600);

/// A cell with its lease, message retries and suspension. A cell thread or the simulator calls [`CellLoop::turn`] in a
/// loop.
pub(crate) struct CellLoop {
    /// The cell, as others see it.
    entry: Arc<CellEntry>,
    slots: SlotRange,
    /// The lease that the cell started with. Renewals don't change it: loads requested before a renewal stay valid.
    epoch: Epoch,
    cell: Cell,
    /// Messages that couldn't be delivered.
    undelivered_messages: Vec<Arc<EntityMessage>>,
    /// Set while the store takes no writes.
    suspension: Option<Suspension>,
    /// Kept across leases: a new lease for the same cell is no gap.
    evaluation_gaps: EvaluationGaps,
    is_stopping: bool,
}

/// An input, with its lease if it is valid only under that.
type Arrived = (Option<Epoch>, Input);

/// Result of a turn.
pub(crate) enum Next {
    /// Do this work, then take another turn when an input arrives or a wake-up is due.
    Continue(Work),
    /// The cell has ended.
    End(Ended),
}

/// Why a cell has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It was told to. It commits nothing more.
    Stopped,
    /// Another node owns it, or may own it.
    Lost,
}

/// Work of a turn that is done outside the cell.
pub(crate) struct Work {
    /// A batch to commit. The result goes to the cell's inbox.
    pub(crate) commit: Option<Batch>,
    /// Reads whose results go to the cell's inbox.
    pub(crate) loads: Vec<Load>,
    /// Reads to finish before the next turn.
    pub(crate) awaited_loads: Vec<Load>,
}

impl CellLoop {
    /// Starts the cell under a lease.
    pub(crate) fn start(node: &Node, entry: Arc<CellEntry>, lease: Lease) -> Result<Self, Error> {
        let slots = entry.slots;
        let Leased { epoch, cell, sent, .. } = leased(node, lease)?;
        deliver_all(node, sent, epoch);
        let evaluation_gaps = EvaluationGaps::start(&node.environment, node.evaluation);
        let (undelivered_messages, suspension) = (Vec::new(), None);
        let is_stopping = false;
        Ok(Self {
            entry,
            slots,
            epoch,
            cell,
            undelivered_messages,
            suspension,
            evaluation_gaps,
            is_stopping,
        })
    }

    /// Handles inbox entries and due wake-ups.
    pub(crate) fn turn(
        &mut self,
        node: &Arc<Node>,
        arrived: impl IntoIterator<Item = ToCell>,
    ) -> Next {
        let mut undelivered = std::mem::take(&mut self.undelivered_messages);
        let (mut inputs, mut failed) = (Vec::new(), None);
        let mut is_lost = false;
        for what in arrived {
            match what {
                ToCell::Input(input) => inputs.push((None, input)),
                ToCell::UnderLease(epoch, input) => inputs.push((Some(epoch), input)),
                ToCell::Committed => release_all(node, self.cell.committed(), self.epoch),
                ToCell::CommitFailed(why) => failed = Some(why),
                ToCell::DeliverLater(epoch, message) if epoch == self.epoch => {
                    self.undelivered_messages.push(message);
                }
                // The restarted cell has sent it again.
                ToCell::DeliverLater(..) => {}
                ToCell::Stop => self.is_stopping = true,
                ToCell::Lost => is_lost = true,
            }
        }
        // Without a lease another node may have taken the cell, and what is in memory may be old.
        if is_lost || !node.may_serve() {
            for (_, input) in inputs {
                ToCell::Input(input).refuse();
            }
            let why = match is_lost {
                true => "another node has taken the cell",
                false => "the node's lease has ended",
            };
            return self.end(node, why);
        }
        if failed.is_none() && self.suspension.is_none() && self.cell.needs_keys() {
            failed = self.renew_lease(node).err();
        }
        if failed.is_some() || self.is_retry_due(node) {
            match self.restart(node, failed) {
                Ok(held) => inputs.extend(held.into_iter().map(|input| (None, input))),
                Err(Fenced(why)) => {
                    for (_, input) in inputs {
                        ToCell::Input(input).refuse();
                    }
                    return self.end(node, &why);
                }
            }
            // A new lease delivers all stored messages again, these included.
            undelivered.clear();
            self.undelivered_messages.clear();
        }
        // A read under an earlier lease may be stale, and a message answered then is delivered again.
        let is_good = |(read, _): &Arrived| read.is_none_or(|epoch| epoch == self.epoch);
        let mut inputs = inputs.into_iter().filter(is_good).map(|(_, input)| input).collect();
        if let Some(suspension) = &mut self.suspension {
            inputs = suspension.admit_reads(inputs);
        }
        if self.suspension.is_none() {
            self.evaluation_gaps.begin_turn(&node.environment);
        }
        let work = self.step(node, inputs);
        if self.is_stopping && (self.cell.is_at_rest() || self.suspension.is_some()) {
            if node.cluster.is_some() {
                // The callers that wait here ask the next owner.
                self.fail_pending(node, &Error::Unavailable("the cell is handed over".to_owned()));
            }
            return Next::End(Ended::Stopped);
        }
        deliver_all(node, undelivered, self.epoch);
        Next::Continue(work)
    }

    /// The lease the cell started with.
    pub(crate) fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Whether the store takes no writes from the cell.
    pub(crate) fn is_suspended(&self) -> bool {
        self.suspension.is_some()
    }

    /// Bytes of the cached runs and schedules.
    pub(crate) fn cached_bytes(&self) -> usize {
        self.cell.cached_bytes()
    }

    /// The lease under which it commits now.
    pub(crate) fn lease_epoch(&self) -> Epoch {
        self.cell.epoch()
    }

    /// The cell, as others see it.
    pub(crate) fn entry(&self) -> &Arc<CellEntry> {
        &self.entry
    }

    /// Marks the cell idle. Returns how long to wait for an input.
    pub(crate) fn rest(&mut self, node: &Node) -> Duration {
        let wait = self.wait(node);
        self.evaluation_gaps.plan_next_turn(&node.environment, wait);
        wait
    }

    /// Time until the next turn if no input arrives, for the simulator.
    pub(crate) fn until_next_turn(&self, node: &Node) -> Duration {
        self.wait(node).min(self.evaluation_gaps.remaining(&node.environment))
    }

    /// How long to wait for an input.
    fn wait(&self, node: &Node) -> Duration {
        if let Some(suspension) = &self.suspension {
            let is_simulated = node.environment.is_simulated();
            return if is_simulated { Duration::ZERO } else { suspension.wait() };
        }
        let until_wake = self.cell.next_wake().map_or(IDLE_WAIT_MAX, |at| {
            let nanos = at.0.saturating_sub(node.now().0).max(0);
            Duration::from_nanos(nanos.unsigned_abs()).min(IDLE_WAIT_MAX)
        });
        if self.has_undelivered() { until_wake.min(REDELIVERY_DELAY) } else { until_wake }
    }

    /// Whether messages wait for redelivery.
    pub(crate) fn has_undelivered(&self) -> bool {
        !self.undelivered_messages.is_empty()
    }

    fn step(&mut self, node: &Node, inputs: Vec<Input>) -> Work {
        let namespaces = node.namespaces();
        let now: Time = node.now();
        let (queues, damage) = (&node.queues, node.damage.as_ref());
        let evaluated = self.evaluation_gaps.evaluated();
        let monotonic = node.monotonic();
        let world = StepContext {
            now,
            monotonic,
            evaluated,
            queues,
            namespaces: &namespaces,
            damage,
            is_traced: node.tracer.is_enabled(),
            principal: None,
        };
        let (begun, asked) = (Instant::now(), inputs.first().map(Input::describe));
        let count = inputs.len();
        let StepResult { loads, awaited_loads, commit, releases, load_wakes } =
            self.cell.step(inputs, &world);
        let took = begun.elapsed();
        let Lookups { hits, misses } = self.cell.take_lookups();
        node.metrics.cells.record_turn(took, hits, misses);
        self.entry.set_cache_size(self.cell.cache_size());
        self.entry.set_next_wake(self.cell.first_unhandled_wake());
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
                "slow turn: other requests to the cell waited"
            );
        }
        release_all(node, releases, self.epoch);
        let (entry, epoch) = (&self.entry, self.epoch);
        let load = |wanted| Load::Entity { cell: Arc::clone(entry), epoch, wanted };
        let wakes = load_wakes.map(|(after, up_to)| {
            let cell = Arc::clone(entry);
            Load::Wakes { cell, epoch, after, up_to }
        });
        let loads = loads.into_iter().map(load).chain(wakes).collect();
        Work { commit, loads, awaited_loads: awaited_loads.into_iter().map(load).collect() }
    }

    /// Takes a new lease for more keys. If the outcome is unknown, the cell restarts, as after a failed commit.
    fn renew_lease(&mut self, node: &Node) -> Result<(), Error> {
        let epoch = node.lease_cell(self.slots)?.epoch;
        tracing::info!(
            cell = %self.slots,
            epoch = epoch.0,
            "took a new lease: the last one is running out of keys"
        );
        self.cell.renew_lease(epoch);
        Ok(())
    }

    fn is_retry_due(&self, node: &Node) -> bool {
        self.suspension.is_some() && self.wait(node) == Duration::ZERO
    }

    /// Restarts the cell from durable state under a new lease. If the store gives none, the cell is suspended and
    /// serves reads. A fenced cell ends. Returns the inputs that a suspension deferred.
    fn restart(&mut self, node: &Node, failed: Option<Error>) -> Result<Vec<Input>, Fenced> {
        if let Some(Error::Fenced(why)) = failed {
            return Err(Fenced(why));
        }
        let leased = node.lease_cell(self.slots).and_then(|lease| leased(node, lease));
        let leased = leased.and_then(|leased| {
            node.reload_tasks(self.slots)?;
            Ok(leased)
        });
        match (leased, failed) {
            (Ok(leased), failed) => {
                if let Some(why) = failed {
                    tracing::warn!(
                        cell = %self.slots, error = %why,
                        "a commit failed: its requests are undone, unless the store has the batch"
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
                self.fail_pending(node, &why);
                let mut cell = cell_under(node, self.slots, self.cell.epoch());
                cell.suspend();
                self.cell = cell;
                match &mut self.suspension {
                    Some(suspension) => suspension.retry_failed(why),
                    None => self.suspension = Some(Suspension::start(self.slots, why)),
                }
                Ok(Vec::new())
            }
            (Err(why), None) => {
                if let Some(suspension) = &mut self.suspension {
                    suspension.retry_failed(why);
                }
                Ok(Vec::new())
            }
        }
    }

    /// After a failed commit: the new lease shows whether the batch is stored nevertheless.
    fn resolve_batch_in_flight(&mut self, node: &Node, stored: BatchId, why: &Error) {
        if self.cell.batch_in_flight() == Some(stored) {
            for release in self.cell.committed() {
                match release {
                    Release::Reply(..)
                    | Release::Grant(..)
                    | Release::Repoll(_)
                    | Release::Count(_)
                    | Release::Trace(_) => {
                        node.release(release, self.epoch);
                    }
                    // The restarted cell reads them from the store. Queries aren't stored: their callers retry.
                    Release::Offer { .. } | Release::OfferQuery(_) | Release::Deliver(_) => {}
                }
            }
        }
        self.fail_pending(node, why);
    }

    /// Fails all requests that wait for a commit.
    fn fail_pending(&mut self, node: &Node, why: &Error) {
        for release in self.cell.abandon() {
            node.undo_release(release, why);
        }
    }

    /// Ends the cell: callers get an error, and polls end.
    fn end(&mut self, node: &Node, why: &str) -> Next {
        for release in self.cell.abandon() {
            match release {
                // Nothing of the request has happened.
                Release::Reply(reply, response) if matches!(*response, Err(Refusal::Moved)) => {
                    reply.send(Err(Refusal::Moved));
                }
                Release::Reply(reply, _) => reply.send(Err(Refusal::Unavailable(why.to_owned()))),
                Release::Grant(..)
                | Release::Offer { .. }
                | Release::OfferQuery(_)
                | Release::Repoll(_)
                | Release::Deliver(_)
                | Release::Count(_)
                | Release::Trace(_) => {}
            }
        }
        match &node.cluster {
            Some(_) => tracing::warn!(cell = %self.slots, why, "lost a cell"),
            None => node.failure.set(why),
        }
        Next::End(Ended::Lost)
    }
}

/// Another owner has the cell, or the node may not write to the store any more.
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

/// A cell under a new lease.
struct Leased {
    epoch: Epoch,
    last_batch: BatchId,
    cell: Cell,
    /// Its stored, unanswered messages.
    sent: Vec<Arc<EntityMessage>>,
}

fn leased(node: &Node, lease: Lease) -> Result<Leased, Error> {
    let Lease { slots, epoch, last_batch } = lease;
    let mut cell = cell_under(node, slots, epoch);
    let sent: Vec<_> = node.stored_messages(slots)?.into_iter().map(Arc::new).collect();
    for message in &sent {
        cell.register_sent(message);
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
            ids: FreshIds::from_seed(node.environment.fresh_seed()),
            limits: Arc::clone(&node.limits),
            zones: Arc::clone(&node.zones),
        },
        entities_cached: node.entities_cached,
        shares: node.shares.of_one_cell(node.stored_cells),
        evaluation: node.evaluation,
    })
}
