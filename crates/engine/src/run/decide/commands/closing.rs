//! A workflow ends, or continues as new.

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
use crate::Span;
use crate::run::decide::close::{
    Continuation, after_close, after_failure, continue_chain, next_cron,
};
use crate::run::event::Attributes;

pub(super) fn complete(
    step: &mut Step<'_, '_>,
    wanted: CompleteWorkflowExecutionCommandAttributes,
) -> Result<(), CommandFailure> {
    nothing_unseen(step)?;
    let cause = WorkflowTaskFailedCause::BadCompleteWorkflowExecutionAttributes;
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
    nothing_unseen(step)?;
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
    nothing_unseen(step)?;
    step.record(Attributes::WorkflowExecutionCanceledEventAttributes(
        WorkflowExecutionCanceledEventAttributes {
            workflow_task_completed_event_id: step.completed_event_id,
            details: wanted.details,
        },
    ));
    after_close(step.draft);
    Ok(())
}

pub(super) fn continue_as_new(
    step: &mut Step<'_, '_>,
    wanted: ContinueAsNewWorkflowExecutionCommandAttributes,
) -> Result<(), CommandFailure> {
    nothing_unseen(step)?;
    let cause = WorkflowTaskFailedCause::BadContinueAsNewAttributes;
    let bytes = wanted.input.as_ref().map_or(0, Message::encoded_len);
    step.check_payloads(cause, bytes, "ContinueAsNewWorkflowExecutionCommandAttributes. Input")?;
    let started = step.draft.run.started.clone();
    let initiator = match wanted.initiator() {
        ContinueAsNewInitiator::Unspecified => ContinueAsNewInitiator::Workflow,
        given => given,
    };
    let workflow_type = wanted
        .workflow_type
        .filter(|kind| !kind.name.is_empty())
        .or_else(|| started.workflow_type.clone());
    let queue = wanted.task_queue.filter(|queue| !queue.name.is_empty()).map_or_else(
        || started.task_queue.clone(),
        |queue| {
            Some(TaskQueue {
                name: queue.name,
                kind: TaskQueueKind::Normal.into(),
                normal_name: String::new(),
            })
        },
    );
    let or_before = |given: Option<perennial_proto::Duration>, before: Option<_>| {
        if Span::of(given.as_ref()).get().is_some() { given } else { before }
    };
    let run_timeout = or_before(wanted.workflow_run_timeout, started.workflow_run_timeout);
    let task_timeout = or_before(wanted.workflow_task_timeout, started.workflow_task_timeout);
    let delay = Span::of(wanted.backoff_start_interval.as_ref());
    let memo = wanted.memo.or_else(|| step.draft.run.head.memo.clone());
    let search_attributes =
        wanted.search_attributes.or_else(|| step.draft.run.head.search_attributes.clone());
    let event = WorkflowExecutionContinuedAsNewEventAttributes {
        new_execution_run_id: String::new(),
        workflow_type: workflow_type.clone(),
        task_queue: queue.clone(),
        input: wanted.input.clone(),
        workflow_run_timeout: run_timeout,
        workflow_task_timeout: task_timeout,
        workflow_task_completed_event_id: step.completed_event_id,
        backoff_start_interval: (delay > Span::ZERO).then(|| delay.into()),
        initiator: initiator.into(),
        last_completion_result: wanted.last_completion_result.clone(),
        header: wanted.header.clone(),
        memo: memo.clone(),
        search_attributes: search_attributes.clone(),
        ..WorkflowExecutionContinuedAsNewEventAttributes::default()
    };
    let retry_policy = wanted.retry_policy.or_else(|| started.retry_policy.clone());
    let (input, header) = (wanted.input, wanted.header);
    let run_id = continue_chain(
        step.draft,
        Continuation {
            initiator,
            delay,
            attempt: 1,
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
            })),
        },
    );
    step.record(Attributes::WorkflowExecutionContinuedAsNewEventAttributes(
        WorkflowExecutionContinuedAsNewEventAttributes { new_execution_run_id: run_id, ..event },
    ));
    after_close(step.draft);
    Ok(())
}

/// A workflow that closes without having seen what came in the meantime would lose it.
fn nothing_unseen(step: &Step<'_, '_>) -> Result<(), CommandFailure> {
    if step.draft.run.buffered.is_empty() {
        return Ok(());
    }
    Err(CommandFailure::new(WorkflowTaskFailedCause::UnhandledCommand, ""))
}
