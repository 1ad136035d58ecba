//! Encoding and decoding of parts that are kept in a map and stored in rows of their own.

use std::sync::Arc;

use perennial_proto::encoded;
use prost::{DecodeError, Message};

use crate::SharedMap;

/// The encoded row of a part; `None` if there is no such part.
pub(crate) fn row<K: Ord, V: Message>(parts: &SharedMap<K, Arc<V>>, key: &K) -> Option<Vec<u8>> {
    parts.get(key).map(|part| encoded(&**part))
}

/// The length of a part's encoded row; 0 if there is no such part.
pub(crate) fn row_len<K: Ord, V: Message>(parts: &SharedMap<K, Arc<V>>, key: &K) -> usize {
    parts.get(key).map_or(0, |part| part.encoded_len())
}

/// Decodes a part's row into the map.
pub(crate) fn put<K: Ord + Clone, V: Message + Default>(
    parts: &mut SharedMap<K, Arc<V>>,
    key: K,
    row: &[u8],
) -> Result<(), DecodeError> {
    parts.insert(key, Arc::new(V::decode(row)?));
    Ok(())
}
