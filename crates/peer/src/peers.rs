//! Calls to other nodes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::call::{CallError, PeerAnswer, PeerCall, PeerNode};
use crate::connection::{Failure, Settings};
use crate::identity::PeerIdentity;
use crate::limits::PeerLimits;
use crate::link::Link;
use crate::tls::PeerTls;

/// Calls other nodes: one HTTP/2 connection for each address, made when it is needed. Clones share the connections.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use perennial_peer::{PeerCall, PeerIdentity, PeerLimits, PeerSecret, Peers};
///
/// let identity = PeerIdentity::new("orders", "node-1", PeerSecret::new([7; 32]))?;
/// let peers = Peers::new(identity, None, PeerLimits::default());
/// let call = PeerCall { path: "/hello".to_owned(), head: "from".into(), body: "node-1".into() };
/// let answer = peers.call("10.0.0.2:7235", call).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Peers(Arc<Shared>);

struct Shared {
    settings: Arc<Settings>,
    links: Mutex<HashMap<String, Arc<Link>>>,
}

impl Peers {
    /// Connects to nobody yet.
    pub fn new(identity: PeerIdentity, tls: Option<PeerTls>, limits: PeerLimits) -> Self {
        let settings = Arc::new(Settings { identity, tls, limits });
        Self(Arc::new(Shared { settings, links: Mutex::default() }))
    }

    /// Calls the node at an address, `host:port`. Dropping the future cancels the call there. Must be called within
    /// a tokio runtime.
    pub async fn call(&self, address: &str, call: PeerCall) -> Result<PeerAnswer, CallError> {
        let bytes_max = self.0.settings.limits.message_bytes_max.min(MESSAGE_BYTES_MAX);
        let bytes = call.head.len().saturating_add(call.body.len());
        if bytes > bytes_max {
            return Err(CallError::TooLarge(format!(
                "the call has {bytes} bytes, more than {bytes_max}, the limit of messages between nodes"
            )));
        }
        let link = self.link(address)?;
        let mut is_retry = false;
        loop {
            let connection = link.connection().await;
            let connection =
                connection.map_err(|reason| CallError::NotDelivered(reason.to_string()))?;
            match connection.call(call.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(Failure::Final(error)) => return Err(error),
                // The connection ended when it was about to be used, for instance because the node was restarted.
                Err(Failure::Unsent(_)) if !is_retry => is_retry = true,
                Err(Failure::Unsent(reason)) => return Err(CallError::NotDelivered(reason)),
            }
        }
    }

    /// The node that the connection to an address leads to. `None` without a connection.
    pub fn node(&self, address: &str) -> Option<PeerNode> {
        self.links().get(address)?.node()
    }

    /// Closes the connection to a node that has left. Its calls in progress are lost. A later call connects again.
    pub fn forget(&self, address: &str) {
        let link = self.links().remove(address);
        if let Some(link) = link {
            link.close();
        }
    }

    fn link(&self, address: &str) -> Result<Arc<Link>, CallError> {
        let mut links = self.links();
        if let Some(link) = links.get(address) {
            return Ok(Arc::clone(link));
        }
        let connections_max = self.0.settings.limits.connections_max;
        if links.len() >= connections_max {
            return Err(CallError::NotDelivered(format!(
                "the node at {address} can't be called: there are connections to {connections_max} nodes, as many as \
                 are allowed"
            )));
        }
        let link = Link::new(address, Arc::clone(&self.0.settings));
        links.insert(address.to_owned(), Arc::clone(&link));
        Ok(link)
    }

    fn links(&self) -> MutexGuard<'_, HashMap<String, Arc<Link>>> {
        self.0.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The length of a head has 32 bits.
const MESSAGE_BYTES_MAX: usize = u32::MAX as usize;
