//! The namespaces there are.

use std::collections::BTreeMap;
use std::sync::Arc;

use perennial_engine::NamespaceKey;
use perennial_proto::store::NamespaceRecord;

/// The namespaces there are. A snapshot: ask again for a later one.
#[derive(Debug, Clone, Default)]
pub struct Namespaces {
    by_name: BTreeMap<String, Arc<NamespaceRecord>>,
}

impl Namespaces {
    /// Those of the records that aren't deleted.
    pub(crate) fn of(records: impl IntoIterator<Item = NamespaceRecord>) -> Self {
        let alive = records.into_iter().filter(|record| record.deleted_at == 0);
        Self { by_name: alive.map(|record| (record.name.clone(), Arc::new(record))).collect() }
    }

    /// These and one more, or one altered.
    pub(crate) fn with(&self, record: Arc<NamespaceRecord>) -> Self {
        let mut by_name = self.by_name.clone();
        by_name.retain(|_, present| present.key != record.key);
        if record.deleted_at == 0 {
            by_name.insert(record.name.clone(), record);
        }
        Self { by_name }
    }

    /// By name, unless it is deleted.
    pub fn by_name(&self, name: &str) -> Option<&Arc<NamespaceRecord>> {
        self.by_name.get(name)
    }

    /// By its UUID.
    pub fn by_id(&self, id: &str) -> Option<&Arc<NamespaceRecord>> {
        self.by_name.values().find(|record| record.id == id)
    }

    /// By its interned key.
    pub fn by_key(&self, key: NamespaceKey) -> Option<&Arc<NamespaceRecord>> {
        self.by_name.values().find(|record| record.key == key.0)
    }

    /// All, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<NamespaceRecord>> {
        self.by_name.values()
    }
}
