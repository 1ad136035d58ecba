//! A worker completes a workflow task: all of its commands take effect, in order, or none.

use perennial_proto::store as stored;
use perennial_proto::temporal::enums::v1::WorkflowTaskFailedCause;
use perennial_proto::temporal::history::v1::{
    WorkflowTaskCompletedEventAttributes, WorkflowTaskFailedEventAttributes,
};

use super::commands::{self, CommandFailure, Progress};
use super::fail_workflow_task::{cause_name, fail_task, server_failure, try_again};
use super::terminate::terminate;
use super::{Decided, SERVER_IDENTITY};
use crate::Span;
use crate::run::draft::Draft;
use crate::run::event::Attributes;
use crate::run::{
    CompleteWorkflowTask, Context, Decision, Rejection, Reply, Run, TaskCompleted, Terminate,
};

pub(super) fn decide(run: &Run, complete: CompleteWorkflowTask, cx: &Context<'_>) -> Decided {
    let task = run.task_of(complete.token)?;
    if complete.is_too_large {
        let message = "workflow task completion buffer size exceeds the per-workflow limit";
        // The next worker would come to the same commands: there is no use in another try.
        let failure = CommandFailure::ending_run(WorkflowTaskFailedCause::RequestTooLarge, message);
        return Ok(refuse(run, &complete, failure, cx));
    }
    if leaves_no_trace(run, task, &complete) {
        return Ok(drop_speculative(run, &complete, cx));
    }
    match carry_out(run, &complete, cx) {
        Ok(decision) => Ok(decision),
        Err(CommandFailure { leaves_task: Some(rejection), .. }) => Err(*rejection),
        // A worker that fails again would retry at once, forever: the task's timeout is the backoff between attempts.
        Err(failure) if task.attempt > 1 && failure.is_workers() => {
            Err(Rejection::InvalidArgument(text_of(&failure)))
        }
        Err(failure) => Ok(refuse(run, &complete, failure, cx)),
    }
}

/// The text of a failure, for the worker and the history.
fn text_of(failure: &CommandFailure) -> String {
    let name = cause_name(failure.cause);
    if failure.message.is_empty() { name } else { format!("{name}: {}", failure.message) }
}

/// Carries out all commands, or returns the first failure.
fn carry_out(
    run: &Run,
    complete: &CompleteWorkflowTask,
    cx: &Context<'_>,
) -> Result<Decision, CommandFailure> {
    let mut draft = run.draft(cx);
    draft.is_visible = !run.reported_problems().is_empty();
    draft.record_unwritten_task_of(complete.worker_version.as_ref());
    let task = draft.run.head.workflow_task.clone().unwrap_or_default();
    let completed_event_id = draft.record(Attributes::WorkflowTaskCompletedEventAttributes(
        WorkflowTaskCompletedEventAttributes {
            scheduled_event_id: task.scheduled_event_id,
            started_event_id: task.started_event_id,
            identity: complete.identity.clone(),
            sdk_metadata: complete.sdk_metadata.clone(),
            metering_metadata: complete.metering_metadata,
            worker_version: complete.worker_version.clone(),
            binary_checksum: complete.binary_checksum.clone(),
            ..WorkflowTaskCompletedEventAttributes::default()
        },
    ));
    draft.run.head.sticky = complete.sticky.clone().map(|sticky| stored::StickyQueue {
        schedule_to_start_nanos: Span(sticky.schedule_to_start_nanos)
            .get()
            .unwrap_or(cx.limits.sticky_wait)
            .0,
        ..sticky
    });
    let progress = commands::carry_out(&mut draft, complete, completed_event_id)?;
    // Lists can be filtered by worker build.
    draft.is_visible |= draft.run.head.build_ids != run.head.build_ids;
    Ok(finish(draft, complete, &task, progress, run.head.history_bytes))
}

fn finish(
    mut draft: Draft<'_>,
    complete: &CompleteWorkflowTask,
    task: &stored::WorkflowTask,
    progress: Progress,
    history_bytes: i64,
) -> Decision {
    let Progress { mut eager_activities, updates, has_unseen: _ } = progress;
    commands::start_eager(&mut draft, &mut eager_activities, &complete.identity);
    let mut reply = TaskCompleted { eager_activities, updates, ..TaskCompleted::default() };
    if draft.run.is_open() {
        let something_new = !draft.run.buffered.is_empty();
        draft.flush_buffer();
        if something_new || complete.force_new_task || complete.more_updates_wait {
            draft.ensure_workflow_task();
            if complete.force_new_task && !something_new {
                // The worker continues the same work, so the timeout counts from the first task.
                let began = task.original_scheduled_at;
                if let Some(next) = &mut draft.run.head.workflow_task {
                    next.original_scheduled_at = if began == 0 { next.scheduled_at } else { began };
                }
            }
            if complete.return_new_task {
                reply.new_task_started = start_next(&mut draft, complete, history_bytes);
            }
        }
    }
    draft.done(Reply::WorkflowTaskCompleted(reply))
}

/// Starts the next task on the worker that has just completed one, instead of offering it.
fn start_next(draft: &mut Draft<'_>, complete: &CompleteWorkflowTask, history_bytes: i64) -> bool {
    use crate::run::{Effect, StartWorkflowTask, TaskRef};
    let offered = draft.effects.iter().position(|effect| {
        matches!(effect, Effect::Offer(offer) if matches!(offer.task, TaskRef::Workflow(_)))
    });
    let Some(index) = offered else { return false };
    let Effect::Offer(offer) = draft.effects.remove(index) else { return false };
    let TaskRef::Workflow(task) = offer.task else { return false };
    let start = StartWorkflowTask {
        task,
        identity: complete.identity.clone(),
        request_id: draft.cx.ids.next(draft.cx.now),
        worker_version: complete.worker_version.clone(),
    };
    let started = super::start_workflow_task::in_step(&draft.run, start, history_bytes, draft.cx);
    let Ok(decision) = started else { return false };
    let Some(step) = decision.transition else { return false };
    draft.run = step.run;
    draft.events.extend(step.events);
    draft.touched.extend(step.touched);
    true
}

/// Rejects the commands: the task fails, none of them takes effect, and the worker receives the reason.
fn refuse(
    run: &Run,
    complete: &CompleteWorkflowTask,
    failure: CommandFailure,
    cx: &Context<'_>,
) -> Decision {
    let mut draft = run.draft(cx);
    let text = text_of(&failure);
    let CommandFailure { cause, ends_run, .. } = failure;
    fail_task(
        &mut draft,
        WorkflowTaskFailedEventAttributes {
            cause: cause.into(),
            failure: Some(server_failure(text.clone())),
            identity: complete.identity.clone(),
            binary_checksum: complete.binary_checksum.clone(),
            ..WorkflowTaskFailedEventAttributes::default()
        },
    );
    if ends_run {
        let identity = SERVER_IDENTITY.to_owned();
        terminate(&mut draft, Terminate { reason: text.clone(), identity, ..Terminate::default() });
    } else {
        try_again(&mut draft);
    }
    let rejection = match cause {
        WorkflowTaskFailedCause::UnhandledCommand => Rejection::UnhandledCommand,
        _ => Rejection::InvalidArgument(text),
    };
    draft.end(Err(rejection))
}

/// Whether the task leaves no event: it was speculative and no update was accepted. A worker that received new events
/// with it must be able to roll them back.
fn leaves_no_trace(
    run: &Run,
    task: &stored::WorkflowTask,
    complete: &CompleteWorkflowTask,
) -> bool {
    let brought_events = task.scheduled_event_id != run.head.previous_started_event_id + 2;
    task.kind() == stored::WorkflowTaskKind::Speculative
        && run.buffered.is_empty()
        && complete.commands.is_empty()
        && !complete.force_new_task
        && complete.messages.iter().all(commands::is_rejection)
        && (complete.can_forget_events || !brought_events)
}

fn drop_speculative(run: &Run, complete: &CompleteWorkflowTask, cx: &Context<'_>) -> Decision {
    let mut draft = run.draft(cx);
    draft.run.head.workflow_task = None;
    let updates = commands::rejections(&complete.messages);
    // The worker rolls back to the events it had before: SDKs identify them by the last task's start.
    let reset_history_event_id = run.head.previous_started_event_id;
    if complete.more_updates_wait {
        draft.schedule_speculative_task();
    }
    draft.done(Reply::WorkflowTaskCompleted(TaskCompleted {
        updates,
        reset_history_event_id,
        ..TaskCompleted::default()
    }))
}
