//! Heartbeats and results of activities, from workers and others.

use perennial_engine::run::{
    ActivityOutcome, ActivityTarget, Command, HeartbeatActivity, HeartbeatReply, Reply,
    ReportActivity,
};
use perennial_proto::store::RunName;
use perennial_proto::temporal::common::v1::{Payloads, WorkerVersionStamp};
use perennial_proto::temporal::failure::v1::Failure;
use perennial_proto::temporal::failure::v1::failure::FailureInfo;
use perennial_proto::temporal::workflowservice::v1::{
    RecordActivityTaskHeartbeatByIdRequest, RecordActivityTaskHeartbeatByIdResponse,
    RecordActivityTaskHeartbeatRequest, RecordActivityTaskHeartbeatResponse,
    RespondActivityTaskCanceledByIdRequest, RespondActivityTaskCanceledByIdResponse,
    RespondActivityTaskCanceledRequest, RespondActivityTaskCanceledResponse,
    RespondActivityTaskCompletedByIdRequest, RespondActivityTaskCompletedByIdResponse,
    RespondActivityTaskCompletedRequest, RespondActivityTaskCompletedResponse,
    RespondActivityTaskFailedByIdRequest, RespondActivityTaskFailedByIdResponse,
    RespondActivityTaskFailedRequest, RespondActivityTaskFailedResponse,
};
use prost::Message;

use super::respond::{FAILURE_TOO_LARGE, server_failure};
use crate::call::Call;
use crate::errors::RpcResult;
use crate::failures;
use crate::tokens;
use crate::validate::{self, invalid};

/// An activity of a run.
type ActivityRef = (RunName, ActivityTarget);

/// The client that reports.
struct Reporter {
    identity: String,
    /// The worker's build, if known.
    build: Option<WorkerVersionStamp>,
}

/// A client that names an activity by its id. It may be another program than a worker.
impl From<String> for Reporter {
    fn from(identity: String) -> Self {
        Self { identity, build: None }
    }
}

impl Call<'_> {
    pub(crate) async fn record_activity_task_heartbeat(
        &self,
        request: RecordActivityTaskHeartbeatRequest,
    ) -> RpcResult<RecordActivityTaskHeartbeatResponse> {
        let activity = self.by_token(&request.namespace, &request.task_token).await?;
        let reply = self.heartbeat(activity, request.details, request.identity).await?;
        Ok(RecordActivityTaskHeartbeatResponse {
            cancel_requested: reply.cancel_requested,
            activity_paused: reply.paused,
            activity_reset: reply.reset,
        })
    }

    pub(crate) async fn record_activity_task_heartbeat_by_id(
        &self,
        request: RecordActivityTaskHeartbeatByIdRequest,
    ) -> RpcResult<RecordActivityTaskHeartbeatByIdResponse> {
        let activity = self.by_id(
            &request.namespace,
            request.workflow_id,
            request.run_id,
            request.activity_id,
        )?;
        let reply = self.heartbeat(activity, request.details, request.identity).await?;
        Ok(RecordActivityTaskHeartbeatByIdResponse {
            cancel_requested: reply.cancel_requested,
            activity_paused: reply.paused,
            activity_reset: reply.reset,
        })
    }

    #[allow(deprecated, reason = "workers without deployments tell their build the old way")]
    pub(crate) async fn respond_activity_task_completed(
        &self,
        request: RespondActivityTaskCompletedRequest,
    ) -> RpcResult<RespondActivityTaskCompletedResponse> {
        let activity = self.by_token(&request.namespace, &request.task_token).await?;
        let by = Reporter { identity: request.identity, build: request.worker_version };
        self.completed(activity, request.result, by).await?;
        Ok(RespondActivityTaskCompletedResponse {})
    }

    pub(crate) async fn respond_activity_task_completed_by_id(
        &self,
        request: RespondActivityTaskCompletedByIdRequest,
    ) -> RpcResult<RespondActivityTaskCompletedByIdResponse> {
        let activity = self.by_id(
            &request.namespace,
            request.workflow_id,
            request.run_id,
            request.activity_id,
        )?;
        self.completed(activity, request.result, request.identity.into()).await?;
        Ok(RespondActivityTaskCompletedByIdResponse {})
    }

    #[allow(deprecated, reason = "workers without deployments tell their build the old way")]
    pub(crate) async fn respond_activity_task_failed(
        &self,
        request: RespondActivityTaskFailedRequest,
    ) -> RpcResult<RespondActivityTaskFailedResponse> {
        let activity = self.by_token(&request.namespace, &request.task_token).await?;
        let details = request.last_heartbeat_details;
        let by = Reporter { identity: request.identity, build: request.worker_version };
        let failures = self.failed(activity, request.failure, details, by).await?;
        Ok(RespondActivityTaskFailedResponse { failures })
    }

    pub(crate) async fn respond_activity_task_failed_by_id(
        &self,
        request: RespondActivityTaskFailedByIdRequest,
    ) -> RpcResult<RespondActivityTaskFailedByIdResponse> {
        let activity = self.by_id(
            &request.namespace,
            request.workflow_id,
            request.run_id,
            request.activity_id,
        )?;
        let details = request.last_heartbeat_details;
        let by = request.identity.into();
        let failures = self.failed(activity, request.failure, details, by).await?;
        Ok(RespondActivityTaskFailedByIdResponse { failures })
    }

    #[allow(deprecated, reason = "workers without deployments tell their build the old way")]
    pub(crate) async fn respond_activity_task_canceled(
        &self,
        request: RespondActivityTaskCanceledRequest,
    ) -> RpcResult<RespondActivityTaskCanceledResponse> {
        let activity = self.by_token(&request.namespace, &request.task_token).await?;
        let by = Reporter { identity: request.identity, build: request.worker_version };
        self.canceled(activity, request.details, by).await?;
        Ok(RespondActivityTaskCanceledResponse {})
    }

    pub(crate) async fn respond_activity_task_canceled_by_id(
        &self,
        request: RespondActivityTaskCanceledByIdRequest,
    ) -> RpcResult<RespondActivityTaskCanceledByIdResponse> {
        let activity = self.by_id(
            &request.namespace,
            request.workflow_id,
            request.run_id,
            request.activity_id,
        )?;
        self.canceled(activity, request.details, request.identity.into()).await?;
        Ok(RespondActivityTaskCanceledByIdResponse {})
    }

    async fn by_token(&self, namespace: &str, token: &[u8]) -> RpcResult<ActivityRef> {
        let token = self.task_token(namespace, token).await?;
        Ok((tokens::run_of(&token), tokens::activity_of(&token)))
    }

    fn by_id(
        &self,
        namespace: &str,
        workflow_id: String,
        run_id: String,
        activity_id: String,
    ) -> RpcResult<ActivityRef> {
        let run = self.run_by_id(namespace, workflow_id, run_id)?;
        if activity_id.is_empty() {
            return invalid("ActivityId is not set on request.");
        }
        Ok((run, ActivityTarget::Id(activity_id)))
    }

    async fn heartbeat(
        &self,
        (run, target): ActivityRef,
        details: Option<Payloads>,
        identity: String,
    ) -> RpcResult<HeartbeatReply> {
        if self.is_too_large(details.as_ref()) {
            let failure = server_failure("Heartbeat details exceed size limit.");
            let outcome = ActivityOutcome::Failed(Some(failure), None);
            self.report((run, target), outcome, identity.into()).await?;
            return Ok(HeartbeatReply { cancel_requested: true, ..HeartbeatReply::default() });
        }
        let command = Command::HeartbeatActivity(HeartbeatActivity { target, details, identity });
        let sent = self.send(run, command).await?;
        Ok(match sent.reply {
            Reply::Heartbeat(reply) => reply,
            Reply::Done
            | Reply::TaskStarted
            | Reply::WorkflowTaskCompleted(_)
            | Reply::Answered(_) => HeartbeatReply::default(),
        })
    }

    async fn completed(
        &self,
        activity: ActivityRef,
        result: Option<Payloads>,
        by: Reporter,
    ) -> RpcResult<()> {
        let outcome = if self.is_too_large(result.as_ref()) {
            let failure = server_failure("Complete result exceeds size limit.");
            ActivityOutcome::Failed(Some(failure), None)
        } else {
            ActivityOutcome::Completed(result)
        };
        self.report(activity, outcome, by).await
    }

    /// Returns a failure for each part of the report that was too large to keep.
    async fn failed(
        &self,
        activity: ActivityRef,
        failure: Option<Failure>,
        mut details: Option<Payloads>,
        by: Reporter,
    ) -> RpcResult<Vec<Failure>> {
        if let Some(failure) = &failure {
            check_failure(failure)?;
        }
        failures::check(failure.as_ref(), "failure")?;
        let mut refused = Vec::new();
        if self.is_too_large(details.as_ref()) {
            refused.push(server_failure("Heartbeat details exceed size limit."));
            details = None;
        }
        let failure = match failure {
            Some(failure) if failure.encoded_len() > self.runtime().limits().payload_bytes => {
                let instead = server_failure(FAILURE_TOO_LARGE);
                refused.push(instead.clone());
                Some(instead)
            }
            failure => failure,
        };
        self.report(activity, ActivityOutcome::Failed(failure, details), by).await?;
        Ok(refused)
    }

    async fn canceled(
        &self,
        activity: ActivityRef,
        details: Option<Payloads>,
        by: Reporter,
    ) -> RpcResult<()> {
        let outcome = if self.is_too_large(details.as_ref()) {
            let failure = server_failure("Cancel details exceed size limit.");
            ActivityOutcome::Failed(Some(failure), None)
        } else {
            ActivityOutcome::Canceled(details)
        };
        self.report(activity, outcome, by).await
    }

    async fn report(
        &self,
        (run, target): ActivityRef,
        outcome: ActivityOutcome,
        by: Reporter,
    ) -> RpcResult<()> {
        let Reporter { identity, build: worker_version } = by;
        validate::identity(&identity)?;
        let report = ReportActivity { target, outcome, identity, worker_version };
        let command = Command::ReportActivity(Box::new(report));
        self.send(run, command).await?;
        Ok(())
    }

    fn is_too_large(&self, payloads: Option<&Payloads>) -> bool {
        validate::blob(payloads, self.runtime().limits().payload_bytes).is_err()
    }
}

/// Checks that an activity may report this failure.
fn check_failure(failure: &Failure) -> RpcResult<()> {
    match failure.failure_info {
        Some(FailureInfo::ApplicationFailureInfo(_)) => Ok(()),
        _ => invalid("Failure must have ApplicationFailureInfo."),
    }
}
