//! Commands that signal or cancel other workflows.

use perennial_proto::store as stored;
use perennial_proto::store::entity_message::Body;
use perennial_proto::temporal::command::v1::{
    RequestCancelExternalWorkflowExecutionCommandAttributes,
    SignalExternalWorkflowExecutionCommandAttributes,
};
use perennial_proto::temporal::enums::v1::WorkflowTaskFailedCause;
use perennial_proto::temporal::history::v1::{
    RequestCancelExternalWorkflowExecutionInitiatedEventAttributes,
    SignalExternalWorkflowExecutionInitiatedEventAttributes,
    WorkflowExecutionSignaledEventAttributes,
};
use prost::Message;

use super::{CommandFailure, Step};
use crate::run::NamespaceRef;
use crate::run::decide::SERVER_IDENTITY;
use crate::run::decide::start::execution;
use crate::run::draft::{Draft, Effect};
use crate::run::event::Attributes;

const BAD_SIGNAL: WorkflowTaskFailedCause =
    WorkflowTaskFailedCause::BadSignalWorkflowExecutionAttributes;
const BAD_CANCEL: WorkflowTaskFailedCause =
    WorkflowTaskFailedCause::BadRequestCancelExternalWorkflowExecutionAttributes;

pub(super) fn signal(
    step: &mut Step<'_, '_>,
    wanted: SignalExternalWorkflowExecutionCommandAttributes,
) -> Result<(), CommandFailure> {
    let namespace = step.namespace(&wanted.namespace)?;
    check_signal(step, &wanted)?;
    let to = wanted.execution.clone().unwrap_or_default();
    let initiated = SignalExternalWorkflowExecutionInitiatedEventAttributes {
        workflow_task_completed_event_id: step.completed_event_id,
        namespace: wanted.namespace,
        namespace_id: namespace.id.clone(),
        workflow_execution: Some(to),
        signal_name: wanted.signal_name,
        input: wanted.input,
        control: wanted.control,
        child_workflow_only: wanted.child_workflow_only,
        header: wanted.header,
    };
    let id = step.record(Attributes::SignalExternalWorkflowExecutionInitiatedEventAttributes(
        initiated.clone(),
    ));
    send_signal(step.draft, id, initiated, &namespace);
    Ok(())
}

pub(super) fn request_cancel(
    step: &mut Step<'_, '_>,
    wanted: RequestCancelExternalWorkflowExecutionCommandAttributes,
) -> Result<(), CommandFailure> {
    let namespace = step.namespace(&wanted.namespace)?;
    check_cancel(step, &wanted)?;
    let initiated = RequestCancelExternalWorkflowExecutionInitiatedEventAttributes {
        workflow_task_completed_event_id: step.completed_event_id,
        namespace: wanted.namespace,
        namespace_id: namespace.id.clone(),
        workflow_execution: Some(execution(&wanted.workflow_id, &wanted.run_id)),
        control: wanted.control,
        child_workflow_only: wanted.child_workflow_only,
        reason: wanted.reason,
    };
    let id =
        step.record(Attributes::RequestCancelExternalWorkflowExecutionInitiatedEventAttributes(
            initiated.clone(),
        ));
    send_cancel(step.draft, id, initiated, &namespace);
    Ok(())
}

/// Sends the signal that this event initiated.
pub(in crate::run::decide) fn send_signal(
    draft: &mut Draft<'_>,
    initiated_event_id: i64,
    initiated: SignalExternalWorkflowExecutionInitiatedEventAttributes,
    namespace: &NamespaceRef,
) {
    let request_id = format!("{}:{initiated_event_id}", draft.run.head.run_id);
    let to = initiated.workflow_execution.unwrap_or_default();
    let sender = execution(&draft.run.head.workflow_id, &draft.run.head.run_id);
    let signal = WorkflowExecutionSignaledEventAttributes {
        signal_name: initiated.signal_name,
        input: initiated.input,
        identity: SERVER_IDENTITY.to_owned(),
        header: initiated.header,
        external_workflow_execution: Some(sender),
        request_id: request_id.clone(),
        ..WorkflowExecutionSignaledEventAttributes::default()
    };
    let body = Body::Signal(stored::SignalRun {
        initiated_event_id,
        child_only: initiated.child_workflow_only,
        signal: Some(signal),
    });
    send(draft, &to.workflow_id, &to.run_id, namespace, request_id, body);
}

/// Sends the cancel request that this event initiated.
pub(in crate::run::decide) fn send_cancel(
    draft: &mut Draft<'_>,
    initiated_event_id: i64,
    initiated: RequestCancelExternalWorkflowExecutionInitiatedEventAttributes,
    namespace: &NamespaceRef,
) {
    let request_id = format!("{}:{initiated_event_id}", draft.run.head.run_id);
    let to = initiated.workflow_execution.unwrap_or_default();
    let body = Body::Cancel(stored::CancelRun {
        initiated_event_id,
        child_only: initiated.child_workflow_only,
        reason: initiated.reason,
    });
    send(draft, &to.workflow_id, &to.run_id, namespace, request_id, body);
}

fn send(
    draft: &mut Draft<'_>,
    workflow_id: &str,
    run_id: &str,
    namespace: &NamespaceRef,
    request_id: String,
    body: Body,
) {
    draft.effects.push(Effect::Send(stored::EntityMessage {
        sender: Some(draft.run.address()),
        target: Some(
            stored::RunName {
                namespace: namespace.key.0,
                workflow_id: workflow_id.to_owned(),
                run_id: run_id.to_owned(),
                first_run_id: String::new(),
            }
            .into(),
        ),
        request_id,
        body: Some(body),
        ..stored::EntityMessage::default()
    }));
}

fn check_signal(
    step: &Step<'_, '_>,
    wanted: &SignalExternalWorkflowExecutionCommandAttributes,
) -> Result<(), CommandFailure> {
    const COMMAND: &str = "SignalExternalWorkflowExecutionCommand";
    let bad = |message: String| Err(CommandFailure::new(BAD_SIGNAL, message));
    let Some(to) = &wanted.execution else {
        return bad(format!("Execution is not set on {COMMAND}."));
    };
    let (ns, id, run, name) = (&wanted.namespace, &to.workflow_id, &to.run_id, &wanted.signal_name);
    if id.is_empty() {
        return bad(format!(
            "WorkflowId is not set on {COMMAND}. Namespace={ns} RunId={run} SignalName={name}"
        ));
    }
    let limit = step.draft.cx.limits.id_bytes;
    if id.len() > limit {
        return bad(format!(
            "WorkflowId on {COMMAND} exceeds length limit. WorkflowId={id} Length={} Limit={limit} Namespace={ns} RunId={run} SignalName={name}",
            id.len()
        ));
    }
    if !is_run_id(run) {
        return bad(format!(
            "Invalid RunId set on {COMMAND}. WorkflowId={id} Namespace={ns} RunId={run} SignalName={name}"
        ));
    }
    if name.is_empty() {
        return bad(format!(
            "SignalName is not set on {COMMAND}. WorkflowId={id} Namespace={ns} RunId={run}"
        ));
    }
    step.check_pending(
        WorkflowTaskFailedCause::PendingSignalsLimitExceeded,
        step.draft.run.signals.len(),
        "pending signals to external workflows",
    )?;
    let bytes = wanted.input.as_ref().map_or(0, Message::encoded_len);
    step.check_payloads(BAD_SIGNAL, bytes, "SignalExternalWorkflowExecutionCommandAttributes.Input")
}

fn check_cancel(
    step: &Step<'_, '_>,
    wanted: &RequestCancelExternalWorkflowExecutionCommandAttributes,
) -> Result<(), CommandFailure> {
    const COMMAND: &str = "RequestCancelExternalWorkflowExecutionCommand";
    let bad = |message: String| Err(CommandFailure::new(BAD_CANCEL, message));
    let (ns, id, run) = (&wanted.namespace, &wanted.workflow_id, &wanted.run_id);
    if id.is_empty() {
        return bad(format!("WorkflowId is not set on {COMMAND}. Namespace={ns} RunId={run}"));
    }
    let limit = step.draft.cx.limits.id_bytes;
    if id.len() > limit {
        return bad(format!(
            "WorkflowId on {COMMAND} exceeds length limit. WorkflowId={id} Length={} Limit={limit} RunId={run} Namespace={ns}",
            id.len()
        ));
    }
    if !is_run_id(run) {
        return bad(format!(
            "Invalid RunId set on {COMMAND}. WorkflowId={id} RunId={run} Namespace={ns}"
        ));
    }
    // The child doesn't exist yet, so the message would reach another run of the same workflow id.
    if step.initiated_children.contains(id) {
        return bad(format!(
            "Start and RequestCancel for child workflow is not allowed in same workflow task. WorkflowId={id} RunId={run} Namespace={ns}"
        ));
    }
    step.check_pending(
        WorkflowTaskFailedCause::PendingRequestCancelLimitExceeded,
        step.draft.run.cancels.len(),
        "pending requests to cancel external workflows",
    )
}

/// An empty text stands for the current run.
fn is_run_id(text: &str) -> bool {
    text.is_empty() || uuid::Uuid::try_parse(text).is_ok()
}
