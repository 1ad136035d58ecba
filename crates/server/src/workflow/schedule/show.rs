//! Writes schedules into responses.

use perennial_engine::schedule::Schedule;
use perennial_engine::{Span, Time};
use perennial_proto::store::RecentAction;
use perennial_proto::temporal::common::v1::WorkflowExecution;
use perennial_proto::temporal::schedule::v1 as api;
use perennial_proto::temporal::workflowservice::v1::{
    DescribeScheduleResponse, count_schedules_response,
};
use perennial_store::visibility::Group;

/// Past and future times in a description.
const DESCRIBED: usize = 10;
/// Past and future times of each schedule in a list.
const LISTED: usize = 5;

/// The description of a schedule.
pub(crate) fn described(of: &Schedule, now: Time) -> DescribeScheduleResponse {
    DescribeScheduleResponse {
        schedule: Some(schedule(of)),
        info: Some(info(of, now)),
        memo: of.config.memo.clone(),
        search_attributes: of.config.search_attributes.clone(),
        conflict_token: conflict_token(of),
    }
}

/// The definition of a schedule, and how many actions it has left.
fn schedule(schedule: &Schedule) -> api::Schedule {
    let (config, head) = (&schedule.config, &schedule.head);
    api::Schedule {
        spec: config.spec.clone(),
        action: config.action.clone(),
        policies: Some(api::SchedulePolicies {
            overlap_policy: config.overlap_policy,
            catchup_window: Some(Span(config.catchup_window_nanos).into()),
            pause_on_failure: config.pause_on_failure,
            keep_original_workflow_id: config.keep_original_workflow_id,
        }),
        state: Some(api::ScheduleState {
            notes: head.notes.clone(),
            paused: head.paused,
            limited_actions: head.limited_actions,
            remaining_actions: head.remaining_actions,
        }),
    }
}

#[allow(deprecated, reason = "what else says that a schedule is broken")]
fn info(schedule: &Schedule, now: Time) -> api::ScheduleInfo {
    let head = &schedule.head;
    api::ScheduleInfo {
        action_count: schedule.action_count(),
        missed_catchup_window: head.missed_count,
        overlap_skipped: head.overlap_skipped_count,
        buffer_dropped: head.buffer_dropped_count,
        buffer_size: i64::try_from(schedule.buffer.len()).unwrap_or(i64::MAX),
        running_workflows: schedule
            .started_runs()
            .map(|run| execution(&run.workflow_id, &run.run_id))
            .collect(),
        recent_actions: schedule.recent_actions().map(action_result).collect(),
        future_action_times: future_times(schedule, now, DESCRIBED),
        create_time: Some(Time(head.created_at).into()),
        update_time: Time(head.updated_at).get().map(Into::into),
        invalid_schedule_error: schedule.times.broken().unwrap_or_default().to_owned(),
        state_size_bytes: 0,
    }
}

pub(crate) fn list_entry(schedule: &Schedule, now: Time) -> api::ScheduleListEntry {
    let (config, head) = (&schedule.config, &schedule.head);
    let recent: Vec<_> = schedule.recent_actions().collect();
    let recent = &recent[recent.len().saturating_sub(LISTED)..];
    let info = api::ScheduleListInfo {
        // The embedded zone file is of no use in a list.
        spec: config
            .spec
            .clone()
            .map(|spec| api::ScheduleSpec { timezone_data: Vec::new(), ..spec }),
        workflow_type: schedule.action().and_then(|action| action.workflow_type.clone()),
        notes: head.notes.clone(),
        paused: head.paused,
        recent_actions: recent.iter().map(|action| action_result(action)).collect(),
        future_action_times: future_times(schedule, now, LISTED),
        state_size_bytes: 0,
    };
    api::ScheduleListEntry {
        schedule_id: head.schedule_id.clone(),
        memo: config.memo.clone(),
        search_attributes: config.search_attributes.clone(),
        info: Some(info),
    }
}

/// A token that changes with every change of the configuration.
pub(crate) fn conflict_token(schedule: &Schedule) -> Vec<u8> {
    schedule.head.conflict_token.to_be_bytes().to_vec()
}

pub(super) fn count_group(group: Group) -> count_schedules_response::AggregationGroup {
    let (group_values, count) = crate::workflow::visibility::group_parts(group);
    count_schedules_response::AggregationGroup { group_values, count }
}

fn action_result(action: &RecentAction) -> api::ScheduleActionResult {
    api::ScheduleActionResult {
        schedule_time: Some(Time(action.due_at).into()),
        actual_time: Some(Time(action.started_at).into()),
        start_workflow_result: Some(execution(&action.workflow_id, &action.run_id)),
        start_workflow_status: action.status,
    }
}

fn future_times(schedule: &Schedule, now: Time, count: usize) -> Vec<perennial_proto::Timestamp> {
    schedule.future_times(now, count).into_iter().map(Into::into).collect()
}

fn execution(workflow_id: &str, run_id: &str) -> WorkflowExecution {
    WorkflowExecution { workflow_id: workflow_id.to_owned(), run_id: run_id.to_owned() }
}
