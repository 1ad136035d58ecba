//! Snapshot of all namespaces.

use std::collections::BTreeMap;
use std::sync::Arc;

use perennial_engine::NamespaceKey;
use perennial_engine::run::NamespaceRef;
use perennial_proto::store::NamespaceRecord;
use perennial_store::{Error, RecordKind, Store};
use prost::Message;

/// A snapshot of all namespaces that aren't deleted.
#[derive(Debug, Clone, Default)]
pub struct Namespaces {
    by_name: BTreeMap<String, Arc<NamespaceRecord>>,
    by_key: BTreeMap<i64, Arc<NamespaceRecord>>,
    isolation: Isolation,
}

/// Whether the workflows of a namespace may reach into others: start children there, signal and cancel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Isolation {
    /// Into all.
    #[default]
    Open,
    /// Only into those that allow it: their `perennial.allow-from` names the namespace.
    Isolated,
}

/// The key in a namespace's data that names the namespaces whose workflows may reach into it, with commas between
/// them; `*` for all.
const ALLOW_FROM: &str = "perennial.allow-from";

impl Namespaces {
    /// A snapshot of the records that aren't deleted.
    pub(crate) fn of(
        records: impl IntoIterator<Item = NamespaceRecord>,
        isolation: Isolation,
    ) -> Self {
        Self { isolation, ..Self::default() }.and(records.into_iter().map(Arc::new))
    }

    /// The namespace with this name, if the workflows of `source` may reach into it.
    pub(crate) fn reachable(
        &self,
        name: &str,
        source: &NamespaceRecord,
    ) -> Option<&Arc<NamespaceRecord>> {
        let target = self.by_name(name)?;
        let is_allowed = match self.isolation {
            Isolation::Open => true,
            Isolation::Isolated => target.key == source.key || allows(target, &source.name),
        };
        is_allowed.then_some(target)
    }

    /// A snapshot of these records in place of the present ones.
    pub(crate) fn replaced_by(&self, records: Vec<NamespaceRecord>) -> Self {
        Self::of(records, self.isolation)
    }

    /// A snapshot with a record added or replaced.
    pub(crate) fn with(&self, record: Arc<NamespaceRecord>) -> Self {
        self.clone().and([record])
    }

    fn and(mut self, records: impl IntoIterator<Item = Arc<NamespaceRecord>>) -> Self {
        for record in records {
            if let Some(present) = self.by_key.remove(&record.key) {
                self.by_name.remove(&present.name);
            }
            if record.deleted_at == 0 {
                self.by_name.insert(record.name.clone(), Arc::clone(&record));
                self.by_key.insert(record.key, record);
            }
        }
        self
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
        self.by_key.get(&key.0)
    }

    /// All, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<NamespaceRecord>> {
        self.by_name.values()
    }
}

fn allows(target: &NamespaceRecord, source: &str) -> bool {
    let allowed = target.data.get(ALLOW_FROM).map_or("", String::as_str);
    allowed.split(',').map(str::trim).any(|name| name == "*" || name == source)
}

/// The engine's reference to a namespace.
pub(crate) fn reference(record: &NamespaceRecord) -> NamespaceRef {
    let (key, id, name) = (NamespaceKey(record.key), record.id.clone(), record.name.clone());
    NamespaceRef { key, id, name }
}

/// All stored namespaces, including deleted ones.
pub(crate) fn stored(store: &dyn Store) -> Result<Vec<NamespaceRecord>, Error> {
    const PAGE: usize = 1_000;
    let mut records = Vec::new();
    let mut after = String::new();
    loop {
        let page = store.records(RecordKind::Namespace, "", &after, PAGE)?;
        let Some((last, _)) = page.last() else { return Ok(records) };
        after.clone_from(last);
        for (key, value) in page {
            let record = NamespaceRecord::decode(value.as_slice())
                .map_err(|error| Error::Corrupt(format!("namespace {key}: {error}")))?;
            records.push(record);
        }
    }
}

/// The record in a stored value; `None` if there is none, or it can't be read.
pub(crate) fn decoded(value: Option<&[u8]>) -> Option<NamespaceRecord> {
    value.and_then(|value| NamespaceRecord::decode(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn namespace(key: i64, name: &str, allow_from: &str) -> NamespaceRecord {
        let data = [(ALLOW_FROM.to_owned(), allow_from.to_owned())].into();
        NamespaceRecord { key, name: name.to_owned(), data, ..NamespaceRecord::default() }
    }

    #[test]
    fn isolated_namespaces_are_reached_only_by_those_they_allow() {
        let shop = namespace(1, "shop", "");
        let records = [shop.clone(), namespace(2, "bank", "tax, shop"), namespace(3, "open", "*")];
        let isolated = Namespaces::of(records.clone(), Isolation::Isolated);
        let reached = |name: &str| isolated.reachable(name, &shop).is_some();
        assert!(reached("shop") && reached("bank") && reached("open"));
        assert!(!reached("nowhere"));
        let bank = isolated.by_name("bank").unwrap();
        assert!(isolated.reachable("shop", bank).is_none());
        let open = Namespaces::of(records, Isolation::Open);
        assert!(open.reachable("shop", bank).is_some());
    }
}
