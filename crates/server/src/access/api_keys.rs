//! API keys that this server has issued: checked in memory, kept in the database.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use perennial_engine::Time;
use perennial_identity::{ApiKey, ApiKeyHash, Credential, Permission, Principal, RevocationSwitch};
use perennial_proto::node::SharedRecords;
use perennial_proto::store::ApiKeyRecord;
use perennial_runtime::{Refusal, Runtime};

use crate::stop_signal::StopSignal;

/// How often the times of last use are written.
const LAST_USE_INTERVAL: Duration = Duration::from_secs(60);

/// The API keys of the database.
pub(crate) struct ApiKeys {
    runtime: Runtime,
    by_hash: RwLock<HashMap<ApiKeyHash, Arc<IssuedKey>>>,
    /// One change at a time: names are unique, and a revoked key doesn't come back.
    changes: tokio::sync::Mutex<()>,
}

/// A key that isn't revoked.
struct IssuedKey {
    id: String,
    principal: Arc<Principal>,
    revocation: RevocationSwitch,
    /// Time of the last use, and of the last use that is stored.
    last_used: AtomicI64,
    stored_use: AtomicI64,
    /// When a caller last showed the key after its end, since the start; 0 for never.
    last_refused: AtomicI64,
}

/// A key that expires soon, or has expired and is still shown by callers.
pub(crate) struct ExpiringKey {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) expires_at: SystemTime,
    pub(crate) last_used: Time,
    pub(crate) last_refused: Time,
}

impl ApiKeys {
    /// Reads the keys from the database.
    pub(crate) async fn open(runtime: Runtime) -> Result<Self, Refusal> {
        let keys =
            Self { runtime, by_hash: RwLock::default(), changes: tokio::sync::Mutex::default() };
        for record in keys.runtime.api_keys().await? {
            keys.add(&record);
        }
        Ok(keys)
    }

    /// Reads the keys again, because another node has created or revoked some.
    pub(crate) async fn reload(&self) -> Result<(), Refusal> {
        let _change = self.changes.lock().await;
        let records = self.runtime.api_keys().await?;
        let valid = records.iter().filter(|record| record.revoked_at == 0);
        let valid: HashMap<ApiKeyHash, &ApiKeyRecord> =
            valid.filter_map(|record| Some((hash_of(record)?, record))).collect();
        let mut issued = self.by_hash.write().unwrap_or_else(PoisonError::into_inner);
        issued.retain(|hash, key| {
            let is_valid = valid.contains_key(hash);
            if !is_valid {
                key.revocation.revoke();
            }
            is_valid
        });
        let new: Vec<_> = valid.iter().filter(|(hash, _)| !issued.contains_key(*hash)).collect();
        let new: Vec<&ApiKeyRecord> = new.into_iter().map(|(_, record)| *record).collect();
        drop(issued);
        new.into_iter().for_each(|record| self.add(record));
        Ok(())
    }

    /// The principal of a key. `None` if the key isn't one of this server, or is revoked or expired.
    pub(crate) fn principal(&self, key: &ApiKey, now: SystemTime) -> Option<Arc<Principal>> {
        let found = self.by_hash.read().unwrap_or_else(PoisonError::into_inner);
        let issued = found.get(&key.hash())?;
        if issued.principal.ended(now).is_some() {
            issued.last_refused.store(nanos(now), Ordering::Relaxed);
            return None;
        }
        issued.last_used.store(nanos(now), Ordering::Relaxed);
        Some(Arc::clone(&issued.principal))
    }

    /// Creates a key. It is valid when this returns.
    pub(crate) async fn create(self: &Arc<Self>, record: ApiKeyRecord) -> Result<(), Refusal> {
        let keys = Arc::clone(self);
        changed(async move {
            let _change = keys.changes.lock().await;
            keys.runtime.create_api_key(record.clone()).await?;
            keys.add(&record);
            keys.runtime.confirm_records(SharedRecords::ApiKeys).await
        })
        .await
    }

    /// All keys, also expired and revoked ones, with the times of their last use.
    pub(crate) async fn list(&self) -> Result<Vec<ApiKeyRecord>, Refusal> {
        let mut records = self.runtime.api_keys().await?;
        let issued = self.by_hash.read().unwrap_or_else(PoisonError::into_inner);
        for record in &mut records {
            if let Some(key) = hash_of(record).and_then(|hash| issued.get(&hash)) {
                record.last_used_at = key.last_used.load(Ordering::Relaxed);
            }
        }
        records.sort_by(|left, right| (&left.name, &left.id).cmp(&(&right.name, &right.id)));
        Ok(records)
    }

    /// The keys that expire within `soon`, and expired ones that callers still show; the next to expire first. Known
    /// in memory.
    pub(crate) fn expiring(&self, now: SystemTime, soon: Duration) -> Vec<ExpiringKey> {
        let issued = self.by_hash.read().unwrap_or_else(PoisonError::into_inner);
        let mut expiring: Vec<_> = issued
            .values()
            .filter_map(|key| {
                let expires_at = key.principal.valid_until?;
                let last_refused = Time(key.last_refused.load(Ordering::Relaxed));
                let is_soon = expires_at > now && expires_at <= now + soon;
                (is_soon || last_refused.get().is_some()).then(|| ExpiringKey {
                    id: key.id.clone(),
                    name: key.principal.name.clone(),
                    expires_at,
                    last_used: Time(key.last_used.load(Ordering::Relaxed)),
                    last_refused,
                })
            })
            .collect();
        expiring.sort_by(|left, right| {
            (left.expires_at, &left.name).cmp(&(right.expires_at, &right.name))
        });
        expiring
    }

    /// Revokes a key. It is refused, and what its holders wait for has ended, when this returns.
    pub(crate) async fn revoke(
        self: &Arc<Self>,
        id: String,
        by: String,
    ) -> Result<ApiKeyRecord, Refusal> {
        let keys = Arc::clone(self);
        changed(async move {
            let _change = keys.changes.lock().await;
            let (now, last_used) = (keys.runtime.now(), keys.last_use(&id));
            let revoke = move |record: &mut ApiKeyRecord| {
                record.last_used_at = record.last_used_at.max(last_used);
                // The first revocation stays.
                if record.revoked_at == 0 {
                    record.revoked_at = now.0;
                    record.revoked_by.clone_from(&by);
                }
            };
            let record = keys.runtime.update_api_key(id, revoke).await?;
            keys.remove(&record);
            keys.runtime.confirm_records(SharedRecords::ApiKeys).await?;
            Ok(record)
        })
        .await
    }

    /// Writes the times of last use now and then, and at the end.
    pub(crate) async fn keep_last_use(self: Arc<Self>, mut stopping: StopSignal) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(LAST_USE_INTERVAL) => {}
                () = stopping.wait() => {}
            }
            self.write_last_use().await;
            if stopping.is_set() {
                return;
            }
        }
    }

    async fn write_last_use(&self) {
        let issued: Vec<_> = {
            let issued = self.by_hash.read().unwrap_or_else(PoisonError::into_inner);
            issued.values().cloned().collect()
        };
        for key in issued {
            let last_used = key.last_used.load(Ordering::Relaxed);
            if last_used <= key.stored_use.load(Ordering::Relaxed) {
                continue;
            }
            let set = move |record: &mut ApiKeyRecord| record.last_used_at = last_used;
            match self.runtime.update_api_key(key.id.clone(), set).await {
                Ok(_) => key.stored_use.store(last_used, Ordering::Relaxed),
                Err(refusal) => {
                    tracing::warn!(
                        "the last use of the API key {} isn't stored: {refusal}",
                        key.id
                    );
                }
            }
        }
    }

    /// When a key was last used; 0 if never, or if it isn't valid.
    fn last_use(&self, id: &str) -> i64 {
        let issued = self.by_hash.read().unwrap_or_else(PoisonError::into_inner);
        let key = issued.values().find(|key| key.id == id);
        key.map_or(0, |key| key.last_used.load(Ordering::Relaxed))
    }

    /// Ends a key, and what its holders wait for.
    fn remove(&self, record: &ApiKeyRecord) {
        let mut issued = self.by_hash.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = hash_of(record).and_then(|hash| issued.remove(&hash)) {
            key.revocation.revoke();
        }
    }

    fn add(&self, record: &ApiKeyRecord) {
        let (0, Some(hash)) = (record.revoked_at, hash_of(record)) else { return };
        let revocation = RevocationSwitch::default();
        let grants = record.permissions.iter().filter_map(|text| text.parse::<Permission>().ok());
        let mut principal = Principal::new(Credential::ApiKey, &record.name, grants.collect());
        principal.valid_until = Time(record.expires_at).get().map(system_time);
        let principal = Arc::new(principal.revocable(&revocation));
        let key = Arc::new(IssuedKey {
            id: record.id.clone(),
            principal,
            revocation,
            last_used: AtomicI64::new(record.last_used_at),
            stored_use: AtomicI64::new(record.last_used_at),
            last_refused: AtomicI64::new(0),
        });
        self.by_hash.write().unwrap_or_else(PoisonError::into_inner).insert(hash, key);
    }
}

/// Carries out a change to its end, even if the caller leaves meanwhile: the database and the memory have to agree.
async fn changed<T: Send + 'static>(
    change: impl Future<Output = Result<T, Refusal>> + Send + 'static,
) -> Result<T, Refusal> {
    let changed = tokio::spawn(change).await;
    changed.unwrap_or_else(|error| Err(Refusal::Unavailable(error.to_string())))
}

/// Unix nanoseconds.
fn nanos(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

fn system_time(time: Time) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_nanos(u64::try_from(time.0).unwrap_or_default())
}

fn hash_of(record: &ApiKeyRecord) -> Option<ApiKeyHash> {
    record.hash.as_slice().try_into().map(ApiKeyHash).ok()
}
