//! An issuer: which tokens it has signed, and what they mean.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::config::{InvalidJwtConfig, IssuerConfig};
use super::error::{InvalidToken, TokenError};
use super::issuer_keys::{IssuerKeys, KeySet, TrustedKey};
use super::permissions::PermissionRules;
use super::token::UnverifiedToken;
use crate::principal::{Credential, Principal};

/// An issuer whose tokens are accepted.
#[derive(Debug)]
pub(super) struct Issuer {
    name: String,
    audiences: Vec<String>,
    leeway: Duration,
    permissions: PermissionRules,
    pub(super) keys: Arc<IssuerKeys>,
}

/// What became of a token's signature.
enum Signature {
    By(Arc<TrustedKey>),
    Wrong,
    /// No key has the token's key id, or none of the set has signed a token that names none.
    UnknownKey,
}

impl Issuer {
    pub(super) fn new(config: IssuerConfig) -> Result<Self, InvalidJwtConfig> {
        let name = config.issuer;
        let pattern = config.permission_pattern.as_deref();
        let permissions = PermissionRules::new(&config.permissions_claim, pattern)
            .map_err(|error| InvalidJwtConfig::Pattern { issuer: name.clone(), error })?;
        let keys = Arc::new(IssuerKeys::new(name.clone(), config.keys));
        let audiences = config.audiences.into_iter().filter(|it| !it.is_empty()).collect();
        Ok(Self { name, audiences, leeway: config.leeway, permissions, keys })
    }

    /// The principal that a token of this issuer proves. `on_removed_keys` is called if the keys were loaded for it,
    /// and others are gone.
    pub(super) async fn verify(
        &self,
        token: &UnverifiedToken<'_>,
        now: SystemTime,
        on_removed_keys: impl FnOnce(),
    ) -> Result<Principal, TokenError> {
        // What is cheap comes first: an expired token must not cause a load of keys.
        let claims = token.check_claims(&self.audiences, self.leeway, now)?;
        let key = self.signing_key(token, now, on_removed_keys).await?;
        let name = format!("{}#{}", self.name, claims.subject);
        let grants = token.permissions(&self.permissions);
        let mut principal = Principal::new(Credential::Token, name, grants);
        principal.valid_until = Some(claims.expires_at);
        Ok(principal.revocable(&key.switch))
    }

    async fn signing_key(
        &self,
        token: &UnverifiedToken<'_>,
        now: SystemTime,
        on_removed_keys: impl FnOnce(),
    ) -> Result<Arc<TrustedKey>, TokenError> {
        let unavailable = || TokenError::KeysUnavailable { issuer: self.name.clone() };
        let mut keys = self.keys.current();
        let mut signature = signature(token, &keys);
        let mut is_current = true;
        if !keys.is_trusted(now) || matches!(signature, Signature::UnknownKey) {
            let loaded = self.keys.reload(&keys, now).await;
            if loaded.removed_keys {
                on_removed_keys();
            }
            is_current = loaded.succeeded;
            keys = self.keys.current();
            signature = self::signature(token, &keys);
        }
        if !keys.is_trusted(now) {
            return Err(unavailable());
        }
        match signature {
            Signature::By(key) => Ok(key),
            Signature::Wrong => Err(InvalidToken::Signature.into()),
            Signature::UnknownKey if is_current => Err(InvalidToken::UnknownKey.into()),
            // The issuer may have the key by now.
            Signature::UnknownKey => Err(unavailable()),
        }
    }
}

fn signature(token: &UnverifiedToken<'_>, keys: &KeySet) -> Signature {
    let mut candidates = keys.keys.iter().filter(|trusted| token.may_use(&trusted.key)).peekable();
    let names_known_key = token.key_id.is_some() && candidates.peek().is_some();
    match candidates.find(|trusted| token.is_signed_by(&trusted.key)) {
        Some(trusted) => Signature::By(Arc::clone(trusted)),
        None if names_known_key => Signature::Wrong,
        None => Signature::UnknownKey,
    }
}
