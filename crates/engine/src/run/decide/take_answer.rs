//! The answer to a message that this run sent.

use perennial_proto::store::entity_message::Body;
use perennial_proto::temporal::enums::v1::{
    CancelExternalWorkflowExecutionFailedCause as CancelFailed,
    SignalExternalWorkflowExecutionFailedCause as SignalFailed,
    StartChildWorkflowExecutionFailedCause as StartFailed,
};
use perennial_proto::temporal::history::v1::{
    ExternalWorkflowExecutionCancelRequestedEventAttributes,
    ExternalWorkflowExecutionSignaledEventAttributes,
    RequestCancelExternalWorkflowExecutionFailedEventAttributes,
    SignalExternalWorkflowExecutionFailedEventAttributes,
    StartChildWorkflowExecutionFailedEventAttributes,
};

use super::Decided;
use super::child_closed::record_started;
use crate::run::draft::Draft;
use crate::run::event::Attributes;
use crate::run::{Answer, Context, Decision, Reply, Run, TakeAnswer};

pub(super) fn decide(run: &Run, taken: TakeAnswer, cx: &Context<'_>) -> Decided {
    let nothing = Decision { transition: None, reply: Ok(Reply::Done) };
    if !run.is_open() {
        return Ok(nothing);
    }
    let mut draft = run.draft(cx);
    let is_news = match &taken.message.body {
        Some(Body::StartRun(start)) => {
            child_answered(&mut draft, start.initiated_event_id, &taken.answer)
        }
        Some(Body::Signal(signal)) => {
            signal_answered(&mut draft, signal.initiated_event_id, &taken)
        }
        Some(Body::Cancel(cancel)) => {
            cancel_answered(&mut draft, cancel.initiated_event_id, &taken)
        }
        // The sender has closed, or isn't a run: the answer has no receiver.
        Some(
            Body::ChildClosed(_)
            | Body::ParentClosed(_)
            | Body::Terminate(_)
            | Body::ScheduledRunClosed(_),
        )
        | None => false,
    };
    if !is_news {
        return Ok(nothing);
    }
    draft.ensure_workflow_task();
    Ok(draft.done(Reply::Done))
}

fn child_answered(draft: &mut Draft<'_>, initiated_event_id: i64, answer: &Answer) -> bool {
    let cause = match answer {
        Answer::Started(run_id) => {
            return record_started(draft, initiated_event_id, run_id);
        }
        Answer::IdTaken => StartFailed::WorkflowAlreadyExists,
        Answer::NamespaceNotFound | Answer::RunNotFound => StartFailed::NamespaceNotFound,
        Answer::Taken | Answer::TooManySignals => return false,
    };
    let Some(child) = draft.run.children.get(&initiated_event_id) else { return false };
    let initiated = child.initiated.clone().unwrap_or_default();
    draft.record_or_buffer(Attributes::StartChildWorkflowExecutionFailedEventAttributes(
        StartChildWorkflowExecutionFailedEventAttributes {
            namespace: initiated.namespace,
            namespace_id: initiated.namespace_id,
            workflow_id: initiated.workflow_id,
            workflow_type: initiated.workflow_type,
            cause: cause.into(),
            control: initiated.control,
            initiated_event_id,
            workflow_task_completed_event_id: 0,
        },
    ));
    true
}

fn signal_answered(draft: &mut Draft<'_>, initiated_event_id: i64, taken: &TakeAnswer) -> bool {
    let Some(pending) = draft.run.signals.get(&initiated_event_id) else { return false };
    let initiated = pending.initiated.clone().unwrap_or_default();
    let cause = match &taken.answer {
        Answer::Taken | Answer::Started(_) => {
            draft.record_or_buffer(Attributes::ExternalWorkflowExecutionSignaledEventAttributes(
                ExternalWorkflowExecutionSignaledEventAttributes {
                    initiated_event_id,
                    namespace: taken.namespace.clone(),
                    namespace_id: initiated.namespace_id,
                    workflow_execution: initiated.workflow_execution,
                    control: initiated.control,
                },
            ));
            return true;
        }
        Answer::RunNotFound | Answer::IdTaken => SignalFailed::ExternalWorkflowExecutionNotFound,
        Answer::NamespaceNotFound => SignalFailed::NamespaceNotFound,
        Answer::TooManySignals => SignalFailed::SignalCountLimitExceeded,
    };
    draft.record_or_buffer(Attributes::SignalExternalWorkflowExecutionFailedEventAttributes(
        SignalExternalWorkflowExecutionFailedEventAttributes {
            cause: cause.into(),
            workflow_task_completed_event_id: 0,
            namespace: taken.namespace.clone(),
            namespace_id: initiated.namespace_id,
            workflow_execution: initiated.workflow_execution,
            initiated_event_id,
            control: initiated.control,
        },
    ));
    true
}

fn cancel_answered(draft: &mut Draft<'_>, initiated_event_id: i64, taken: &TakeAnswer) -> bool {
    let Some(pending) = draft.run.cancels.get(&initiated_event_id) else { return false };
    let initiated = pending.initiated.clone().unwrap_or_default();
    let cause = match &taken.answer {
        Answer::Taken | Answer::Started(_) => {
            draft.record_or_buffer(
                Attributes::ExternalWorkflowExecutionCancelRequestedEventAttributes(
                    ExternalWorkflowExecutionCancelRequestedEventAttributes {
                        initiated_event_id,
                        namespace: taken.namespace.clone(),
                        namespace_id: initiated.namespace_id,
                        workflow_execution: initiated.workflow_execution,
                    },
                ),
            );
            return true;
        }
        Answer::RunNotFound | Answer::IdTaken | Answer::TooManySignals => {
            CancelFailed::ExternalWorkflowExecutionNotFound
        }
        Answer::NamespaceNotFound => CancelFailed::NamespaceNotFound,
    };
    draft.record_or_buffer(
        Attributes::RequestCancelExternalWorkflowExecutionFailedEventAttributes(
            RequestCancelExternalWorkflowExecutionFailedEventAttributes {
                cause: cause.into(),
                workflow_task_completed_event_id: 0,
                namespace: taken.namespace.clone(),
                namespace_id: initiated.namespace_id,
                workflow_execution: initiated.workflow_execution,
                initiated_event_id,
                control: String::new(),
            },
        ),
    );
    true
}
