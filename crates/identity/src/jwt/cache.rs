//! Principals of tokens that were verified, until they end.

use std::sync::Arc;
use std::time::SystemTime;

use quick_cache::sync::Cache;
use ring::digest::{SHA256, digest};

use super::issuer::Issuer;
use crate::principal::Principal;

/// The most tokens that are remembered. Whatever is used least makes room.
const CAPACITY: usize = 10_000;

/// Verified tokens, by their SHA-256: the cache can't give tokens away.
#[derive(Debug)]
pub(super) struct TokenCache(Cache<[u8; 32], CachedPrincipal>);

#[derive(Debug, Clone)]
struct CachedPrincipal {
    principal: Arc<Principal>,
    issuer: Arc<Issuer>,
}

impl Default for TokenCache {
    fn default() -> Self {
        Self(Cache::new(CAPACITY))
    }
}

impl TokenCache {
    /// The principal of a token, if it was verified and still holds.
    pub(super) fn get(&self, token: &str, now: SystemTime) -> Option<Arc<Principal>> {
        let key = hash(token);
        let found = self.0.get(&key)?;
        if found.principal.ended(now).is_some() {
            self.0.remove(&key);
            return None;
        }
        // They may come back, so the principal stays.
        found.issuer.keys.are_trusted(now).then_some(found.principal)
    }

    pub(super) fn insert(&self, token: &str, principal: Arc<Principal>, issuer: Arc<Issuer>) {
        self.0.insert(hash(token), CachedPrincipal { principal, issuer });
    }

    /// Drops principals that have ended: whose key was removed, or whose time is over.
    pub(super) fn drop_ended(&self, now: SystemTime) {
        self.0.retain(|_, cached| cached.principal.ended(now).is_none());
    }
}

fn hash(token: &str) -> [u8; 32] {
    let mut key = [0; 32];
    key.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
    key
}
