//! Signals, and signal-with-start.

use perennial_engine::NamespaceKey;
use perennial_engine::run::{Command, Signal, StartRun};
use perennial_proto::temporal::common::v1::link::workflow_event::{Reference, RequestIdReference};
use perennial_proto::temporal::enums::v1::{EventType, WorkflowIdConflictPolicy};
use perennial_proto::temporal::history::v1::WorkflowExecutionSignaledEventAttributes;
use perennial_proto::temporal::workflowservice::v1::{
    SignalWithStartWorkflowExecutionRequest, SignalWithStartWorkflowExecutionResponse,
    SignalWorkflowExecutionRequest, SignalWorkflowExecutionResponse, StartWorkflowExecutionRequest,
};

use super::start::{explicit_policies, link};
use crate::call::Call;
use crate::errors::{RpcResult, refused};
use crate::validate::{self, ID_BYTES_MAX, invalid};

impl Call<'_> {
    pub(crate) async fn signal_workflow_execution(
        &self,
        request: SignalWorkflowExecutionRequest,
    ) -> RpcResult<SignalWorkflowExecutionResponse> {
        let target = self.run_name(&request.namespace, request.workflow_execution)?;
        if request.signal_name.is_empty() {
            return invalid("SignalName is not set on request.");
        }
        validate::no_longer_than_an_id(&request.signal_name, "SignalName")?;
        validate::no_longer_than_an_id(&request.request_id, "RequestId")?;
        validate::blob(request.input.as_ref(), self.runtime().limits().payload_bytes)?;
        let request_id = request.request_id;
        let attributes = WorkflowExecutionSignaledEventAttributes {
            signal_name: request.signal_name,
            input: request.input,
            identity: request.identity,
            header: request.header,
            request_id: request_id.clone(),
            ..WorkflowExecutionSignaledEventAttributes::default()
        };
        let signal = Signal { attributes, links: request.links };
        let command = Command::Signal(Box::new(signal));
        let sent = self.send(target, command).await?;
        let head = &sent.run.head;
        let reference = signal_reference(request_id);
        Ok(SignalWorkflowExecutionResponse {
            link: Some(link(&request.namespace, &head.workflow_id, &head.run_id, reference)),
        })
    }

    pub(crate) async fn signal_with_start_workflow_execution(
        &self,
        request: SignalWithStartWorkflowExecutionRequest,
    ) -> RpcResult<SignalWithStartWorkflowExecutionResponse> {
        let namespace = self.namespace(&request.namespace)?;
        check_names(&request)?;
        validate::id_policies(
            request.workflow_id_reuse_policy(),
            request.workflow_id_conflict_policy(),
        )?;
        if request.workflow_id_conflict_policy() == WorkflowIdConflictPolicy::Fail {
            return invalid(
                "Invalid WorkflowIDConflictPolicy: WORKFLOW_ID_CONFLICT_POLICY_FAIL is not \
                 supported for this operation.",
            );
        }
        validate::blob(request.signal_input.as_ref(), self.runtime().limits().payload_bytes)?;
        let (reuse_policy, conflict_policy) = explicit_policies(
            request.workflow_id_reuse_policy(),
            request.workflow_id_conflict_policy(),
            WorkflowIdConflictPolicy::UseExisting,
        );
        let attributes = WorkflowExecutionSignaledEventAttributes {
            signal_name: request.signal_name.clone(),
            input: request.signal_input.clone(),
            identity: request.identity.clone(),
            header: request.header.clone(),
            request_id: request.request_id.clone(),
            ..WorkflowExecutionSignaledEventAttributes::default()
        };
        let workflow_id = request.workflow_id.clone();
        let links = request.links.clone();
        let start = self.start_of(without_signal(request), &namespace)?;
        let start = StartRun {
            reuse_policy,
            conflict_policy,
            signal: Some(Box::new(Signal {
                attributes: WorkflowExecutionSignaledEventAttributes {
                    request_id: start.request_id.clone(),
                    ..attributes
                },
                links,
            })),
            ..start
        };
        let request_id = start.request_id.clone();
        let started = self.runtime().start(NamespaceKey(namespace.key), workflow_id, start).await;
        let started = started.map_err(refused)?;
        let head = &started.run.head;
        let reference = signal_reference(request_id);
        Ok(SignalWithStartWorkflowExecutionResponse {
            run_id: head.run_id.clone(),
            first_execution_run_id: started.run.started.first_execution_run_id.clone(),
            started: started.is_new,
            signal_link: Some(link(&namespace.name, &head.workflow_id, &head.run_id, reference)),
        })
    }
}

fn signal_reference(request_id: String) -> Reference {
    Reference::RequestIdRef(RequestIdReference {
        request_id,
        event_type: EventType::WorkflowExecutionSignaled.into(),
    })
}

/// Checks the policies. Temporal's server has other messages here than for a start.
fn check_names(request: &SignalWithStartWorkflowExecutionRequest) -> RpcResult<()> {
    validate::workflow_id(&request.workflow_id)?;
    let workflow_type =
        request.workflow_type.as_ref().map_or("", |workflow_type| workflow_type.name.as_str());
    for (name, field, long_field) in [
        (request.signal_name.as_str(), "signal", "signal name"),
        (workflow_type, "workflow type", "workflow type name"),
    ] {
        if name.is_empty() {
            return invalid(format!("{field} not set"));
        }
        if name.len() > ID_BYTES_MAX {
            return invalid(format!(
                "{long_field} exceeds maximum allowed length ({}/{ID_BYTES_MAX})",
                name.len()
            ));
        }
        validate::storable(name, long_field)?;
    }
    Ok(())
}

fn without_signal(
    request: SignalWithStartWorkflowExecutionRequest,
) -> StartWorkflowExecutionRequest {
    StartWorkflowExecutionRequest {
        namespace: request.namespace,
        workflow_id: request.workflow_id,
        workflow_type: request.workflow_type,
        task_queue: request.task_queue,
        input: request.input,
        workflow_execution_timeout: request.workflow_execution_timeout,
        workflow_run_timeout: request.workflow_run_timeout,
        workflow_task_timeout: request.workflow_task_timeout,
        identity: request.identity,
        request_id: request.request_id,
        workflow_id_reuse_policy: request.workflow_id_reuse_policy,
        retry_policy: request.retry_policy,
        cron_schedule: request.cron_schedule,
        memo: request.memo,
        search_attributes: request.search_attributes,
        header: request.header,
        workflow_start_delay: request.workflow_start_delay,
        user_metadata: request.user_metadata,
        links: request.links,
        versioning_override: request.versioning_override,
        priority: request.priority,
        ..StartWorkflowExecutionRequest::default()
    }
}
