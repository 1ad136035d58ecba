//! `perennial.v1.ScheduleService`: features of schedules that Temporal's API lacks.

mod audit;
mod backfills;
mod describe;
mod evaluate;
mod explanation;
mod occurrences;
mod update;

use std::collections::BTreeMap;
use std::sync::Arc;

use perennial_engine::schedule::{Command, Reply, Schedule, Trigger, Triggered};
use perennial_engine::{NamespaceKey, Time};
use perennial_proto::perennial::trigger_schedule_response::Outcome;
use perennial_proto::perennial::{
    CreateScheduleRequest, CreateScheduleResponse, DeleteScheduleRequest, DeleteScheduleResponse,
    PauseScheduleRequest, PauseScheduleResponse, ResumeScheduleRequest, ResumeScheduleResponse,
    ScheduleExtensions, TriggerScheduleRequest, TriggerScheduleResponse,
};
use perennial_proto::temporal::common::v1::WorkflowExecution;
use tonic::Status;

use crate::call::Call;
use crate::errors::{RpcResult, refused, schedule_refused};
use crate::validate::{self, invalid};
use crate::workflow::schedule::{conflict_token, notes, overlap_policy};

/// One request to this service. Each RPC is a method on it.
pub(crate) struct ScheduleCall<'a>(pub(crate) Call<'a>);

impl ScheduleCall<'_> {
    pub(crate) async fn create_schedule(
        &self,
        request: CreateScheduleRequest,
    ) -> RpcResult<CreateScheduleResponse> {
        let Some(wanted) = request.schedule else {
            return invalid("Schedule is not set on request.");
        };
        let namespace = NamespaceKey(self.0.namespace(&wanted.namespace)?.key);
        let schedule_id = wanted.schedule_id.clone();
        let mut create = self.0.schedule_to_create(wanted).await?;
        create.config.extensions = checked_extensions(request.extensions)?;
        let created =
            self.0.runtime().create_schedule(namespace, schedule_id.clone(), create).await;
        let created = created.map_err(|why| schedule_refused(why, &schedule_id))?;
        Ok(CreateScheduleResponse {
            conflict_token: conflict_token(&created),
            internal_id: created.head.incarnation.clone(),
        })
    }

    pub(crate) async fn trigger_schedule(
        &self,
        request: TriggerScheduleRequest,
    ) -> RpcResult<TriggerScheduleResponse> {
        let target = self.0.schedule_name(&request.namespace, &request.schedule_id)?;
        validate::blob(request.input.as_ref(), self.0.runtime().limits().payload_bytes)?;
        let request_id = self.0.request_id(request.request_id)?;
        let command = Command::Trigger(Trigger {
            overlap_policy: overlap_policy(request.overlap_policy)?,
            scheduled_at: request.scheduled_time.map(Time::from).and_then(Time::get),
            input: request.input,
            context: self.0.command_context(request.context, &request_id),
            request_id,
        });
        let (_, reply) =
            self.0.runtime().send_to_schedule(target, command).await.map_err(refused)?;
        let outcome = match reply {
            Reply::Triggered(Triggered::Started { workflow_id, run_id }) => {
                Some(Outcome::Started(WorkflowExecution { workflow_id, run_id }))
            }
            Reply::Triggered(Triggered::Buffered { depth }) => {
                Some(Outcome::Buffered(i64::try_from(depth).unwrap_or(i64::MAX)))
            }
            Reply::Triggered(Triggered::Skipped { reason }) => {
                Some(Outcome::Skipped(reason.to_owned()))
            }
            Reply::Triggered(Triggered::Dropped { reason }) => {
                Some(Outcome::Dropped(reason.to_owned()))
            }
            Reply::Done | Reply::Backfill(_) | Reply::Evaluated { .. } => None,
        };
        Ok(TriggerScheduleResponse { outcome })
    }

    pub(crate) async fn pause_schedule(
        &self,
        request: PauseScheduleRequest,
    ) -> RpcResult<PauseScheduleResponse> {
        let target = self.0.schedule_name(&request.namespace, &request.schedule_id)?;
        notes(&request.notes)?;
        let context = self.0.command_context(request.context, "");
        let command = Command::Pause { notes: request.notes, context };
        self.0.runtime().send_to_schedule(target, command).await.map_err(refused)?;
        Ok(PauseScheduleResponse {})
    }

    pub(crate) async fn resume_schedule(
        &self,
        request: ResumeScheduleRequest,
    ) -> RpcResult<ResumeScheduleResponse> {
        let target = self.0.schedule_name(&request.namespace, &request.schedule_id)?;
        notes(&request.notes)?;
        let context = self.0.command_context(request.context, "");
        let command = Command::Unpause { notes: request.notes, context };
        let sent = self.0.runtime().send_to_schedule(target, command).await;
        let (schedule, _) = sent.map_err(refused)?;
        let (status, status_reason) = describe::status(&schedule);
        let next_fire_at = schedule.next_due().map(Into::into);
        Ok(ResumeScheduleResponse { next_fire_at, status: status.into(), status_reason })
    }

    pub(crate) async fn delete_schedule(
        &self,
        request: DeleteScheduleRequest,
    ) -> RpcResult<DeleteScheduleResponse> {
        let target = self.0.schedule_name(&request.namespace, &request.schedule_id)?;
        notes(&request.reason)?;
        let context = self.0.command_context(request.context, "");
        let command = Command::Delete { reason: request.reason, context };
        self.0.runtime().send_to_schedule(target, command).await.map_err(refused)?;
        Ok(DeleteScheduleResponse {})
    }

    /// The schedule with this id, deleted or not: the latest one, or the one with this internal id.
    async fn incarnation(
        &self,
        namespace: &str,
        schedule_id: &str,
        internal_id: &str,
    ) -> RpcResult<Arc<Schedule>> {
        let runtime = self.0.runtime();
        let target = self.0.schedule_name(namespace, schedule_id)?;
        let latest = runtime.read_schedule(target).await.map_err(refused)?;
        if internal_id.is_empty() || latest.head.incarnation == internal_id {
            return Ok(latest);
        }
        let namespace = self.0.namespace(namespace)?;
        let earlier = runtime.earlier_schedule(&namespace, schedule_id, internal_id).await;
        earlier.map_err(refused)?.map(Arc::new).ok_or_else(|| {
            Status::not_found(format!(
                "schedule {schedule_id:?} never had the internal id {internal_id:?}, or it was \
                 removed after the retention period of its namespace"
            ))
        })
    }
}

/// The size of a page: 100 by default, at least 1.
fn page_limit(given: i32, max: usize) -> usize {
    const DEFAULT: usize = 100;
    match given {
        0 => DEFAULT,
        given => usize::try_from(given).unwrap_or(1).clamp(1, max),
    }
}

fn checked_extensions(given: Option<ScheduleExtensions>) -> RpcResult<Option<ScheduleExtensions>> {
    let Some(given) = given else { return Ok(None) };
    if given.max_runs < 0 {
        return invalid("MaxRuns is negative.");
    }
    if given.buffer_max < 0 {
        return invalid("BufferMax is negative.");
    }
    check_labels(&given.labels)?;
    Ok(Some(given))
}

fn check_labels(labels: &BTreeMap<String, String>) -> RpcResult<()> {
    const COUNT_MAX: usize = 20;
    const BYTES_MAX: usize = 100;

    if labels.len() > COUNT_MAX {
        return invalid(format!(
            "A schedule may have at most {COUNT_MAX} labels, not {}.",
            labels.len()
        ));
    }
    for (key, value) in labels {
        if key.is_empty() || key.contains('=') {
            return invalid(format!(
                "The key of label {key:?} must not be empty or contain an equals sign."
            ));
        }
        if key.len() + value.len() > BYTES_MAX {
            return invalid(format!("Label {key:?} and its value exceed {BYTES_MAX} bytes."));
        }
        validate::storable(key, "The key of a label")?;
        validate::storable(value, "The value of a label")?;
    }
    Ok(())
}
