//! The first message of each node.

use std::ops::RangeInclusive;

use super::HandshakeError;
use crate::identity::{PeerIdentity, check_id};

/// Every hello begins with these bytes, in all versions.
const MAGIC: &[u8; 8] = b"PRNLPEER";
/// Bytes of a nonce.
const NONCE_BYTES: usize = 32;
/// Bytes before the ids: magic, oldest and newest version, nonce, the lengths of both ids.
const FIXED_BYTES: usize = MAGIC.len() + 2 + NONCE_BYTES + 2;

/// The first message of each node: who it is, which versions it speaks, and its challenge.
///
/// ```text
/// magic 8 | oldest version 1 | newest version 1 | nonce 32 | length 1 | length 1 | cluster id | node id
/// ```
///
/// The layout is the same in all versions: the version is chosen by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(super) versions: RangeInclusive<u8>,
    pub(super) nonce: [u8; NONCE_BYTES],
    pub(super) cluster_id: String,
    pub(super) node_id: String,
}

/// Outcome of [`Hello::parse`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    /// The bytes so far are the beginning of a hello. The next step needs as many bytes as this in total.
    Needs(usize),
    /// The bytes are a hello.
    Whole(Hello),
}

impl Hello {
    /// The hello of this node, with a new nonce.
    pub(super) fn new(identity: &PeerIdentity) -> Result<Self, HandshakeError> {
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce)
            .map_err(|error| HandshakeError::NoRandomness(error.to_string()))?;
        Ok(Self {
            versions: identity.versions.clone(),
            nonce,
            cluster_id: identity.cluster_id.to_string(),
            node_id: identity.node_id.to_string(),
        })
    }

    /// Parses the bytes of a hello. It is bounded: at most 554 bytes are asked for, and a wrong magic is noticed as
    /// soon as it is there, so that clients of other protocols are refused without waiting.
    pub(super) fn parse(bytes: &[u8]) -> Result<Parsed, HandshakeError> {
        let Some(magic) = bytes.first_chunk::<8>() else {
            return Ok(Parsed::Needs(MAGIC.len()));
        };
        if magic != MAGIC {
            return Err(HandshakeError::NotANode);
        }
        let Some(&[.., cluster_len, node_len]) = bytes.first_chunk::<FIXED_BYTES>() else {
            return Ok(Parsed::Needs(FIXED_BYTES));
        };
        let cluster_end = FIXED_BYTES + usize::from(cluster_len);
        let end = cluster_end + usize::from(node_len);
        if bytes.len() < end {
            return Ok(Parsed::Needs(end));
        }
        if bytes.len() > end {
            return Err(HandshakeError::Malformed("it is longer than it says"));
        }
        let (oldest, newest) = (bytes[8], bytes[9]);
        if oldest > newest {
            return Err(HandshakeError::Malformed("its oldest version is newer than its newest"));
        }
        let mut nonce = [0; NONCE_BYTES];
        nonce.copy_from_slice(&bytes[10..10 + NONCE_BYTES]);
        Ok(Parsed::Whole(Self {
            versions: oldest..=newest,
            nonce,
            cluster_id: id(&bytes[FIXED_BYTES..cluster_end])?,
            node_id: id(&bytes[cluster_end..end])?,
        }))
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let length = |id: &str| u8::try_from(id.len()).expect("ids are checked when they are made");
        let mut bytes =
            Vec::with_capacity(FIXED_BYTES + self.cluster_id.len() + self.node_id.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&[*self.versions.start(), *self.versions.end()]);
        bytes.extend_from_slice(&self.nonce);
        bytes.extend_from_slice(&[length(&self.cluster_id), length(&self.node_id)]);
        bytes.extend_from_slice(self.cluster_id.as_bytes());
        bytes.extend_from_slice(self.node_id.as_bytes());
        bytes
    }
}

fn id(bytes: &[u8]) -> Result<String, HandshakeError> {
    let id = str::from_utf8(bytes).map_err(|_| HandshakeError::Malformed("an id isn't UTF-8"))?;
    check_id(id)
        .map_err(|_| HandshakeError::Malformed("an id is empty or has control characters"))?;
    Ok(id.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hello() -> Hello {
        Hello {
            versions: 1..=3,
            nonce: [9; NONCE_BYTES],
            cluster_id: "c".to_owned(),
            node_id: "node".to_owned(),
        }
    }

    #[test]
    fn another_protocol_is_refused_by_its_first_eight_bytes() {
        assert_eq!(Hello::parse(b"GET / HT"), Err(HandshakeError::NotANode));
        assert_eq!(Hello::parse(b"GET /"), Ok(Parsed::Needs(8)));
    }

    #[test]
    fn versions_in_the_wrong_order_and_unsafe_ids_are_refused() {
        let refused = |change: fn(&mut Vec<u8>)| {
            let mut bytes = hello().encode();
            change(&mut bytes);
            matches!(Hello::parse(&bytes), Err(HandshakeError::Malformed(_)))
        };
        assert!(!refused(|_| {}));
        assert!(refused(|bytes| bytes[8] = 4));
        assert!(refused(|bytes| bytes[FIXED_BYTES] = b'\n'));
        assert!(refused(|bytes| bytes[FIXED_BYTES] = 0xff));
        assert!(refused(|bytes| bytes.push(0)));
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(
            has_magic: bool,
            bytes in proptest::collection::vec(any::<u8>(), 0..700),
        ) {
            let mut input = if has_magic { MAGIC.to_vec() } else { Vec::new() };
            input.extend(bytes);
            match Hello::parse(&input) {
                Ok(Parsed::Needs(total)) => prop_assert!(input.len() < total && total <= 554),
                Ok(Parsed::Whole(hello)) => prop_assert_eq!(hello.encode(), input),
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }

        #[test]
        fn a_hello_is_read_as_it_was_written(
            oldest: u8, nonce: [u8; 32], cluster_id in "[^\\p{Cc}]{1,60}", node_id in "[^\\p{Cc}]{1,60}",
        ) {
            let hello = Hello { versions: oldest..=u8::MAX, nonce, cluster_id, node_id };
            let bytes = hello.encode();
            for end in 0..bytes.len() {
                let needs = matches!(Hello::parse(&bytes[..end]), Ok(Parsed::Needs(total)) if total > end);
                prop_assert!(needs);
            }
            prop_assert_eq!(Hello::parse(&bytes), Ok(Parsed::Whole(hello)));
        }
    }
}
