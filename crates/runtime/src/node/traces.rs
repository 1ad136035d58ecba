//! The tracer of a runtime, and the traces of closed runs.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use perennial_engine::NamespaceKey;
use perennial_engine::run::Run;
use perennial_proto::temporal::enums::v1::WorkflowExecutionStatus;
use perennial_telemetry::{ClosedWorkflow, Tracer};

use super::Node;
use crate::Runtime;

impl Runtime {
    /// The tracer of the server.
    pub fn tracer(&self) -> &Tracer {
        &self.node.tracer
    }
}

/// Records the life of a run as one span.
pub(super) fn record_closed(node: &Node, run: &Run) {
    let namespaces = node.namespaces();
    let namespace = namespaces.by_key(NamespaceKey(run.head.namespace));
    let workflow_type = run.started.workflow_type.as_ref();
    let (status, has_failed) = outcome(run.head.status());
    node.tracer.record_workflow(&ClosedWorkflow {
        traceparent: &run.head.traceparent,
        started_at: system_time(run.head.started_at),
        closed_at: system_time(run.head.closed_at),
        namespace: namespace.map_or("", |record| record.name.as_str()),
        workflow_id: &run.head.workflow_id,
        run_id: &run.head.run_id,
        workflow_type: workflow_type.map_or("", |it| it.name.as_str()),
        status,
        has_failed,
    });
}

/// The name of a status, and whether it is a failure.
fn outcome(status: WorkflowExecutionStatus) -> (&'static str, bool) {
    match status {
        WorkflowExecutionStatus::Completed => ("Completed", false),
        WorkflowExecutionStatus::ContinuedAsNew => ("ContinuedAsNew", false),
        WorkflowExecutionStatus::Canceled => ("Canceled", false),
        WorkflowExecutionStatus::Failed => ("Failed", true),
        WorkflowExecutionStatus::Terminated => ("Terminated", true),
        WorkflowExecutionStatus::TimedOut => ("TimedOut", true),
        // A run that has closed has none of these.
        WorkflowExecutionStatus::Running
        | WorkflowExecutionStatus::Paused
        | WorkflowExecutionStatus::Unspecified => ("Unspecified", false),
    }
}

fn system_time(unix_nanos: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_nanos(u64::try_from(unix_nanos).unwrap_or(0))
}
