//! Why a handshake failed.

use std::io;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Why a handshake failed. The texts speak of the node at the other end, and say what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HandshakeError {
    #[error(
        "it doesn't speak the protocol between nodes: check that the address is the node port of a node, and that \
         both nodes use TLS or neither does"
    )]
    NotANode,
    #[error("its first message of the handshake is wrong: {0}")]
    Malformed(&'static str),
    #[error(
        "it belongs to the cluster `{theirs}` and this node to `{ours}`: check the address and the cluster's id of \
         both nodes"
    )]
    OtherCluster { ours: String, theirs: String },
    #[error(
        "it speaks versions {} to {} of the protocol between nodes and this node {} to {}: upgrade the older node, \
         one release after the other",
        theirs.start(), theirs.end(), ours.start(), ours.end()
    )]
    NoCommonVersion { ours: RangeInclusive<u8>, theirs: RangeInclusive<u8> },
    #[error("it has another secret: give all nodes of the cluster the same secret")]
    WrongSecret,
    #[error(
        "it has as many connections as it allows: raise its limit of connections between nodes"
    )]
    Full,
    #[error(
        "the handshake took longer than {0:?}: the node hangs or is overloaded, or it is no node"
    )]
    TimedOut(Duration),
    #[error(
        "it closed the connection during the handshake: its log says why (if it requires TLS, turn TLS on here too)"
    )]
    Ended,
    #[error("the connection failed during the handshake: {0}")]
    Io(String),
    #[error(
        "the TLS handshake failed: {0}: check the certificates of both nodes, and that both use TLS"
    )]
    Tls(String),
    #[error("the operating system gave no random bytes: {0}")]
    NoRandomness(String),
}

impl From<io::Error> for HandshakeError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe => Self::Ended,
            _ => Self::Io(error.to_string()),
        }
    }
}
