//! Limits on what one namespace, or one principal, may use: requests, bytes, polls and connections.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use governor::clock::{Clock, MonotonicClock};
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use perennial_engine::NamespaceKey;
use perennial_identity::Principal;
use perennial_proto::store::NamespaceRecord;
use perennial_proto::temporal::enums::v1::{ResourceExhaustedCause, ResourceExhaustedScope};

use crate::errors::{RpcResult, limit_reached};

/// Limits on what may be used. By default there are none beyond those of the whole server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageLimits {
    /// Of each namespace.
    pub namespace: NamespaceLimits,
    /// Of single namespaces, by name, instead of those of each.
    pub namespaces: BTreeMap<String, NamespaceLimits>,
    /// Of each principal, wherever it calls. Callers without credentials aren't told apart, and have none.
    pub principal: PrincipalLimits,
}

/// Limits of a namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamespaceLimits {
    /// On its calls.
    pub calls: CallLimits,
    /// Schedules that exist at a time.
    pub schedules: Option<usize>,
}

/// Limits of a principal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PrincipalLimits {
    /// On its calls.
    pub calls: CallLimits,
    /// Connections at a time.
    pub connections: Option<usize>,
}

/// Limits on calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallLimits {
    /// Calls a second. As many may come at once.
    pub requests_per_second: Option<NonZeroU32>,
    /// Bytes of messages a second. As many, and always one whole message, may come at once.
    pub bytes_per_second: Option<NonZeroU32>,
    /// Polls for tasks that wait at a time.
    pub polls: Option<usize>,
}

type Rate =
    RateLimiter<NotKeyed, InMemoryState, MonotonicClock, NoOpMiddleware<std::time::Instant>>;

/// What namespaces and principals use now, against their limits.
pub(crate) struct UsageLimiter {
    limits: UsageLimits,
    message_bytes_max: NonZeroU32,
    namespaces: Mutex<HashMap<NamespaceKey, Arc<Usage>>>,
    principals: Mutex<HashMap<String, Arc<Usage>>>,
}

/// Namespaces or principals whose use is known at a time. The use of those that are idle is forgotten beyond it.
const KNOWN_MAX: usize = 10_000;

/// What one namespace or principal uses.
struct Usage {
    who: String,
    scope: ResourceExhaustedScope,
    limits: CallLimits,
    requests: Option<Rate>,
    bytes: Option<Rate>,
    polls: Arc<AtomicUsize>,
    connections: Arc<AtomicUsize>,
}

/// One of a limited number, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place(Arc<AtomicUsize>);

impl Place {
    /// Takes a place unless `max` are taken.
    fn take(taken: &Arc<AtomicUsize>, max: usize) -> Option<Self> {
        let take = |count: usize| (count < max).then_some(count + 1);
        let is_taken = taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok();
        is_taken.then(|| Self(Arc::clone(taken)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl UsageLimiter {
    pub(crate) fn new(limits: UsageLimits, message_bytes_max: usize) -> Self {
        let message_bytes_max = u32::try_from(message_bytes_max).unwrap_or(u32::MAX);
        Self {
            limits,
            message_bytes_max: NonZeroU32::new(message_bytes_max).unwrap_or(NonZeroU32::MIN),
            namespaces: Mutex::default(),
            principals: Mutex::default(),
        }
    }

    /// Counts a call of a principal.
    pub(crate) fn call_by(&self, principal: &Principal, bytes: usize) -> RpcResult<()> {
        self.of_principal(principal).map_or(Ok(()), |usage| usage.call(bytes))
    }

    /// Counts a call in a namespace.
    pub(crate) fn call_in(&self, namespace: &NamespaceRecord, bytes: usize) -> RpcResult<()> {
        self.of_namespace(namespace).map_or(Ok(()), |usage| usage.call(bytes))
    }

    /// Counts a poll for tasks while its places are held.
    pub(crate) fn poll(
        &self,
        principal: &Principal,
        namespace: &NamespaceRecord,
    ) -> RpcResult<[Option<Place>; 2]> {
        let usages = [self.of_principal(principal), self.of_namespace(namespace)];
        let [by, within] = usages.map(|usage| usage.map_or(Ok(None), |usage| usage.poll()));
        Ok([by?, within?])
    }

    /// Counts a connection of a principal while its place is held.
    pub(crate) fn connection(&self, principal: &Principal) -> RpcResult<Option<Place>> {
        let (Some(max), Some(usage)) =
            (self.limits.principal.connections, self.of_principal(principal))
        else {
            return Ok(None);
        };
        let place = Place::take(&usage.connections, max);
        let place = place.ok_or_else(|| usage.reached(&format!("{max} connections")))?;
        Ok(Some(place))
    }

    /// The most schedules that a namespace may have.
    pub(crate) fn schedules_max(&self, namespace: &str) -> Option<usize> {
        self.limits_of(namespace).schedules
    }

    /// Whether connections have to be counted.
    pub(crate) fn counts_connections(&self) -> bool {
        self.limits.principal.connections.is_some()
    }

    fn limits_of(&self, namespace: &str) -> &NamespaceLimits {
        self.limits.namespaces.get(namespace).unwrap_or(&self.limits.namespace)
    }

    /// `None` if the namespace has no limits.
    fn of_namespace(&self, namespace: &NamespaceRecord) -> Option<Arc<Usage>> {
        let limits = &self.limits_of(&namespace.name).calls;
        if *limits == CallLimits::default() {
            return None;
        }
        let mut known = self.namespaces.lock().unwrap_or_else(PoisonError::into_inner);
        let key = NamespaceKey(namespace.key);
        if !known.contains_key(&key) {
            forget_idle(&mut known);
        }
        let usage = known.entry(key).or_insert_with(|| {
            let who = format!("the namespace {:?}", namespace.name);
            Arc::new(self.usage(who, ResourceExhaustedScope::Namespace, limits))
        });
        Some(Arc::clone(usage))
    }

    /// `None` if the principal has no limits.
    fn of_principal(&self, principal: &Principal) -> Option<Arc<Usage>> {
        if principal.is_anonymous() || self.limits.principal == PrincipalLimits::default() {
            return None;
        }
        let name = principal.to_string();
        let mut known = self.principals.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains_key(&name) {
            forget_idle(&mut known);
        }
        let usage = known.entry(name).or_insert_with_key(|name| {
            let limits = &self.limits.principal.calls;
            Arc::new(self.usage(name.clone(), ResourceExhaustedScope::System, limits))
        });
        Some(Arc::clone(usage))
    }

    fn usage(&self, who: String, scope: ResourceExhaustedScope, limits: &CallLimits) -> Usage {
        let rate = |per_second: NonZeroU32, burst: NonZeroU32| {
            let quota = Quota::per_second(per_second).allow_burst(per_second.max(burst));
            RateLimiter::direct_with_clock(quota, MonotonicClock)
        };
        Usage {
            who,
            scope,
            limits: limits.clone(),
            requests: limits.requests_per_second.map(|max| rate(max, NonZeroU32::MIN)),
            bytes: limits.bytes_per_second.map(|max| rate(max, self.message_bytes_max)),
            polls: Arc::default(),
            connections: Arc::default(),
        }
    }
}

/// Forgets those that use nothing, once many are known.
fn forget_idle<K>(known: &mut HashMap<K, Arc<Usage>>) {
    if known.len() >= KNOWN_MAX {
        known.retain(|_, usage| usage.is_in_use());
    }
}

impl Usage {
    fn call(&self, bytes: usize) -> RpcResult<()> {
        if let (Some(rate), Some(max)) = (&self.requests, self.limits.requests_per_second)
            && let Err(refused) = rate.check()
        {
            let wait = refused.wait_time_from(MonotonicClock.now());
            return Err(self.too_fast(&format!("{max} calls a second"), wait));
        }
        let bytes = NonZeroU32::new(u32::try_from(bytes).unwrap_or(u32::MAX));
        if let (Some(rate), Some(max), Some(bytes)) =
            (&self.bytes, self.limits.bytes_per_second, bytes)
        {
            // A message is never larger than a burst: larger ones are refused before.
            if let Ok(Err(refused)) = rate.check_n(bytes) {
                let wait = refused.wait_time_from(MonotonicClock.now());
                return Err(self.too_fast(&format!("{max} bytes a second"), wait));
            }
        }
        Ok(())
    }

    fn poll(&self) -> RpcResult<Option<Place>> {
        let Some(max) = self.limits.polls else { return Ok(None) };
        let place = Place::take(&self.polls, max);
        let place = place.ok_or_else(|| self.reached(&format!("{max} polls at a time")))?;
        Ok(Some(place))
    }

    fn is_in_use(&self) -> bool {
        self.polls.load(Ordering::Relaxed) > 0 || self.connections.load(Ordering::Relaxed) > 0
    }

    fn too_fast(&self, limit: &str, wait: Duration) -> tonic::Status {
        let message = format!("{} may make {limit}; try again in {wait:.0?}", self.who);
        limit_reached(message, ResourceExhaustedCause::RpsLimit, self.scope, wait)
    }

    fn reached(&self, limit: &str) -> tonic::Status {
        /// Polls and connections end at any time.
        const WAIT: Duration = Duration::from_secs(1);
        let message = format!("{} may have {limit}; try again later", self.who);
        limit_reached(message, ResourceExhaustedCause::ConcurrentLimit, self.scope, WAIT)
    }
}

#[cfg(test)]
mod tests {
    use perennial_identity::{Credential, Grants};
    use tonic::Code;

    use super::*;

    fn namespace(key: i64, name: &str) -> NamespaceRecord {
        NamespaceRecord { key, name: name.to_owned(), ..NamespaceRecord::default() }
    }

    fn principal(name: &str) -> Principal {
        Principal::new(Credential::ApiKey, name, Grants::everything())
    }

    fn limiter(limits: UsageLimits) -> UsageLimiter {
        UsageLimiter::new(limits, 1_000)
    }

    #[test]
    fn each_namespace_has_calls_of_its_own() {
        let few = CallLimits { requests_per_second: NonZeroU32::new(2), ..CallLimits::default() };
        let none = NamespaceLimits::default();
        let limiter = limiter(UsageLimits {
            namespace: NamespaceLimits { calls: few, schedules: Some(3) },
            namespaces: [("free".to_owned(), none)].into(),
            ..UsageLimits::default()
        });
        let (shop, bank, free) = (namespace(1, "shop"), namespace(2, "bank"), namespace(3, "free"));
        assert!(limiter.call_in(&shop, 1).is_ok() && limiter.call_in(&shop, 1).is_ok());
        let refused = limiter.call_in(&shop, 1).unwrap_err();
        assert_eq!(refused.code(), Code::ResourceExhausted);
        assert!(refused.message().starts_with("the namespace \"shop\" may make 2 calls a second"));
        assert!(refused.metadata().contains_key("grpc-retry-pushback-ms"));
        assert!(limiter.call_in(&bank, 1).is_ok());
        for _ in 0..100 {
            assert!(limiter.call_in(&free, 1).is_ok());
        }
        assert_eq!((limiter.schedules_max("shop"), limiter.schedules_max("free")), (Some(3), None));
    }

    #[test]
    fn whole_message_fits_whatever_the_rate() {
        let slow = CallLimits { bytes_per_second: NonZeroU32::new(10), ..CallLimits::default() };
        let limiter = limiter(UsageLimits {
            principal: PrincipalLimits { calls: slow, connections: None },
            ..UsageLimits::default()
        });
        assert!(limiter.call_by(&principal("ci"), 1_000).is_ok());
        assert!(limiter.call_by(&principal("ci"), 500).is_err());
        assert!(limiter.call_by(&principal("other"), 500).is_ok());
        assert!(limiter.call_by(&Principal::anonymous(), 5_000).is_ok());
    }

    #[test]
    fn polls_and_connections_count_while_they_last() {
        let few = CallLimits { polls: Some(1), ..CallLimits::default() };
        let limiter = limiter(UsageLimits {
            principal: PrincipalLimits { calls: few, connections: Some(1) },
            ..UsageLimits::default()
        });
        let (ci, shop) = (principal("ci"), namespace(1, "shop"));
        let poll = limiter.poll(&ci, &shop).unwrap();
        assert_eq!(limiter.poll(&ci, &shop).unwrap_err().code(), Code::ResourceExhausted);
        drop(poll);
        assert!(limiter.poll(&ci, &shop).is_ok());
        let connection = limiter.connection(&ci).unwrap();
        assert!(limiter.connection(&ci).is_err());
        drop(connection);
        assert!(limiter.connection(&ci).is_ok());
    }
}
