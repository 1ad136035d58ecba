//! Parts of a run or a schedule that are rows of their own: one message each, in a map.

use std::sync::Arc;

use perennial_proto::encoded;
use prost::{DecodeError, Message};

use crate::SharedMap;

/// The row of a part; `None` if there is no such part.
pub(crate) fn row<K: Ord, V: Message>(parts: &SharedMap<K, Arc<V>>, key: &K) -> Option<Vec<u8>> {
    parts.get(key).map(|part| encoded(&**part))
}

/// How long a part's row is; 0 if there is none.
pub(crate) fn row_len<K: Ord, V: Message>(parts: &SharedMap<K, Arc<V>>, key: &K) -> usize {
    parts.get(key).map_or(0, |part| part.encoded_len())
}

/// Takes a part from its row.
pub(crate) fn put<K: Ord + Clone, V: Message + Default>(
    parts: &mut SharedMap<K, Arc<V>>,
    key: K,
    row: &[u8],
) -> Result<(), DecodeError> {
    parts.insert(key, Arc::new(V::decode(row)?));
    Ok(())
}
