//! A cell's own thread: takes what has arrived, steps the cell, lets out what may leave.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use perennial_engine::Time;
use perennial_proto::store::RunMessage;

use super::{Node, ToCell, commit_thread, load_threads, seed};
use crate::cell::{Cell, Effects, Input, World};

/// Inputs taken into one step.
const STEP_INPUTS: usize = 512;
/// A message that couldn't be delivered is tried again after this long.
const REDELIVER_AFTER: Duration = Duration::from_millis(200);
/// How often a lease is tried for while the store doesn't answer.
const RETRY_LEASE: Duration = Duration::from_millis(100);
const IDLE: Duration = Duration::from_secs(3600);

pub(super) fn start(
    node: &Arc<Node>,
    id: u32,
    inbox: Receiver<ToCell>,
) -> Result<JoinHandle<()>, crate::OpenError> {
    let cell = lease(node, id)?;
    let node = Arc::downgrade(node);
    let body = move || CellThread { id, node, cell, later: Vec::new() }.run(&inbox);
    Ok(thread::Builder::new().name(format!("cell-{id}")).spawn(body)?)
}

fn lease(node: &Node, id: u32) -> Result<Cell, perennial_store::Error> {
    let epoch = node.store.lease(id)?.epoch;
    let (limits, zones) = (Arc::clone(&node.limits), Arc::clone(&node.zones));
    Ok(Cell::new(id, epoch, seed(), limits, zones, node.runs_cached))
}

struct CellThread {
    id: u32,
    node: Weak<Node>,
    cell: Cell,
    later: Vec<RunMessage>,
}

enum Next {
    GoOn,
    End,
}

impl CellThread {
    fn run(mut self, inbox: &Receiver<ToCell>) {
        let mut is_stopping = false;
        loop {
            // Not held while waiting: a node that everyone else has dropped ends.
            let Some(wait) = self.node.upgrade().map(|node| self.wait(&node)) else { return };
            let mut inputs = Vec::new();
            let mut failed = None;
            let first = match inbox.recv_timeout(wait) {
                Ok(first) => Some(first),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let Some(node) = self.node.upgrade() else { return };
            let arrived = first.into_iter().chain(inbox.try_iter()).take(STEP_INPUTS);
            for what in arrived {
                match what {
                    ToCell::Input(input) => inputs.push(input),
                    ToCell::CommitFailed(why) => failed = Some(why),
                    ToCell::DeliverLater(message) => self.later.push(*message),
                    ToCell::Stop => is_stopping = true,
                }
            }
            if let Some(why) = failed {
                match self.begin_anew(&node, &why) {
                    Next::GoOn => {}
                    Next::End => return,
                }
            }
            self.step(&node, inputs);
            if is_stopping && self.cell.is_at_rest() {
                return;
            }
            if wait <= REDELIVER_AFTER {
                for message in std::mem::take(&mut self.later) {
                    node.deliver(Box::new(message));
                }
            }
        }
    }

    fn wait(&self, node: &Node) -> Duration {
        let until_wake = self.cell.next_wake().map_or(IDLE, |at| {
            let nanos = at.0.saturating_sub(node.now().0).max(0);
            Duration::from_nanos(nanos.unsigned_abs()).min(IDLE)
        });
        if self.later.is_empty() { until_wake } else { until_wake.min(REDELIVER_AFTER) }
    }

    fn step(&mut self, node: &Arc<Node>, inputs: Vec<Input>) {
        let namespaces = node.namespaces();
        let now: Time = node.now();
        let world = World { now, queues: &node.queues, namespaces: &namespaces };
        let Effects { loads, commit, releases, load_wakes } = self.cell.step(inputs, &world);
        if let Some(batch) = commit {
            let (cell, batch) = (self.id as usize, Box::new(batch));
            let _ = node.commits.send(commit_thread::Commit::Batch { cell, batch });
        }
        for wanted in loads {
            let load = load_threads::Load::Run { cell: self.id as usize, wanted };
            let _ = node.loads.send(load);
        }
        if let Some((after, up_to)) = load_wakes {
            let load = load_threads::Load::Wakes { cell: self.id as usize, after, up_to };
            let _ = node.loads.send(load);
        }
        for release in releases {
            node.release(release);
        }
    }

    /// What isn't durable hasn't happened: the cell begins anew from the store, under a new lease.
    fn begin_anew(&mut self, node: &Arc<Node>, why: &str) -> Next {
        let fresh = loop {
            match lease(node, self.id) {
                Ok(cell) => break cell,
                Err(perennial_store::Error::Fenced(_)) => return Next::End,
                Err(_) => thread::sleep(RETRY_LEASE),
            }
        };
        let lost = std::mem::replace(&mut self.cell, fresh).abandon();
        for release in lost {
            node.take_back(release, why);
        }
        while node.restore().is_err() {
            thread::sleep(RETRY_LEASE);
        }
        Next::GoOn
    }
}
