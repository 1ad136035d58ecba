//! A node of a cluster: which cells it owns, where the others are, and calls between nodes.
//!
//! The database says who owns what: a node renews one row, and takes cells whose owner's lease has ended. There is no other
//! coordinator. A node's memory of that is a cache. The epoch in each batch makes sure that a wrong guess does no harm.
//!
//! Start reading at `membership.rs`, then at `assignment.rs`.

mod assignment;
mod entity_requests;
mod handle;
mod membership;
mod polled_queues;
mod records;
mod secret;
mod task_hints;

pub use self::entity_requests::{ENTITY_REQUEST, serve_entity_request};
pub use self::handle::Place;
pub use self::membership::CELLS_RELEASED;
pub(crate) use self::membership::start;
pub use self::polled_queues::POLLED_QUEUES;
pub(crate) use self::polled_queues::PolledElsewhere;
pub use self::records::RECORDS_CHANGED;
pub use self::task_hints::TASK_HINT;

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use perennial_engine::{Slot, Time};
use perennial_peer::{CallError, PeerAnswer, PeerCall, PeerIdentity, PeerLimits, PeerTls, Peers};
use perennial_store::{ClusterStore, ClusterView, NodeRegistration, Store, StoredNode};
use prost::Message;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};

use self::membership::Wakeup;
use crate::OpenError;
use crate::clock::Monotonic;

/// The version of the messages between nodes.
pub const NODE_PROTOCOL: u32 = 1;

/// Deliveries of messages to other nodes at a time. More are repeated later.
const DELIVERIES_MAX: usize = 1_000;

/// How a node takes part in a cluster.
#[derive(Debug, Clone)]
pub struct ClusterConfig {
    /// Host and port at which other nodes reach this one.
    pub address: String,
    /// How long the cells of a node that hangs stay its own. A node that is killed is replaced after it.
    pub lease: Duration,
    /// The version of the program, for people.
    pub version: String,
    /// Encrypts the calls between nodes.
    pub tls: Option<PeerTls>,
}

impl ClusterConfig {
    /// A node at this address, with the default lease of three seconds.
    pub fn new(address: String) -> Self {
        Self { address, lease: Duration::from_secs(3), version: String::new(), tls: None }
    }
}

/// A node's knowledge of its cluster.
pub(crate) struct Cluster {
    /// The node's id: another one after each start.
    id: String,
    address: String,
    lease: Duration,
    store: Arc<dyn Store>,
    registration: Mutex<NodeRegistration>,
    /// Proves to other nodes that this one can read the database.
    identity: PeerIdentity,
    tls: Option<PeerTls>,
    peers: Peers,
    tasks: Handle,
    /// As the last renewal returned it.
    view: watch::Sender<Arc<ClusterView>>,
    /// When this node stops serving unless it renews its lease, in nanoseconds of the monotonic clock.
    serves_until: AtomicU64,
    /// The database's clock minus this machine's, in nanoseconds.
    clock_offset: AtomicI64,
    membership: Sender<Wakeup>,
    deliveries: Arc<Semaphore>,
    /// Whether this machine's clock differs too much from the database's.
    clock_is_off: Mutex<bool>,
}

/// The node that owns a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// The node at this address.
    Node(String),
    /// Nobody that is known: the cell is being handed over or taken over.
    Unknown,
}

impl Cluster {
    /// Reads the cluster's secret. Registers nothing yet.
    pub(crate) fn open(
        store: &Arc<dyn Store>,
        config: &ClusterConfig,
        (id, new_cluster_id): (&str, &str),
        started_at: Time,
        membership: Sender<Wakeup>,
    ) -> Result<Self, OpenError> {
        let (cluster_id, secret) = secret::read_or_make(store.as_ref(), new_cluster_id)?;
        let identity = PeerIdentity::new(&cluster_id, id, secret).map_err(|error| {
            perennial_store::Error::Corrupt(format!("the id of the cluster is damaged: {error}"))
        })?;
        let tasks = Handle::try_current().map_err(std::io::Error::other)?;
        let peers = Peers::new(identity.clone(), config.tls.clone(), PeerLimits::default());
        let registration = NodeRegistration {
            id: id.to_owned(),
            address: config.address.clone(),
            protocol: NODE_PROTOCOL,
            oldest_protocol: NODE_PROTOCOL,
            version: config.version.clone(),
            is_leaving: false,
            started_at,
        };
        let view = ClusterView { now: started_at, nodes: Vec::new(), cells: Vec::new() };
        Ok(Self {
            id: id.to_owned(),
            address: config.address.clone(),
            lease: config.lease,
            store: Arc::clone(store),
            registration: Mutex::new(registration),
            identity,
            tls: config.tls.clone(),
            peers,
            tasks,
            view: watch::Sender::new(Arc::new(view)),
            serves_until: AtomicU64::new(0),
            clock_offset: AtomicI64::new(0),
            membership,
            deliveries: Arc::new(Semaphore::new(DELIVERIES_MAX)),
            clock_is_off: Mutex::default(),
        })
    }

    /// The node's id.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Identity and certificates, for the listener of the node port.
    pub(crate) fn identity(&self) -> (PeerIdentity, Option<PeerTls>) {
        (self.identity.clone(), self.tls.clone())
    }

    /// All nodes and cells, as the last renewal returned them.
    pub(crate) fn view(&self) -> Arc<ClusterView> {
        Arc::clone(&self.view.borrow())
    }

    /// Completes when nodes or owners may have changed.
    pub(crate) async fn changed(&self) {
        // The sender is in `self`.
        let _ = self.view.subscribe().changed().await;
    }

    /// The node that owns a slot, as far as this node knows. Its own slots are found among its cells.
    pub(crate) fn owner_of(&self, slot: Slot) -> Owner {
        let view = self.view.borrow();
        let place = view.cells.partition_point(|cell| cell.slots.last() < slot);
        let owner = view.cells.get(place).map_or("", |cell| cell.owner.as_str());
        match view.nodes.iter().find(|node| node.registration.id == owner && is_live(node)) {
            Some(node) if node.registration.id != self.id => {
                Owner::Node(node.registration.address.clone())
            }
            Some(_) | None => Owner::Unknown,
        }
    }

    /// Whether this node's lease runs. Without it another node may own its cells.
    pub(crate) fn may_serve(&self, now: Monotonic) -> bool {
        now.nanos() < self.serves_until.load(Ordering::Acquire)
    }

    /// The addresses of the other nodes whose lease runs.
    pub(crate) fn others(&self) -> Vec<String> {
        let view = self.view.borrow();
        let others = view.nodes.iter().filter(|node| node.registration.id != self.id);
        others.filter(|node| is_live(node)).map(|it| it.registration.address.clone()).collect()
    }

    /// This machine's time by the database's clock.
    pub(crate) fn database_time(&self, now: Time) -> Time {
        Time(now.0.saturating_add(self.clock_offset.load(Ordering::Relaxed)))
    }

    /// Calls another node. Dropping the future cancels the call there.
    pub(crate) async fn call(
        &self,
        address: &str,
        path: &str,
        head: Bytes,
        body: Bytes,
    ) -> Result<PeerAnswer, CallError> {
        self.peers.call(address, PeerCall { path: path.to_owned(), head, body }).await
    }

    /// Sends a message to another node, and returns its response.
    pub(crate) async fn send<T: Message + Default>(
        &self,
        address: &str,
        path: &str,
        message: &impl Message,
    ) -> Result<T, CallError> {
        let body = perennial_proto::encoded(message).into();
        let answer = self.call(address, path, Bytes::new(), body).await?;
        T::decode(answer.body).map_err(|error| {
            CallError::Lost(format!("the answer of {address} can't be read: {error}"))
        })
    }

    fn registration(&self) -> MutexGuard<'_, NodeRegistration> {
        self.registration.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The store, as that of a cluster.
    fn cluster_store(&self) -> Result<&dyn ClusterStore, perennial_store::Error> {
        let missing = || {
            let why = "the store can't be shared by several nodes".to_owned();
            perennial_store::Error::Unavailable(why)
        };
        self.store.cluster().ok_or_else(missing)
    }
}

fn is_live(node: &StoredNode) -> bool {
    !node.lease_left.is_zero()
}
