//! The identity of a node, and its proof.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The versions of the protocol between nodes that this release speaks. Two nodes use the highest common one, so a
/// new version is added one release before the oldest is removed.
pub const VERSIONS: RangeInclusive<u8> = 1..=1;

/// The longest id of a cluster or node in bytes: its length is one byte of the handshake.
pub(crate) const ID_BYTES_MAX: usize = 255;

/// The ids that a node gives when it connects, and the secret that proves them. [`Peers`](crate::Peers) and
/// [`serve_peers`](crate::serve_peers) of a node have the same.
///
/// ```
/// use perennial_peer::{PeerIdentity, PeerSecret};
///
/// let secret = PeerSecret::new([7; 32]);
/// let identity = PeerIdentity::new("orders", "node-1", secret)?;
/// assert!(!format!("{identity:?}").contains("7, 7"));
/// # Ok::<_, perennial_peer::InvalidId>(())
/// ```
#[derive(Debug, Clone)]
pub struct PeerIdentity {
    pub(crate) cluster_id: Arc<str>,
    pub(crate) node_id: Arc<str>,
    pub(crate) secret: PeerSecret,
    pub(crate) versions: RangeInclusive<u8>,
}

impl PeerIdentity {
    /// An identity that speaks [`VERSIONS`].
    pub fn new(cluster_id: &str, node_id: &str, secret: PeerSecret) -> Result<Self, InvalidId> {
        for (what, id) in [("cluster", cluster_id), ("node", node_id)] {
            check_id(id).map_err(|problem| InvalidId { what, problem })?;
        }
        let (cluster_id, node_id) = (cluster_id.into(), node_id.into());
        Ok(Self { cluster_id, node_id, secret, versions: VERSIONS })
    }

    /// The same node as another release: a test speaks the previous version with it.
    pub fn with_versions(self, versions: RangeInclusive<u8>) -> Self {
        Self { versions, ..self }
    }
}

/// The secret that proves that a node belongs to the cluster: 32 random bytes that all its nodes have. Debug output never shows
/// them.
#[derive(Clone)]
pub struct PeerSecret([u8; 32]);

impl PeerSecret {
    /// The secret from its bytes. They have to be random: a password isn't enough.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for PeerSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PeerSecret(..)")
    }
}

/// The id of a cluster or node can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the {what} id {problem}: use 1 to 255 bytes without control characters")]
pub struct InvalidId {
    what: &'static str,
    problem: &'static str,
}

/// Ids appear in logs, so those that could forge a line are refused at both ends.
pub(crate) fn check_id(id: &str) -> Result<(), &'static str> {
    match id {
        "" => Err("is empty"),
        _ if id.len() > ID_BYTES_MAX => Err("is too long"),
        _ if id.chars().any(char::is_control) => Err("has control characters"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_a_log_or_the_handshake_cannot_carry_are_refused() {
        let refused = |cluster: &str, node: &str| {
            PeerIdentity::new(cluster, node, PeerSecret::new([0; 32])).unwrap_err().to_string()
        };
        let rule = "use 1 to 255 bytes without control characters";
        assert_eq!(refused("", "n"), format!("the cluster id is empty: {rule}"));
        assert_eq!(refused("c", "a\nb"), format!("the node id has control characters: {rule}"));
        assert_eq!(refused("c", &"n".repeat(256)), format!("the node id is too long: {rule}"));
    }
}
