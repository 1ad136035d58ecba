//! Calls, answers, and why a call has none.

use std::sync::Arc;

use bytes::Bytes;

/// A call to a node. `head` and `body` are opaque: context and message. Clones share the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerCall {
    /// The path of an HTTP request. It begins with `/`.
    pub path: String,
    /// The call's context.
    pub head: Bytes,
    /// The call's message.
    pub body: Bytes,
}

/// The answer to a [`PeerCall`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerAnswer {
    /// The answer's context.
    pub head: Bytes,
    /// The answer's message.
    pub body: Bytes,
}

/// A node at the other end of a connection. It has proved that it knows the cluster's secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerNode {
    /// The id that the node gave itself.
    pub id: Arc<str>,
    /// The version of the protocol that both nodes use on this connection.
    pub version: u8,
}

/// Why a call has no answer. The variants say what the caller may do next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The node's handler has certainly not been started: no connection, refused handshake, refused stream. The call
    /// may be made elsewhere.
    #[error("{0}")]
    NotDelivered(String),
    /// The handler has certainly not been started, because the call is larger than a node accepts. A retry doesn't
    /// help.
    #[error("{0}")]
    TooLarge(String),
    /// The call was sent, and no answer arrived: the connection was lost, or the handler failed. The call may have
    /// been carried out.
    #[error("{0}")]
    Lost(String),
}
