"""Short constructors for the commands with which a worker completes a workflow task."""

from temporalio.api.command.v1 import Command
from temporalio.api.common.v1 import ActivityType, RetryPolicy, WorkflowExecution, WorkflowType
from temporalio.api.enums.v1 import CommandType
from temporalio.api.failure.v1 import ApplicationFailureInfo, Failure
from temporalio.api.taskqueue.v1 import TaskQueue

from payloads import payloads, seconds


def command(kind: str, **attributes) -> Command:
    """`command("start_timer", timer_id="t")` has type COMMAND_TYPE_START_TIMER and those attributes."""
    made = Command(command_type=CommandType.Value(f"COMMAND_TYPE_{kind.upper()}"))
    field = getattr(made, f"{kind}_command_attributes")
    field.SetInParent()
    field.MergeFrom(type(field)(**attributes))
    return made


def schedule_activity(activity_id: str, task_queue: str, start_to_close: float = 10, **options) -> Command:
    options.setdefault("activity_type", ActivityType(name="Act"))
    return command(
        "schedule_activity_task",
        activity_id=activity_id,
        task_queue=TaskQueue(name=task_queue),
        start_to_close_timeout=seconds(start_to_close),
        **options,
    )


def cancel_activity(scheduled_event_id: int) -> Command:
    return command("request_cancel_activity_task", scheduled_event_id=scheduled_event_id)


def start_timer(timer_id: str, fires_after: float) -> Command:
    return command("start_timer", timer_id=timer_id, start_to_fire_timeout=seconds(fires_after))


def cancel_timer(timer_id: str) -> Command:
    return command("cancel_timer", timer_id=timer_id)


def record_marker(name: str, **details) -> Command:
    return command("record_marker", marker_name=name, details=details)


def complete_workflow(*result) -> Command:
    return command("complete_workflow_execution", result=payloads(*result))


def fail_workflow(message: str = "failed", **info) -> Command:
    return command("fail_workflow_execution", failure=failure(message, **info))


def cancel_workflow(*details) -> Command:
    return command("cancel_workflow_execution", details=payloads(*details))


def continue_as_new(workflow_type: str, task_queue: str, *arguments, **options) -> Command:
    return command(
        "continue_as_new_workflow_execution",
        workflow_type=WorkflowType(name=workflow_type),
        task_queue=TaskQueue(name=task_queue),
        input=payloads(*arguments),
        **options,
    )


def start_child(workflow_id: str, task_queue: str, **options) -> Command:
    options.setdefault("workflow_type", WorkflowType(name="Child"))
    return command(
        "start_child_workflow_execution",
        workflow_id=workflow_id,
        task_queue=TaskQueue(name=task_queue),
        **options,
    )


def signal_external(workflow_id: str, signal_name: str, **options) -> Command:
    return command(
        "signal_external_workflow_execution",
        execution=WorkflowExecution(workflow_id=workflow_id),
        signal_name=signal_name,
        **options,
    )


def cancel_external(workflow_id: str, **options) -> Command:
    return command("request_cancel_external_workflow_execution", workflow_id=workflow_id, **options)


def failure(message: str, kind: str = "Oops", non_retryable: bool = False) -> Failure:
    info = ApplicationFailureInfo(type=kind, non_retryable=non_retryable)
    return Failure(message=message, source="conformance", application_failure_info=info)


def retry(attempts: int = 0, interval: float = 0.01, backoff: float = 1.0, **options) -> RetryPolicy:
    return RetryPolicy(
        initial_interval=seconds(interval),
        backoff_coefficient=backoff,
        maximum_attempts=attempts,
        **options,
    )
