//! Updates the given parts of a schedule.

use perennial_engine::run::Rejection;
use perennial_engine::schedule::{Command, Schedule, State, UpdateSchedule};
use perennial_proto::perennial::{UpdateScheduleRequest, UpdateScheduleResponse};
use perennial_proto::temporal::schedule::v1 as api;
use perennial_runtime::Refusal;

use super::{ScheduleCall, checked_extensions};
use crate::errors::{RpcResult, refused};
use crate::workflow::schedule::{conflict_token, described, notes, read_conflict_token};

/// Attempts if the schedule changes concurrently.
const ATTEMPTS: usize = 10;

impl ScheduleCall<'_> {
    pub(crate) async fn update_schedule(
        &self,
        request: UpdateScheduleRequest,
    ) -> RpcResult<UpdateScheduleResponse> {
        let target = self.0.schedule_name(&request.namespace, &request.schedule_id)?;
        let seen = read_conflict_token(&request.conflict_token)?;
        let request_id = self.0.request_id(request.request_id.clone())?;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let present = self.0.runtime().read_schedule(target.clone()).await.map_err(refused)?;
            let mut update = self.changed(&present, &request)?;
            update.conflict_token = Some(seen.unwrap_or(present.head.conflict_token));
            update.request_id.clone_from(&request_id);
            update.context = self.0.command_context(request.context.clone(), &request_id);
            let command = Command::Update(Box::new(update));
            match self.0.runtime().send_to_schedule(target.clone(), command).await {
                Ok((schedule, _)) => {
                    let conflict_token = conflict_token(&schedule);
                    let (status, status_reason) = super::describe::status(&schedule);
                    let status = status.into();
                    return Ok(UpdateScheduleResponse { conflict_token, status, status_reason });
                }
                // The schedule changed meanwhile: apply the update to the new configuration.
                Err(Refusal::Rejected(Rejection::FailedPrecondition(_)))
                    if seen.is_none() && attempts < ATTEMPTS => {}
                Err(refusal) => return Err(refused(refusal)),
            }
        }
    }

    /// The present schedule, with the parts that the request gives.
    fn changed(
        &self,
        present: &Schedule,
        request: &UpdateScheduleRequest,
    ) -> RpcResult<UpdateSchedule> {
        let now = self.0.runtime().now();
        let mut schedule = described(present, now).schedule.unwrap_or_default();
        let mut policies = schedule.policies.unwrap_or_default();
        if let Some(spec) = &request.spec {
            schedule.spec = Some(spec.clone());
        }
        if let Some(action) = &request.action {
            schedule.action = Some(action.clone());
        }
        if let Some(overlap_policy) = request.overlap_policy {
            policies.overlap_policy = overlap_policy;
        }
        if let Some(window) = request.catchup_window {
            policies.catchup_window = Some(window);
        }
        if let Some(pause_on_failure) = request.pause_on_failure {
            policies.pause_on_failure = pause_on_failure;
        }
        if let Some(keeps) = request.keep_original_workflow_id {
            policies.keep_original_workflow_id = keeps;
        }
        let schedule = api::Schedule { policies: Some(policies), ..schedule };
        let namespace = self.0.namespace(&request.namespace)?;
        let mut config = self.0.schedule_config(&schedule, &request.schedule_id, &namespace)?;
        config.extensions = checked_extensions(request.extensions.clone())?;
        if let Some(given) = &request.notes {
            notes(given)?;
        }
        let head = &present.head;
        let limit = head.limited_actions.then_some(head.remaining_actions);
        Ok(UpdateSchedule {
            conflict_token: None,
            request_id: String::new(),
            config,
            state: State {
                paused: head.paused,
                notes: request.notes.clone().unwrap_or_else(|| head.notes.clone()),
                remaining_actions: match request.remaining_actions {
                    Some(given) => Some(given).filter(|given| *given >= 0),
                    None => limit,
                },
            },
            search_attributes: None,
            memo: None,
            context: None,
        })
    }
}
