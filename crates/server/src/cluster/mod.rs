//! The nodes of a cluster: calls are passed on to the node that owns the entity, and polls to the node with tasks.
//!
//! A call is passed on once, as bytes, with the principal that the first node has found out. Clients never see it.

mod call_head;
mod every_node;
mod forwarding;
mod node_port;
mod polls;

pub use self::node_port::serve_node_port;

pub(crate) use self::forwarding::answer;
pub(crate) use self::polls::LentSlot;
