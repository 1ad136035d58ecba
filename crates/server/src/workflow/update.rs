//! Updates: sends one to a workflow, and waits for it.

use perennial_engine::run::UpdateProgress;
use perennial_proto::store::RunName;
use perennial_proto::temporal::common::v1::link::workflow_event::{Reference, RequestIdReference};
use perennial_proto::temporal::common::v1::link::{Variant, Workflow};
use perennial_proto::temporal::common::v1::{Link, WorkflowExecution};
use perennial_proto::temporal::enums::v1::{
    EventType, UpdateWorkflowExecutionLifecycleStage as Stage,
};
use perennial_proto::temporal::update::v1::outcome::Value;
use perennial_proto::temporal::update::v1::{Outcome, Request, UpdateRef, WaitPolicy};
use perennial_proto::temporal::workflowservice::v1::{
    PollWorkflowExecutionUpdateRequest, PollWorkflowExecutionUpdateResponse,
    UpdateWorkflowExecutionRequest, UpdateWorkflowExecutionResponse,
};
use perennial_runtime::UpdateStatus;
use perennial_telemetry::LongPoll;
use tonic::Status;

use super::start::link;
use crate::call::Call;
use crate::errors::{RpcResult, refused};
use crate::validate::{self, invalid};

impl Call<'_> {
    pub(crate) async fn update_workflow_execution(
        &self,
        request: UpdateWorkflowExecutionRequest,
    ) -> RpcResult<UpdateWorkflowExecutionResponse> {
        let namespace = request.namespace.clone();
        let target = RunName {
            first_run_id: request.first_execution_run_id.clone(),
            ..self.run_name(&request.namespace, request.workflow_execution.clone())?
        };
        let (update, stage) = self.update_of(request)?;
        let update_id = update.meta.as_ref().map(|meta| meta.update_id.clone());
        let request_id = update.request_id.clone();
        let updated = self.runtime().update(target.clone(), update, stage);
        match self.wait(LongPoll::Update, self.shared().config.long_poll_time, updated).await? {
            Some(status) => {
                let status = status.map_err(refused)?;
                let link = update_link(&status, &namespace, request_id);
                Ok(UpdateWorkflowExecutionResponse { link, ..update_response(status) })
            }
            // The client asks again with the same update id.
            None => self.admitted(target, update_id.unwrap_or_default()).await,
        }
    }

    /// The state of an update when the long poll ends.
    async fn admitted(
        &self,
        target: RunName,
        update_id: String,
    ) -> RpcResult<UpdateWorkflowExecutionResponse> {
        let polled = self.runtime().poll_update(target, update_id, Stage::Unspecified).await;
        Ok(update_response(polled.map_err(refused)?))
    }

    pub(crate) async fn poll_workflow_execution_update(
        &self,
        request: PollWorkflowExecutionUpdateRequest,
    ) -> RpcResult<PollWorkflowExecutionUpdateResponse> {
        let Some(reference) = request.update_ref else {
            return invalid("UpdateRef is not set on request.");
        };
        let target = self.run_name(&request.namespace, reference.workflow_execution)?;
        let stage = request.wait_policy.unwrap_or_default().lifecycle_stage();
        let update_id = reference.update_id;
        let polled = self.runtime().poll_update(target.clone(), update_id.clone(), stage);
        let polled =
            match self.wait(LongPoll::Update, self.shared().config.long_poll_time, polled).await? {
                Some(polled) => polled,
                None => self.runtime().poll_update(target, update_id, Stage::Unspecified).await,
            };
        let UpdateWorkflowExecutionResponse { update_ref, outcome, stage, .. } =
            update_response(polled.map_err(refused)?);
        Ok(PollWorkflowExecutionUpdateResponse { outcome, stage, update_ref })
    }

    /// The update in a request, and the stage to wait for.
    pub(super) fn update_of(
        &self,
        request: UpdateWorkflowExecutionRequest,
    ) -> RpcResult<(Request, Stage)> {
        validate::execution(request.workflow_execution)?;
        let mut update = request.request.unwrap_or_default();
        let Some(meta) = &mut update.meta else {
            return invalid("Update meta is not set on request.");
        };
        validate::no_longer_than_an_id(&meta.update_id, "UpdateId")?;
        if meta.update_id.is_empty() {
            meta.update_id = self.runtime().fresh_id();
        }
        let Some(input) = &update.input else {
            return invalid("Update input is not set on request.");
        };
        if input.name.is_empty() {
            return invalid("Update name is not set on request.");
        }
        validate::blob(input.args.as_ref(), self.runtime().limits().payload_bytes)?;
        if !update.completion_callbacks.is_empty() {
            return Err(Status::unimplemented(
                "completion callbacks are not implemented by this server",
            ));
        }
        let stage = wait_stage(request.wait_policy)?;
        Ok((update, stage))
    }
}

fn wait_stage(policy: Option<WaitPolicy>) -> RpcResult<Stage> {
    match policy.unwrap_or_default().lifecycle_stage() {
        Stage::Admitted => Err(Status::permission_denied(
            "UpdateWorkflowExecution issued asynchronously and waiting on update admitted is not \
             supported.",
        )),
        Stage::Unspecified => Ok(Stage::Completed),
        given @ (Stage::Accepted | Stage::Completed) => Ok(given),
    }
}

/// The response with the state of an update.
pub(super) fn update_response(status: UpdateStatus) -> UpdateWorkflowExecutionResponse {
    let (stage, outcome) = match status.progress {
        None => (Stage::Admitted, None),
        Some(UpdateProgress::Accepted) => (Stage::Accepted, None),
        Some(UpdateProgress::Completed(outcome)) => (Stage::Completed, Some(outcome)),
        Some(UpdateProgress::Rejected(failure)) => {
            (Stage::Completed, Some(Outcome { value: Some(Value::Failure(failure)) }))
        }
    };
    UpdateWorkflowExecutionResponse {
        update_ref: Some(UpdateRef {
            workflow_execution: Some(WorkflowExecution {
                workflow_id: status.run.workflow_id,
                run_id: status.run.run_id,
            }),
            update_id: status.update_id,
        }),
        outcome,
        stage: stage.into(),
        ..UpdateWorkflowExecutionResponse::default()
    }
}

/// A link to the event that accepted the update, or to the run in which it failed.
pub(super) fn update_link(
    status: &UpdateStatus,
    namespace: &str,
    request_id: String,
) -> Option<Link> {
    let RunName { workflow_id, run_id, .. } = &status.run;
    let is_failed = match status.progress.as_ref()? {
        UpdateProgress::Accepted => false,
        UpdateProgress::Completed(outcome) => matches!(outcome.value, Some(Value::Failure(_))),
        UpdateProgress::Rejected(_) => true,
    };
    match is_failed {
        false => {
            let event_type = EventType::WorkflowExecutionUpdateAccepted.into();
            let reference = RequestIdReference { request_id, event_type };
            Some(link(namespace, workflow_id, run_id, Reference::RequestIdRef(reference)))
        }
        true => {
            let workflow = Workflow {
                namespace: namespace.to_owned(),
                workflow_id: workflow_id.clone(),
                run_id: run_id.clone(),
                reason: "Update rejected".to_owned(),
            };
            Some(Link { variant: Some(Variant::Workflow(workflow)) })
        }
    }
}

#[cfg(test)]
mod tests {
    use perennial_proto::temporal::failure::v1::Failure;

    use super::*;

    fn response(progress: Option<UpdateProgress>) -> UpdateWorkflowExecutionResponse {
        let update_id = "u".to_owned();
        update_response(UpdateStatus { run: RunName::default(), update_id, progress })
    }

    #[test]
    fn rejected_update_is_a_completed_one_with_a_failure() {
        let failure = Failure { message: "no".to_owned(), ..Failure::default() };
        let rejected = response(Some(UpdateProgress::Rejected(failure.clone())));
        assert_eq!(rejected.stage(), Stage::Completed);
        assert_eq!(rejected.outcome.unwrap().value, Some(Value::Failure(failure)));
    }

    #[test]
    fn update_that_only_waits_is_admitted() {
        assert_eq!(response(None).stage(), Stage::Admitted);
        assert_eq!(response(Some(UpdateProgress::Accepted)).stage(), Stage::Accepted);
    }

    #[test]
    fn waiting_for_admission_alone_is_refused() {
        let policy = |stage: Stage| Some(WaitPolicy { lifecycle_stage: stage.into() });
        assert_eq!(
            wait_stage(policy(Stage::Admitted)).unwrap_err().code(),
            tonic::Code::PermissionDenied
        );
        assert_eq!(wait_stage(None).unwrap(), Stage::Completed);
        assert_eq!(wait_stage(policy(Stage::Accepted)).unwrap(), Stage::Accepted);
    }
}
