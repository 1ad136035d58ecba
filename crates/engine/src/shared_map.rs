//! A persistent ordered map: copies share the chunks that they have in common.
//!
//! Each step of a run or a schedule works on a copy, and most steps change one entry of one map. Cloning a plain map
//! would cost O(n) for each step: with a thousand open runs, each start would copy a thousand entries. Here a clone is
//! cheap and a change copies one chunk.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// The most entries in a chunk.
const CHUNK_MAX: usize = 32;

/// A persistent ordered map; see the module's documentation.
///
/// ```
/// use perennial_engine::SharedMap;
///
/// let mut one: SharedMap<i64, &str> = [(2, "b"), (1, "a")].into_iter().collect();
/// let other = one.clone();
/// one.insert(3, "c");
/// assert_eq!(one.remove(&1), Some("a"));
/// assert_eq!(one.values().copied().collect::<String>(), "bc");
/// assert_eq!(other.values().copied().collect::<String>(), "ab");
/// ```
pub struct SharedMap<K, V> {
    /// Chunks in ascending order, each sorted and none empty.
    chunks: Arc<Vec<Chunk<K, V>>>,
    len: usize,
}

type Chunk<K, V> = Arc<Vec<(K, V)>>;

impl<K, V> SharedMap<K, V> {
    /// The number of entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the map has no entries.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All entries, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        self.chunks.iter().flat_map(|chunk| chunk.iter()).map(|(key, value)| (key, value))
    }

    /// All keys, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    /// All values, in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }
}

impl<K: Ord, V> SharedMap<K, V> {
    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let chunk = self.chunks.get(self.chunk_of(key)?)?;
        let place = place_in(chunk, key).ok()?;
        chunk.get(place).map(|(_, value)| value)
    }

    /// Whether the map has the key.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get(key).is_some()
    }

    /// The only chunk that may hold the key; `None` if the map is empty.
    fn chunk_of<Q: Ord + ?Sized>(&self, key: &Q) -> Option<usize>
    where
        K: Borrow<Q>,
    {
        let begins_after =
            |chunk: &Chunk<K, V>| chunk.first().is_some_and(|(first, _)| first.borrow() > key);
        let after = self.chunks.partition_point(|chunk| !begins_after(chunk));
        (!self.chunks.is_empty()).then(|| after.saturating_sub(1))
    }
}

impl<K: Ord + Clone, V: Clone> SharedMap<K, V> {
    /// Inserts an entry and returns the value it replaces.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let index = self.chunk_of(&key);
        let chunks = Arc::make_mut(&mut self.chunks);
        let Some(index) = index else {
            chunks.push(Arc::new(vec![(key, value)]));
            self.len += 1;
            return None;
        };
        let chunk = Arc::make_mut(&mut chunks[index]);
        let place = match place_in(chunk, &key) {
            Ok(place) => return Some(std::mem::replace(&mut chunk[place].1, value)),
            Err(place) => place,
        };
        chunk.insert(place, (key, value));
        self.len += 1;
        if chunk.len() > CHUNK_MAX {
            // Most keys ascend: splitting off the last entry leaves full chunks behind.
            let at = if place + 1 == chunk.len() { place } else { chunk.len() / 2 };
            let rest = chunk.split_off(at);
            chunks.insert(index + 1, Arc::new(rest));
        }
        None
    }

    /// A mutable reference to the value of a key. Copies the chunk if it is shared.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let index = self.chunk_of(key)?;
        let place = place_in(&self.chunks[index], key).ok()?;
        let chunk = Arc::make_mut(&mut Arc::make_mut(&mut self.chunks)[index]);
        Some(&mut chunk[place].1)
    }

    /// Removes an entry and returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let index = self.chunk_of(key)?;
        let place = place_in(&self.chunks[index], key).ok()?;
        let chunks = Arc::make_mut(&mut self.chunks);
        let chunk = Arc::make_mut(&mut chunks[index]);
        let (_, value) = chunk.remove(place);
        if chunk.is_empty() {
            chunks.remove(index);
        }
        self.len -= 1;
        Some(value)
    }
}

fn place_in<K: Borrow<Q>, V, Q: Ord + ?Sized>(chunk: &[(K, V)], key: &Q) -> Result<usize, usize> {
    chunk.binary_search_by(|(known, _)| known.borrow().cmp(key))
}

/// For keys that are known to be present.
impl<K: Ord + Borrow<Q>, V, Q: Ord + ?Sized> std::ops::Index<&Q> for SharedMap<K, V> {
    type Output = V;

    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("the key is present")
    }
}

impl<K, V> Clone for SharedMap<K, V> {
    fn clone(&self) -> Self {
        Self { chunks: Arc::clone(&self.chunks), len: self.len }
    }
}

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> Self {
        Self { chunks: Arc::default(), len: 0 }
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for SharedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SharedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Ord + Clone, V: Clone> FromIterator<(K, V)> for SharedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::default();
        for (key, value) in entries {
            map.insert(key, value);
        }
        map
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_does_as_an_ordered_map_does(
            changes in prop::collection::vec((0_u8..100, any::<bool>()), 0..600),
        ) {
            let mut map = SharedMap::default();
            let mut model = BTreeMap::new();
            for (step, (key, is_put)) in changes.into_iter().enumerate() {
                let before = (map.clone(), model.clone());
                if is_put {
                    prop_assert_eq!(map.insert(key, step), model.insert(key, step));
                } else {
                    prop_assert_eq!(map.remove(&key), model.remove(&key));
                }
                prop_assert_eq!(map.get(&key), model.get(&key));
                prop_assert_eq!(map.len(), model.len());
                prop_assert!(map.iter().eq(model.iter()));
                prop_assert!(before.0.iter().eq(before.1.iter()), "a copy has changed");
            }
        }
    }

    #[test]
    fn ascending_keys_fill_chunks() {
        let map: SharedMap<i64, ()> = (0..1_000).map(|key| (key, ())).collect();
        assert_eq!(map.chunks.len(), 1_000_usize.div_ceil(CHUNK_MAX));
    }
}
