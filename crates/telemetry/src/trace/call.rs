//! The span of a call, and of what it asks of cells.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use opentelemetry::KeyValue;
use opentelemetry::trace::{Span as _, SpanBuilder, SpanKind, Status};
use opentelemetry_sdk::trace::Span;

use super::cell_times::{AfterTurn, CallTimes, CellTimes};
use super::context::TraceContext;
use super::tracer::{ActiveTracer, Tracer, context_of};

/// The code of gRPC for a call that its client has canceled.
const CANCELLED: i64 = 1;
/// The code of gRPC for a call that took longer than its client waits.
const DEADLINE_EXCEEDED: i64 = 4;
/// The codes of gRPC that are the server's fault.
const FAULTS: [i64; 6] = [2, 4, 12, 13, 14, 15];

/// What a call is about.
#[derive(Debug, Clone)]
pub struct CallAttributes<'a> {
    /// The path of the RPC, as in `/perennial.v1.ScheduleService/ListBackfills`.
    pub path: &'a str,
    /// The namespace in the request. Empty if it has none.
    pub namespace: &'a str,
    /// The caller.
    pub principal: String,
    /// The id of the call in the log.
    pub request_id: String,
    /// When the client stops waiting.
    pub deadline: Option<Instant>,
}

/// The span of a call in progress. A call that is dropped without an end was canceled by its client, or has passed its
/// deadline.
pub struct CallSpan {
    tracer: Arc<ActiveTracer>,
    span: Span,
    times: CallTimes,
    deadline: Option<Instant>,
    /// Unless the call is dropped.
    code: Option<i64>,
}

impl Tracer {
    /// Begins the span of a call, as a child of the caller's. `None` if it isn't sampled.
    pub fn begin_call<'a>(
        &self,
        parent: Option<&TraceContext>,
        attributes: impl FnOnce() -> CallAttributes<'a>,
    ) -> Option<CallSpan> {
        let tracer = self.sampling(parent)?;
        let CallAttributes { path, namespace, principal, request_id, deadline } = attributes();
        let name = path.trim_start_matches('/').to_owned();
        let (service, method) = name.split_once('/').unwrap_or(("", &name));
        let attributes = [
            KeyValue::new("rpc.system", "grpc"),
            KeyValue::new("rpc.service", service.to_owned()),
            KeyValue::new("rpc.method", method.to_owned()),
            KeyValue::new("perennial.principal", principal),
            KeyValue::new("perennial.request_id", request_id),
        ];
        let namespace = (!namespace.is_empty())
            .then(|| KeyValue::new("perennial.namespace", namespace.to_owned()));
        let span = SpanBuilder::from_name(name)
            .with_kind(SpanKind::Server)
            .with_attributes(attributes.into_iter().chain(namespace));
        let span = tracer.begin(span, parent);
        let (tracer, times) = (Arc::clone(tracer), CallTimes::default());
        Some(CallSpan { tracer, span, times, deadline, code: None })
    }
}

impl CallSpan {
    /// The position of the span, for its children.
    pub fn context(&self) -> TraceContext {
        context_of(&self.span)
    }

    /// Records what the call asks of cells.
    pub fn times(&self) -> CallTimes {
        self.times.clone()
    }

    /// The call ends with a code of gRPC.
    pub fn end(mut self, code: i32) {
        self.code = Some(i64::from(code));
    }
}

impl Drop for CallSpan {
    fn drop(&mut self) {
        let now = SystemTime::now();
        let parent = self.context();
        for request in self.times.take() {
            for (name, begun_at, ended_at) in phases(&request, now) {
                let span = SpanBuilder::from_name(name).with_start_time(begun_at);
                self.tracer.begin(span, Some(&parent)).end_with_timestamp(ended_at);
            }
        }
        let is_late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let dropped = if is_late { DEADLINE_EXCEEDED } else { CANCELLED };
        let code = self.code.unwrap_or(dropped);
        self.span.set_attribute(KeyValue::new("rpc.grpc.status_code", code));
        if FAULTS.contains(&code) {
            self.span.set_status(Status::error(""));
        }
        self.span.end_with_timestamp(now);
    }
}

/// The phases of a request to a cell. A request that isn't answered yet ends with its call.
fn phases(
    request: &CellTimes,
    now: SystemTime,
) -> impl Iterator<Item = (&'static str, SystemTime, SystemTime)> {
    let last = match request.after_turn {
        AfterTurn::Commit => Some("commit"),
        AfterTurn::Wait => Some("wait"),
        AfterTurn::Answer => None,
    };
    let begun_at = request.begun_at.get().copied();
    let handled_at = request.handled_at.get().copied();
    let answered_at = request.answered_at.get().copied();
    [
        Some(("cell queue", request.asked_at, begun_at)),
        begun_at.map(|begun_at| ("cell turn", begun_at, handled_at)),
        last.zip(handled_at).map(|(name, handled_at)| (name, handled_at, answered_at)),
    ]
    .into_iter()
    .flatten()
    .map(move |(name, begun_at, ended_at)| (name, begun_at, ended_at.unwrap_or(now)))
}
