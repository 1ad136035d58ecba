//! Connections between the nodes of a cluster: calls as bytes, and their answers.
//!
//! Knows nothing of what the calls mean, and doesn't retry a call that may have been carried out. It only says
//! whether that is so ([`CallError`]).
//!
//! A connection begins with a handshake in which both nodes prove that they know the cluster's secret
//! (`handshake/`). HTTP/2 follows: a call is a POST, and cancelling it resets its stream. Pings find nodes that hang
//! or are cut off.
//!
//! **The secret isn't encryption.** It proves both ends when they connect. Whoever can read or change packets between
//! two nodes can read and change their calls. Use [`PeerTls`] on a network that isn't trusted.
//!
//! Start reading at [`Peers`], which calls, and [`serve_peers`], which answers.

mod call;
mod closable_stream;
mod connection;
mod envelope;
mod handshake;
mod identity;
mod limits;
mod link;
mod peers;
mod refusal_log;
mod respond;
mod serve;
mod socket;
mod tls;

pub use call::{CallError, PeerAnswer, PeerCall, PeerNode};
pub use identity::{InvalidId, PeerIdentity, PeerSecret, VERSIONS};
pub use limits::PeerLimits;
pub use peers::Peers;
pub use serve::serve_peers;
pub use tls::{PeerTls, PeerTlsError, PeerTlsFiles};
