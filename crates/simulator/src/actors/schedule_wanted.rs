//! Random configurations of schedules, and random requests to them.
//!
//! The auditor computes the times by arithmetic, so specs have only intervals and crons of every so many seconds or
//! minutes.

use perennial_engine::schedule::{CreateSchedule, NewBackfill, State, Trigger, UpdateSchedule};
use perennial_engine::{Span, Time};
use perennial_proto::perennial::{CatchupMode, ScheduleExtensions};
use perennial_proto::store::ScheduleConfig;
use perennial_proto::temporal::common::v1::{RetryPolicy, WorkflowType};
use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy as Overlap;
use perennial_proto::temporal::schedule::v1::schedule_action::Action;
use perennial_proto::temporal::schedule::v1::{IntervalSpec, ScheduleAction, ScheduleSpec};
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use perennial_proto::temporal::workflow::v1::NewWorkflowExecutionInfo;

use super::{QUEUE, SCHEDULED};
use crate::sim::Actor;

const POLICIES: [Overlap; 6] = [
    Overlap::Skip,
    Overlap::BufferOne,
    Overlap::BufferAll,
    Overlap::CancelOther,
    Overlap::TerminateOther,
    Overlap::AllowAll,
];

pub(super) fn create(actor: &Actor, schedule_id: &str) -> CreateSchedule {
    let mut first = Vec::new();
    if actor.chance.percent(10) {
        first.push(perennial_engine::schedule::Command::Trigger(trigger(actor)));
    }
    if actor.chance.percent(10) {
        first.push(perennial_engine::schedule::Command::Backfill(backfill(actor)));
    }
    CreateSchedule {
        request_id: actor.fresh_id("create"),
        config: config(actor, schedule_id),
        state: state(actor),
        first,
        context: None,
    }
}

pub(super) fn update(actor: &Actor, schedule_id: &str, now: &ScheduleConfig) -> UpdateSchedule {
    let wanted = config(actor, schedule_id);
    // Half of the updates keep the spec: buffered starts and open runs meet another policy.
    let spec = if actor.chance.percent(50) { now.spec.clone() } else { wanted.spec.clone() };
    UpdateSchedule {
        conflict_token: None,
        request_id: actor.fresh_id("update"),
        config: ScheduleConfig { spec, ..wanted },
        state: state(actor),
        search_attributes: None,
        memo: None,
        context: None,
    }
}

pub(super) fn trigger(actor: &Actor) -> Trigger {
    // A unique time, so that the ledger line of this trigger can be identified.
    let number: i64 = actor.fresh_id("").trim_start_matches('-').parse().unwrap_or(0);
    let seconds = actor.sim.now().0 / SECOND;
    Trigger {
        request_id: actor.fresh_id("trigger"),
        overlap_policy: any_override(actor),
        scheduled_at: actor.chance.percent(70).then_some(Time(seconds * SECOND + number)),
        input: None,
        context: None,
    }
}

/// A random window, mostly in the past, sometimes in the future.
pub(super) fn backfill(actor: &Actor) -> NewBackfill {
    let seconds = actor.sim.now().0 / SECOND;
    let from = seconds + actor.chance.between(-120, 20);
    let to = from + actor.chance.between(0, 40);
    NewBackfill {
        request_id: actor.fresh_id("backfill"),
        from: Time(from * SECOND),
        to: Time(to * SECOND),
        overlap_policy: any_override(actor),
        context: None,
    }
}

const SECOND: i64 = 1_000_000_000;

fn any_override(actor: &Actor) -> Overlap {
    if actor.chance.percent(50) { Overlap::Unspecified } else { any_policy(actor) }
}

fn any_policy(actor: &Actor) -> Overlap {
    POLICIES[actor.chance.below(POLICIES.len())]
}

fn state(actor: &Actor) -> State {
    let chance = &actor.chance;
    State {
        paused: chance.percent(15),
        notes: String::new(),
        remaining_actions: chance.percent(20).then(|| chance.between(1, 6)),
    }
}

fn config(actor: &Actor, schedule_id: &str) -> ScheduleConfig {
    let chance = &actor.chance;
    let window = [Span::seconds(10), Span::seconds(60), Span::seconds(365 * 24 * 3600)];
    let mode = [CatchupMode::All, CatchupMode::One, CatchupMode::Latest, CatchupMode::None];
    let mode = if chance.percent(70) { CatchupMode::All } else { mode[chance.below(4)] };
    ScheduleConfig {
        spec: Some(spec(actor)),
        action: Some(action(actor, schedule_id)),
        overlap_policy: any_policy(actor).into(),
        catchup_window_nanos: window[chance.below(3)].0,
        extensions: Some(ScheduleExtensions {
            catchup_mode: mode.into(),
            max_runs: if chance.percent(5) { chance.between(2, 8) } else { 0 },
            buffer_max: if chance.percent(10) { 2 } else { 0 },
            ..ScheduleExtensions::default()
        }),
        pause_on_failure: chance.percent(20),
        keep_original_workflow_id: chance.percent(5),
        ..ScheduleConfig::default()
    }
}

fn spec(actor: &Actor) -> ScheduleSpec {
    let chance = &actor.chance;
    let mut spec = ScheduleSpec::default();
    match chance.below(10) {
        0..6 => spec.interval.push(interval(actor)),
        6 => spec.interval.extend([interval(actor), interval(actor)]),
        7 | 8 => {
            let every = [5, 10, 15, 20, 30][chance.below(5)];
            spec.cron_string.push(format!("*/{every} * * * * * *"));
        }
        _ => spec.cron_string.push(format!("*/{} * * * *", [1, 2][chance.below(2)])),
    }
    let now = actor.sim.now();
    let second = |from, to| Some(Time(now.0 + chance.between(from, to) * SECOND).into());
    spec.jitter = chance.percent(40).then(|| Span::millis(chance.between(100, 30_000)).into());
    spec.start_time = if chance.percent(10) { second(-20, 40) } else { None };
    spec.end_time = if chance.percent(20) { second(30, 400) } else { None };
    spec
}

fn interval(actor: &Actor) -> IntervalSpec {
    // Every second is rare: it makes more runs than all other intervals together.
    let first = if actor.chance.percent(10) { 1 } else { 3 };
    let every = actor.chance.between(first, 20);
    let phase = actor.chance.between(0, every - 1);
    IntervalSpec {
        interval: Some(Span::seconds(every).into()),
        phase: Some(Span::seconds(phase).into()),
    }
}

fn action(actor: &Actor, schedule_id: &str) -> ScheduleAction {
    let chance = &actor.chance;
    let seconds = |first, last| Some(Span::seconds(chance.between(first, last)).into());
    let retry_policy = RetryPolicy {
        initial_interval: seconds(1, 3),
        backoff_coefficient: 1.0,
        maximum_attempts: 2,
        ..RetryPolicy::default()
    };
    let workflow = NewWorkflowExecutionInfo {
        workflow_id: if chance.percent(50) { format!("of-{schedule_id}") } else { String::new() },
        workflow_type: Some(WorkflowType { name: SCHEDULED.to_owned() }),
        task_queue: Some(TaskQueue { name: QUEUE.to_owned(), ..TaskQueue::default() }),
        retry_policy: chance.percent(20).then_some(retry_policy),
        workflow_run_timeout: if chance.percent(30) { seconds(3, 60) } else { None },
        workflow_execution_timeout: if chance.percent(10) { seconds(20, 100) } else { None },
        ..NewWorkflowExecutionInfo::default()
    };
    ScheduleAction { action: Some(Action::StartWorkflow(workflow)) }
}
