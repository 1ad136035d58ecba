//! Routes calls to the nodes of a cluster.
//!
//! Every RPC's row in the table (`rpcs.rs`) has a [`Routing`]. A message is routed by a scan of its bytes for the one
//! or two fields that matter: it may be large, and the node that passes it on needs nothing else of it.

use perennial_engine::{NamespaceKey, Slot};
use prost::bytes::Buf;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

use crate::tokens;

/// The nodes of a cluster that have to answer a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// The node that owns this slot.
    Slot(Slot),
    /// Any node.
    AnyNode,
    /// Every node: each answers for itself.
    EveryNode,
}

/// How the destination of an RPC is found.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Routing {
    /// By the slot of the entity that the message names.
    Entity(EntityFields),
    /// By the slot of the run that the message's task token names.
    TaskToken(&'static [Field]),
    AnyNode,
    EveryNode,
}

/// Where a message names an entity.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntityFields {
    /// The name of the namespace.
    pub(crate) namespace: &'static [Field],
    /// The workflow id, the schedule id or the id of the batch job.
    pub(crate) id: &'static [Field],
}

/// A field of a message. A path of them leads to a field within other messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    /// As in the `.proto` file. A test compares it with the number.
    #[cfg_attr(
        not(test),
        allow(dead_code, reason = "documents the number, and a test compares both")
    )]
    pub(crate) name: &'static str,
    pub(crate) number: u32,
}

impl Routing {
    /// The destination of a message. `namespace_key` finds the key of a namespace by its name.
    ///
    /// A message without an id, of an unknown namespace, or one that can't be decoded goes to any node: all refuse it
    /// alike.
    pub(crate) fn destination(
        &self,
        message: &[u8],
        namespace_key: impl Fn(&str) -> Option<NamespaceKey>,
    ) -> Destination {
        match self {
            Self::Entity(fields) => {
                let text = |path| field_at(message, path).and_then(|it| str::from_utf8(it).ok());
                let id = text(fields.id).filter(|id| !id.is_empty());
                let namespace = text(fields.namespace).and_then(namespace_key);
                match (namespace, id) {
                    (Some(namespace), Some(id)) => Destination::Slot(Slot::of(namespace, id)),
                    _ => Destination::AnyNode,
                }
            }
            Self::TaskToken(path) => {
                // The node that owns the run checks whether the token is genuine.
                let token = field_at(message, path).and_then(tokens::unverified_task);
                token.map_or(Destination::AnyNode, |token| {
                    Destination::Slot(Slot::of(NamespaceKey(token.namespace), &token.workflow_id))
                })
            }
            Self::AnyNode => Destination::AnyNode,
            Self::EveryNode => Destination::EveryNode,
        }
    }
}

/// The bytes of the text, byte string or message at a path of fields. As in every decoder, the last one counts if a
/// field stands in a message more than once.
pub(crate) fn field_at<'a>(message: &'a [u8], path: &[Field]) -> Option<&'a [u8]> {
    let Some((field, rest)) = path.split_first() else {
        return Some(message);
    };
    let (mut unread, mut last) = (message, None);
    while !unread.is_empty() {
        let (number, wire_type) = decode_key(&mut unread).ok()?;
        if number != field.number || wire_type != WireType::LengthDelimited {
            skip_field(wire_type, number, &mut unread, DecodeContext::default()).ok()?;
            continue;
        }
        let length = usize::try_from(decode_varint(&mut unread).ok()?).ok()?;
        let value = unread.get(..length)?;
        unread.advance(length);
        last = field_at(value, rest).or(last);
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn field(number: u32) -> Field {
        Field { name: "", number }
    }

    #[test]
    fn field_is_found_within_others_and_the_last_one_counts() {
        // Field 1 is a number, field 2 a message whose field 1 is a text.
        let message = b"\x08\x07\x12\x05\x0a\x03old\x1a\x01x\x12\x05\x0a\x03new\x12\x00";
        let path = [field(2), field(1)];
        assert_eq!(field_at(message, &path), Some(&b"new"[..]));
        assert_eq!(field_at(message, &[field(3)]), Some(&b"x"[..]));
        assert_eq!(field_at(message, &[field(1)]), None, "it isn't a text");
        assert_eq!(field_at(message, &[field(9)]), None);
        for length in 1..message.len() {
            // It may be found or not, but nothing is read beyond the end.
            field_at(&message[..length], &path);
        }
    }
}
