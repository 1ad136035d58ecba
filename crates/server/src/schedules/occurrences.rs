//! The occurrences of a schedule: its ledger, and the explanation of one.

use perennial_engine::schedule::Schedule;
use perennial_engine::{NamespaceKey, Span, Time};
use perennial_proto::Timestamp;
use perennial_proto::perennial::{
    ExplainOccurrenceRequest, ExplainOccurrenceResponse, ListOccurrencesRequest,
    ListOccurrencesResponse, Occurrence, Verdict,
};
use perennial_proto::store as stored;
use perennial_proto::temporal::common::v1::WorkflowExecution;
use perennial_runtime::{Ledger, LedgerQuery};

use super::{ScheduleCall, explanation, page_limit};
use crate::errors::{RpcResult, refused};
use crate::tokens::{PageTokens, Purpose};
use crate::validate::invalid;

const LIMIT_MAX: usize = 1_000;
/// Manual starts of one occurrence that are considered.
const MANUAL_MAX: usize = 100;

impl ScheduleCall<'_> {
    pub(crate) async fn list_occurrences(
        &self,
        mut request: ListOccurrencesRequest,
    ) -> RpcResult<ListOccurrencesResponse> {
        let (namespace, id) = (&request.namespace, &request.schedule_id);
        let schedule = self.incarnation(namespace, id, &request.internal_id).await?;
        let limit = page_limit(std::mem::take(&mut request.limit), LIMIT_MAX);
        let token = std::mem::take(&mut request.next_page_token);
        // Another schedule may have the id when the next page is requested.
        request.internal_id.clone_from(&schedule.head.incarnation);
        let from = request.start_time.map_or(Time(i64::MIN), Time::from);
        let to = request.end_time.map_or(Time(i64::MAX), Time::from);
        let ledger = if request.manual { Ledger::Manual } else { Ledger::Scheduled };
        let (keys, namespace) = (self.0.token_keys().await?, NamespaceKey(schedule.head.namespace));
        let pages = PageTokens::new(keys, Purpose::Ledger, namespace, &request);
        let after = pages.after_number(&token)?;
        let window = (from, to);
        let wanted = LedgerQuery { ledger, window, after, limit, reverse: request.reverse };
        let page = self.0.runtime().schedule_ledger(schedule.key, wanted).await.map_err(refused)?;
        Ok(ListOccurrencesResponse {
            occurrences: page.lines.iter().map(shown).collect(),
            next_page_token: pages.next(page.next.map(|it| it.to_be_bytes().to_vec())),
        })
    }

    pub(crate) async fn explain_occurrence(
        &self,
        request: ExplainOccurrenceRequest,
    ) -> RpcResult<ExplainOccurrenceResponse> {
        let Some(time) = request.time else {
            return invalid("Time is not set on request.");
        };
        // Occurrences are at whole seconds: the requested time is rounded down to its second. The response repeats
        // it even if it is out of the range of `Time`.
        let requested = Timestamp { nanos: 0, ..time };
        let time = Time::from(requested);
        let (namespace, id) = (&request.namespace, &request.schedule_id);
        let schedule = self.incarnation(namespace, id, &request.internal_id).await?;
        let ledger = async |ledger, to, limit| {
            let wanted =
                LedgerQuery { ledger, window: (time, to), after: None, limit, reverse: false };
            let page = self.0.runtime().schedule_ledger(schedule.key, wanted).await;
            page.map(|page| page.lines).map_err(refused)
        };
        let lines = ledger(Ledger::Scheduled, time, 1).await?;
        let end_of_second = Time(time.after(Span::seconds(1)).0 - 1);
        let manual = ledger(Ledger::Manual, end_of_second, MANUAL_MAX).await?;
        let is_its =
            |line: &&stored::Occurrence| line.nominal_at == time.0 || schedule.times.contain(time);
        let occurrence = match lines.iter().find(is_its) {
            Some(line) => Occurrence { count: 1, ..shown(line) },
            None => {
                Occurrence { verdict: unsettled(&schedule, time).into(), ..Occurrence::default() }
            }
        };
        let occurrence =
            Occurrence { nominal_time: Some(requested), until: Some(requested), ..occurrence };
        let manual: Vec<_> = manual.iter().map(shown).collect();
        let explanation = explanation::explain(&schedule, time, &occurrence, &manual);
        Ok(ExplainOccurrenceResponse { occurrence: Some(occurrence), manual, explanation })
    }
}

/// The occurrence of a time that isn't in the ledger.
fn unsettled(schedule: &Schedule, time: Time) -> Verdict {
    let is_to_come = time.0 > schedule.head.settled_up_to && schedule.times.contain(time);
    if is_to_come { Verdict::Pending } else { Verdict::NotATime }
}

fn shown(line: &stored::Occurrence) -> Occurrence {
    let time = |nanos: i64| Time(nanos).get().map(Into::into);
    let has_run = !line.run_id.is_empty();
    Occurrence {
        nominal_time: Some(Time(line.nominal_at).into()),
        until: Some(Time(line.until).into()),
        count: line.count,
        // Both enums have the same numbers.
        verdict: line.verdict,
        reason: line.reason.clone(),
        decided_at: time(line.decided_at),
        last_decided_at: time(line.last_decided_at.max(line.decided_at)),
        due_time: time(line.due_at),
        run: has_run.then(|| WorkflowExecution {
            workflow_id: line.workflow_id.clone(),
            run_id: line.run_id.clone(),
        }),
        start_reason: explanation::start_reason(line.start_reason()).to_owned(),
        backfill_id: line.backfill,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_have_the_same_numbers_stored_and_shown() {
        for number in 0..=7 {
            let stored = stored::Verdict::try_from(number).unwrap().as_str_name();
            assert_eq!(stored, Verdict::try_from(number).unwrap().as_str_name());
        }
    }
}
