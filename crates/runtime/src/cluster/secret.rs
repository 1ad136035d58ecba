//! The secret by which nodes know each other: a record of the database, so whoever can read the database is a node.

use perennial_peer::PeerSecret;
use perennial_store::{Error, RecordKind, Store};

use crate::records::{create_or_read, stored_record};

const ID: &str = "id";
const SECRET: &str = "node-secret";

/// The cluster's id and secret. The first node makes them.
pub(super) fn read_or_make(store: &dyn Store, new_id: &str) -> Result<(String, PeerSecret), Error> {
    let id = record(store, ID, || Ok(new_id.as_bytes().to_vec()))?;
    let id = String::from_utf8_lossy(&id).into_owned();
    let secret = record(store, SECRET, || {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(|error| {
            Error::Unavailable(format!("the system gives no random numbers: {error}"))
        })?;
        Ok(secret.to_vec())
    })?;
    let secret = secret.as_slice().try_into().map_err(|_| {
        Error::Corrupt(format!("the record {SECRET} has {} bytes in place of 32", secret.len()))
    })?;
    Ok((id, PeerSecret::new(secret)))
}

fn record(
    store: &dyn Store,
    key: &str,
    make: impl FnOnce() -> Result<Vec<u8>, Error>,
) -> Result<Vec<u8>, Error> {
    let kind = RecordKind::Cluster;
    if let Some(stored) = stored_record(store, kind, key)? {
        return Ok(stored);
    }
    create_or_read(store, kind, key, make()?)
}
