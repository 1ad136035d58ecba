//! The other end of a connection.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use perennial_identity::Principal;

use super::limits::{Place, UsageLimiter};
use crate::errors::RpcResult;

/// Principals that are counted for one connection. A client has one; a proxy has many, and they come and go.
const PRINCIPALS_MAX: usize = 1_000;

/// The other end of a connection. Attached to each of its requests.
#[derive(Debug, Clone)]
pub(crate) struct Peer(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    certified: Option<Arc<Principal>>,
    /// The connection counts once for each principal that calls over it.
    places: Mutex<HashMap<String, Option<Place>>>,
}

impl Peer {
    pub(crate) fn new(certified: Option<Arc<Principal>>) -> Self {
        Self(Arc::new(Inner { certified, places: Mutex::default() }))
    }

    /// The principal of the connection's certificate.
    pub(crate) fn certified(&self) -> Option<&Arc<Principal>> {
        self.0.certified.as_ref()
    }

    /// Counts the connection against the limits of a principal that calls over it.
    pub(crate) fn count(&self, principal: &Principal, limits: &UsageLimiter) -> RpcResult<()> {
        let name = principal.to_string();
        let mut places = self.0.places.lock().unwrap_or_else(PoisonError::into_inner);
        if places.contains_key(&name) {
            return Ok(());
        }
        if places.len() >= PRINCIPALS_MAX {
            // Those that still call are counted again with their next call.
            places.clear();
        }
        places.insert(name, limits.connection(principal)?);
        Ok(())
    }
}
