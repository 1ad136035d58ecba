//! Checks of fields that many requests have, with the messages of Temporal's server.

use perennial_engine::run::checked_retry_policy;
use perennial_engine::{Span, checked_duration};
use perennial_proto::Duration;
use perennial_proto::temporal::common::v1::{
    Payloads, Priority, RetryPolicy, WorkflowExecution, WorkflowType,
};
use perennial_proto::temporal::enums::v1::{
    TaskQueueKind, WorkflowIdConflictPolicy, WorkflowIdReusePolicy,
};
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use prost::Message;
use tonic::Status;

use crate::errors::RpcResult;

/// The longest name or id.
pub(crate) const ID_BYTES_MAX: usize = 1_000;

/// The prefix of task queues that Temporal's server reserves.
const RESERVED_QUEUE_PREFIX: &str = "/_sys/";

/// Checks the id of a workflow to start.
pub(crate) fn workflow_id(id: &str) -> RpcResult<()> {
    if id.is_empty() {
        return invalid("WorkflowId is not set on request.");
    }
    if id.len() > ID_BYTES_MAX {
        return invalid(format!(
            "WorkflowId exceeds maximum allowed length ({}/{ID_BYTES_MAX})",
            id.len()
        ));
    }
    storable(id, "WorkflowId")
}

/// Checks that databases can store a text: PostgreSQL has no character U+0000.
pub(crate) fn storable(text: &str, field: &str) -> RpcResult<()> {
    if text.contains('\0') {
        return invalid(format!("{field} has the character U+0000."));
    }
    Ok(())
}

/// Checks the run that a request names.
pub(crate) fn execution(execution: Option<WorkflowExecution>) -> RpcResult<WorkflowExecution> {
    let Some(execution) = execution else {
        return invalid("Execution is not set on request.");
    };
    if execution.workflow_id.is_empty() {
        return invalid("WorkflowId is not set on request.");
    }
    run_id(&execution.run_id)?;
    Ok(execution)
}

/// Checks a run id, which may be empty.
pub(crate) fn run_id(id: &str) -> RpcResult<()> {
    if id.is_empty() || is_uuid(id) { Ok(()) } else { invalid("Invalid RunId.") }
}

/// Checks the identity of a client.
pub(crate) fn identity(identity: &str) -> RpcResult<()> {
    no_longer_than_an_id(identity, "Identity")
}

/// Checks that a text is no longer than an id, and can be stored like one.
pub(crate) fn no_longer_than_an_id(text: &str, field: &str) -> RpcResult<()> {
    if text.len() > ID_BYTES_MAX {
        return invalid(format!("{field} length exceeds limit."));
    }
    storable(text, field)
}

/// Checks the type of a workflow to start.
pub(crate) fn workflow_type(kind: Option<&WorkflowType>) -> RpcResult<()> {
    match kind {
        Some(kind) if !kind.name.is_empty() => no_longer_than_an_id(&kind.name, "WorkflowType"),
        _ => invalid("WorkflowType is not set on request."),
    }
}

/// Checks a task queue. Its kind is normal unless given.
pub(crate) fn task_queue(queue: Option<TaskQueue>) -> RpcResult<TaskQueue> {
    let Some(mut queue) = queue else {
        return invalid("taskQueue is not set");
    };
    if queue.kind() == TaskQueueKind::Unspecified {
        queue.kind = TaskQueueKind::Normal.into();
    }
    if queue.name.is_empty() {
        return invalid("missing task queue name");
    }
    queue_name(&queue.name)?;
    if queue.name.starts_with(RESERVED_QUEUE_PREFIX) {
        return invalid(format!(
            "task queue name cannot start with reserved prefix {RESERVED_QUEUE_PREFIX}"
        ));
    }
    if queue.kind() == TaskQueueKind::Sticky && !queue.normal_name.is_empty() {
        queue_name(&queue.normal_name)?;
    }
    Ok(queue)
}

fn queue_name(name: &str) -> RpcResult<()> {
    if name.len() > ID_BYTES_MAX {
        return invalid("taskQueue length exceeds limit");
    }
    storable(name, "taskQueue")
}

/// Checks a timeout, which error messages call `name`.
pub(crate) fn timeout(duration: Option<&Duration>, name: &str) -> RpcResult<Span> {
    match checked_duration(duration) {
        Ok(duration) => Ok(Span::of(duration.as_ref())),
        Err(cause) => invalid(format!("An invalid {name} is set on request. cause: {cause}")),
    }
}

/// Checks a retry policy, and fills in defaults.
pub(crate) fn retry_policy(policy: Option<RetryPolicy>) -> RpcResult<Option<RetryPolicy>> {
    policy.map(checked_retry_policy).transpose().map_err(Status::invalid_argument)
}

/// Checks a priority.
pub(crate) fn priority(priority: Option<&Priority>) -> RpcResult<()> {
    const FAIRNESS_KEY_BYTES_MAX: usize = 64;
    let Some(priority) = priority else {
        return Ok(());
    };
    if priority.priority_key < 0 {
        return invalid("priority key can't be negative");
    }
    if priority.fairness_key.len() > FAIRNESS_KEY_BYTES_MAX {
        return invalid("fairness key length exceeds limit");
    }
    if priority.fairness_weight < 0.0 {
        return invalid("must be greater than zero");
    }
    Ok(())
}

/// Checks that the two policies for a workflow id in use don't contradict each other.
#[allow(deprecated, reason = "older clients still send it")]
pub(crate) fn id_policies(
    reuse: WorkflowIdReusePolicy,
    conflict: WorkflowIdConflictPolicy,
) -> RpcResult<()> {
    if reuse == WorkflowIdReusePolicy::TerminateIfRunning
        && conflict != WorkflowIdConflictPolicy::Unspecified
    {
        return invalid(
            "Invalid WorkflowIDReusePolicy: WORKFLOW_ID_REUSE_POLICY_TERMINATE_IF_RUNNING cannot be \
             used together with a WorkflowIDConflictPolicy",
        );
    }
    if reuse == WorkflowIdReusePolicy::RejectDuplicate
        && conflict == WorkflowIdConflictPolicy::TerminateExisting
    {
        return invalid(
            "Invalid WorkflowIDReusePolicy: WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE cannot be used \
             together with WorkflowIdConflictPolicy \
             WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING",
        );
    }
    Ok(())
}

/// Checks the size of a field's payloads.
pub(crate) fn blob(payloads: Option<&Payloads>, bytes_max: usize) -> RpcResult<()> {
    if payloads.map_or(0, Message::encoded_len) > bytes_max {
        return invalid("Blob data size exceeds limit.");
    }
    Ok(())
}

/// An INVALID_ARGUMENT error with this message.
pub(crate) fn invalid<T>(message: impl Into<String>) -> RpcResult<T> {
    Err(Status::invalid_argument(message))
}

/// Whether `text` is a UUID: 32 hexadecimal digits in groups of 8, 4, 4, 4 and 12.
fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
