//! Newer forms of the RPCs in [`activity_options`](super::activity_options). They also allow standalone activities,
//! which aren't supported yet.

use perennial_proto::temporal::common::v1::WorkflowExecution;
use perennial_proto::temporal::workflowservice::v1::{
    PauseActivityExecutionRequest, PauseActivityExecutionResponse, PauseActivityRequest,
    ResetActivityExecutionRequest, ResetActivityExecutionResponse, ResetActivityRequest,
    UnpauseActivityExecutionRequest, UnpauseActivityExecutionResponse, UnpauseActivityRequest,
    UpdateActivityExecutionOptionsRequest, UpdateActivityExecutionOptionsResponse,
    UpdateActivityOptionsRequest, pause_activity_request, reset_activity_request,
    unpause_activity_request, update_activity_options_request,
};
use tonic::Status;

use crate::call::Call;
use crate::errors::RpcResult;

impl Call<'_> {
    pub(crate) async fn pause_activity_execution(
        &self,
        request: PauseActivityExecutionRequest,
    ) -> RpcResult<PauseActivityExecutionResponse> {
        self.pause_activity(PauseActivityRequest {
            namespace: request.namespace,
            execution: of_workflow(request.workflow_id, request.run_id)?,
            identity: request.identity,
            activity: Some(pause_activity_request::Activity::Id(request.activity_id)),
            reason: request.reason,
            request_id: request.request_id,
        })
        .await?;
        Ok(PauseActivityExecutionResponse {})
    }

    pub(crate) async fn unpause_activity_execution(
        &self,
        request: UnpauseActivityExecutionRequest,
    ) -> RpcResult<UnpauseActivityExecutionResponse> {
        self.unpause_activity(UnpauseActivityRequest {
            namespace: request.namespace,
            execution: of_workflow(request.workflow_id, request.run_id)?,
            identity: request.identity,
            activity: Some(unpause_activity_request::Activity::Id(request.activity_id)),
            jitter: request.jitter,
            ..UnpauseActivityRequest::default()
        })
        .await?;
        Ok(UnpauseActivityExecutionResponse {})
    }

    pub(crate) async fn reset_activity_execution(
        &self,
        request: ResetActivityExecutionRequest,
    ) -> RpcResult<ResetActivityExecutionResponse> {
        self.reset_activity(ResetActivityRequest {
            namespace: request.namespace,
            execution: of_workflow(request.workflow_id, request.run_id)?,
            identity: request.identity,
            activity: Some(reset_activity_request::Activity::Id(request.activity_id)),
            reset_heartbeat: request.reset_heartbeat,
            keep_paused: request.keep_paused,
            jitter: request.jitter,
            restore_original_options: request.restore_original_options,
        })
        .await?;
        Ok(ResetActivityExecutionResponse {})
    }

    pub(crate) async fn update_activity_execution_options(
        &self,
        request: UpdateActivityExecutionOptionsRequest,
    ) -> RpcResult<UpdateActivityExecutionOptionsResponse> {
        let updated = self
            .update_activity_options(UpdateActivityOptionsRequest {
                namespace: request.namespace,
                execution: of_workflow(request.workflow_id, request.run_id)?,
                identity: request.identity,
                activity_options: request.activity_options,
                update_mask: request.update_mask,
                activity: Some(update_activity_options_request::Activity::Id(request.activity_id)),
                restore_original: request.restore_original,
            })
            .await?;
        let activity_options = updated.activity_options;
        Ok(UpdateActivityExecutionOptionsResponse { activity_options })
    }
}

fn of_workflow(workflow_id: String, run_id: String) -> RpcResult<Option<WorkflowExecution>> {
    if workflow_id.is_empty() {
        let what = "WorkflowId is not set on request, and activities without a workflow are not supported.";
        return Err(Status::unimplemented(what));
    }
    Ok(Some(WorkflowExecution { workflow_id, run_id }))
}
