//! The nodes that share a store, and who of them owns which cells.

use std::time::Duration;

use perennial_engine::{SlotRange, Time};

use crate::{CellId, Epoch, Error, Lease, StoredCell};

/// How long a store keeps the connection and the transaction of a node that is cut off.
///
/// Such a transaction may hold the rows of a node or of its cells, and other nodes wait for them. So the lease of a node
/// must be longer.
pub const CUT_OFF_AFTER: Duration = Duration::from_secs(2);

/// How long a node whose lease has ended, and that owns nothing, is still shown to people.
pub(crate) const FORGOTTEN_AFTER: Duration = Duration::from_secs(10 * 60);

/// A node as it registers itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeRegistration {
    /// Its id, unique for each start of the process. Not empty.
    pub id: String,
    /// Host and port at which other nodes reach it.
    pub address: String,
    /// The version of the node protocol that it speaks.
    pub protocol: u32,
    /// The oldest version of the node protocol that it understands.
    pub oldest_protocol: u32,
    /// The version of its program, for people.
    pub version: String,
    /// Whether it gives its cells away and takes none.
    pub is_leaving: bool,
    /// When it started, by its own clock.
    pub started_at: Time,
}

/// A registered node, as the store sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredNode {
    /// What it registered last.
    pub registration: NodeRegistration,
    /// What is left of its lease by the store's clock; zero when the lease has ended.
    pub lease_left: Duration,
}

/// All nodes and cells at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterView {
    /// The store's clock.
    pub now: Time,
    /// The nodes, in the order of their ids.
    pub nodes: Vec<StoredNode>,
    /// The cells, in the order of their slots.
    pub cells: Vec<StoredCell>,
}

/// The nodes that share a store, and the conditional ownership of its cells.
///
/// A node owns cells while its own lease runs, so it renews one row, however many cells it has. All times are of the store's
/// clock; an owner stops serving a margin before its lease ends by its own monotonic clock, counted from before the renewal
/// was sent.
///
/// A lease that has ended takes no cell away: the owner's batches are fenced once another node has taken the cell. A
/// node that renews a lease that had ended sees in the answer which of its cells were taken meanwhile.
///
/// ```
/// use std::time::Duration;
///
/// use perennial_engine::Time;
/// use perennial_store::{CellId, ClusterStore, MemoryStore, NodeRegistration};
///
/// let node = |id: &str| NodeRegistration {
///     id: id.to_owned(),
///     address: "127.0.0.1:7235".to_owned(),
///     protocol: 1,
///     oldest_protocol: 1,
///     version: "1.0.0".to_owned(),
///     is_leaving: false,
///     started_at: Time(0),
/// };
/// let store = MemoryStore::new();
/// store.renew_node(&node("a"), Duration::from_secs(3))?;
/// store.renew_node(&node("b"), Duration::from_secs(3))?;
/// assert!(store.take_cell(CellId::FIRST, "a")?.is_some());
/// assert!(store.take_cell(CellId::FIRST, "b")?.is_none());
///
/// // Node b renews its lease in time, node a doesn't.
/// store.set_time(Time(2_000_000_000));
/// store.renew_node(&node("b"), Duration::from_secs(3))?;
/// store.set_time(Time(4_000_000_000));
/// assert!(store.take_cell(CellId::FIRST, "b")?.is_some());
/// # Ok::<(), perennial_store::Error>(())
/// ```
pub trait ClusterStore: Send + Sync {
    /// Registers a node or renews its lease, which ends `lease` from now. Returns all nodes and cells as they are
    /// afterwards. Forgets nodes whose lease ended more than ten minutes ago and that own nothing.
    fn renew_node(&self, node: &NodeRegistration, lease: Duration) -> Result<ClusterView, Error>;

    /// All nodes and cells, for operators and tools. Registers nothing.
    fn cluster_view(&self) -> Result<ClusterView, Error>;

    /// Removes a node, if it is there. Cells that it still owns become free.
    fn remove_node(&self, id: &str) -> Result<(), Error>;

    /// Makes a registered node with a running lease the owner of a cell, under a new epoch, if nobody else may own it:
    /// the cell has no owner, `node` is its owner already, or its owner isn't registered or has a lease that has ended.
    /// `None` if the node may not take it. [`Error::Fenced`] if there is no such cell.
    ///
    /// Waits for a commit of the owner before that is under way, so [`Lease::last_batch`] tells for certain what was
    /// committed.
    fn take_cell(&self, cell: CellId, node: &str) -> Result<Option<Lease>, Error>;

    /// Gives a cell up: it has no owner then. Its epoch and the number of its last batch stay, for the next owner's
    /// [`Lease::last_batch`]. False if it has another epoch, and then nothing changes.
    ///
    /// The owner commits nothing more under this epoch. It would be accepted until the next owner takes the cell.
    fn release_cell(&self, cell: CellId, epoch: Epoch) -> Result<bool, Error>;

    /// Replaces cells by others that have the same slots: splits or merges them while the rest of the cluster works. The new
    /// cells have no owner, an epoch that was never used, and no batch. Owners of the cells before are fenced.
    ///
    /// False if one of the cells is gone or has another epoch than the one given, and then nothing changes.
    /// [`Error::Conflict`] if the new cells don't have exactly the slots of the old ones, or if no cells are given.
    fn replace_cells(&self, old: &[(CellId, Epoch)], new: &[SlotRange]) -> Result<bool, Error>;
}
