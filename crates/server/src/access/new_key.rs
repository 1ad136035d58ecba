//! A new API key: checked, and made into its record.

use perennial_engine::Time;
use perennial_identity::{ApiKey, InvalidPermission, Permission};
use perennial_proto::store::ApiKeyRecord;

const NAME_BYTES_MAX: usize = 100;
const PERMISSIONS_MAX: usize = 100;

/// An API key to create.
///
/// ```
/// use perennial_engine::Time;
/// use perennial_server::NewApiKey;
///
/// let new = NewApiKey {
///     name: "ci".to_owned(),
///     permissions: vec!["shop:worker".to_owned()],
///     expires_at: None,
/// };
/// let (record, key) = new.issue("id".to_owned(), Time(1), "offline").unwrap();
/// assert_eq!(record.hash, key.hash().0);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewApiKey {
    /// For people. It also names the principal.
    pub name: String,
    /// As in `shop:worker`, or `*:admin` for the whole server.
    pub permissions: Vec<String>,
    /// When the key ends by itself.
    pub expires_at: Option<Time>,
}

/// Why an API key can't be created.
#[derive(Debug, thiserror::Error)]
pub enum InvalidApiKey {
    /// The name is empty, long or can't be typed.
    #[error(
        "the name of an API key must have 1 to {NAME_BYTES_MAX} bytes, and no control characters"
    )]
    Name,
    /// There are none, or many.
    #[error("an API key needs 1 to {PERMISSIONS_MAX} permissions")]
    Permissions,
    /// One of them isn't a permission.
    #[error(transparent)]
    Permission(#[from] InvalidPermission),
    /// It ends before it begins.
    #[error("the API key would already have expired")]
    Expired,
    /// The system gives no random numbers.
    #[error("the system gives no random numbers: {0}")]
    Random(getrandom::Error),
}

impl NewApiKey {
    /// The key itself, and what is kept of it.
    pub fn issue(
        self,
        id: String,
        now: Time,
        by: &str,
    ) -> Result<(ApiKeyRecord, ApiKey), InvalidApiKey> {
        let is_named = (1..=NAME_BYTES_MAX).contains(&self.name.len());
        if !is_named || self.name.chars().any(char::is_control) {
            return Err(InvalidApiKey::Name);
        }
        if !(1..=PERMISSIONS_MAX).contains(&self.permissions.len()) {
            return Err(InvalidApiKey::Permissions);
        }
        for permission in &self.permissions {
            permission.parse::<Permission>()?;
        }
        if self.expires_at.is_some_and(|at| at <= now) {
            return Err(InvalidApiKey::Expired);
        }
        let key = ApiKey::generate().map_err(InvalidApiKey::Random)?;
        let record = ApiKeyRecord {
            id,
            name: self.name,
            hash: key.hash().0.to_vec(),
            permissions: self.permissions,
            created_at: now.0,
            created_by: by.to_owned(),
            expires_at: self.expires_at.map_or(0, |at| at.0),
            ..ApiKeyRecord::default()
        };
        Ok((record, key))
    }
}
