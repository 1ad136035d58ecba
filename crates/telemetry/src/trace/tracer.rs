//! The tracer of a server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry::trace::{
    Span as _, SpanBuilder, SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState,
    Tracer as _, TracerProvider,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracer, SdkTracerProvider, Span};

use super::context::TraceContext;
use super::exporter;

/// Records traces of calls and workflows, or nothing. Clones are the same tracer.
///
/// Each server has its own; nothing is global.
#[derive(Clone, Default)]
pub struct Tracer(Option<Arc<ActiveTracer>>);

/// Where traces go, and how many of them are recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct OtlpConfig {
    /// The collector, as in `http://localhost:4317`. It is called with OTLP over gRPC.
    pub endpoint: String,
    /// The share of traces that begin here and are recorded, from 0 to 1. A trace that the caller has begun is recorded
    /// if the caller records it.
    pub ratio: f64,
}

/// Why traces can't be recorded.
#[derive(Debug, thiserror::Error)]
pub enum InvalidTracing {
    /// The endpoint isn't a URL.
    #[error("{0} is no endpoint of a collector; use a URL such as http://localhost:4317")]
    Endpoint(String),
    /// The ratio is out of range.
    #[error("the ratio of traces is {0}, not a number from 0 to 1")]
    Ratio(f64),
    /// The exporter doesn't start.
    #[error("traces can't be exported to {endpoint}: {problem}")]
    Exporter {
        /// The collector.
        endpoint: String,
        /// What is wrong.
        problem: String,
    },
}

/// A tracer that records.
pub(super) struct ActiveTracer {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    ratio: f64,
}

impl Tracer {
    /// Records nothing.
    pub fn disabled() -> Self {
        Self(None)
    }

    /// Exports traces to a collector. Has to be called in a Tokio runtime, which carries the connection.
    ///
    /// A collector that doesn't answer is logged, and its spans are lost: the server works on.
    pub fn otlp(config: &OtlpConfig) -> Result<Self, InvalidTracing> {
        let OtlpConfig { endpoint, ratio } = config;
        if !(0.0..=1.0).contains(ratio) {
            return Err(InvalidTracing::Ratio(*ratio));
        }
        let exporter = exporter::start(endpoint)?;
        // `Resource::builder` takes over the names that the environment gives, as OTEL_SERVICE_NAME.
        let mut resource = Resource::builder();
        if std::env::var_os("OTEL_SERVICE_NAME").is_none() {
            resource = resource.with_service_name("perennial");
        }
        let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
        let provider = SdkTracerProvider::builder()
            // What is sampled is decided before a span is made.
            .with_sampler(Sampler::AlwaysOn)
            .with_resource(resource.with_attribute(version).build())
            .with_batch_exporter(exporter)
            .build();
        let tracer = provider.tracer("perennial");
        Ok(Self(Some(Arc::new(ActiveTracer { provider, tracer, ratio: *ratio }))))
    }

    /// Whether anything is recorded.
    pub fn is_enabled(&self) -> bool {
        self.0.is_some()
    }

    /// The tracer, if a span with this parent is recorded.
    pub(super) fn sampling(&self, parent: Option<&TraceContext>) -> Option<&Arc<ActiveTracer>> {
        let active = self.0.as_ref()?;
        let is_sampled = match parent {
            Some(parent) => parent.is_sampled(),
            None => active.ratio >= 1.0 || fastrand::f64() < active.ratio,
        };
        is_sampled.then_some(active)
    }

    /// Exports what is recorded, and records nothing afterwards. Blocks for five seconds at most. The Tokio runtime has to
    /// run meanwhile, on another thread.
    pub fn close(&self) {
        const TIMEOUT: Duration = Duration::from_secs(5);
        if let Some(active) = &self.0
            && let Err(error) = active.provider.shutdown_with_timeout(TIMEOUT)
        {
            tracing::warn!(%error, "the last traces were not exported");
        }
    }
}

impl fmt::Debug for Tracer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Tracer").field("is_enabled", &self.is_enabled()).finish_non_exhaustive()
    }
}

impl ActiveTracer {
    /// Begins a span, as a child of another or as the first of a trace.
    pub(super) fn begin(&self, span: SpanBuilder, parent: Option<&TraceContext>) -> Span {
        let context = parent.map_or_else(Context::new, |parent| {
            Context::new().with_remote_span_context(SpanContext::new(
                TraceId::from(parent.trace_id),
                SpanId::from(parent.parent_id),
                TraceFlags::SAMPLED,
                true,
                TraceState::default(),
            ))
        });
        self.tracer.build_with_context(span, &context)
    }
}

/// The position of a span, for its children.
pub(super) fn context_of(span: &Span) -> TraceContext {
    let context = span.span_context();
    TraceContext {
        trace_id: u128::from_be_bytes(context.trace_id().to_bytes()),
        parent_id: u64::from_be_bytes(context.span_id().to_bytes()),
        flags: 1,
    }
}
