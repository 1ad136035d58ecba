//! Verifies tokens, and keeps the keys of their issuers up to date.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ring::rand::{SystemRandom, generate};
use tokio::task::JoinSet;

use super::cache::TokenCache;
use super::config::{InvalidJwtConfig, JwksSource, JwtConfig};
use super::error::{InvalidToken, TokenError};
use super::issuer::Issuer;
use super::issuer_keys::IssuerStatus;
use super::source;
use super::token::UnverifiedToken;
use crate::principal::Principal;

/// The mean time between loads of keys from an address.
const REFRESH_INTERVAL: Duration = Duration::from_secs(10 * 60);
/// The time between looks at a file with keys.
const FILE_INTERVAL: Duration = Duration::from_secs(10);

/// Verifies tokens of the configured issuers, and remembers those that are valid.
///
/// Its keys are loaded again every ten minutes, files every ten seconds, and when a token names an unknown key. Keys
/// that can't be loaded again are trusted for a day. When an issuer removes a key, principals of its tokens are revoked.
#[derive(Debug)]
pub struct Verifier {
    issuers: HashMap<String, Arc<Issuer>>,
    cache: Arc<TokenCache>,
    /// Refresh the keys, until the verifier is dropped.
    _refreshes: JoinSet<()>,
}

impl Verifier {
    /// Loads the keys of all issuers, and keeps them fresh in tasks of the current Tokio runtime.
    ///
    /// A file that can't be used is an error. An address that doesn't answer is logged, and tried again: a server has
    /// to start while an identity provider is down.
    pub async fn open(config: JwtConfig, now: SystemTime) -> Result<Self, InvalidJwtConfig> {
        config.check()?;
        let cache = Arc::new(TokenCache::default());
        let mut issuers = HashMap::new();
        let mut first_loads = Vec::new();
        let mut refreshes = JoinSet::new();
        for config in config.issuers {
            let (name, keys) = (config.issuer.clone(), config.keys.clone());
            let issuer = Arc::new(Issuer::new(config)?);
            source::check_authorities(&keys)
                .await
                .map_err(|problem| InvalidJwtConfig::File { issuer: name.clone(), problem })?;
            let first = tokio::spawn(first_load(Arc::clone(&issuer), keys.clone(), now));
            first_loads.push((name.clone(), first));
            issuers.insert(name, Arc::clone(&issuer));
            refreshes.spawn(keep_fresh(issuer, keys, Arc::clone(&cache)));
        }
        for (issuer, load) in first_loads {
            load.await
                .unwrap_or_else(|error| Err(error.to_string()))
                .map_err(|problem| InvalidJwtConfig::File { issuer, problem })?;
        }
        Ok(Self { issuers, cache, _refreshes: refreshes })
    }

    /// The principal of a token that was verified before and still holds.
    pub fn cached(&self, token: &str, now: SystemTime) -> Option<Arc<Principal>> {
        self.cache.get(token, now)
    }

    /// The principal that a token proves.
    pub async fn verify(&self, token: &str, now: SystemTime) -> Result<Arc<Principal>, TokenError> {
        if let Some(principal) = self.cached(token, now) {
            return Ok(principal);
        }
        let unverified = UnverifiedToken::parse(token)?;
        let issuer = self.issuers.get(unverified.issuer()?).ok_or(InvalidToken::Issuer)?;
        let drop_ended = || self.cache.drop_ended(now);
        let principal = Arc::new(issuer.verify(&unverified, now, drop_ended).await?);
        self.cache.insert(token, Arc::clone(&principal), Arc::clone(issuer));
        Ok(principal)
    }

    /// The issuers and the state of their keys, by name.
    pub fn issuers(&self) -> Vec<IssuerStatus> {
        let mut issuers: Vec<_> =
            self.issuers.values().map(|issuer| issuer.keys.status()).collect();
        issuers.sort_by(|left, right| left.issuer.cmp(&right.issuer));
        issuers
    }

    /// Loads the keys of all issuers now. Whether that fails is logged.
    pub async fn refresh(&self, now: SystemTime) {
        for issuer in self.issuers.values() {
            refresh(issuer, &self.cache, now).await;
        }
    }
}

/// Fails if a file can't be used.
async fn first_load(
    issuer: Arc<Issuer>,
    source: JwksSource,
    now: SystemTime,
) -> Result<(), String> {
    issuer.keys.load(now).await;
    match (source, issuer.keys.trouble().await) {
        (JwksSource::File(_), Some(problem)) => Err(problem),
        (JwksSource::File(_), None) | (JwksSource::Url { .. }, _) => Ok(()),
    }
}

async fn keep_fresh(issuer: Arc<Issuer>, source: JwksSource, cache: Arc<TokenCache>) {
    loop {
        tokio::time::sleep(match source {
            JwksSource::Url { .. } => jittered(REFRESH_INTERVAL),
            JwksSource::File(_) => FILE_INTERVAL,
        })
        .await;
        refresh(&issuer, &cache, SystemTime::now()).await;
    }
}

async fn refresh(issuer: &Issuer, cache: &TokenCache, now: SystemTime) {
    if issuer.keys.load(now).await.removed_keys {
        cache.drop_ended(now);
    }
}

/// A time within a tenth of the given one, so that servers that start together don't ask together.
fn jittered(mean: Duration) -> Duration {
    // Without chance, the mean is as good.
    let chance = generate::<[u8; 1]>(&SystemRandom::new()).map_or(128, |byte| byte.expose()[0]);
    mean.mul_f64(0.9 + 0.2 * f64::from(chance) / 255.0)
}
