//! Starts a workflow.

use perennial_engine::NamespaceKey;
use perennial_engine::run::{EagerStart, StartRun};
use perennial_proto::store::NamespaceRecord;
use perennial_proto::temporal::common::v1::Link;
use perennial_proto::temporal::common::v1::link::workflow_event::{EventReference, Reference};
use perennial_proto::temporal::common::v1::link::{Variant, WorkflowEvent};
use perennial_proto::temporal::enums::v1::{
    EventType, WorkflowIdConflictPolicy, WorkflowIdReusePolicy,
};
use perennial_proto::temporal::history::v1::WorkflowExecutionStartedEventAttributes;
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use perennial_proto::temporal::workflowservice::v1::{
    StartWorkflowExecutionRequest, StartWorkflowExecutionResponse,
};
use perennial_runtime::Started;
use tonic::Status;

use super::task;
use crate::call::Call;
use crate::errors::{RpcResult, refused, rejected};
use crate::failures;
use crate::search_attributes;
use crate::validate::{self, invalid};

impl Call<'_> {
    pub(crate) async fn start_workflow_execution(
        &self,
        request: StartWorkflowExecutionRequest,
    ) -> RpcResult<StartWorkflowExecutionResponse> {
        let namespace = self.namespace(&request.namespace)?;
        let workflow_id = request.workflow_id.clone();
        let start = self.start_of(request, &namespace)?;
        let started = self.runtime().start(NamespaceKey(namespace.key), workflow_id, start).await;
        self.start_response(started.map_err(refused)?, &namespace.name).await
    }

    /// The start in a request, with defaults filled in.
    pub(super) fn start_of(
        &self,
        request: StartWorkflowExecutionRequest,
        namespace: &NamespaceRecord,
    ) -> RpcResult<StartRun> {
        validate::workflow_id(&request.workflow_id)?;
        let (reuse_policy, conflict_policy) = id_policies(&request)?;
        let delay = request.workflow_start_delay.as_ref();
        let delay = validate::timeout(delay, "WorkflowStartDelaySeconds")?;
        validate::workflow_type(request.workflow_type.as_ref())?;
        let queue = validate::task_queue(request.task_queue)?;
        let request_id = self.request_id(request.request_id)?;
        let conflict = request.on_conflict_options.unwrap_or_default();
        if conflict.attach_completion_callbacks && !conflict.attach_request_id {
            return invalid("attaching request ID is required for attaching completion callbacks");
        }
        let search_attributes = search_attributes::checked(request.search_attributes, namespace)?;
        validate::priority(request.priority.as_ref())?;
        if !request.completion_callbacks.is_empty() {
            return Err(Status::unimplemented(
                "completion callbacks are not implemented by this server",
            ));
        }
        let limits = self.runtime().limits();
        validate::blob(request.input.as_ref(), limits.payload_bytes)?;
        failures::check(request.continued_failure.as_ref(), "continuedFailure")?;
        let memo = self.checked_memo(request.memo)?;

        let eager = request
            .request_eager_execution
            .then(|| EagerStart { identity: request.identity.clone() });
        let started = WorkflowExecutionStartedEventAttributes {
            workflow_id: request.workflow_id,
            workflow_type: request.workflow_type,
            task_queue: Some(TaskQueue { normal_name: String::new(), ..queue }),
            input: request.input,
            workflow_execution_timeout: request.workflow_execution_timeout,
            workflow_run_timeout: request.workflow_run_timeout,
            workflow_task_timeout: request.workflow_task_timeout,
            continued_failure: request.continued_failure,
            last_completion_result: request.last_completion_result,
            identity: request.identity,
            retry_policy: request.retry_policy,
            cron_schedule: request.cron_schedule,
            memo,
            search_attributes,
            header: request.header,
            priority: request.priority,
            versioning_override: request.versioning_override,
            ..WorkflowExecutionStartedEventAttributes::default()
        };
        let start = StartRun {
            request_id,
            run_id: None,
            started: Box::new(started),
            delay,
            reuse_policy,
            conflict_policy,
            user_metadata: request.user_metadata,
            links: request.links,
            eager,
            signal: None,
            attach_links: conflict.attach_links,
            attach_request_id: conflict.attach_request_id,
            traceparent: self.traceparent(),
        };
        start.check(self.runtime().now(), self.runtime().zones()).map_err(rejected)?;
        Ok(start)
    }

    pub(super) async fn start_response(
        &self,
        started: Started,
        namespace: &str,
    ) -> RpcResult<StartWorkflowExecutionResponse> {
        let head = &started.run.head;
        let reference =
            EventReference { event_id: 1, event_type: EventType::WorkflowExecutionStarted.into() };
        let eager_workflow_task = match started.eager_task {
            Some(grant) => Some(task::workflow_task(self, grant).await?.decoded()?),
            None => None,
        };
        Ok(StartWorkflowExecutionResponse {
            run_id: head.run_id.clone(),
            first_execution_run_id: started.run.started.first_execution_run_id.clone(),
            started: started.is_new,
            status: head.status,
            eager_workflow_task,
            link: Some(link(
                namespace,
                &head.workflow_id,
                &head.run_id,
                Reference::EventRef(reference),
            )),
        })
    }
}

/// A link to an event of a run.
pub(super) fn link(namespace: &str, workflow_id: &str, run_id: &str, reference: Reference) -> Link {
    let event = WorkflowEvent {
        namespace: namespace.to_owned(),
        workflow_id: workflow_id.to_owned(),
        run_id: run_id.to_owned(),
        reference: Some(reference),
    };
    Link { variant: Some(Variant::WorkflowEvent(event)) }
}

/// The reuse and conflict policies of a start, both explicit.
fn id_policies(
    request: &StartWorkflowExecutionRequest,
) -> RpcResult<(WorkflowIdReusePolicy, WorkflowIdConflictPolicy)> {
    let (reuse, conflict) =
        (request.workflow_id_reuse_policy(), request.workflow_id_conflict_policy());
    validate::id_policies(reuse, conflict)?;
    Ok(explicit_policies(reuse, conflict, WorkflowIdConflictPolicy::Fail))
}

/// Fills in defaults, and translates the deprecated *terminate if running*.
#[allow(deprecated, reason = "older clients still send it")]
pub(super) fn explicit_policies(
    reuse: WorkflowIdReusePolicy,
    conflict: WorkflowIdConflictPolicy,
    default_conflict: WorkflowIdConflictPolicy,
) -> (WorkflowIdReusePolicy, WorkflowIdConflictPolicy) {
    if reuse == WorkflowIdReusePolicy::TerminateIfRunning {
        return (
            WorkflowIdReusePolicy::AllowDuplicate,
            WorkflowIdConflictPolicy::TerminateExisting,
        );
    }
    let reuse = match reuse {
        WorkflowIdReusePolicy::Unspecified => WorkflowIdReusePolicy::AllowDuplicate,
        given => given,
    };
    let conflict = match conflict {
        WorkflowIdConflictPolicy::Unspecified => default_conflict,
        given => given,
    };
    (reuse, conflict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(deprecated, reason = "older clients still send it")]
    fn terminate_if_running_is_translated() {
        use {WorkflowIdConflictPolicy as Conflict, WorkflowIdReusePolicy as Reuse};
        assert_eq!(
            explicit_policies(Reuse::TerminateIfRunning, Conflict::Unspecified, Conflict::Fail),
            (Reuse::AllowDuplicate, Conflict::TerminateExisting)
        );
        assert_eq!(
            explicit_policies(Reuse::Unspecified, Conflict::Unspecified, Conflict::Fail),
            (Reuse::AllowDuplicate, Conflict::Fail)
        );
        assert_eq!(
            explicit_policies(Reuse::RejectDuplicate, Conflict::UseExisting, Conflict::Fail),
            (Reuse::RejectDuplicate, Conflict::UseExisting)
        );
    }
}
