//! Commands that close the run.

use perennial_proto::temporal::command::v1::{
    CancelWorkflowExecutionCommandAttributes, CompleteWorkflowExecutionCommandAttributes,
    ContinueAsNewWorkflowExecutionCommandAttributes, FailWorkflowExecutionCommandAttributes,
};
use perennial_proto::temporal::enums::v1::{
    ContinueAsNewInitiator, TaskQueueKind, WorkflowTaskFailedCause,
};
use perennial_proto::temporal::history::v1::{
    WorkflowExecutionCanceledEventAttributes, WorkflowExecutionCompletedEventAttributes,
    WorkflowExecutionContinuedAsNewEventAttributes, WorkflowExecutionFailedEventAttributes,
};
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use prost::Message;

use super::{CommandFailure, Step};
use crate::run::decide::close::{
    Continuation, after_close, after_failure, continue_chain, next_cron,
};
use crate::run::decide::retry;
use crate::run::decide::start::task_timeout;
use crate::run::event::Attributes;
use crate::{Span, fields};

pub(super) fn complete(
    step: &mut Step<'_, '_>,
    wanted: CompleteWorkflowExecutionCommandAttributes,
) -> Result<(), CommandFailure> {
    check_nothing_unseen(step)?;
    // Temporal uses this cause for any payload that is too large, whatever the command.
    let cause = WorkflowTaskFailedCause::BadScheduleActivityAttributes;
    let bytes = wanted.result.as_ref().map_or(0, Message::encoded_len);
    step.check_payloads(cause, bytes, "CompleteWorkflowExecutionCommandAttributes.Result")?;
    let next = next_cron(step.draft, None, wanted.result.clone());
    let new_execution_run_id =
        next.map(|next| continue_chain(step.draft, next)).unwrap_or_default();
    step.record(Attributes::WorkflowExecutionCompletedEventAttributes(
        WorkflowExecutionCompletedEventAttributes {
            result: wanted.result,
            workflow_task_completed_event_id: step.completed_event_id,
            new_execution_run_id,
        },
    ));
    after_close(step.draft);
    Ok(())
}

pub(super) fn fail(
    step: &mut Step<'_, '_>,
    wanted: FailWorkflowExecutionCommandAttributes,
) -> Result<(), CommandFailure> {
    check_nothing_unseen(step)?;
    let cause = WorkflowTaskFailedCause::BadFailWorkflowExecutionAttributes;
    let Some(failure) = wanted.failure else {
        return Err(CommandFailure::new(
            cause,
            "Failure is not set on FailWorkflowExecutionCommand.",
        ));
    };
    step.check_payloads(
        cause,
        failure.encoded_len(),
        "FailWorkflowExecutionCommandAttributes.Failure",
    )?;
    let (retry_state, next) = after_failure(step.draft, &failure);
    let new_execution_run_id =
        next.map(|next| continue_chain(step.draft, next)).unwrap_or_default();
    step.record(Attributes::WorkflowExecutionFailedEventAttributes(
        WorkflowExecutionFailedEventAttributes {
            failure: Some(failure),
            retry_state: retry_state.into(),
            workflow_task_completed_event_id: step.completed_event_id,
            new_execution_run_id,
        },
    ));
    after_close(step.draft);
    Ok(())
}

pub(super) fn cancel(
    step: &mut Step<'_, '_>,
    wanted: CancelWorkflowExecutionCommandAttributes,
) -> Result<(), CommandFailure> {
    check_nothing_unseen(step)?;
    // A cancel request is for this run alone: the next cron run is started all the same. The event has no field for
    // it.
    let last_result = step.draft.run.started.last_completion_result.clone();
    let next = next_cron(step.draft, None, last_result);
    let successor = next.map(|next| continue_chain(step.draft, next)).unwrap_or_default();
    step.record(Attributes::WorkflowExecutionCanceledEventAttributes(
        WorkflowExecutionCanceledEventAttributes {
            workflow_task_completed_event_id: step.completed_event_id,
            details: wanted.details,
        },
    ));
    step.draft.run.head.successor_run_id = successor;
    after_close(step.draft);
    Ok(())
}

pub(super) fn continue_as_new(
    step: &mut Step<'_, '_>,
    wanted: ContinueAsNewWorkflowExecutionCommandAttributes,
) -> Result<(), CommandFailure> {
    check_nothing_unseen(step)?;
    let cause = WorkflowTaskFailedCause::BadContinueAsNewAttributes;
    let bytes = wanted.input.as_ref().map_or(0, Message::encoded_len);
    step.check_payloads(cause, bytes, "ContinueAsNewWorkflowExecutionCommandAttributes. Input")?;
    let memo_bytes = wanted.memo.as_ref().map_or(0, Message::encoded_len);
    step.check_memo(cause, memo_bytes, "ContinueAsNewWorkflowExecutionCommandAttributes. Memo")?;
    let started = step.draft.run.started.clone();
    let initiator = match wanted.initiator() {
        ContinueAsNewInitiator::Unspecified => ContinueAsNewInitiator::Workflow,
        given => given,
    };
    let workflow_type = wanted
        .workflow_type
        .filter(|kind| !kind.name.is_empty())
        .or_else(|| started.workflow_type.clone());
    let queue = wanted.task_queue.filter(|queue| !queue.name.is_empty());
    let queue = Some(TaskQueue {
        name: queue.map_or_else(|| step.draft.run.task_queue().to_owned(), |queue| queue.name),
        kind: TaskQueueKind::Normal.into(),
        normal_name: String::new(),
    });
    let kind = workflow_type.as_ref().map_or("", |kind| kind.name.as_str());
    let bad = |message: String| Err(CommandFailure::new(cause, message));
    if kind.len() > step.draft.cx.limits.id_bytes {
        return bad(format!(
            "WorkflowType on ContinueAsNewWorkflowExecutionCommand exceeds length limit. WorkflowType={kind} Length={} Limit={}",
            kind.len(),
            step.draft.cx.limits.id_bytes
        ));
    }
    let queue_name = queue.as_ref().map_or("", |queue| queue.name.as_str());
    for (text, field) in [(kind, "WorkflowType"), (queue_name, "TaskQueue")] {
        if fields::has_null_character(text) {
            return bad(format!(
                "{field} on ContinueAsNewWorkflowExecutionCommand has the character U+0000."
            ));
        }
    }
    let timeouts = [
        (&wanted.workflow_run_timeout, "WorkflowRunTimeout"),
        (&wanted.workflow_task_timeout, "WorkflowTaskTimeout"),
        (&wanted.backoff_start_interval, "BackoffStartInterval"),
    ];
    for (timeout, name) in timeouts {
        if Span::of(timeout.as_ref()) < Span::ZERO {
            return bad(format!(
                "Invalid {name} on ContinueAsNewWorkflowExecutionCommand: negative duration. WorkflowType={kind}"
            ));
        }
    }
    if let Some(why) = wanted.retry_policy.as_ref().and_then(retry::policy_error) {
        return bad(format!(
            "invalid WorkflowRetryPolicy on ContinueAsNewWorkflowExecutionCommand: {why}. WorkflowType={kind}"
        ));
    }
    let about = |why| {
        let queue = queue.as_ref().map_or("", |queue| queue.name.as_str());
        format!(
            "invalid SearchAttributes on ContinueAsNewWorkflowExecutionCommand: {why}. WorkflowType={kind} TaskQueue={queue}"
        )
    };
    let namespace = step.own_namespace();
    let search_attributes =
        step.typed_search_attributes(wanted.search_attributes, &namespace, about)?;
    let search_attributes = fields::initial(search_attributes);
    let or_before = |given: Option<perennial_proto::Duration>, before: &Option<_>| {
        Span::of(given.as_ref()).get().unwrap_or(Span::of(before.as_ref()))
    };
    let run_timeout = retry::run_timeout(
        or_before(wanted.workflow_run_timeout, &started.workflow_run_timeout),
        Span::of(started.workflow_execution_timeout.as_ref()),
    );
    let task_timeout = task_timeout(
        or_before(wanted.workflow_task_timeout, &started.workflow_task_timeout),
        run_timeout,
        step.draft.cx.limits,
    );
    let (run_timeout, task_timeout) = (Some(run_timeout.into()), Some(task_timeout.into()));
    let delay = Span::of(wanted.backoff_start_interval.as_ref());
    // The workflow gives the complete attributes of the next run: what it leaves out isn't inherited.
    let memo = fields::initial(wanted.memo);
    let (retry_policy, cron_schedule) =
        (wanted.retry_policy.map(retry::complete_policy), wanted.cron_schedule);
    let priority = step.draft.run.priority().cloned();
    let event = WorkflowExecutionContinuedAsNewEventAttributes {
        new_execution_run_id: String::new(),
        workflow_type: workflow_type.clone(),
        task_queue: queue.clone(),
        input: wanted.input.clone(),
        workflow_run_timeout: run_timeout,
        workflow_task_timeout: task_timeout,
        workflow_task_completed_event_id: step.completed_event_id,
        backoff_start_interval: (delay > Span::ZERO).then(|| delay.into()),
        initiator: wanted.initiator,
        last_completion_result: wanted.last_completion_result.clone(),
        header: wanted.header.clone(),
        memo: memo.clone(),
        search_attributes: search_attributes.clone(),
        ..WorkflowExecutionContinuedAsNewEventAttributes::default()
    };
    let (input, header) = (wanted.input, wanted.header);
    let run_id = continue_chain(
        step.draft,
        Continuation {
            initiator,
            delay,
            attempt: if initiator == ContinueAsNewInitiator::Retry {
                started.attempt + 1
            } else {
                1
            },
            failure: wanted.failure,
            last_result: wanted.last_completion_result,
            change: Some(Box::new(move |next| {
                next.workflow_type = workflow_type;
                next.task_queue = queue;
                next.input = input;
                next.header = header;
                next.workflow_run_timeout = run_timeout;
                next.workflow_task_timeout = task_timeout;
                next.memo = memo;
                next.search_attributes = search_attributes;
                next.retry_policy = retry_policy;
                next.cron_schedule = cron_schedule;
                next.priority = priority;
            })),
        },
    );
    step.record(Attributes::WorkflowExecutionContinuedAsNewEventAttributes(
        WorkflowExecutionContinuedAsNewEventAttributes { new_execution_run_id: run_id, ..event },
    ));
    after_close(step.draft);
    Ok(())
}

/// A workflow mustn't close before it has seen all events, or they would be lost.
fn check_nothing_unseen(step: &Step<'_, '_>) -> Result<(), CommandFailure> {
    if !step.progress.has_unseen {
        return Ok(());
    }
    Err(CommandFailure::new(WorkflowTaskFailedCause::UnhandledCommand, ""))
}
