//! A map with undo.

use std::collections::BTreeMap;
use std::ops::RangeBounds;

/// An ordered map that can undo all changes since the last [`Table::keep`].
///
/// A refused commit is undone as a whole with [`Table::undo`].
#[derive(Debug, Clone)]
pub(super) struct Table<K, V> {
    rows: BTreeMap<K, V>,
    /// The former value of each change.
    before: Vec<(K, Option<V>)>,
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self { rows: BTreeMap::new(), before: Vec::new() }
    }
}

impl<K: Ord + Clone, V: Clone> Table<K, V> {
    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.rows.get(key)
    }

    pub(super) fn range(
        &self,
        range: impl RangeBounds<K>,
    ) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        self.rows.range(range)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.rows.values()
    }

    pub(super) fn put(&mut self, key: K, value: V) {
        let before = self.rows.insert(key.clone(), value);
        self.before.push((key, before));
    }

    pub(super) fn remove(&mut self, key: &K) {
        if let Some(before) = self.rows.remove(key) {
            self.before.push((key.clone(), Some(before)));
        }
    }

    pub(super) fn remove_range(&mut self, range: impl RangeBounds<K>) {
        let keys: Vec<K> = self.rows.range(range).map(|(key, _)| key.clone()).collect();
        keys.iter().for_each(|key| self.remove(key));
    }

    /// Commits the changes.
    pub(super) fn keep(&mut self) {
        self.before.clear();
    }

    /// Undoes the changes since the last `keep`.
    pub(super) fn undo(&mut self) {
        while let Some((key, before)) = self.before.pop() {
            match before {
                Some(value) => self.rows.insert(key, value),
                None => self.rows.remove(&key),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn undo_takes_back_puts_and_removals_in_the_right_order() {
        let mut table = Table::default();
        table.put(1, "one");
        table.put(2, "two");
        table.keep();
        table.put(1, "uno");
        table.remove(&1);
        table.put(1, "eins");
        table.remove_range(2..);
        table.put(3, "three");
        table.undo();
        assert_eq!(table.range(..).collect::<Vec<_>>(), [(&1, &"one"), (&2, &"two")]);
    }
}
