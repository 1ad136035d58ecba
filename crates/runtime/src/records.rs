//! Records of the whole cluster: namespaces, and permanent facts such as the cluster's id.

use std::sync::Arc;

use perennial_engine::NamespaceKey;
use perennial_engine::run::Rejection;
use perennial_proto::encoded;
use perennial_proto::node::SharedRecords;
use perennial_proto::store::NamespaceRecord;
use perennial_store::{RecordKind, RecordWrite, Store};

use crate::{Refusal, Runtime, namespaces};

/// A change of a namespace, or the reason why it is rejected.
pub type NamespaceChange = Box<dyn FnOnce(&mut NamespaceRecord) -> Result<(), Rejection> + Send>;

impl Runtime {
    /// Adds a namespace and assigns its key. Rejected if the name is taken.
    pub async fn register_namespace(
        &self,
        mut record: NamespaceRecord,
    ) -> Result<Arc<NamespaceRecord>, Refusal> {
        let _lock = self.record_lock.lock().await;
        // Keys of deleted namespaces aren't reused: their rows may still exist. Another node may have registered the
        // name, which isn't in memory yet.
        let stored = self.with_store(namespaces::stored).await?;
        if stored.iter().any(|other| other.deleted_at == 0 && other.name == record.name) {
            let why = "Namespace already exists.".to_owned();
            return Err(Rejection::FailedPrecondition(why).into());
        }
        record.key = stored.iter().map(|record| record.key).max().unwrap_or(0) + 1;
        self.put_namespace(record, None).await
    }

    /// Changes a namespace durably by a function of its current record.
    pub async fn update_namespace(
        &self,
        key: NamespaceKey,
        change: NamespaceChange,
    ) -> Result<Arc<NamespaceRecord>, Refusal> {
        let _lock = self.record_lock.lock().await;
        if self.is_clustered() {
            let stored = self.with_store(namespaces::stored).await?;
            self.node.set_namespaces(stored);
        }
        let present = self.namespaces();
        let Some(record) = present.by_key(key) else {
            return Err(Rejection::NotFound("the namespace is gone".to_owned()).into());
        };
        let before = NamespaceRecord::clone(record);
        let mut record = before.clone();
        change(&mut record)?;
        if record == before {
            return Ok(Arc::new(record));
        }
        self.put_namespace(record, Some(before)).await
    }

    /// Writes a namespace if the stored record is still `before` (compare and set).
    pub(crate) async fn put_namespace(
        &self,
        record: NamespaceRecord,
        before: Option<NamespaceRecord>,
    ) -> Result<Arc<NamespaceRecord>, Refusal> {
        let key = format!("{:010}", record.key);
        let value = Some(encoded(&record));
        let write = RecordWrite { kind: RecordKind::Namespace, key, value };
        let is_written = self
            .with_store(move |store| {
                let stored = stored_record(store, write.kind, &write.key)?;
                if namespaces::decoded(stored.as_deref()) != before {
                    return Ok(false);
                }
                store.compare_and_set(&write, stored.as_deref())
            })
            .await?;
        if !is_written {
            let why = "the namespace was changed concurrently; retry".to_owned();
            return Err(Refusal::Unavailable(why));
        }
        let record = Arc::new(record);
        self.node.set_namespace(Arc::clone(&record));
        self.confirm_records(SharedRecords::Namespaces).await?;
        Ok(record)
    }

    /// The permanent id of the database, created on first use.
    pub async fn cluster_id(&self) -> Result<String, Refusal> {
        let id = self.cluster_record("id", || self.fresh_id().into_bytes()).await?;
        Ok(String::from_utf8_lossy(&id).into_owned())
    }

    /// A permanent record of the database, created on first use.
    pub async fn cluster_record(
        &self,
        key: &'static str,
        make: impl FnOnce() -> Vec<u8> + Send,
    ) -> Result<Vec<u8>, Refusal> {
        let _lock = self.record_lock.lock().await;
        let kind = RecordKind::Cluster;
        let stored = self.with_store(move |store| stored_record(store, kind, key)).await?;
        if let Some(value) = stored {
            return Ok(value);
        }
        let made = make();
        self.with_store(move |store| create_or_read(store, kind, key, made)).await
    }
}

/// The record of a key, if there is one.
pub(crate) fn stored_record(
    store: &dyn Store,
    kind: RecordKind,
    key: &str,
) -> Result<Option<Vec<u8>>, perennial_store::Error> {
    // Of the keys with this prefix, the first is the shortest.
    let found = store.records(kind, key, "", 1)?.into_iter().find(|(found, _)| found == key);
    Ok(found.map(|(_, value)| value))
}

/// Creates a record, or returns the one that another node has created concurrently.
pub(crate) fn create_or_read(
    store: &dyn Store,
    kind: RecordKind,
    key: &str,
    value: Vec<u8>,
) -> Result<Vec<u8>, perennial_store::Error> {
    let record = RecordWrite { kind, key: key.to_owned(), value: Some(value.clone()) };
    if store.compare_and_set(&record, None)? {
        return Ok(value);
    }
    stored_record(store, kind, key)?
        .ok_or_else(|| perennial_store::Error::Unavailable(format!("the record {key} was removed")))
}
