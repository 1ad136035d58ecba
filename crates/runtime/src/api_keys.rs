//! API keys as records of the database. They are also created in the file of a server that isn't running.

use perennial_engine::run::Rejection;
use perennial_engine::{Span, Time};
use perennial_proto::encoded;
use perennial_proto::store::ApiKeyRecord;
use perennial_store::{RecordKind, RecordWrite, Store};
use prost::Message;

use crate::records::stored_record;
use crate::{Refusal, Runtime};

/// Keys that a database holds, with expired and revoked ones. All are in memory.
const KEYS_MAX: usize = 10_000;
/// Of these, keys that only keys for the whole server may take: a namespace's admin can't keep the operator out.
const KEYS_RESERVED: usize = 1_000;
/// Valid keys with a role in one namespace.
const KEYS_OF_NAMESPACE_MAX: usize = 1_000;
/// How long an expired or revoked key is kept, so that people can see what it was.
const KEPT_AFTER_END: Span = Span::seconds(90 * 24 * 3_600);
/// Attempts to change a key that somebody else is changing.
const CHANGE_ATTEMPTS: usize = 10;

impl Runtime {
    /// All API keys.
    pub async fn api_keys(&self) -> Result<Vec<ApiKeyRecord>, Refusal> {
        self.with_store(read_api_keys).await
    }

    /// Adds an API key.
    pub async fn create_api_key(&self, key: ApiKeyRecord) -> Result<(), Refusal> {
        self.with_store(move |store| Ok(create_api_key(store, &key))).await?
    }

    /// Changes an API key durably by a function of its record, and returns the result.
    pub async fn update_api_key(
        &self,
        id: String,
        change: impl Fn(&mut ApiKeyRecord) + Send + 'static,
    ) -> Result<ApiKeyRecord, Refusal> {
        self.with_store(move |store| Ok(update_api_key(store, &id, change))).await?
    }
}

/// Reads all API keys of a database.
pub fn read_api_keys(store: &dyn Store) -> Result<Vec<ApiKeyRecord>, perennial_store::Error> {
    const PAGE: usize = 1_000;
    let (mut keys, mut after) = (Vec::new(), String::new());
    loop {
        let page = store.records(RecordKind::ApiKey, "", &after, PAGE)?;
        let Some((last, _)) = page.last() else { return Ok(keys) };
        after = last.clone();
        for (id, value) in page {
            match ApiKeyRecord::decode(value.as_slice()) {
                Ok(key) => keys.push(key),
                // Its holder is refused.
                Err(error) => tracing::error!("the API key {id} can't be read: {error}"),
            }
        }
    }
}

/// Adds an API key to a database, and removes those that ended long ago. Rejected if a valid key has the same name, or
/// if there are too many.
pub fn create_api_key(store: &dyn Store, key: &ApiKeyRecord) -> Result<(), Refusal> {
    let now = Time(key.created_at);
    let mut present = read_api_keys(store)?;
    // The longest ended come first, then the valid ones.
    present.sort_by_key(|other| ended_at(other, now).map_or(i64::MAX, |at| at.0));
    let excess = (present.len() + 1).saturating_sub(KEYS_MAX);
    let (mut removed, mut kept) = (0, Vec::new());
    for other in present {
        match ended_at(&other, now) {
            Some(at) if removed < excess || at.after(KEPT_AFTER_END) <= now => {
                removed += 1;
                let gone = RecordWrite { value: None, ..write(&other) };
                store.compare_and_set(&gone, write(&other).value.as_deref())?;
            }
            Some(_) | None => kept.push(other),
        }
    }
    let rejected = |why: String| Err(Rejection::FailedPrecondition(why).into());
    let is_valid = |other: &&ApiKeyRecord| ended_at(other, now).is_none();
    if kept.iter().filter(is_valid).any(|other| other.name == key.name) {
        return rejected(format!("an API key with the name {:?} already exists", key.name));
    }
    let scopes = |key: &ApiKeyRecord| -> Vec<String> {
        let scopes = key.permissions.iter().filter_map(|text| text.rsplit_once(':'));
        scopes.map(|(scope, _)| scope.to_owned()).collect()
    };
    let is_for_server = scopes(key).iter().any(|scope| scope == "*");
    let room = if is_for_server { KEYS_MAX } else { KEYS_MAX - KEYS_RESERVED };
    if kept.len() >= room {
        return rejected(format!("there are {} API keys, as many as there may be", kept.len()));
    }
    for scope in scopes(key).iter().filter(|scope| *scope != "*") {
        let in_scope = kept.iter().filter(is_valid).filter(|other| scopes(other).contains(scope));
        if in_scope.count() >= KEYS_OF_NAMESPACE_MAX {
            return rejected(format!(
                "the namespace {scope:?} has {KEYS_OF_NAMESPACE_MAX} API keys, as many as it may have; \
                 revoke some"
            ));
        }
    }
    if !store.compare_and_set(&write(key), None)? {
        return Err(Refusal::Unavailable("the API key's id is taken; retry".to_owned()));
    }
    Ok(())
}

/// When a key ended. `None` if it is valid.
fn ended_at(key: &ApiKeyRecord, now: Time) -> Option<Time> {
    let revoked = Time(key.revoked_at).get();
    let expired = Time(key.expires_at).get().filter(|at| *at <= now);
    [revoked, expired].into_iter().flatten().min()
}

fn update_api_key(
    store: &dyn Store,
    id: &str,
    change: impl Fn(&mut ApiKeyRecord),
) -> Result<ApiKeyRecord, Refusal> {
    for _ in 0..CHANGE_ATTEMPTS {
        let stored = stored_record(store, RecordKind::ApiKey, id)?;
        let key = stored.as_deref().and_then(|value| ApiKeyRecord::decode(value).ok());
        let Some(mut key) = key else {
            return Err(
                Rejection::NotFound(format!("there is no API key with the id {id:?}")).into()
            );
        };
        change(&mut key);
        if store.compare_and_set(&write(&key), stored.as_deref())? {
            return Ok(key);
        }
    }
    Err(Refusal::Unavailable(format!("the API key {id:?} is being changed; retry")))
}

fn write(key: &ApiKeyRecord) -> RecordWrite {
    let value = Some(encoded(key));
    RecordWrite { kind: RecordKind::ApiKey, key: key.id.clone(), value }
}

#[cfg(test)]
mod tests {
    use perennial_store::SqliteStore;

    use super::*;

    fn key(number: usize, permission: &str, created_at: i64) -> ApiKeyRecord {
        ApiKeyRecord {
            id: format!("{number:05}"),
            name: format!("key {number}"),
            permissions: vec![permission.to_owned()],
            created_at,
            ..ApiKeyRecord::default()
        }
    }

    fn put(store: &dyn Store, key: &ApiKeyRecord) {
        assert!(store.compare_and_set(&write(key), None).unwrap());
    }

    #[test]
    fn one_namespace_leaves_room_for_others() {
        let store = SqliteStore::in_memory().unwrap();
        for number in 0..KEYS_OF_NAMESPACE_MAX {
            put(&store, &key(number, "shop:read", 1));
        }
        let refused = create_api_key(&store, &key(5_000, "shop:admin", 1)).unwrap_err();
        assert!(refused.to_string().contains("as many as it may have"), "{refused}");
        create_api_key(&store, &key(5_001, "bank:read", 1)).unwrap();
        create_api_key(&store, &key(5_002, "*:admin", 1)).unwrap();
        let taken = ApiKeyRecord { id: "other".to_owned(), ..key(5_002, "*:read", 1) };
        assert!(create_api_key(&store, &taken).is_err());
    }

    #[test]
    fn keys_that_ended_long_ago_make_room() {
        let store = SqliteStore::in_memory().unwrap();
        let now = KEPT_AFTER_END.0 + 100;
        put(&store, &ApiKeyRecord { revoked_at: 50, ..key(1, "shop:read", 1) });
        put(&store, &ApiKeyRecord { expires_at: now - 5, ..key(2, "shop:read", 1) });
        create_api_key(
            &store,
            &ApiKeyRecord { name: "key 2".to_owned(), ..key(3, "shop:read", now) },
        )
        .unwrap();
        let ids: Vec<_> = read_api_keys(&store).unwrap().into_iter().map(|it| it.id).collect();
        assert_eq!(ids, ["00002", "00003"]);
    }

    #[test]
    fn full_table_gives_up_ended_keys_first() {
        let store = SqliteStore::in_memory().unwrap();
        for number in 0..KEYS_MAX {
            put(&store, &ApiKeyRecord { revoked_at: 7, ..key(number, "shop:read", 1) });
        }
        create_api_key(&store, &key(KEYS_MAX, "*:admin", 10)).unwrap();
        assert_eq!(read_api_keys(&store).unwrap().len(), KEYS_MAX);
    }
}
