//! A cell in its surroundings: takes what has arrived, steps the cell, lets out what may leave.

use std::sync::Arc;
use std::time::Duration;

use perennial_engine::Time;
use perennial_proto::store::RunMessage;
use perennial_store::{Batch, Epoch, Error};

use super::loads::Load;
use super::{Node, ToCell};
use crate::cell::{Cell, Effects, Input, Release, World};

/// Inputs taken into one step.
pub(crate) const STEP_INPUTS: usize = 512;
/// A message that couldn't be delivered is tried again after this long.
const REDELIVER_AFTER: Duration = Duration::from_millis(200);
/// How often a lease is tried for while the store doesn't answer.
const RETRY_LEASE: Duration = Duration::from_millis(100);
const IDLE: Duration = Duration::from_secs(3600);

/// A cell and what happens around its steps. Whoever owns one calls [`CellLoop::turn`] again and again: a
/// thread, or a simulated world.
pub(crate) struct CellLoop {
    id: u32,
    /// The lease that the cell began under, whatever leases it has taken since: as long as the cell lives, what was
    /// asked for earlier is of use.
    epoch: Epoch,
    cell: Cell,
    /// Messages that couldn't be delivered.
    later: Vec<Arc<RunMessage>>,
    /// A commit failed, and the store hasn't let the cell begin anew yet.
    lost: Option<Lost>,
    is_stopping: bool,
}

/// What waits until the cell has begun anew.
struct Lost {
    why: Error,
    inputs: Vec<Arrived>,
}

/// An input, and under which lease it was asked for if that matters.
type Arrived = (Option<Epoch>, Input);

/// What follows after a turn.
pub(crate) enum Next {
    /// This is done outside the cell; then another turn, when something has arrived or its time has come.
    GoOn(Work),
    /// Another turn in a moment, and nothing new until then: the store doesn't answer.
    TryAgain(Duration),
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
    pub(crate) fn lease(node: &Node, id: u32) -> Result<Self, Error> {
        let Leased { epoch, cell, sent } = lease(node, id)?;
        deliver_all(node, sent, epoch);
        Ok(Self { id, epoch, cell, later: Vec::new(), lost: None, is_stopping: false })
    }

    /// Handles what has arrived.
    pub(crate) fn turn(
        &mut self,
        node: &Arc<Node>,
        arrived: impl IntoIterator<Item = ToCell>,
    ) -> Next {
        let mut undelivered = std::mem::take(&mut self.later);
        let (mut inputs, mut failed) = match self.lost.take() {
            Some(Lost { why, inputs }) => (inputs, Some(why)),
            None => (Vec::new(), None),
        };
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
        if failed.is_none() && self.cell.needs_keys() {
            failed = self.renew_lease(node).err();
        }
        if let Some(why) = failed {
            match self.begin_anew(node, &why) {
                // They are among those that are on their way again.
                Ok(()) => {
                    undelivered.clear();
                    self.later.clear();
                }
                Err(Error::Fenced(_)) => return Next::End,
                Err(_) => {
                    self.later.extend(undelivered);
                    self.lost = Some(Lost { why, inputs });
                    return Next::TryAgain(RETRY_LEASE);
                }
            }
        }
        // What was read under an earlier lease may be older than what has been committed since, and a message that
        // was answered then is asked about again.
        let is_good = |(read, _): &Arrived| read.is_none_or(|epoch| epoch == self.epoch);
        let inputs = inputs.into_iter().filter(is_good).map(|(_, input)| input).collect();
        let work = self.step(node, inputs);
        if self.is_stopping && self.cell.is_at_rest() {
            return Next::End;
        }
        deliver_all(node, undelivered, self.epoch);
        Next::GoOn(work)
    }

    /// The lease it began under.
    pub(crate) fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Which of the node's cells it is.
    pub(crate) fn id(&self) -> usize {
        self.id as usize
    }

    /// How long to wait for something to arrive.
    pub(crate) fn wait(&self, node: &Node) -> Duration {
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
        let world = World { now, queues: &node.queues, namespaces: &namespaces };
        let Effects { loads, awaited_loads, commit, releases, load_wakes } =
            self.cell.step(inputs, &world);
        release_all(node, releases, self.epoch);
        let (cell, epoch) = (self.id(), self.epoch);
        let load = |wanted| Load::Entity { cell, epoch, wanted };
        let wakes = load_wakes.map(|(after, up_to)| Load::Wakes { cell, epoch, after, up_to });
        let loads = loads.into_iter().map(load).chain(wakes).collect();
        Work { commit, loads, awaited_loads: awaited_loads.into_iter().map(load).collect() }
    }

    /// Takes another lease for its keys. One that may or may not have been given is like a commit that may or may
    /// not have landed: the cell begins anew.
    fn renew_lease(&mut self, node: &Node) -> Result<(), Error> {
        let epoch = node.store.lease(self.id)?.epoch;
        tracing::info!(
            cell = self.id,
            epoch = epoch.0,
            "took a new lease: the keys of the last one ran low"
        );
        self.cell.go_on_under(epoch);
        Ok(())
    }

    /// What isn't durable hasn't happened: the cell begins anew from the store, under a new lease. One whose
    /// place another has taken doesn't.
    fn begin_anew(&mut self, node: &Arc<Node>, why: &Error) -> Result<(), Error> {
        if let Error::Fenced(_) = why {
            self.end(why);
            return Err(why.clone());
        }
        let Leased { epoch, cell, sent } = match lease(node, self.id) {
            Ok(leased) => leased,
            Err(fenced @ Error::Fenced(_)) => {
                self.end(&fenced);
                return Err(fenced);
            }
            Err(other) => return Err(other),
        };
        self.epoch = epoch;
        let lost = std::mem::replace(&mut self.cell, cell).abandon();
        for release in lost {
            node.take_back(release, &why.to_string());
        }
        node.restore(self.id)?;
        deliver_all(node, sent, epoch);
        Ok(())
    }

    /// Nothing goes on here: callers ask elsewhere, and polls end.
    fn end(&mut self, why: &Error) {
        for release in self.cell.abandon() {
            if let Release::Reply(reply, _) = release {
                reply.send(Err(crate::Refusal::Unavailable(why.to_string())));
            }
        }
    }
}

fn release_all(node: &Node, releases: Vec<Release>, epoch: Epoch) {
    for release in releases {
        node.release(release, epoch);
    }
}

fn deliver_all(node: &Node, messages: Vec<Arc<RunMessage>>, epoch: Epoch) {
    for message in messages {
        node.deliver(message, epoch);
    }
}

/// A cell that has just been taken over.
struct Leased {
    epoch: Epoch,
    cell: Cell,
    /// Messages that it left in the store, and knows of.
    sent: Vec<Arc<RunMessage>>,
}

fn lease(node: &Node, id: u32) -> Result<Leased, Error> {
    let epoch = node.store.lease(id)?.epoch;
    let (limits, zones) = (Arc::clone(&node.limits), Arc::clone(&node.zones));
    let seed = node.surroundings.fresh_seed();
    let (cells, cached) = (node.cell_count(), node.runs_cached);
    let (evaluation, keys) = (node.evaluation, node.keys_per_lease);
    let mut cell = Cell::new(id, cells, epoch, seed, limits, zones, cached, evaluation, keys);
    let sent: Vec<_> = node.stored_messages(id)?.into_iter().map(Arc::new).collect();
    for message in &sent {
        cell.has_sent(message);
    }
    Ok(Leased { epoch, cell, sent })
}
