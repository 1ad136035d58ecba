//! Commands of workflows, in short.

use perennial_engine::Span;
use perennial_proto::temporal::command::v1 as c;
use perennial_proto::temporal::command::v1::Command;
use perennial_proto::temporal::command::v1::command::Attributes as A;
use perennial_proto::temporal::common::v1::{
    ActivityType, RetryPolicy, WorkflowExecution, WorkflowType,
};
use perennial_proto::temporal::enums::v1::{CommandType, ParentClosePolicy};

use crate::run::kit::{failure, payloads};

pub(crate) fn command(kind: CommandType, attributes: A) -> Command {
    Command { command_type: kind.into(), attributes: Some(attributes), ..Command::default() }
}

pub(crate) fn activity(id: &str) -> Command {
    activity_with(id, |_| {})
}

/// An activity that may take ten seconds an attempt.
pub(crate) fn activity_with(
    id: &str,
    with: impl FnOnce(&mut c::ScheduleActivityTaskCommandAttributes),
) -> Command {
    let mut attributes = c::ScheduleActivityTaskCommandAttributes {
        activity_id: id.to_owned(),
        activity_type: Some(ActivityType { name: "Act".to_owned() }),
        start_to_close_timeout: Some(Span::seconds(10).into()),
        ..c::ScheduleActivityTaskCommandAttributes::default()
    };
    with(&mut attributes);
    let attributes = A::ScheduleActivityTaskCommandAttributes(attributes);
    command(CommandType::ScheduleActivityTask, attributes)
}

pub(crate) fn cancel_activity(scheduled_event_id: i64) -> Command {
    command(
        CommandType::RequestCancelActivityTask,
        A::RequestCancelActivityTaskCommandAttributes(
            c::RequestCancelActivityTaskCommandAttributes { scheduled_event_id },
        ),
    )
}

pub(crate) fn timer(id: &str, seconds: i64) -> Command {
    command(
        CommandType::StartTimer,
        A::StartTimerCommandAttributes(c::StartTimerCommandAttributes {
            timer_id: id.to_owned(),
            start_to_fire_timeout: Some(Span::seconds(seconds).into()),
        }),
    )
}

pub(crate) fn cancel_timer(id: &str) -> Command {
    command(
        CommandType::CancelTimer,
        A::CancelTimerCommandAttributes(c::CancelTimerCommandAttributes {
            timer_id: id.to_owned(),
        }),
    )
}

pub(crate) fn complete(result: &str) -> Command {
    command(
        CommandType::CompleteWorkflowExecution,
        A::CompleteWorkflowExecutionCommandAttributes(
            c::CompleteWorkflowExecutionCommandAttributes { result: payloads(result) },
        ),
    )
}

pub(crate) fn fail(message: &str) -> Command {
    command(
        CommandType::FailWorkflowExecution,
        A::FailWorkflowExecutionCommandAttributes(c::FailWorkflowExecutionCommandAttributes {
            failure: Some(failure(message)),
        }),
    )
}

pub(crate) fn cancel() -> Command {
    command(
        CommandType::CancelWorkflowExecution,
        A::CancelWorkflowExecutionCommandAttributes(
            c::CancelWorkflowExecutionCommandAttributes::default(),
        ),
    )
}

pub(crate) fn continue_as_new() -> Command {
    command(
        CommandType::ContinueAsNewWorkflowExecution,
        A::ContinueAsNewWorkflowExecutionCommandAttributes(
            c::ContinueAsNewWorkflowExecutionCommandAttributes::default(),
        ),
    )
}

pub(crate) fn child(id: &str, policy: ParentClosePolicy) -> Command {
    child_with(id, |child| child.set_parent_close_policy(policy))
}

pub(crate) fn child_with(
    id: &str,
    with: impl FnOnce(&mut c::StartChildWorkflowExecutionCommandAttributes),
) -> Command {
    let mut attributes = c::StartChildWorkflowExecutionCommandAttributes {
        workflow_id: id.to_owned(),
        workflow_type: Some(WorkflowType { name: "Child".to_owned() }),
        ..c::StartChildWorkflowExecutionCommandAttributes::default()
    };
    with(&mut attributes);
    command(
        CommandType::StartChildWorkflowExecution,
        A::StartChildWorkflowExecutionCommandAttributes(attributes),
    )
}

pub(crate) fn signal_external(workflow_id: &str, child_only: bool) -> Command {
    command(
        CommandType::SignalExternalWorkflowExecution,
        A::SignalExternalWorkflowExecutionCommandAttributes(
            c::SignalExternalWorkflowExecutionCommandAttributes {
                execution: Some(WorkflowExecution {
                    workflow_id: workflow_id.to_owned(),
                    run_id: String::new(),
                }),
                signal_name: "hello".to_owned(),
                child_workflow_only: child_only,
                ..c::SignalExternalWorkflowExecutionCommandAttributes::default()
            },
        ),
    )
}

pub(crate) fn cancel_external(workflow_id: &str) -> Command {
    command(
        CommandType::RequestCancelExternalWorkflowExecution,
        A::RequestCancelExternalWorkflowExecutionCommandAttributes(
            c::RequestCancelExternalWorkflowExecutionCommandAttributes {
                workflow_id: workflow_id.to_owned(),
                ..c::RequestCancelExternalWorkflowExecutionCommandAttributes::default()
            },
        ),
    )
}

/// Attempts one second apart, growing; at most so many.
pub(crate) fn retries(maximum_attempts: i32) -> RetryPolicy {
    RetryPolicy {
        initial_interval: Some(Span::seconds(1).into()),
        backoff_coefficient: 2.0,
        maximum_attempts,
        ..RetryPolicy::default()
    }
}
