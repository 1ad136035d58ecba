//! Describes a schedule, including deleted ones.

use perennial_engine::schedule::{Schedule, Skip, Status};
use perennial_engine::{NamespaceKey, Span, Time};
use perennial_proto::perennial::{
    DescribeScheduleRequest, DescribeScheduleResponse, ListSchedulesRequest, ListSchedulesResponse,
    ListedSchedule, ScheduleStatus,
};
use perennial_proto::temporal::common::v1::WorkflowExecution;

use super::ScheduleCall;
use crate::errors::{RpcResult, refused};
use crate::tokens::{PageTokens, Purpose};
use crate::workflow::schedule::{described, list_entry};
use crate::workflow::visibility::page_size;

impl ScheduleCall<'_> {
    pub(crate) async fn describe_schedule(
        &self,
        request: DescribeScheduleRequest,
    ) -> RpcResult<DescribeScheduleResponse> {
        let (namespace, id) = (&request.namespace, &request.schedule_id);
        let schedule = self.incarnation(namespace, id, &request.internal_id).await?;
        let head = &schedule.head;
        let (status, status_reason) = status(&schedule);
        Ok(DescribeScheduleResponse {
            namespace: request.namespace,
            schedule_id: request.schedule_id,
            internal_id: head.incarnation.clone(),
            status: status.into(),
            status_reason,
            schedule: Some(described(&schedule, self.0.runtime().now())),
            extensions: Some(schedule.extensions().clone()),
            next_fire_at: schedule.next_due().map(Into::into),
            last_fired_at: Time(head.last_fired_at).get().map(Into::into),
            latest_run: schedule.recent_actions().last().map(|action| WorkflowExecution {
                workflow_id: action.workflow_id.clone(),
                run_id: action.run_id.clone(),
            }),
            last_skip_reason: head.last_skip_reason.clone(),
            last_skipped_at: Time(head.last_skipped_at).get().map(Into::into),
            skipped_trigger_count: head.skipped_trigger_count,
            last_fire_lag: Span(head.last_lag_nanos).get().map(Into::into),
            deleted_at: Time(head.deleted_at).get().map(Into::into),
            settled_up_to: Some(Time(head.settled_up_to).into()),
            remaining_runs: schedule.remaining_runs(),
        })
    }

    pub(crate) async fn list_schedules(
        &self,
        mut request: ListSchedulesRequest,
    ) -> RpcResult<ListSchedulesResponse> {
        let namespace = self.0.namespace(&request.namespace)?;
        let size = page_size(std::mem::take(&mut request.page_size));
        let token = std::mem::take(&mut request.next_page_token);
        let (keys, key) = (self.0.token_keys().await?, NamespaceKey(namespace.key));
        let pages = PageTokens::new(keys, Purpose::ListNativeSchedules, key, &request);
        let after = pages.after_position(&token)?;
        let (runtime, query) = (self.0.runtime(), &request.query);
        let found =
            runtime.list_schedules(&namespace, query, request.with_deleted, size, after).await;
        let found = found.map_err(refused)?;
        let schedules = found.schedules.iter().map(|schedule| {
            let (status, status_reason) = status(schedule);
            ListedSchedule {
                schedule: Some(list_entry(schedule, runtime.now())),
                internal_id: schedule.head.incarnation.clone(),
                status: status.into(),
                status_reason,
                deleted_at: Time(schedule.head.deleted_at).get().map(Into::into),
                remaining_runs: schedule.remaining_runs(),
            }
        });
        Ok(ListSchedulesResponse {
            schedules: schedules.collect(),
            next_page_token: pages.next(found.next.map(|next| next.to_token())),
        })
    }
}

/// The status of a schedule, and the reason if it doesn't act.
pub(super) fn status(schedule: &Schedule) -> (ScheduleStatus, String) {
    match schedule.status() {
        Status::Active if schedule.is_exhausted() => {
            (ScheduleStatus::Active, Skip::Exhausted.text().to_owned())
        }
        Status::Active => (ScheduleStatus::Active, String::new()),
        Status::Paused => (ScheduleStatus::Paused, schedule.head.notes.clone()),
        Status::Broken => {
            (ScheduleStatus::Broken, schedule.times.broken().unwrap_or_default().to_owned())
        }
        Status::Deleted => (ScheduleStatus::Deleted, schedule.head.delete_reason.clone()),
    }
}
