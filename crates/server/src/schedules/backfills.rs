//! Backfills as things: begun, watched, canceled, or only looked at.

use perennial_engine::Time;
use perennial_engine::schedule::{Command, NewBackfill, Reply};
use perennial_proto::perennial::{
    Backfill, BackfillScheduleRequest, BackfillScheduleResponse, CancelBackfillRequest,
    CancelBackfillResponse, ListBackfillsRequest, ListBackfillsResponse,
};
use perennial_proto::store as stored;

use super::{ScheduleCall, context};
use crate::errors::{Answer, refused};
use crate::validate::invalid;
use crate::workflow::schedule::overlap_policy;

/// Times that a dry run shows.
const DRY_RUN_MAX: usize = 1_000;

impl ScheduleCall<'_> {
    pub(crate) async fn backfill_schedule(
        &self,
        request: BackfillScheduleRequest,
    ) -> Answer<BackfillScheduleResponse> {
        let target = self.0.schedule_name(&request.namespace, &request.schedule_id)?;
        let (Some(from), Some(to)) = (request.start_time, request.end_time) else {
            return invalid("StartTime and EndTime must be set on request.");
        };
        let (from, to) = (Time::from(from), Time::from(to));
        if request.dry_run {
            let schedule = self.0.present_schedule(target).await?;
            let mut times: Vec<_> = schedule
                .times
                .nominal_from(from, to)
                .take(DRY_RUN_MAX + 1)
                .map(Into::into)
                .collect();
            let has_more = times.len() > DRY_RUN_MAX;
            times.truncate(DRY_RUN_MAX);
            return Ok(BackfillScheduleResponse { backfill: None, times, has_more });
        }
        let request_id = self.0.request_id(request.request_id)?;
        let command = Command::Backfill(NewBackfill {
            from,
            to,
            overlap_policy: overlap_policy(request.overlap_policy)?,
            context: context(request.context, &request_id),
            request_id,
        });
        let sent = self.0.runtime().send_to_schedule(target, command).await;
        let (schedule, reply) = sent.map_err(refused)?;
        let begun = match reply {
            Reply::Backfill(sequence) => schedule.backfills.get(&sequence),
            Reply::Done | Reply::Triggered(_) => None,
        };
        let backfill = begun.map(|backfill| shown(backfill));
        Ok(BackfillScheduleResponse { backfill, ..BackfillScheduleResponse::default() })
    }

    pub(crate) async fn list_backfills(
        &self,
        request: ListBackfillsRequest,
    ) -> Answer<ListBackfillsResponse> {
        let target = self.0.schedule_name(&request.namespace, &request.schedule_id)?;
        let schedule = self.0.runtime().read_schedule(target).await.map_err(refused)?;
        let backfills = schedule.backfills.values().map(|backfill| shown(backfill)).collect();
        Ok(ListBackfillsResponse { backfills })
    }

    pub(crate) async fn cancel_backfill(
        &self,
        request: CancelBackfillRequest,
    ) -> Answer<CancelBackfillResponse> {
        let target = self.0.schedule_name(&request.namespace, &request.schedule_id)?;
        let command = Command::CancelBackfill { sequence: request.backfill_id };
        self.0.runtime().send_to_schedule(target, command).await.map_err(refused)?;
        Ok(CancelBackfillResponse {})
    }
}

fn shown(backfill: &stored::Backfill) -> Backfill {
    Backfill {
        backfill_id: backfill.sequence,
        start_time: Some(Time(backfill.from).into()),
        end_time: Some(Time(backfill.to).into()),
        overlap_policy: backfill.overlap_policy,
        created_at: Some(Time(backfill.created_at).into()),
        finished_at: Time(backfill.finished_at).get().map(Into::into),
        canceled: backfill.is_canceled,
        planned_up_to: Some(Time(backfill.done_up_to).into()),
        planned_count: backfill.planned,
        started_count: backfill.started,
        skipped_count: backfill.skipped,
        context: backfill.context.clone(),
    }
}
