//! Formats a schedule as text.

use jiff::Timestamp;
use perennial_calendar::Spec;
use perennial_engine::schedule::spec;
use perennial_proto::json::{Payloads, to_json};
use perennial_proto::perennial::{CatchupMode, ScheduleExtensions, ScheduleStatus};
use perennial_proto::temporal::enums::v1::WorkflowExecutionStatus;
use perennial_proto::temporal::schedule::v1::schedule_action::Action;
use perennial_proto::temporal::schedule::v1::{ScheduleActionResult, ScheduleInfo, ScheduleState};
use perennial_proto::temporal::workflow::v1::NewWorkflowExecutionInfo;

use super::fetch::Described;
use super::spec_source;
use super::wording::{reason_in_words, status_in_words};
use crate::input::overlap_policy_name;
use crate::output::{
    Card, Column, Output, Row, TimeFormat, Times, attribute_values, duration, instant, thousands,
};
use crate::terminal::Style;

/// Running workflows that are listed by id; the rest is only counted.
const RUNS_NAMED: usize = 10;

pub(super) fn write(described: &Described, output: &mut Output) -> anyhow::Result<()> {
    let times = output.times.clone();
    let schedule = described.schedule.schedule.clone().unwrap_or_default();
    let info = described.schedule.info.clone().unwrap_or_default();
    let state = schedule.state.clone().unwrap_or_default();
    // This machine may lack the schedule's time zone. Then the next times are not shown.
    let spec = spec_source::compile(described).ok();

    let mut card = Card::default();
    heading(&mut card, described, &state, &times);
    card.heading("When");
    spec_fields(&mut card, described, spec.as_ref(), &times);
    card.heading("What");
    if let Some(Action::StartWorkflow(action)) = schedule.action.and_then(|it| it.action) {
        action_fields(&mut card, &action);
    }
    card.heading("How");
    let policies = schedule.policies.unwrap_or_default();
    card.field("overlap policy", overlap_policy_name(policies.overlap_policy));
    let ours = described.ours.as_ref();
    let extensions = ours.and_then(|ours| ours.extensions.as_ref());
    match extensions.is_some_and(|it| it.unlimited_catchup) {
        true => card.field("catch-up window", "unlimited"),
        false => card.field("catch-up window", duration(policies.catchup_window.as_ref())),
    };
    let remaining_runs = ours.and_then(|ours| ours.remaining_runs);
    policy_fields(
        &mut card,
        extensions.unwrap_or(&ScheduleExtensions::default()),
        remaining_runs,
        &state,
    );
    card.field("on failure", if policies.pause_on_failure { "pauses" } else { "continues" });
    if policies.keep_original_workflow_id {
        card.field("workflow ids", "as given, without the time");
    }
    card.heading("So far");
    statistics_fields(&mut card, described, &info, &times);
    output.card(&card)?;

    runs(&info, output)?;
    match described.ours.as_ref().is_some_and(|ours| ours.status() == ScheduleStatus::Deleted) {
        true => Ok(()),
        false => coming(&info, spec.as_ref(), state.paused, output),
    }
}

fn heading(card: &mut Card, described: &Described, state: &ScheduleState, times: &Times) {
    card.heading(format!("Schedule {}", described.id));
    let (status, why) = match &described.ours {
        Some(ours) => (ours.status(), ours.status_reason.as_str()),
        None if state.paused => (ScheduleStatus::Paused, ""),
        None => (ScheduleStatus::Active, ""),
    };
    let style = match status {
        ScheduleStatus::Active | ScheduleStatus::Unspecified => Style::Plain,
        ScheduleStatus::Paused | ScheduleStatus::Broken | ScheduleStatus::Deleted => Style::Warning,
    };
    card.styled("status", status_in_words(status, why), style);
    card.field("notes", &state.notes);
    if let Some(ours) = &described.ours {
        card.field("deleted", times.show(instant(ours.deleted_at.as_ref())));
        card.field("next", times.show(instant(ours.next_fire_at.as_ref())));
        card.field("last", times.show(instant(ours.last_fired_at.as_ref())));
        card.field("namespace", &ours.namespace);
    } else {
        let info = described.schedule.info.clone().unwrap_or_default();
        let last = info.recent_actions.last().and_then(|it| it.actual_time.as_ref());
        card.field("next", times.show(instant(info.future_action_times.first())));
        card.field("last", times.show(instant(last)));
    }
}

fn spec_fields(card: &mut Card, described: &Described, compiled: Option<&Spec>, times: &Times) {
    if let Some(spec) = compiled {
        card.field("in words", spec.explain(times.now).sentence);
    }
    let message = described.spec();
    match spec::read(&message) {
        Ok(definition) => {
            card.field("times", spec::texts(&definition).join("\n"));
            let exclusions: Vec<_> =
                definition.exclusions.iter().map(ToString::to_string).collect();
            card.field("except", exclusions.join("\n"));
        }
        Err(error) => {
            card.styled("times", format!("invalid: {error}"), Style::Warning);
        }
    }
    card.field("zone", compiled.map_or(message.timezone_name.as_str(), |spec| spec.zone().name()));
    card.field("jitter", duration(message.jitter.as_ref().filter(|it| it.seconds != 0)));
    card.field("from", times.show(instant(message.start_time.as_ref())));
    card.field("until", times.show(instant(message.end_time.as_ref())));
}

fn action_fields(card: &mut Card, action: &NewWorkflowExecutionInfo) {
    card.field("workflow type", action.workflow_type.clone().unwrap_or_default().name);
    card.field("task queue", action.task_queue.clone().unwrap_or_default().name);
    card.field("workflow id", &action.workflow_id);
    let json = |value: serde_json::Value| value.to_string();
    if let Some(input) = &action.input {
        let value = to_json(input, Payloads::Shorthand);
        let values = value.as_array().cloned().unwrap_or_else(|| vec![value]);
        card.field("input", values.into_iter().map(json).collect::<Vec<_>>().join("\n"));
    }
    let given = |length: Option<&perennial_proto::Duration>| {
        duration(length.filter(|it| it.seconds != 0 || it.nanos != 0))
    };
    card.field("execution timeout", given(action.workflow_execution_timeout.as_ref()));
    card.field("run timeout", given(action.workflow_run_timeout.as_ref()));
    card.field("task timeout", given(action.workflow_task_timeout.as_ref()));
    if let Some(memo) = &action.memo {
        card.field("memo", json(to_json(memo, Payloads::Shorthand)));
    }
    if let Some(attributes) = &action.search_attributes {
        card.field("search attributes", json(attribute_values(attributes)));
    }
}

fn policy_fields(
    card: &mut Card,
    extensions: &ScheduleExtensions,
    remaining_runs: Option<i64>,
    state: &ScheduleState,
) {
    match extensions.catchup_mode() {
        CatchupMode::All => {}
        CatchupMode::One => drop(card.field("catches up", "the earliest missed time")),
        CatchupMode::Latest => drop(card.field("catches up", "the latest missed time")),
        CatchupMode::None => drop(card.field("catches up", "nothing")),
    }
    if extensions.max_runs > 0 {
        let left = remaining_runs.map(|left| format!(", {left} left")).unwrap_or_default();
        card.field("deleted after", format!("{} runs{left}", extensions.max_runs));
    }
    if extensions.buffer_max > 0 {
        card.field("buffer", format!("at most {}", extensions.buffer_max));
    }
    for (key, value) in &extensions.labels {
        card.field("label", format!("{key}={value}"));
    }
    if state.limited_actions {
        card.field("actions left", state.remaining_actions.to_string());
    }
}

fn statistics_fields(card: &mut Card, described: &Described, info: &ScheduleInfo, times: &Times) {
    let count = |n: i64| thousands(n.unsigned_abs());
    card.field("actions", count(info.action_count));
    for (name, n) in [
        ("missed", info.missed_catchup_window),
        ("skipped for overlap", info.overlap_skipped),
        ("dropped from buffer", info.buffer_dropped),
        ("waiting", info.buffer_size),
    ] {
        if n != 0 {
            card.styled(name, count(n), Style::Warning);
        }
    }
    if let Some(ours) = &described.ours {
        if ours.skipped_trigger_count > 0 {
            let last = times.show(instant(ours.last_skipped_at.as_ref()));
            let why = reason_in_words(&ours.last_skip_reason);
            let skips = count(ours.skipped_trigger_count);
            card.field("skips", format!("{skips}; last {last}: {why}"));
        }
        let lag = ours.last_fire_lag.and_then(|lag| std::time::Duration::try_from(lag).ok());
        card.field("last lag", lag.map(|lag| format!("{lag:.1?}")).unwrap_or_default());
    }
    card.field("created", times.show(instant(info.create_time.as_ref())));
    card.field("updated", times.show(instant(info.update_time.as_ref())));
    let running = info.running_workflows.iter().map(|run| run.workflow_id.clone());
    let mut running: Vec<String> = running.collect();
    if running.len() > RUNS_NAMED {
        let more = running.split_off(RUNS_NAMED).len();
        running.push(format!("and {more} more"));
    }
    card.field("running", running.join("\n"));
}

fn runs(info: &ScheduleInfo, output: &mut Output) -> anyhow::Result<()> {
    if info.recent_actions.is_empty() {
        return Ok(());
    }
    output.line(format!("\n{}", output.look.paint(Style::Heading, "Recent runs")))?;
    let times = output.times.clone();
    let columns = ["Scheduled", "Started", "Workflow id", "Status"].map(Column::new).to_vec();
    let row = |action: &ScheduleActionResult| {
        let run = action.start_workflow_result.clone().unwrap_or_default();
        let status = WorkflowExecutionStatus::try_from(action.start_workflow_status);
        let failed = matches!(
            status,
            Ok(WorkflowExecutionStatus::Failed | WorkflowExecutionStatus::TimedOut)
        );
        let status = status.unwrap_or_default().as_str_name();
        let status = status.trim_start_matches("WORKFLOW_EXECUTION_STATUS_").to_lowercase();
        let row = Row::from([
            instant(action.schedule_time.as_ref()).map(|it| times.clock(it)).unwrap_or_default(),
            times.show(instant(action.actual_time.as_ref())),
            run.workflow_id,
            if status == "unspecified" { String::new() } else { status.replace('_', " ") },
        ]);
        if failed { row.styled(Style::Warning) } else { row }
    };
    let rows: Vec<Row> = info.recent_actions.iter().rev().map(row).collect();
    Ok(output.table(columns, rows)?)
}

/// The next times, in the schedule's time zone and, if different, in the local one.
fn coming(
    info: &ScheduleInfo,
    spec: Option<&Spec>,
    paused: bool,
    output: &mut Output,
) -> anyhow::Result<()> {
    let next: Vec<Timestamp> =
        info.future_action_times.iter().filter_map(|time| instant(Some(time))).collect();
    if next.is_empty() {
        return Ok(());
    }
    let heading = if paused { "Next times, once unpaused" } else { "Next times" };
    output.line(format!("\n{}", output.look.paint(Style::Heading, heading)))?;
    let times = output.times.clone();
    let zone = spec.map(|spec| (spec.zone().name().to_owned(), spec.zone()));
    let here = times.zone_name().to_owned();
    let iso = times.format == TimeFormat::Iso;
    let elsewhere = zone.filter(|(name, zone)| {
        !iso && *name != here
            && next.iter().any(|&it| zone.at(it).offset() != times.at(it).offset())
    });
    let here = if iso { "UTC".to_owned() } else { here };
    let mut columns = vec![Column::new(here), Column::new("Distance")];
    if iso {
        columns.pop();
    }
    if let Some((name, _)) = &elsewhere {
        columns.insert(0, Column::new(name.clone()));
    }
    let rows: Vec<Row> = next
        .iter()
        .map(|&time| {
            let mut cells = vec![times.clock(time), times.distance(time)];
            if let Some((_, zone)) = &elsewhere {
                cells.insert(0, times.clock_in(time, zone.at(time).time_zone()));
            }
            Row::from(cells)
        })
        .collect();
    Ok(output.table(columns, rows)?)
}
