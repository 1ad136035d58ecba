//! Random commands of a workflow.

use perennial_engine::Span;
use perennial_engine::run::Run;
use perennial_proto::Any;
use perennial_proto::temporal::command::v1 as c;
use perennial_proto::temporal::command::v1::Command;
use perennial_proto::temporal::command::v1::command::Attributes as A;
use perennial_proto::temporal::common::v1::{
    ActivityType, RetryPolicy, WorkflowExecution, WorkflowType,
};
use perennial_proto::temporal::enums::v1::{
    CommandType, ParentClosePolicy, WorkflowExecutionStatus, WorkflowIdReusePolicy,
};
use perennial_proto::temporal::failure::v1::Failure;
use perennial_proto::temporal::protocol::v1::Message as ProtocolMessage;
use perennial_proto::temporal::update::v1 as update;
use perennial_runtime::WorkflowTaskGrant;
use prost::{Message, Name};

use super::{CHILDREN, NAMESPACES, WORKFLOWS};
use crate::sim::Actor;

/// The number of events after which a workflow ends, to keep histories short and seeds fast.
const ENOUGH_EVENTS: i64 = 80;

/// Random commands for a workflow task, given what is pending in the run.
pub(super) fn commands(actor: &Actor, grant: &WorkflowTaskGrant) -> Vec<Command> {
    let run = &grant.run;
    if actor.sim.is_quiescing() {
        return if is_idle(run) { vec![complete()] } else { Vec::new() };
    }
    if super::scheduled_run::is_it(run) {
        return super::scheduled_run::commands(actor, run);
    }
    let chance = &actor.chance;
    if run.head.next_event_id > ENOUGH_EVENTS && is_idle(run) {
        return vec![complete()];
    }
    let mut commands = Vec::new();
    for _ in 0..chance.below(4) {
        commands.extend(any_command(actor, run));
    }
    if chance.percent(18) {
        commands.push(any_close(actor, run));
    }
    commands
}

/// The status of the run after these commands, if one of them closes it.
pub(super) fn closing_status(commands: &[Command]) -> Option<WorkflowExecutionStatus> {
    commands.iter().find_map(|command| match &command.attributes {
        Some(A::CompleteWorkflowExecutionCommandAttributes(_)) => {
            Some(WorkflowExecutionStatus::Completed)
        }
        Some(A::FailWorkflowExecutionCommandAttributes(_)) => Some(WorkflowExecutionStatus::Failed),
        Some(A::CancelWorkflowExecutionCommandAttributes(_)) => {
            Some(WorkflowExecutionStatus::Canceled)
        }
        Some(A::ContinueAsNewWorkflowExecutionCommandAttributes(_)) => {
            Some(WorkflowExecutionStatus::ContinuedAsNew)
        }
        _ => None,
    })
}

/// Answers to the updates that were delivered with the task.
pub(super) fn update_answers(
    actor: &Actor,
    grant: &WorkflowTaskGrant,
) -> (Vec<Command>, Vec<ProtocolMessage>) {
    let mut commands = Vec::new();
    let mut messages = Vec::new();
    for message in &grant.messages {
        let id = &message.protocol_instance_id;
        let Some(request) = message
            .body
            .as_ref()
            .and_then(|body| update::Request::decode(body.value.as_slice()).ok())
        else {
            continue;
        };
        let mut answer = |kind: &str, name: String, body: Vec<u8>| {
            let message_id = format!("{id}/{kind}");
            messages.push(ProtocolMessage {
                id: message_id.clone(),
                protocol_instance_id: id.clone(),
                body: Some(Any { type_url: format!("type.googleapis.com/{name}"), value: body }),
                ..ProtocolMessage::default()
            });
            message_id
        };
        let say = |message_id| {
            let attributes = c::ProtocolMessageCommandAttributes { message_id };
            let attributes = A::ProtocolMessageCommandAttributes(attributes);
            command(CommandType::ProtocolMessage, attributes)
        };
        if !actor.sim.is_quiescing() && actor.chance.percent(20) {
            let body = update::Rejection {
                rejected_request_message_id: message.id.clone(),
                failure: Some(Failure { message: "no".to_owned(), ..Failure::default() }),
                ..update::Rejection::default()
            };
            answer("rejection", update::Rejection::full_name(), body.encode_to_vec());
            continue;
        }
        let body = update::Acceptance {
            accepted_request_message_id: message.id.clone(),
            accepted_request: Some(request.clone()),
            ..update::Acceptance::default()
        };
        let name = update::Acceptance::full_name();
        commands.push(say(answer("acceptance", name, body.encode_to_vec())));
        let outcome = update::outcome::Value::Success(Default::default());
        let body = update::Response {
            meta: request.meta.clone(),
            outcome: Some(update::Outcome { value: Some(outcome) }),
        };
        let name = update::Response::full_name();
        commands.push(say(answer("response", name, body.encode_to_vec())));
    }
    (commands, messages)
}

pub(super) fn is_idle(run: &Run) -> bool {
    // A child that closed after its parent's run closed, and before that run was reset, has notified no one: the new
    // run may wait for it in vain.
    let inherited = run.head.ancestors.last().map_or(0, |range| range.last_event_id);
    run.activities.is_empty()
        && run.timers.is_empty()
        && run.children.keys().all(|id| *id <= inherited)
        && run.signals.is_empty()
        && run.cancels.is_empty()
}

fn any_command(actor: &Actor, run: &Run) -> Option<Command> {
    let chance = &actor.chance;
    Some(match chance.below(16) {
        0..5 => activity(actor),
        5..8 => timer(&actor.fresh_id("timer"), chance.between(0, 60_000)),
        8 => cancel_timer(chance.pick(&run.timers.values().collect::<Vec<_>>())?.timer_id.clone()),
        9 => cancel_activity(*chance.pick(&run.activities.keys().collect::<Vec<_>>())?),
        10..13 => child(actor),
        13 | 14 => signal(actor),
        _ => cancel_external(actor),
    })
}

fn any_close(actor: &Actor, run: &Run) -> Command {
    match actor.chance.below(6) {
        0 => fail(),
        1 if run.head.cancel_requested => cancel(),
        2 | 3 => continue_as_new(),
        _ => complete(),
    }
}

fn command(kind: CommandType, attributes: A) -> Command {
    Command { command_type: kind.into(), attributes: Some(attributes), ..Command::default() }
}

fn activity(actor: &Actor) -> Command {
    let chance = &actor.chance;
    let seconds = |first, last| Some(Span::seconds(chance.between(first, last)).into());
    let retry_policy = RetryPolicy {
        initial_interval: seconds(1, 5),
        backoff_coefficient: 2.0,
        maximum_attempts: chance.between(1, 4) as i32,
        ..RetryPolicy::default()
    };
    let attributes = c::ScheduleActivityTaskCommandAttributes {
        activity_id: actor.fresh_id("activity"),
        activity_type: Some(ActivityType { name: "Act".to_owned() }),
        start_to_close_timeout: seconds(5, 30),
        schedule_to_close_timeout: if chance.percent(20) { seconds(10, 120) } else { None },
        schedule_to_start_timeout: if chance.percent(10) { seconds(5, 60) } else { None },
        heartbeat_timeout: if chance.percent(20) { seconds(2, 10) } else { None },
        retry_policy: Some(retry_policy),
        request_eager_execution: chance.percent(20),
        ..c::ScheduleActivityTaskCommandAttributes::default()
    };
    let attributes = A::ScheduleActivityTaskCommandAttributes(attributes);
    command(CommandType::ScheduleActivityTask, attributes)
}

fn cancel_activity(scheduled_event_id: &i64) -> Command {
    let scheduled_event_id = *scheduled_event_id;
    let attributes = c::RequestCancelActivityTaskCommandAttributes { scheduled_event_id };
    let attributes = A::RequestCancelActivityTaskCommandAttributes(attributes);
    command(CommandType::RequestCancelActivityTask, attributes)
}

pub(super) fn timer(id: &str, millis: i64) -> Command {
    let attributes = c::StartTimerCommandAttributes {
        timer_id: id.to_owned(),
        start_to_fire_timeout: Some(Span::millis(millis.max(1)).into()),
    };
    command(CommandType::StartTimer, A::StartTimerCommandAttributes(attributes))
}

fn cancel_timer(timer_id: String) -> Command {
    let attributes = c::CancelTimerCommandAttributes { timer_id };
    command(CommandType::CancelTimer, A::CancelTimerCommandAttributes(attributes))
}

fn child(actor: &Actor) -> Command {
    let chance = &actor.chance;
    let mut attributes = c::StartChildWorkflowExecutionCommandAttributes {
        namespace: other_namespace(actor),
        workflow_id: any_workflow_id(actor),
        workflow_type: Some(WorkflowType { name: "Child".to_owned() }),
        ..c::StartChildWorkflowExecutionCommandAttributes::default()
    };
    attributes.set_parent_close_policy(
        [
            ParentClosePolicy::Terminate,
            ParentClosePolicy::Abandon,
            ParentClosePolicy::RequestCancel,
        ][chance.below(3)],
    );
    attributes.set_workflow_id_reuse_policy(
        [
            WorkflowIdReusePolicy::AllowDuplicate,
            WorkflowIdReusePolicy::AllowDuplicateFailedOnly,
            WorkflowIdReusePolicy::RejectDuplicate,
        ][chance.below(3)],
    );
    let attributes = A::StartChildWorkflowExecutionCommandAttributes(attributes);
    command(CommandType::StartChildWorkflowExecution, attributes)
}

fn signal(actor: &Actor) -> Command {
    let attributes = c::SignalExternalWorkflowExecutionCommandAttributes {
        namespace: other_namespace(actor),
        execution: Some(WorkflowExecution {
            workflow_id: any_workflow_id(actor),
            run_id: String::new(),
        }),
        signal_name: "from a workflow".to_owned(),
        child_workflow_only: actor.chance.percent(20),
        ..c::SignalExternalWorkflowExecutionCommandAttributes::default()
    };
    let attributes = A::SignalExternalWorkflowExecutionCommandAttributes(attributes);
    command(CommandType::SignalExternalWorkflowExecution, attributes)
}

fn cancel_external(actor: &Actor) -> Command {
    let attributes = c::RequestCancelExternalWorkflowExecutionCommandAttributes {
        namespace: other_namespace(actor),
        workflow_id: any_workflow_id(actor),
        ..c::RequestCancelExternalWorkflowExecutionCommandAttributes::default()
    };
    let attributes = A::RequestCancelExternalWorkflowExecutionCommandAttributes(attributes);
    command(CommandType::RequestCancelExternalWorkflowExecution, attributes)
}

pub(super) fn complete() -> Command {
    let attributes = c::CompleteWorkflowExecutionCommandAttributes::default();
    let attributes = A::CompleteWorkflowExecutionCommandAttributes(attributes);
    command(CommandType::CompleteWorkflowExecution, attributes)
}

pub(super) fn fail() -> Command {
    let attributes = c::FailWorkflowExecutionCommandAttributes {
        failure: Some(Failure { message: "no".to_owned(), ..Failure::default() }),
    };
    let attributes = A::FailWorkflowExecutionCommandAttributes(attributes);
    command(CommandType::FailWorkflowExecution, attributes)
}

pub(super) fn cancel() -> Command {
    let attributes = c::CancelWorkflowExecutionCommandAttributes::default();
    let attributes = A::CancelWorkflowExecutionCommandAttributes(attributes);
    command(CommandType::CancelWorkflowExecution, attributes)
}

pub(super) fn continue_as_new() -> Command {
    let attributes = c::ContinueAsNewWorkflowExecutionCommandAttributes::default();
    let attributes = A::ContinueAsNewWorkflowExecutionCommandAttributes(attributes);
    command(CommandType::ContinueAsNewWorkflowExecution, attributes)
}

/// The run's own namespace, mostly.
fn other_namespace(actor: &Actor) -> String {
    if actor.chance.percent(15) {
        NAMESPACES[actor.chance.below(NAMESPACES.len())].to_owned()
    } else {
        String::new()
    }
}

fn any_workflow_id(actor: &Actor) -> String {
    match actor.chance.below(10) {
        0..3 => format!("workflow-{}", actor.chance.below(WORKFLOWS)),
        _ => format!("child-{}", actor.chance.below(CHILDREN)),
    }
}
