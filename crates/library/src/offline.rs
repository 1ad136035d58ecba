//! Changes to a database without a server.

use std::time::SystemTime;

use perennial_engine::Time;
use perennial_identity::ApiKey;
use perennial_runtime::Refusal;
use perennial_server::{InvalidApiKey, NewApiKey};
use perennial_store::{PostgresOptions, PostgresStore, SchemaVersion};

use crate::config::Storage;

/// An API key that was created.
#[derive(Debug)]
pub struct CreatedApiKey {
    /// By which it is listed and revoked.
    pub id: String,
    /// The key itself. It can't be read again.
    pub key: ApiKey,
}

/// Why a database can't be changed.
#[derive(Debug, thiserror::Error)]
pub enum OfflineError {
    /// The database can't be opened, for instance because a server has the file open.
    #[error("cannot open the database")]
    Store(#[source] perennial_store::Error),
    /// The API key isn't valid.
    #[error(transparent)]
    Invalid(#[from] InvalidApiKey),
    /// The change is refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// Creates an API key in a database: the first one, which no server could be asked for. A file is created if it is
/// missing. Servers that run on a PostgreSQL database know the key when they are started again.
///
/// ```
/// use perennial_library::{NewApiKey, SqliteOptions, Storage, create_api_key};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("perennial.db");
/// let permissions = vec!["*:admin".to_owned()];
/// let new = NewApiKey { name: "operator".to_owned(), permissions, expires_at: None };
/// let storage = Storage::File { path, options: SqliteOptions::default() };
/// let created = create_api_key(storage, new)?;
/// assert!(created.key.reveal().starts_with("perennial_"));
/// # Ok(())
/// # }
/// ```
pub fn create_api_key(storage: Storage, new: NewApiKey) -> Result<CreatedApiKey, OfflineError> {
    let store = storage.open().map_err(OfflineError::Store)?;
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = Time(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX));
    let id = uuid::Uuid::new_v4().to_string();
    let (record, key) = new.issue(id, now, "offline")?;
    perennial_runtime::create_api_key(store.as_ref(), &record)?;
    Ok(CreatedApiKey { id: record.id, key })
}

/// The version of the tables in a PostgreSQL database. Changes nothing.
pub fn schema_version(options: &PostgresOptions) -> Result<SchemaVersion, OfflineError> {
    PostgresStore::schema_version(options).map_err(OfflineError::Store)
}

/// Creates the tables in a PostgreSQL database, or upgrades them to the newest version.
pub fn migrate(options: &PostgresOptions) -> Result<(), OfflineError> {
    PostgresStore::open(options).map(drop).map_err(OfflineError::Store)
}
