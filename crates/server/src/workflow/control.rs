//! Canceling, terminating, deleting and pausing a workflow.

use perennial_engine::run::{
    Command, PauseRun, Rejection, RequestCancel, Terminate, UpdateOptions,
};
use perennial_proto::store::RunName;
use perennial_proto::temporal::common::v1::{Priority, WorkflowExecution};
use perennial_proto::temporal::workflow::v1::WorkflowExecutionOptions;
use perennial_proto::temporal::workflowservice::v1::{
    DeleteWorkflowExecutionRequest, DeleteWorkflowExecutionResponse, PauseWorkflowExecutionRequest,
    PauseWorkflowExecutionResponse, RequestCancelWorkflowExecutionRequest,
    RequestCancelWorkflowExecutionResponse, TerminateWorkflowExecutionRequest,
    TerminateWorkflowExecutionResponse, UnpauseWorkflowExecutionRequest,
    UnpauseWorkflowExecutionResponse, UpdateWorkflowExecutionOptionsRequest,
    UpdateWorkflowExecutionOptionsResponse,
};
use perennial_runtime::Refusal;

use super::activity_options::snake_case;
use crate::call::Call;
use crate::errors::{RpcResult, refused, refused_about};
use crate::validate::{self, invalid};

impl Call<'_> {
    pub(crate) async fn request_cancel_workflow_execution(
        &self,
        request: RequestCancelWorkflowExecutionRequest,
    ) -> RpcResult<RequestCancelWorkflowExecutionResponse> {
        let target = self.run_name(&request.namespace, request.workflow_execution)?;
        let target = current_of_chain(target, request.first_execution_run_id);
        let command = Command::RequestCancel(RequestCancel {
            request_id: self.request_id(request.request_id)?,
            reason: request.reason,
            identity: request.identity,
            external: None,
            links: request.links,
        });
        match self.runtime().send(target.clone(), command).await {
            // Canceling a closed run succeeds, and does nothing.
            Ok(_) | Err(Refusal::Rejected(Rejection::AlreadyClosed)) => {
                Ok(RequestCancelWorkflowExecutionResponse {})
            }
            Err(refusal) => Err(refused_about(refusal, &target)),
        }
    }

    pub(crate) async fn terminate_workflow_execution(
        &self,
        request: TerminateWorkflowExecutionRequest,
    ) -> RpcResult<TerminateWorkflowExecutionResponse> {
        let target = self.run_name(&request.namespace, request.workflow_execution)?;
        let target = current_of_chain(target, request.first_execution_run_id);
        let command = Command::Terminate(Terminate {
            reason: or(request.reason, "terminated by user via frontend"),
            details: request.details,
            identity: or(request.identity, "frontend-service"),
            links: request.links,
        });
        self.send(target, command).await?;
        Ok(TerminateWorkflowExecutionResponse {})
    }

    pub(crate) async fn delete_workflow_execution(
        &self,
        request: DeleteWorkflowExecutionRequest,
    ) -> RpcResult<DeleteWorkflowExecutionResponse> {
        let target = self.run_name(&request.namespace, request.workflow_execution)?;
        self.runtime().delete(target).await.map_err(refused)?;
        Ok(DeleteWorkflowExecutionResponse {})
    }

    pub(crate) async fn pause_workflow_execution(
        &self,
        request: PauseWorkflowExecutionRequest,
    ) -> RpcResult<PauseWorkflowExecutionResponse> {
        let target = self.run_by_id(&request.namespace, request.workflow_id, request.run_id)?;
        let command = Command::Pause(PauseRun {
            identity: request.identity,
            reason: request.reason,
            request_id: self.request_id(request.request_id)?,
        });
        self.send(target, command).await?;
        Ok(PauseWorkflowExecutionResponse {})
    }

    pub(crate) async fn unpause_workflow_execution(
        &self,
        request: UnpauseWorkflowExecutionRequest,
    ) -> RpcResult<UnpauseWorkflowExecutionResponse> {
        let target = self.run_by_id(&request.namespace, request.workflow_id, request.run_id)?;
        let command = Command::Unpause(PauseRun {
            identity: request.identity,
            reason: request.reason,
            request_id: self.request_id(request.request_id)?,
        });
        self.send(target, command).await?;
        Ok(UnpauseWorkflowExecutionResponse {})
    }

    pub(crate) async fn update_workflow_execution_options(
        &self,
        request: UpdateWorkflowExecutionOptionsRequest,
    ) -> RpcResult<UpdateWorkflowExecutionOptionsResponse> {
        let target = self.run_name(&request.namespace, request.workflow_execution)?;
        let Some(mask) = request.update_mask else {
            return invalid("UpdateMask is required");
        };
        let given = request.workflow_execution_options.unwrap_or_default();
        validate::priority(given.priority.as_ref())?;
        let mut priority = None;
        for path in &mask.paths {
            match snake_case(path).as_str() {
                "priority" => priority = Some(given.priority.clone().unwrap_or_default()),
                "priority.priority_key" => {
                    let requested = priority.get_or_insert_with(Priority::default);
                    requested.priority_key =
                        given.priority.as_ref().map_or(0, |given| given.priority_key);
                }
                _ => return invalid(format!("unsupported path in update mask: {path}")),
            }
        }
        let command = Command::UpdateOptions(Box::new(UpdateOptions {
            priority,
            identity: request.identity,
        }));
        let sent = self.send(target, command).await?;
        Ok(UpdateWorkflowExecutionOptionsResponse {
            workflow_execution_options: Some(WorkflowExecutionOptions {
                priority: sent.run.head.priority.clone(),
                versioning_override: sent.run.head.versioning_override.clone(),
                ..WorkflowExecutionOptions::default()
            }),
            update_time: Some(self.runtime().now().into()),
        })
    }

    pub(super) fn run_by_id(
        &self,
        namespace: &str,
        workflow_id: String,
        run_id: String,
    ) -> RpcResult<RunName> {
        self.run_name(namespace, Some(WorkflowExecution { workflow_id, run_id }))
    }
}

/// A first run id names a chain, and so its current run. It takes precedence over a run id.
fn current_of_chain(target: RunName, first_run_id: String) -> RunName {
    if first_run_id.is_empty() {
        return target;
    }
    RunName { run_id: String::new(), first_run_id, ..target }
}

fn or(given: String, default: &str) -> String {
    if given.is_empty() { default.to_owned() } else { given }
}
