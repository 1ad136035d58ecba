//! The transition function of a schedule: one file for each command, and the work that follows every command.

mod backfill;
pub(super) mod create;
mod delete;
mod overlap;
mod pause;
mod pause_on_failure;
mod run_closed;
mod settle;
pub(super) mod start_answered;
mod trigger;
mod update;

pub(super) use delete::delete;

use perennial_proto::store as stored;

use super::draft::{Decision, Draft};
use super::times::Next;
use super::{Command, Reply, Schedule};
use crate::run::{Context, Rejection};
use crate::{Span, Time};

/// How often a schedule whose spec doesn't compile is checked again.
const BROKEN_CHECK_INTERVAL: Span = Span::seconds(3600);
/// The number of requests that are remembered, to recognise their retries.
const REQUESTS_MAX: usize = 20;

impl Schedule {
    /// Decides what follows from a command.
    pub fn decide(&self, command: Command, cx: &Context<'_>) -> Decision {
        let mut draft = Draft::new(self.clone(), cx);
        match execute(&mut draft, command) {
            Ok(reply) => {
                finish_step(&mut draft);
                draft.done(reply)
            }
            Err(rejection) => Decision { transition: None, reply: Err(rejection) },
        }
    }
}

pub(super) fn execute(draft: &mut Draft<'_>, command: Command) -> Result<Reply, Rejection> {
    match command {
        Command::Wake => {
            wake(draft);
            Ok(Reply::Done)
        }
        Command::Evaluate => Ok(settle::evaluate(draft)),
        Command::TakeAnswer { message, answer } => {
            start_answered::handle(draft, &message, &answer);
            Ok(Reply::Done)
        }
        Command::RunClosed(closed) => {
            run_closed::handle(draft, &closed);
            Ok(Reply::Done)
        }
        Command::Update(update) => update::update(draft, *update),
        Command::Trigger(trigger) => trigger::trigger(draft, trigger),
        Command::Backfill(wanted) => backfill::begin(draft, wanted),
        Command::CancelBackfill { sequence } => backfill::cancel(draft, sequence),
        Command::Pause { notes, context } => pause::pause(draft, notes, context),
        Command::Unpause { notes, context } => pause::unpause(draft, notes, context),
        Command::Delete { reason, context } => {
            draft.schedule.present()?;
            draft.evaluates = true;
            settle::settle(draft);
            overlap::start_chosen(draft);
            // Settling may have used up the schedule's maximum of runs, which deletes it.
            if draft.schedule.present().is_ok() {
                delete(draft, &reason, context);
            }
            Ok(Reply::Done)
        }
    }
}

fn wake(draft: &mut Draft<'_>) {
    let is_due = draft.schedule.next_due().is_some_and(|due| due <= draft.now());
    if !is_due && draft.schedule.times.depend_on_zones() {
        draft.schedule.compile(draft.cx.zones);
    }
}

/// The work that follows every command: settles due times, plans backfills and starts buffered runs.
pub(super) fn finish_step(draft: &mut Draft<'_>) {
    settle::settle(draft);
    overlap::drain_buffer(draft);
    backfill::plan(draft);
    // Starts that waited for the backfill's plan to get this far.
    overlap::drain_buffer(draft);
    overlap::start_chosen(draft);
    backfill::finish(draft);
}

/// The remembered request, if it took effect before.
fn taken_before(draft: &Draft<'_>, request_id: &str) -> Option<stored::TakenRequest> {
    let mut taken = draft.schedule.head.requests.iter();
    taken.find(|it| !request_id.is_empty() && it.request_id == request_id).cloned()
}

/// Remembers a request with the number of its start or backfill.
fn remember(draft: &mut Draft<'_>, request: stored::TakenRequest) {
    if request.request_id.is_empty() {
        return;
    }
    let taken = &mut draft.schedule.head.requests;
    taken.push(request);
    let surplus = taken.len().saturating_sub(REQUESTS_MAX);
    taken.drain(..surplus);
}

/// When the schedule has to be woken.
pub(super) fn wake_at(draft: &Draft<'_>) -> Option<Time> {
    let (schedule, now) = (&draft.schedule, draft.now());
    if schedule.head.deleted_at != 0 {
        return None;
    }
    if draft.has_more {
        return Some(now);
    }
    // The next answer to a start wakes the schedule.
    if settle::has_too_many_unanswered_starts(draft) {
        return None;
    }
    if schedule.times.broken().is_some() {
        return Some(now.after(BROKEN_CHECK_INTERVAL));
    }
    if !schedule.is_acting() {
        return None;
    }
    match schedule.times.after(Time(schedule.head.settled_up_to)) {
        Next::At(moment) => Some(moment.due),
        Next::NoneUpTo(searched) => Some(searched.max(now)),
        Next::Never => None,
    }
}
