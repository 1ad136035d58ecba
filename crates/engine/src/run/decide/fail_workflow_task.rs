//! A workflow task fails: the worker reports it, or its commands are invalid.

use perennial_proto::store as stored;
use perennial_proto::temporal::enums::v1::WorkflowTaskFailedCause;
use perennial_proto::temporal::failure::v1::failure::FailureInfo;
use perennial_proto::temporal::failure::v1::{Failure, ServerFailureInfo};
use perennial_proto::temporal::history::v1::WorkflowTaskFailedEventAttributes;

use super::terminate::terminate;
use super::{Decided, SERVER_IDENTITY, pending_at_close};
use crate::run::draft::Draft;
use crate::run::event::Attributes;
use crate::run::{Context, FailWorkflowTask, Reply, Run, Terminate};

pub(super) fn decide(run: &Run, fail: FailWorkflowTask, cx: &Context<'_>) -> Decided {
    run.task_of(fail.token)?;
    let mut draft = run.draft(cx);
    if fail.cause == WorkflowTaskFailedCause::GrpcMessageTooLarge {
        // The worker's answer is too large, and a retry won't be smaller.
        let (reason, identity) = (cause_name(fail.cause), SERVER_IDENTITY.to_owned());
        terminate(&mut draft, Terminate { reason, identity, ..Terminate::default() });
        return Ok(draft.done(Reply::Done));
    }
    let FailWorkflowTask { cause, failure, identity, binary_checksum, .. } = fail;
    fail_task(
        &mut draft,
        WorkflowTaskFailedEventAttributes {
            cause: cause.into(),
            failure,
            identity,
            binary_checksum,
            ..WorkflowTaskFailedEventAttributes::default()
        },
    );
    try_again(&mut draft);
    Ok(draft.done(Reply::Done))
}

/// Ends the started task as failed. A failed retry leaves no event.
pub(super) fn fail_task(draft: &mut Draft<'_>, mut failed: WorkflowTaskFailedEventAttributes) {
    let Some(task) = draft.run.head.workflow_task.clone() else { return };
    match task.kind() {
        stored::WorkflowTaskKind::Transient | stored::WorkflowTaskKind::Unspecified => {
            draft.run.end_failed_task(true);
            draft.run.head.sticky = None;
            draft.run.head.last_workflow_task_failure = failed.failure;
        }
        stored::WorkflowTaskKind::Normal | stored::WorkflowTaskKind::Speculative => {
            draft.record_unwritten_task();
            let (scheduled, started) = draft
                .run
                .head
                .workflow_task
                .as_ref()
                .map_or((0, 0), |task| (task.scheduled_event_id, task.started_event_id));
            failed.scheduled_event_id = scheduled;
            failed.started_event_id = started;
            draft.record(Attributes::WorkflowTaskFailedEventAttributes(failed));
        }
    }
}

/// Records the buffered events and schedules another workflow task.
pub(super) fn try_again(draft: &mut Draft<'_>) {
    report_problem(draft);
    let something_new = !draft.run.buffered.is_empty();
    draft.flush_buffer();
    if something_new {
        draft.run.head.next_task_attempt = 1;
    }
    draft.ensure_workflow_task();
}

/// Reports the problem in lists and descriptions after a number of failures.
fn report_problem(draft: &mut Draft<'_>) {
    let enough = draft.cx.limits.reported_task_failures;
    let Some(problem) = &mut draft.run.head.workflow_task_problem else { return };
    if enough == 0 || i64::from(problem.failures) < enough {
        return;
    }
    let stored::WorkflowTaskProblem { category, cause, .. } = &*problem;
    let reported = vec![format!("category={category}"), format!("cause={category}Cause{cause}")];
    if problem.reported != reported {
        problem.reported = reported;
        draft.is_visible = true;
    }
}

/// Ends the task because the run is closed from outside: its worker will receive "not found".
pub(super) fn abandon_task(draft: &mut Draft<'_>) {
    if draft.has_started_task() {
        fail_task(
            draft,
            WorkflowTaskFailedEventAttributes {
                cause: WorkflowTaskFailedCause::ForceCloseCommand.into(),
                identity: SERVER_IDENTITY.to_owned(),
                ..WorkflowTaskFailedEventAttributes::default()
            },
        );
    }
    if let Some(task) = draft.run.head.workflow_task.take() {
        pending_at_close::note_task(&mut draft.run, task);
    }
    draft.flush_buffer();
}

/// The name of a cause in messages, like `BadScheduleActivityAttributes`.
pub(in crate::run) fn cause_name(cause: WorkflowTaskFailedCause) -> String {
    camel_case(cause.as_str_name().trim_start_matches("WORKFLOW_TASK_FAILED_CAUSE_"))
}

/// Converts `FAIL_WORKFLOW` to `FailWorkflow`.
pub(in crate::run) fn camel_case(name: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().map(|c| c.to_ascii_uppercase());
        first.into_iter().chain(letters.map(|c| c.to_ascii_lowercase())).collect::<String>()
    };
    name.split('_').map(capital).collect()
}

/// A failure that the server reports, not a worker.
pub(super) fn server_failure(message: String) -> Failure {
    Failure {
        message,
        failure_info: Some(FailureInfo::ServerFailureInfo(ServerFailureInfo::default())),
        ..Failure::default()
    }
}
