//! The thread that keeps a node in its cluster: renews its lease, and takes and gives cells.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use perennial_engine::{SlotRange, Time};
use perennial_proto::node::{CellsReleased, Confirmed};
use perennial_store::{CellId, ClusterView, Epoch, Error, StoredNode};

use super::assignment::{self, Plan};
use super::{Cluster, is_live};
use crate::node::{Node, PanicGuard, ToCell};
use crate::queues::NodeWeights;
use crate::{OpenError, namespaces};

/// Tells a node that cells may be free.
pub const CELLS_RELEASED: &str = "/perennial.node.v1.Node/CellsReleased";

/// Time between renewals. A lease has room for several of them.
const RENEWAL_INTERVAL: Duration = Duration::from_millis(500);

/// A lease has certainly ended this long after its end.
const LEASE_ENDED: Duration = Duration::from_millis(10);

/// An owner stops serving this long before its lease ends.
const MARGIN: Duration = Duration::from_millis(500);

/// A node whose clock differs from the database's by more gives its cells away.
const CLOCK_OFFSET_MAX: i64 = 500_000_000;

/// How long a node that starts waits until every cell has an owner.
const START_ROUNDS: u32 = 40;

/// Input of the thread.
pub(crate) enum Wakeup {
    /// Look now: something may have changed.
    Look,
    /// Give all cells away, then answer.
    Leave(Sender<()>),
    /// End.
    Stop,
}

/// Registers the node, takes its share of the cells, and starts the thread.
pub(crate) fn start(
    node: &Arc<Node>,
    cluster: &Arc<Cluster>,
    wakeups: Receiver<Wakeup>,
) -> Result<JoinHandle<()>, OpenError> {
    // Registered first: from now on a change of the records below waits until this node has confirmed it.
    let view = cluster.renew(node)?;
    if let Err(why) = cluster.understands_all(&view) {
        cluster.remove_node();
        return Err(Error::Fenced(why).into());
    }
    node.set_namespaces(namespaces::stored(node.store.as_ref())?);
    take_first_cells(node, cluster)?;
    let weak = Arc::downgrade(node);
    cluster.tasks.spawn(Arc::clone(cluster).announce_polled_queues(weak.clone()));
    cluster.tasks.spawn(Arc::clone(cluster).ask_for_polls(weak));
    let guard = PanicGuard::of(node);
    let (node, cluster) = (Arc::downgrade(node), Arc::clone(cluster));
    let body = move || {
        let _guard = guard;
        let mut leaving: Option<Sender<()>> = None;
        let mut failed = false;
        loop {
            match wakeups.recv_timeout(interval(&cluster)) {
                Ok(Wakeup::Look) | Err(RecvTimeoutError::Timeout) => {}
                Ok(Wakeup::Leave(left)) => {
                    cluster.registration().is_leaving = true;
                    leaving = Some(left);
                }
                Ok(Wakeup::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            }
            let Some(node) = node.upgrade() else { return };
            let renewed = cluster.renew(&node).and_then(|view| cluster.follow_plan(&node, &view));
            log_change(&mut failed, &renewed);
            let has_left = node.cells.all().is_empty() && node.draining_cells() == 0;
            if let Some(left) = leaving.take_if(|_| has_left) {
                // The receiver may have given up.
                let _ = left.send(());
            }
        }
    };
    Ok(thread::Builder::new().name("membership".to_owned()).spawn(body)?)
}

/// Nodes renew at different times, and also when the lease of another node ends: its cells are free then.
fn interval(cluster: &Cluster) -> Duration {
    let jitter = cluster.id.bytes().fold(0u64, |sum, byte| sum.wrapping_mul(31) + u64::from(byte));
    let interval = RENEWAL_INTERVAL - Duration::from_millis(jitter % 100);
    let view = cluster.view();
    let others = view.nodes.iter().filter(|node| node.registration.id != cluster.id);
    let leases = others.filter(|node| is_live(node)).map(|node| node.lease_left + LEASE_ENDED);
    leases.fold(interval, Duration::min)
}

/// Waits until every cell has an owner, so that a server that is ready can answer everything.
fn take_first_cells(node: &Arc<Node>, cluster: &Arc<Cluster>) -> Result<(), OpenError> {
    for _ in 0..START_ROUNDS {
        let view = cluster.renew(node)?;
        cluster.follow_plan(node, &view)?;
        let is_owned =
            |cell| node.owns(cell) || !matches!(cluster.owner_of(cell), super::Owner::Unknown);
        if view.cells.iter().all(|cell| is_owned(cell.slots.first())) {
            return Ok(());
        }
        thread::sleep(RENEWAL_INTERVAL / 2);
    }
    tracing::warn!("some cells have no owner yet: calls that need them wait");
    Ok(())
}

/// Logs when renewals begin to fail, and when they succeed again.
fn log_change(failed: &mut bool, renewed: &Result<(), Error>) {
    match renewed {
        Err(error) if !*failed => {
            tracing::error!(%error, "the node's lease isn't renewed: its cells stop when it ends");
        }
        Ok(()) if *failed => tracing::info!("the node's lease is renewed again"),
        Ok(()) | Err(_) => {}
    }
    *failed = renewed.is_err();
}

impl Cluster {
    /// Renews the lease, and ends cells that other nodes have taken.
    fn renew(&self, node: &Arc<Node>) -> Result<Arc<ClusterView>, Error> {
        // Counted from before the renewal was sent, by a clock that goes on while the machine is suspended.
        let (sent, sent_at) = (node.monotonic(), node.now());
        let registration = self.registration().clone();
        let view = self.cluster_store()?.renew_node(&registration, self.lease)?;
        let until = sent.after(self.lease.saturating_sub(MARGIN)).nanos();
        self.serves_until.store(until, Ordering::Release);
        self.compare_clocks(sent_at, node.now(), &view);
        for cell in node.cells.all().iter() {
            let stored = view.cells.iter().find(|stored| stored.slots == cell.slots);
            if stored.is_none_or(|stored| stored.owner != self.id) {
                cell.send(ToCell::Lost);
            }
        }
        node.queues.lending().set_nodes(self.weights(node, &view));
        let before = self.view();
        let view = Arc::new(view);
        self.view.send_replace(Arc::clone(&view));
        self.forget_gone(&before, &view);
        Ok(view)
    }

    /// Takes cells that are free, and gives away those that others should have.
    fn follow_plan(&self, node: &Arc<Node>, view: &ClusterView) -> Result<(), Error> {
        let Plan { take, give } = assignment::plan(view, &self.id);
        for cell in give {
            node.hand_over(cell);
        }
        let (mut has_taken, mut was_late) = (false, false);
        for cell in take.into_iter().chain(self.unstarted(node, view)) {
            if let Some(lease) = self.cluster_store()?.take_cell(cell, &self.id)? {
                let slots = lease.slots;
                node.start_taken_cell(lease).map_err(|error| match error {
                    OpenError::Store(error) => error,
                    OpenError::Thread(error) => Error::Unavailable(error.to_string()),
                })?;
                tracing::info!(cell = %slots, "took a cell");
                has_taken = true;
            } else {
                was_late = true;
            }
        }
        if was_late {
            // Another node was faster. There may be a cell that neither has tried.
            self.look();
        }
        if has_taken {
            node.note_taken_cells();
        }
        Ok(())
    }

    /// Cells that belong to this node and don't run, because the outcome of taking them was unknown.
    fn unstarted(&self, node: &Node, view: &ClusterView) -> Vec<CellId> {
        let own = view.cells.iter().filter(|cell| cell.owner == self.id);
        let runs = |first| node.owns(first) || node.is_draining(first);
        own.map(|cell| cell.slots.first()).filter(|first| !runs(*first)).map(CellId).collect()
    }

    /// Measures the offset between the clocks. A node that is off must not decide what is due.
    fn compare_clocks(&self, sent: Time, received: Time, view: &ClusterView) {
        let middle = sent.0.saturating_add(received.0.saturating_sub(sent.0) / 2);
        let offset = view.now.0.saturating_sub(middle);
        self.clock_offset.store(offset, Ordering::Relaxed);
        let others = view.nodes.iter().any(|node| node.registration.id != self.id && is_live(node));
        let uncertain = received.0.saturating_sub(sent.0) / 2;
        let is_off = offset.saturating_abs().saturating_sub(uncertain) > CLOCK_OFFSET_MAX && others;
        let mut clock_is_off =
            self.clock_is_off.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if is_off != *clock_is_off {
            *clock_is_off = is_off;
            self.registration().is_leaving = is_off;
            let milliseconds = offset / 1_000_000;
            if is_off {
                tracing::error!(
                    milliseconds,
                    "the clock differs from the database's: this node gives its cells away; set the clock"
                );
            } else {
                tracing::info!(milliseconds, "the clock agrees with the database's again");
            }
        }
    }

    /// The nodes and the numbers of their cells.
    fn weights(&self, node: &Node, view: &ClusterView) -> NodeWeights {
        let cells = |id: &str| view.cells.iter().filter(|cell| cell.owner == id).count();
        let others = view.nodes.iter().filter(|other| is_live(other));
        let others = others.map(|other| &other.registration).filter(|other| other.id != self.id);
        let others = others.map(|other| (other.address.clone(), cells(&other.id))).collect();
        NodeWeights { home: node.cells.all().len(), others }
    }

    /// Whether this node and all others understand each other, by the versions of the node protocol.
    fn understands_all(&self, view: &ClusterView) -> Result<(), String> {
        let own = self.registration().clone();
        let is_foreign = |other: &&StoredNode| {
            let other = &other.registration;
            other.protocol < own.oldest_protocol || own.protocol < other.oldest_protocol
        };
        match view.nodes.iter().filter(|node| is_live(node)).find(is_foreign) {
            None => Ok(()),
            Some(StoredNode { registration: other, .. }) => Err(format!(
                "this version can't work together with the node at {} (version {}), which speaks version {} to {} of \
                 the node protocol; this one speaks {} to {}: upgrade by way of a version between them",
                other.address,
                other.version,
                other.oldest_protocol,
                other.protocol,
                own.oldest_protocol,
                own.protocol
            )),
        }
    }

    /// Closes connections to nodes that are gone.
    fn forget_gone(&self, before: &ClusterView, view: &ClusterView) {
        let is_there = |gone: &&StoredNode| {
            let address = &gone.registration.address;
            view.nodes.iter().any(|node| is_live(node) && node.registration.address == *address)
        };
        for gone in before.nodes.iter().filter(|node| is_live(node) && !is_there(node)) {
            self.peers.forget(&gone.registration.address);
        }
    }

    /// Gives a cell up, and tells the other nodes: they look at once.
    pub(crate) fn release(self: &Arc<Self>, slots: SlotRange, epoch: Epoch) {
        let cell = CellId(slots.first());
        match self.cluster_store().and_then(|store| store.release_cell(cell, epoch)) {
            Ok(_) => tracing::info!(cell = %slots, "gave a cell away"),
            Err(error) => {
                tracing::warn!(cell = %slots, %error, "a cell can't be given away: its lease ends with the node's");
            }
        }
        self.look();
        for address in self.others() {
            let cluster = Arc::clone(self);
            self.tasks.spawn(async move {
                // A node that isn't told looks by itself, half a second later.
                let _: Result<Confirmed, _> =
                    cluster.send(&address, CELLS_RELEASED, &CellsReleased {}).await;
            });
        }
    }

    /// Has the thread look now.
    pub(crate) fn look(&self) {
        // It has ended with the node otherwise.
        let _ = self.membership.send(Wakeup::Look);
    }

    /// Gives all cells away. Completes when other nodes may take them.
    pub(crate) fn leave(&self) -> std::sync::mpsc::Receiver<()> {
        let (left, has_left) = std::sync::mpsc::channel();
        let _ = self.membership.send(Wakeup::Leave(left));
        has_left
    }

    /// Ends the thread.
    pub(crate) fn stop(&self) {
        // It has ended already otherwise.
        let _ = self.membership.send(Wakeup::Stop);
    }

    /// Takes the node out of the cluster, after its cells have ended.
    pub(crate) fn remove_node(&self) {
        if let Err(error) = self.cluster_store().and_then(|store| store.remove_node(&self.id)) {
            tracing::warn!(%error, "the node isn't taken out of the cluster: its lease ends by itself");
        }
    }
}
