//! Creates a schedule: a command to a schedule id, which may have a schedule already.

use std::sync::Arc;

use perennial_proto::store as stored;

use super::{execute, finish_step};
use crate::run::{Context, Rejection, Taken};
use crate::schedule::draft::{Draft, Transition};
use crate::schedule::{Command, CreateSchedule, Schedule, Status, Times};
use crate::{EntityKey, NamespaceKey, SharedMap, fields};

/// Creates a schedule, if none has the id. `None` if an earlier delivery of this request created the existing one.
///
/// # Errors
/// If a schedule has the id, a deleted one still waits for answers, or the spec doesn't compile.
pub fn create(
    existing: Option<&Schedule>,
    namespace: NamespaceKey,
    schedule_id: &str,
    request: CreateSchedule,
    cx: &Context<'_>,
) -> Result<Option<Transition>, Rejection> {
    if let Some(existing) = existing {
        let head = &existing.head;
        // Also if that schedule was deleted since, by its maximum of runs or by a user.
        if !request.request_id.is_empty() && head.create_request_id == request.request_id {
            return Ok(None);
        }
        if existing.status() != Status::Deleted {
            return Err(Rejection::AlreadyStarted {
                workflow_id: schedule_id.to_owned(),
                run_id: head.incarnation.clone(),
                start_request_id: head.create_request_id.clone(),
                first_run_id: head.incarnation.clone(),
                taken: Taken::Running,
            });
        }
        // An answer is routed to the latest schedule of an id. Answers to the deleted one would be lost, and its
        // ledger would name runs that don't exist.
        if existing.running.values().any(|run| run.is_assumed) {
            return Err(Rejection::Busy(
                "the deleted schedule of this id has starts that aren't answered; try again in a moment"
                    .to_owned(),
            ));
        }
    }
    let now = cx.now;
    let incarnation = cx.ids.next(now);
    let times = Times::compile(&request.config, &incarnation, cx.zones);
    if let Some(why) = times.broken() {
        return Err(Rejection::InvalidArgument(format!("Invalid schedule spec: {why}")));
    }
    let config = stored::ScheduleConfig {
        memo: fields::initial(request.config.memo),
        search_attributes: fields::initial(request.config.search_attributes),
        ..request.config
    };
    let state = request.state;
    let head = stored::ScheduleHead {
        namespace: namespace.0,
        schedule_id: schedule_id.to_owned(),
        incarnation,
        create_request_id: request.request_id,
        created_at: now.0,
        conflict_token: 1,
        paused: state.paused,
        notes: state.notes,
        limited_actions: state.remaining_actions.is_some(),
        remaining_actions: state.remaining_actions.unwrap_or_default(),
        settled_up_to: now.0,
        last_event_at: now.0,
        ..stored::ScheduleHead::default()
    };
    let schedule = Schedule {
        key: EntityKey(cx.keys.next()),
        head,
        config: Arc::new(config),
        outcome: Arc::default(),
        running: SharedMap::default(),
        buffer: SharedMap::default(),
        backfills: SharedMap::default(),
        ahead: Arc::default(),
        times,
    };
    let mut draft = Draft::new(schedule, cx);
    draft.touched.insert(crate::SchedulePart::Config);
    draft.is_visible = true;
    draft.audit_created(request.context);
    for command in request.first {
        match command {
            // A new schedule has no due times to settle first, and the API allows only these commands.
            command @ (Command::Trigger(_) | Command::Backfill(_)) => {
                execute(&mut draft, command)?;
            }
            Command::Pause { notes, context } => {
                super::pause::pause(&mut draft, notes, context)?;
            }
            Command::Unpause { .. }
            | Command::Update(_)
            | Command::CancelBackfill { .. }
            | Command::Delete { .. }
            | Command::Wake
            | Command::Evaluate
            | Command::TakeAnswer { .. }
            | Command::RunClosed(_) => {}
        }
    }
    finish_step(&mut draft);
    Ok(Some(draft.into_transition()))
}
