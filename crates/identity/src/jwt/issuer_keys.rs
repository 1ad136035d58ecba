//! The keys of an issuer: loaded, refreshed, and revoked when the issuer removes them.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use tokio::sync::{Mutex, OwnedMutexGuard};

use super::config::JwksSource;
use super::jwks::{Jwk, Jwks};
use super::source;
use crate::principal::RevocationSwitch;

/// How long keys are trusted that couldn't be loaded again.
const TRUSTED_FOR: Duration = Duration::from_secs(24 * 60 * 60);
/// The shortest time between loads that tokens with unknown keys cause.
const RELOAD_INTERVAL: Duration = Duration::from_secs(30);

/// The keys of an issuer.
#[derive(Debug)]
pub(super) struct IssuerKeys {
    issuer: String,
    source: JwksSource,
    current: RwLock<Arc<KeySet>>,
    /// Held while the keys are loaded, so one load at a time is under way.
    loads: Arc<Mutex<Loads>>,
}

/// The keys of an issuer at some time.
#[derive(Debug, Default)]
pub(super) struct KeySet {
    pub(super) keys: Vec<Arc<TrustedKey>>,
    /// When the issuer last published them. `None` if they were never loaded.
    confirmed_at: Option<SystemTime>,
}

/// A key that the issuer publishes.
#[derive(Debug)]
pub(super) struct TrustedKey {
    pub(super) key: Jwk,
    /// Revokes the principals of tokens that the key has signed.
    pub(super) switch: RevocationSwitch,
}

/// What is known of earlier loads.
#[derive(Debug, Default)]
struct Loads {
    /// When a token last caused one.
    caused_at: Option<SystemTime>,
    /// Why the last one failed.
    trouble: Option<String>,
    /// The keys that the last set had and that can't be used, as they were logged.
    unusable: Vec<String>,
}

/// An issuer of tokens, and the state of its keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerStatus {
    /// The issuer's name, as in its tokens.
    pub issuer: String,
    /// When its keys were last loaded. `None` if they never were.
    pub loaded_at: Option<SystemTime>,
    /// Why the last load failed. Keys are trusted for a day without a load.
    pub problem: Option<String>,
}

/// What a load has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Loaded {
    /// The source answered with a key set.
    pub(super) succeeded: bool,
    /// A key was removed, so principals have ended.
    pub(super) removed_keys: bool,
}

impl IssuerKeys {
    pub(super) fn new(issuer: String, source: JwksSource) -> Self {
        Self { issuer, source, current: RwLock::default(), loads: Arc::default() }
    }

    pub(super) fn current(&self) -> Arc<KeySet> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether the keys were loaded, and recently enough.
    pub(super) fn are_trusted(&self, now: SystemTime) -> bool {
        self.current().is_trusted(now)
    }

    /// Loads the keys again because a token needs another key than `seen`, unless that was tried just now.
    /// Callers that come meanwhile share one load.
    pub(super) async fn reload(self: &Arc<Self>, seen: &Arc<KeySet>, now: SystemTime) -> Loaded {
        let mut loads = Arc::clone(&self.loads).lock_owned().await;
        let was_tried = loads.caused_at.is_some_and(|at| {
            // A clock that was set back must not stop loads.
            now.duration_since(at).is_ok_and(|since| since < RELOAD_INTERVAL)
        });
        if was_tried || !Arc::ptr_eq(seen, &self.current()) {
            return Loaded { succeeded: loads.trouble.is_none(), removed_keys: false };
        }
        loads.caused_at = Some(now);
        self.load_with(loads, now).await
    }

    /// Loads the keys.
    pub(super) async fn load(self: &Arc<Self>, now: SystemTime) -> Loaded {
        let loads = Arc::clone(&self.loads).lock_owned().await;
        self.load_with(loads, now).await
    }

    /// Why the last load failed.
    pub(super) async fn trouble(&self) -> Option<String> {
        self.loads.lock().await.trouble.clone()
    }

    /// When the keys were last loaded, and why the last load failed. Doesn't wait for a load in progress.
    pub(super) fn status(&self) -> IssuerStatus {
        let loads = self.loads.try_lock();
        IssuerStatus {
            issuer: self.issuer.clone(),
            loaded_at: self.current().confirmed_at,
            problem: loads.ok().and_then(|loads| loads.trouble.clone()),
        }
    }

    async fn load_with(
        self: &Arc<Self>,
        mut loads: OwnedMutexGuard<Loads>,
        now: SystemTime,
    ) -> Loaded {
        let keys = Arc::clone(self);
        // A task of its own: a caller that gives up takes the load from nobody who shares it.
        let load = tokio::spawn(async move {
            let text = source::load(&keys.source).await;
            let set = text.and_then(|text| Jwks::parse(&text).map_err(|error| error.to_string()));
            match set {
                Ok(set) => keys.install(set, &mut loads, now),
                Err(trouble) => {
                    keys.note_trouble(trouble, &mut loads);
                    Loaded { succeeded: false, removed_keys: false }
                }
            }
        });
        load.await.unwrap_or_else(|error| {
            tracing::error!(issuer = self.issuer, %error, "loading the keys of an issuer of tokens failed");
            Loaded { succeeded: false, removed_keys: false }
        })
    }

    fn install(&self, set: Jwks, loads: &mut Loads, now: SystemTime) -> Loaded {
        if let Some(trouble) = loads.trouble.take() {
            tracing::info!(
                issuer = self.issuer,
                trouble,
                "the keys of an issuer of tokens are loaded again"
            );
        }
        if loads.unusable != set.unusable {
            for problem in &set.unusable {
                tracing::warn!(
                    issuer = self.issuer,
                    problem,
                    "a key of an issuer of tokens can't be used"
                );
            }
            loads.unusable = set.unusable;
        }
        let mut old = self.current().keys.clone();
        let keys: Vec<_> = set
            .keys
            .into_iter()
            .map(|key| match old.iter().position(|trusted| trusted.key == key) {
                Some(index) => old.swap_remove(index),
                None => {
                    tracing::info!(
                        issuer = self.issuer,
                        key = key.id,
                        "trusts a key of an issuer of tokens"
                    );
                    Arc::new(TrustedKey { key, switch: RevocationSwitch::default() })
                }
            })
            .collect();
        let set = Arc::new(KeySet { keys, confirmed_at: Some(now) });
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = set;
        for trusted in &old {
            tracing::info!(
                issuer = self.issuer,
                key = trusted.key.id,
                "an issuer of tokens has removed a key: its tokens are revoked"
            );
            trusted.switch.revoke();
        }
        Loaded { succeeded: true, removed_keys: !old.is_empty() }
    }

    fn note_trouble(&self, trouble: String, loads: &mut Loads) {
        if loads.trouble.as_ref() != Some(&trouble) {
            let keeps = self.current().keys.len();
            tracing::warn!(
                issuer = self.issuer,
                trouble,
                keeps,
                "the keys of an issuer of tokens can't be loaded; those it had are trusted for a day"
            );
        }
        loads.trouble = Some(trouble);
    }
}

impl KeySet {
    /// Whether they were loaded, and recently enough.
    pub(super) fn is_trusted(&self, now: SystemTime) -> bool {
        // A clock that was set back makes them no older.
        self.confirmed_at
            .is_some_and(|at| now.duration_since(at).map_or(true, |age| age <= TRUSTED_FOR))
    }
}
