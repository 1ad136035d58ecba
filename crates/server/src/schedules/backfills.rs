//! Backfills: start, list, cancel, and preview with a dry run.

use perennial_engine::schedule::{Command, NewBackfill, Reply, Schedule};
use perennial_engine::{NamespaceKey, Time};
use perennial_proto::perennial::{
    Backfill, BackfillOccurrence, BackfillScheduleRequest, BackfillScheduleResponse,
    CancelBackfillRequest, CancelBackfillResponse, ListBackfillOccurrencesRequest,
    ListBackfillOccurrencesResponse, ListBackfillsRequest, ListBackfillsResponse,
};
use perennial_proto::store as stored;
use perennial_proto::temporal::common::v1::WorkflowExecution;
use perennial_runtime::{Ledger, LedgerQuery};
use tonic::Status;

use super::{ScheduleCall, explanation, page_limit};
use crate::errors::{RpcResult, refused};
use crate::tokens::{PageTokens, Purpose};
use crate::validate::invalid;
use crate::workflow::schedule::overlap_policy;

/// Occurrences in one page.
const OCCURRENCES_MAX: usize = 1_000;
/// Occurrences that a dry run returns.
const DRY_RUN_MAX: usize = 1_000;

impl ScheduleCall<'_> {
    pub(crate) async fn backfill_schedule(
        &self,
        request: BackfillScheduleRequest,
    ) -> RpcResult<BackfillScheduleResponse> {
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
            return Ok(BackfillScheduleResponse {
                times,
                has_more,
                ..BackfillScheduleResponse::default()
            });
        }
        let request_id = self.0.request_id(request.request_id)?;
        let command = Command::Backfill(NewBackfill {
            from,
            to,
            overlap_policy: overlap_policy(request.overlap_policy)?,
            context: self.0.command_context(request.context, &request_id),
            request_id,
        });
        let sent = self.0.runtime().send_to_schedule(target, command).await;
        let (schedule, reply) = sent.map_err(refused)?;
        let begun = match reply {
            Reply::Backfill(sequence) => schedule.backfills.get(&sequence),
            Reply::Done | Reply::Triggered(_) | Reply::Evaluated { .. } => None,
        };
        let Some(begun) = begun else { return Ok(BackfillScheduleResponse::default()) };
        let first = ListBackfillOccurrencesRequest {
            namespace: request.namespace,
            schedule_id: request.schedule_id,
            backfill_id: begun.sequence,
            ..ListBackfillOccurrencesRequest::default()
        };
        let first = self.occurrences_of(&schedule, first).await?;
        Ok(BackfillScheduleResponse {
            backfill: Some(shown(begun)),
            occurrences: first.occurrences,
            next_page_token: first.next_page_token,
            ..BackfillScheduleResponse::default()
        })
    }

    pub(crate) async fn list_backfills(
        &self,
        request: ListBackfillsRequest,
    ) -> RpcResult<ListBackfillsResponse> {
        let target = self.0.schedule_name(&request.namespace, &request.schedule_id)?;
        let schedule = self.0.runtime().read_schedule(target).await.map_err(refused)?;
        let backfills = schedule.backfills.values().map(|backfill| shown(backfill)).collect();
        Ok(ListBackfillsResponse { backfills })
    }

    pub(crate) async fn list_backfill_occurrences(
        &self,
        request: ListBackfillOccurrencesRequest,
    ) -> RpcResult<ListBackfillOccurrencesResponse> {
        let target = self.0.schedule_name(&request.namespace, &request.schedule_id)?;
        let schedule = self.0.runtime().read_schedule(target).await.map_err(refused)?;
        self.occurrences_of(&schedule, request).await
    }

    /// The ledger's occurrences of a backfill.
    async fn occurrences_of(
        &self,
        schedule: &Schedule,
        mut request: ListBackfillOccurrencesRequest,
    ) -> RpcResult<ListBackfillOccurrencesResponse> {
        let id = request.backfill_id;
        let backfill = schedule.backfills.get(&id).ok_or_else(|| {
            Status::not_found(format!(
                "schedule {:?} has no backfill {id}, or it is too old; ListBackfills lists the known ones",
                schedule.head.schedule_id
            ))
        })?;
        let limit = page_limit(std::mem::take(&mut request.limit), OCCURRENCES_MAX);
        let token = std::mem::take(&mut request.next_page_token);
        let (keys, namespace) = (self.0.token_keys().await?, NamespaceKey(schedule.head.namespace));
        let pages = PageTokens::new(keys, Purpose::BackfillOccurrences, namespace, &request);
        let wanted = LedgerQuery {
            ledger: Ledger::Manual,
            window: (Time(backfill.from), Time(backfill.to)),
            after: pages.after_number(&token)?,
            limit,
            reverse: false,
        };
        let page = self.0.runtime().schedule_ledger(schedule.key, wanted).await.map_err(refused)?;
        let its = page.lines.iter().filter(|line| line.backfill == id);
        Ok(ListBackfillOccurrencesResponse {
            occurrences: its.map(|line| occurrence(schedule, line)).collect(),
            next_page_token: pages.next(page.next.map(|it| it.to_be_bytes().to_vec())),
        })
    }

    pub(crate) async fn cancel_backfill(
        &self,
        request: CancelBackfillRequest,
    ) -> RpcResult<CancelBackfillResponse> {
        let target = self.0.schedule_name(&request.namespace, &request.schedule_id)?;
        let command = Command::CancelBackfill { sequence: request.backfill_id };
        self.0.runtime().send_to_schedule(target, command).await.map_err(refused)?;
        Ok(CancelBackfillResponse {})
    }
}

fn occurrence(schedule: &Schedule, line: &stored::Occurrence) -> BackfillOccurrence {
    let (workflow_id, run_id) = (line.workflow_id.clone(), line.run_id.clone());
    BackfillOccurrence {
        schedule_id: schedule.head.schedule_id.clone(),
        nominal_time: Some(Time(line.nominal_at).into()),
        outcome: explanation::outcome(line.verdict()).to_owned(),
        reason: line.reason.clone(),
        run: (!run_id.is_empty()).then_some(WorkflowExecution { workflow_id, run_id }),
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
