//! The transition function of a run: one file for each command.

mod activity_attempt;
mod admit_update;
mod change_activities;
mod child_closed;
mod close;
mod commands;
mod complete_workflow_task;
mod cron;
pub(super) mod fail_workflow_task;
mod heartbeat_activity;
mod history_limit;
mod pause;
mod pending_at_close;
mod reapply;
mod receive;
mod report_activity;
mod request_cancel;
pub(super) mod reset;
pub(super) mod retry;
mod signal;
pub(super) mod start;
mod start_activity;
pub(super) mod start_by_message;
mod start_workflow_task;
mod take_answer;
mod terminate;
mod undo_start;
mod update_options;
mod wake;

use super::draft::Draft;
use super::{Command, Context, Decision, Rejection, Reply, Run};

/// The identity in events that the server causes; the same as in Temporal's server.
const SERVER_IDENTITY: &str = "history-service";

pub use close::timeout_failure;

/// A schedule's identity in events of the runs that it starts and ends.
pub(crate) fn scheduler_identity(schedule_id: &str) -> String {
    format!("temporal-scheduler-{schedule_id}")
}

/// A rejection here means that nothing changed.
type Decided = Result<Decision, Rejection>;

impl Run {
    /// Decides what follows from `command`. Doesn't change the run.
    pub fn decide(&self, command: Command, cx: &Context<'_>) -> Decision {
        let decided = match command {
            Command::StartWorkflowTask(start) => start_workflow_task::decide(self, start, cx),
            Command::CompleteWorkflowTask(complete) => {
                complete_workflow_task::decide(self, *complete, cx)
            }
            Command::FailWorkflowTask(fail) => fail_workflow_task::decide(self, *fail, cx),
            Command::StartActivity(start) => start_activity::decide(self, start, cx),
            Command::UndoStart(task) => undo_start::decide(self, task, cx),
            Command::ReportActivity(report) => report_activity::decide(self, *report, cx),
            Command::HeartbeatActivity(beat) => heartbeat_activity::decide(self, beat, cx),
            Command::Signal(signal) => signal::decide(self, *signal, cx),
            Command::RequestCancel(cancel) => request_cancel::decide(self, cancel, cx),
            Command::Terminate(terminate) => terminate::decide(self, terminate, cx),
            Command::ResetSticky => reset_sticky(self, cx),
            Command::PassOverSticky => pass_over_sticky(self, cx),
            Command::WantTaskForUpdate => want_task_for_update(self, cx),
            Command::Wake => wake::decide(self, cx),
            Command::Receive(message) => receive::decide(self, &message, cx),
            Command::TakeAnswer(taken) => take_answer::decide(self, *taken, cx),
            Command::ChangeActivities(change) => change_activities::decide(self, *change, cx),
            Command::Pause(request) => pause::pause(self, request, cx),
            Command::Unpause(request) => pause::unpause(self, request, cx),
            Command::UpdateOptions(update) => update_options::decide(self, *update, cx),
        };
        let decision = decided
            .unwrap_or_else(|rejection| Decision { transition: None, reply: Err(rejection) });
        history_limit::enforce(decision, cx)
    }

    fn draft<'a>(&self, cx: &'a Context<'a>) -> Draft<'a> {
        Draft::new(self.clone(), cx)
    }

    fn open(&self) -> Result<(), Rejection> {
        if self.is_open() { Ok(()) } else { Err(Rejection::AlreadyClosed) }
    }
}

fn reset_sticky(run: &Run, cx: &Context<'_>) -> Decided {
    run.open()?;
    let mut draft = run.draft(cx);
    draft.run.head.sticky = None;
    Ok(draft.done(Reply::Done))
}

fn pass_over_sticky(run: &Run, cx: &Context<'_>) -> Decided {
    run.open()?;
    let mut draft = run.draft(cx);
    let queue = run.task_queue().to_owned();
    let waits = draft.run.head.workflow_task.as_mut().filter(|task| task.started_at == 0);
    let Some(task) = waits else {
        return Err(Rejection::TaskNotFound("Workflow task not found.".to_owned()));
    };
    task.sticky = false;
    task.sticky_until = 0;
    task.queue = queue;
    draft.run.head.sticky = None;
    draft.offer_workflow_task();
    Ok(draft.done(Reply::Done))
}

/// Schedules a workflow task to deliver an update, even before the delayed first task is due. If the update is
/// rejected, the run waits for its first task as before.
fn want_task_for_update(run: &Run, cx: &Context<'_>) -> Decided {
    run.open()?;
    if run.head.workflow_task.is_some() || run.head.paused.is_some() {
        return Ok(Decision { transition: None, reply: Ok(Reply::Done) });
    }
    let mut draft = run.draft(cx);
    if run.head.next_task_attempt > 1 {
        draft.schedule_workflow_task();
    } else {
        draft.schedule_speculative_task();
    }
    Ok(draft.done(Reply::Done))
}
