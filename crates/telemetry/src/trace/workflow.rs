//! The span of a workflow, from its start to its close.

use std::time::SystemTime;

use opentelemetry::KeyValue;
use opentelemetry::trace::{Span as _, SpanBuilder, Status};

use super::context::TraceContext;
use super::tracer::Tracer;

/// A run that has closed.
#[derive(Debug, Clone, Copy)]
pub struct ClosedWorkflow<'a> {
    /// The position of the call that started it, as stored with the run. Empty if there is none.
    pub traceparent: &'a str,
    /// When it was started.
    pub started_at: SystemTime,
    /// When it closed.
    pub closed_at: SystemTime,
    /// The name of its namespace.
    pub namespace: &'a str,
    /// Its workflow id.
    pub workflow_id: &'a str,
    /// Its run id.
    pub run_id: &'a str,
    /// The name of its type.
    pub workflow_type: &'a str,
    /// How it closed, as in `Completed`.
    pub status: &'a str,
    /// Whether it closed without a result.
    pub has_failed: bool,
}

impl Tracer {
    /// Records the whole life of a run as one span, a child of the call that started it.
    pub fn record_workflow(&self, run: &ClosedWorkflow<'_>) {
        let parent: Option<TraceContext> = run.traceparent.parse().ok();
        let Some(tracer) = self.sampling(parent.as_ref()) else { return };
        let span = SpanBuilder::from_name(format!("workflow {}", run.workflow_type))
            .with_start_time(run.started_at)
            .with_attributes([
                KeyValue::new("perennial.namespace", run.namespace.to_owned()),
                KeyValue::new("temporal.workflow_id", run.workflow_id.to_owned()),
                KeyValue::new("temporal.run_id", run.run_id.to_owned()),
                KeyValue::new("temporal.workflow_type", run.workflow_type.to_owned()),
                KeyValue::new("temporal.workflow_status", run.status.to_owned()),
            ]);
        let mut span = tracer.begin(span, parent.as_ref());
        if run.has_failed {
            span.set_status(Status::error(run.status.to_owned()));
        }
        span.end_with_timestamp(run.closed_at.max(run.started_at));
    }
}
