//! Calls of RPCs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use metrics::{Counter, Histogram};

use crate::metrics::Registry;
use crate::table;

/// The codes of gRPC, by their numbers.
const CODES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];
const CANCELLED: usize = 1;
const UNKNOWN: usize = 2;
const DEADLINE_EXCEEDED: usize = 4;

/// The metrics of one RPC. Series appear with its first call: most of an API is never called.
#[derive(Debug)]
pub struct RpcMetrics {
    service: String,
    name: String,
    registry: Arc<Registry>,
    called: OnceLock<Called>,
    by_code: [OnceLock<Counter>; CODES.len()],
}

/// The handles of an RPC that has been called.
#[derive(Debug)]
struct Called {
    duration: Histogram,
    request_bytes: Counter,
    response_bytes: Counter,
}

impl RpcMetrics {
    pub(crate) fn new(path: &str, registry: Arc<Registry>) -> Self {
        let (service, name) = path.rsplit_once('/').unwrap_or(("", path));
        // Without its package and version.
        let service = service.rsplit(['.', '/']).next().unwrap_or(service);
        let (called, by_code) = (OnceLock::new(), std::array::from_fn(|_| OnceLock::new()));
        Self { service: service.to_owned(), name: name.to_owned(), registry, called, by_code }
    }

    /// A call begins, with a message of this size. A call that is dropped without an end was canceled by its client, or
    /// has passed its deadline.
    pub fn begin(
        self: &Arc<Self>,
        bytes: usize,
        waited: WaitTime,
        deadline: Option<Instant>,
    ) -> CallTimer {
        self.called().request_bytes.increment(bytes as u64);
        CallTimer { rpc: Arc::clone(self), begun: Instant::now(), waited, deadline, end: None }
    }

    fn called(&self) -> &Called {
        let labels = [self.service.as_str(), &self.name];
        self.called.get_or_init(|| Called {
            duration: self.registry.histogram(&table::REQUEST_DURATION, &labels),
            request_bytes: self.registry.counter(&table::REQUEST_BYTES, &labels),
            response_bytes: self.registry.counter(&table::RESPONSE_BYTES, &labels),
        })
    }

    fn count(&self, code: usize) {
        let code = if code < CODES.len() { code } else { UNKNOWN };
        let labels = [self.service.as_str(), &self.name, CODES[code]];
        let register = || self.registry.counter(&table::REQUESTS, &labels);
        self.by_code[code].get_or_init(register).increment(1);
    }
}

/// The time that a call has waited for a task, an event or a worker. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct WaitTime(Arc<AtomicU64>);

impl WaitTime {
    /// Adds time.
    pub fn add(&self, waited: Duration) {
        let nanos = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
        self.0.fetch_add(nanos, Ordering::Relaxed);
    }

    fn total(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

/// A call in progress. Recorded when it is dropped.
#[derive(Debug)]
pub struct CallTimer {
    rpc: Arc<RpcMetrics>,
    begun: Instant,
    waited: WaitTime,
    deadline: Option<Instant>,
    end: Option<usize>,
}

impl CallTimer {
    /// The call ends with a gRPC code, and with a message of this size.
    pub fn end(mut self, code: i32, response_bytes: usize) {
        self.end = Some(usize::try_from(code).unwrap_or(UNKNOWN));
        self.rpc.called().response_bytes.increment(response_bytes as u64);
    }
}

impl Drop for CallTimer {
    fn drop(&mut self) {
        let now = Instant::now();
        let is_late = self.deadline.is_some_and(|deadline| now >= deadline);
        let dropped = if is_late { DEADLINE_EXCEEDED } else { CANCELLED };
        self.rpc.count(self.end.unwrap_or(dropped));
        let took = now.duration_since(self.begun).saturating_sub(self.waited.total());
        self.rpc.called().duration.record(took);
    }
}
