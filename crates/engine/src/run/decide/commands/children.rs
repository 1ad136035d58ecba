//! Commands that start child workflows.

use perennial_proto::store as stored;
use perennial_proto::store::entity_message::Body;
use perennial_proto::temporal::command::v1::StartChildWorkflowExecutionCommandAttributes;
use perennial_proto::temporal::enums::v1::{
    ParentClosePolicy, TaskQueueKind, WorkflowIdReusePolicy, WorkflowTaskFailedCause,
};
use perennial_proto::temporal::history::v1::{
    StartChildWorkflowExecutionInitiatedEventAttributes, WorkflowExecutionStartedEventAttributes,
};
use perennial_proto::temporal::sdk::v1::UserMetadata;
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use prost::Message;

use super::{CommandFailure, Step};
use crate::run::NamespaceRef;
use crate::run::decide::retry::{self, complete_policy};
use crate::run::decide::start::{execution, task_timeout};
use crate::run::draft::{Draft, Effect};
use crate::run::event::Attributes;
use crate::run::priority::merge;
use crate::{Span, fields};

const BAD: WorkflowTaskFailedCause = WorkflowTaskFailedCause::BadStartChildExecutionAttributes;

pub(super) fn start(
    step: &mut Step<'_, '_>,
    mut wanted: StartChildWorkflowExecutionCommandAttributes,
) -> Result<(), CommandFailure> {
    let namespace = step.namespace(&wanted.namespace)?;
    check(step, &wanted, &namespace)?;
    let attributes = wanted.search_attributes.take();
    wanted.search_attributes = step.typed_search_attributes(attributes, &namespace, |why| {
        let about = about(&wanted, &namespace);
        format!("invalid SearchAttributes on StartChildWorkflowCommand: {why}. {about}")
    })?;
    let initiated = initiated(step, wanted, &namespace);
    let user_metadata = step.command.user_metadata.clone();
    let id = step
        .record(Attributes::StartChildWorkflowExecutionInitiatedEventAttributes(initiated.clone()));
    step.initiated_children.insert(initiated.workflow_id.clone());
    let parent = step.own_namespace();
    send_start(step.draft, id, &initiated, &namespace, &parent, user_metadata);
    Ok(())
}

/// Sends the message that starts the child. The run id is chosen here, so that a second delivery finds the child of
/// the first, and the child can be named before the answer arrives.
pub(in crate::run::decide) fn send_start(
    draft: &mut Draft<'_>,
    initiated_event_id: i64,
    initiated: &StartChildWorkflowExecutionInitiatedEventAttributes,
    namespace: &NamespaceRef,
    parent_namespace: &NamespaceRef,
    user_metadata: Option<UserMetadata>,
) {
    let run_id = draft.cx.ids.next(draft.cx.now);
    let request_id = format!("{}:{initiated_event_id}", draft.run.head.run_id);
    draft.run.change_child(initiated_event_id, &mut draft.touched, |child| {
        child.run_id.clone_from(&run_id);
        child.request_id.clone_from(&request_id);
        child.namespace = namespace.key.0;
    });
    let started = first_event(draft, initiated_event_id, initiated, parent_namespace);
    draft.effects.push(Effect::Send(stored::EntityMessage {
        sender: Some(draft.run.address()),
        target: Some(
            stored::RunName {
                namespace: namespace.key.0,
                workflow_id: initiated.workflow_id.clone(),
                run_id: String::new(),
                first_run_id: String::new(),
            }
            .into(),
        ),
        request_id,
        body: Some(Body::StartRun(stored::StartRun {
            run_id,
            initiated_event_id,
            started: Some(started),
            reuse_policy: initiated.workflow_id_reuse_policy,
            user_metadata,
        })),
        ..stored::EntityMessage::default()
    }));
}

/// The attributes of the child's first event, without those that its own start fills in.
fn first_event(
    draft: &Draft<'_>,
    initiated_event_id: i64,
    initiated: &StartChildWorkflowExecutionInitiatedEventAttributes,
    parent_namespace: &NamespaceRef,
) -> WorkflowExecutionStartedEventAttributes {
    let parent = &draft.run;
    let itself = execution(&parent.head.workflow_id, &parent.head.run_id);
    let initiated = initiated.clone();
    WorkflowExecutionStartedEventAttributes {
        workflow_type: initiated.workflow_type,
        parent_workflow_namespace: parent_namespace.name.clone(),
        parent_workflow_namespace_id: parent_namespace.id.clone(),
        parent_workflow_execution: Some(itself.clone()),
        parent_initiated_event_id: initiated_event_id,
        root_workflow_execution: parent.started.root_workflow_execution.clone().or(Some(itself)),
        task_queue: initiated.task_queue,
        input: initiated.input,
        header: initiated.header,
        workflow_execution_timeout: initiated.workflow_execution_timeout,
        workflow_run_timeout: initiated.workflow_run_timeout,
        workflow_task_timeout: initiated.workflow_task_timeout,
        retry_policy: initiated.retry_policy,
        cron_schedule: initiated.cron_schedule,
        memo: initiated.memo,
        search_attributes: initiated.search_attributes,
        versioning_override: initiated.versioning_override,
        priority: merge(parent.priority(), initiated.priority.as_ref()),
        ..WorkflowExecutionStartedEventAttributes::default()
    }
}

fn initiated(
    step: &Step<'_, '_>,
    wanted: StartChildWorkflowExecutionCommandAttributes,
    namespace: &NamespaceRef,
) -> StartChildWorkflowExecutionInitiatedEventAttributes {
    let policy = match wanted.parent_close_policy() {
        ParentClosePolicy::Unspecified => ParentClosePolicy::Terminate,
        given => given,
    };
    let reuse = match wanted.workflow_id_reuse_policy() {
        WorkflowIdReusePolicy::Unspecified => WorkflowIdReusePolicy::AllowDuplicate,
        given => given,
    };
    let queue = wanted.task_queue.filter(|queue| !queue.name.is_empty());
    let queue = queue.map_or_else(|| step.draft.run.task_queue().to_owned(), |queue| queue.name);
    let execution_timeout = Span::of(wanted.workflow_execution_timeout.as_ref());
    let run_timeout =
        retry::run_timeout(Span::of(wanted.workflow_run_timeout.as_ref()), execution_timeout);
    let task_timeout = task_timeout(
        Span::of(wanted.workflow_task_timeout.as_ref()),
        run_timeout,
        step.draft.cx.limits,
    );
    StartChildWorkflowExecutionInitiatedEventAttributes {
        namespace: namespace.name.clone(),
        namespace_id: namespace.id.clone(),
        workflow_id: wanted.workflow_id,
        workflow_type: wanted.workflow_type,
        task_queue: Some(TaskQueue {
            name: queue,
            kind: TaskQueueKind::Normal.into(),
            normal_name: String::new(),
        }),
        input: wanted.input,
        workflow_execution_timeout: wanted.workflow_execution_timeout,
        workflow_run_timeout: Some(run_timeout.into()),
        workflow_task_timeout: Some(task_timeout.into()),
        parent_close_policy: policy.into(),
        control: wanted.control,
        workflow_task_completed_event_id: step.completed_event_id,
        workflow_id_reuse_policy: reuse.into(),
        retry_policy: wanted.retry_policy.map(complete_policy),
        cron_schedule: wanted.cron_schedule,
        header: wanted.header,
        memo: fields::initial(wanted.memo),
        search_attributes: fields::initial(wanted.search_attributes),
        inherit_build_id: wanted.inherit_build_id,
        priority: wanted.priority,
        versioning_override: wanted.versioning_override,
        ..StartChildWorkflowExecutionInitiatedEventAttributes::default()
    }
}

/// The child's description, for error messages.
fn about(
    wanted: &StartChildWorkflowExecutionCommandAttributes,
    namespace: &NamespaceRef,
) -> String {
    let kind = wanted.workflow_type.as_ref().map_or("", |kind| kind.name.as_str());
    format!("WorkflowId={} WorkflowType={kind} Namespace={}", wanted.workflow_id, namespace.name)
}

fn check(
    step: &Step<'_, '_>,
    wanted: &StartChildWorkflowExecutionCommandAttributes,
    namespace: &NamespaceRef,
) -> Result<(), CommandFailure> {
    const COMMAND: &str = "StartChildWorkflowExecutionCommand";
    let bad = |message: String| Err(CommandFailure::new(BAD, message));
    let limits = step.draft.cx.limits;
    let id = &wanted.workflow_id;
    let kind = wanted.workflow_type.as_ref().map_or("", |kind| kind.name.as_str());
    let ns = &namespace.name;
    if id.is_empty() {
        return bad(format!(
            "Required field WorkflowId is not set on {COMMAND}. WorkflowType={kind} Namespace={ns}"
        ));
    }
    if kind.is_empty() {
        return bad(format!(
            "Required field WorkflowType is not set on {COMMAND}. WorkflowId={id} Namespace={ns}"
        ));
    }
    let limit = limits.id_bytes;
    if id.len() > limit {
        return bad(format!(
            "WorkflowId on {COMMAND} exceeds length limit. WorkflowId={id} Length={} Limit={limit} WorkflowType={kind} Namespace={ns}",
            id.len()
        ));
    }
    if kind.len() > limit {
        return bad(format!(
            "WorkflowType on {COMMAND} exceeds length limit. WorkflowId={id} WorkflowType={kind} Length={} Limit={limit} Namespace={ns}",
            kind.len()
        ));
    }
    let queue = wanted.task_queue.as_ref().map_or("", |queue| queue.name.as_str());
    let texts = [(id.as_str(), "WorkflowId"), (kind, "WorkflowType"), (queue, "TaskQueue")];
    for (text, field) in texts {
        if fields::has_null_character(text) {
            return bad(format!("{field} on {COMMAND} has the character U+0000. Namespace={ns}"));
        }
    }
    let timeouts = [
        (&wanted.workflow_execution_timeout, "WorkflowExecutionTimeout"),
        (&wanted.workflow_run_timeout, "WorkflowRunTimeout"),
        (&wanted.workflow_task_timeout, "WorkflowTaskTimeout"),
    ];
    let about = about(wanted, namespace);
    for (timeout, name) in timeouts {
        if Span::of(timeout.as_ref()) < Span::ZERO {
            return bad(format!("Invalid {name} on {COMMAND}: negative duration. {about}"));
        }
    }
    if let Some(why) = wanted.retry_policy.as_ref().and_then(retry::policy_error) {
        return bad(format!("invalid WorkflowRetryPolicy on {COMMAND}: {why}. {about}"));
    }
    let cx = step.draft.cx;
    if let Err(fault) = crate::run::decide::cron::check(&wanted.cron_schedule, cx.now, cx.zones) {
        let details = if fault.details.is_empty() { "" } else { ": " };
        let why = fault.message;
        let details = format!("{details}{}", fault.details);
        return bad(format!("invalid CronSchedule on {COMMAND}: {why}. {about}{details}"));
    }
    let input = wanted.input.as_ref().map_or(0, Message::encoded_len);
    step.check_payloads(BAD, input, "StartChildWorkflowExecutionCommandAttributes. Input")?;
    let memo = wanted.memo.as_ref().map_or(0, Message::encoded_len);
    step.check_memo(BAD, memo, "StartChildWorkflowExecutionCommandAttributes.Memo")?;
    step.check_pending(
        WorkflowTaskFailedCause::PendingChildWorkflowsLimitExceeded,
        step.draft.run.children.len(),
        "pending child workflow executions",
    )
}
