//! A bounded number of series under names that users choose.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// The label of what has no series of its own.
pub const OTHER: &str = "_other";

/// Values by a key that users choose, such as a task queue: the first `max` keys have a value of their own, all others
/// share one. So a client that makes up names can't fill the memory of the server or of Prometheus.
///
/// A key keeps its value until [`retain`](Self::retain) drops it: a counter never moves from one series to another.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use perennial_telemetry::BoundedSeries;
///
/// let mut series = BoundedSeries::<&str, AtomicU64>::new(1);
/// series.get("a").fetch_add(1, Ordering::Relaxed);
/// series.get("b").fetch_add(2, Ordering::Relaxed);
/// series.get("c").fetch_add(3, Ordering::Relaxed);
/// let values = |key: Option<&&str>| {
///     series.iter().find(|(it, _)| *it == key).map(|(_, value)| value.load(Ordering::Relaxed))
/// };
/// assert_eq!((values(Some(&"a")), values(None)), (Some(1), Some(5)));
/// ```
#[derive(Debug)]
pub struct BoundedSeries<K, V> {
    max: usize,
    own: HashMap<K, Arc<V>>,
    other: Arc<V>,
}

impl<K: Eq + Hash, V: Default> BoundedSeries<K, V> {
    /// No series yet, and at most `max` of their own.
    pub fn new(max: usize) -> Self {
        Self { max, own: HashMap::new(), other: Arc::default() }
    }

    /// The value of a key: its own, or the shared one.
    pub fn get(&mut self, key: K) -> Arc<V> {
        if let Some(own) = self.own.get(&key) {
            return Arc::clone(own);
        }
        if self.own.len() >= self.max {
            return Arc::clone(&self.other);
        }
        Arc::clone(self.own.entry(key).or_default())
    }

    /// Whether a key has a value of its own.
    pub fn has_own(&self, key: &K) -> bool {
        self.own.contains_key(key)
    }

    /// Drops the series of keys that are gone.
    pub fn retain(&mut self, is_alive: impl Fn(&K) -> bool) {
        self.own.retain(|key, _| is_alive(key));
    }

    /// Every key with its value; `None` for the shared one.
    pub fn iter(&self) -> impl Iterator<Item = (Option<&K>, &V)> {
        let own = self.own.iter().map(|(key, value)| (Some(key), value.as_ref()));
        own.chain(std::iter::once((None, self.other.as_ref())))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn series_that_is_dropped_makes_room_for_another() {
        let mut series = BoundedSeries::<u32, AtomicU64>::new(2);
        for key in 0..1_000 {
            series.get(key).fetch_add(1, Ordering::Relaxed);
        }
        assert_eq!(series.iter().count(), 3);
        let other = series.iter().find(|(key, _)| key.is_none()).unwrap().1;
        assert_eq!(other.load(Ordering::Relaxed), 998);
        series.retain(|key| *key != 0);
        assert!(!series.has_own(&0));
        series.get(7);
        assert!(series.has_own(&7) && series.has_own(&1));
    }
}
