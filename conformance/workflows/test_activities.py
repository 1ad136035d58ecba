"""W4: activities."""

import pytest
from google.protobuf.field_mask_pb2 import FieldMask
from temporalio.api.activity.v1 import ActivityOptions
from temporalio.api.common.v1 import ActivityType, Header, Priority
from temporalio.api.enums.v1 import PendingActivityState, RetryState, TaskQueueKind, TimeoutType
from temporalio.api.workflowservice import v1 as api

from commands import cancel_activity, failure, retry, schedule_activity
from histories import attributes, event_type, event_types, only
from payloads import payload, payloads, seconds, value, values
from refusals import refused
from scene import CALL, IDENTITY
from waiting import until


async def pending(scene):
    """The one pending activity."""
    [activity] = (await scene.describe()).pending_activities
    return activity


async def started_activity(scene, **options):
    """A workflow that waits for one activity, which a worker has taken."""
    await scene.start()
    await scene.answer(schedule_activity("a", scene.task_queue, **options))
    return await scene.activity_task()


async def test_an_activity_task_carries_what_the_command_said(scene):
    await scene.start()
    await scene.answer(
        schedule_activity(
            "a",
            scene.task_queue,
            start_to_close=7,
            schedule_to_close_timeout=seconds(20),
            heartbeat_timeout=seconds(3),
            input=payloads("in"),
            header=Header(fields={"h": payload("x")}),
            retry_policy=retry(attempts=3),
            priority=Priority(priority_key=1),
        )
    )
    task = await scene.activity_task()
    assert task.workflow_execution.workflow_id == scene.workflow_id
    assert task.workflow_type.name == "Flow"
    assert task.workflow_namespace == scene.namespace
    assert task.activity_type.name == "Act"
    assert task.activity_id == "a"
    assert values(task.input) == ["in"]
    assert value(task.header.fields["h"]) == "x"
    assert task.attempt == 1
    assert task.start_to_close_timeout.seconds == 7
    assert task.schedule_to_close_timeout.seconds == 20
    assert task.heartbeat_timeout.seconds == 3
    assert task.retry_policy.maximum_attempts == 3
    assert task.priority.priority_key == 1
    assert task.scheduled_time.ToNanoseconds() <= task.started_time.ToNanoseconds()


async def test_the_result_of_an_activity_reaches_the_workflow(scene):
    task = await started_activity(scene)
    # The start of an activity that may be retried is known only once it ends.
    assert event_types(await scene.history())[-1] == "ActivityTaskScheduled"
    await scene.complete_activity(task, "done")
    events = (await scene.workflow_task()).history.events
    assert values(attributes(only(events, "ActivityTaskCompleted")).result) == ["done"]
    assert attributes(only(events, "ActivityTaskStarted")).identity == "conformance"


async def test_without_a_policy_an_activity_is_retried_by_the_default_one(scene):
    task = await started_activity(scene)
    assert task.retry_policy.initial_interval.seconds == 1
    assert task.retry_policy.backoff_coefficient == 2.0
    assert task.retry_policy.maximum_interval.seconds == 100
    assert task.retry_policy.maximum_attempts == 0


async def test_timeouts_that_were_not_given_follow_from_those_that_were(scene):
    await scene.start(workflow_run_timeout=seconds(50))
    await scene.answer(schedule_activity("a", scene.task_queue, start_to_close=7))
    told = attributes(only(await scene.history(), "ActivityTaskScheduled"))
    assert told.schedule_to_close_timeout.seconds == 50
    assert told.schedule_to_start_timeout.seconds == 50
    assert told.start_to_close_timeout.seconds == 7


async def test_a_failed_activity_is_retried_with_its_attempt_and_last_failure(scene):
    task = await started_activity(scene, retry_policy=retry(attempts=3))
    await scene.fail_activity(task, failure("first"))
    again = await scene.activity_task()
    assert again.attempt == 2
    info = await pending(scene)
    assert info.attempt == 2
    assert info.last_failure.message == "first"
    assert info.last_worker_identity == "conformance"
    await scene.complete_activity(again, "second time")
    events = (await scene.workflow_task()).history.events
    started = attributes(only(events, "ActivityTaskStarted"))
    assert started.attempt == 2
    assert started.last_failure.message == "first"


async def test_an_activity_that_fails_too_often_fails_in_the_workflow(scene):
    task = await started_activity(scene, retry_policy=retry(attempts=2))
    await scene.fail_activity(task, failure("one"))
    await scene.fail_activity(await scene.activity_task(), failure("two"))
    told = attributes(only((await scene.workflow_task()).history.events, "ActivityTaskFailed"))
    assert told.failure.message == "two"
    assert told.retry_state == RetryState.RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED


@pytest.mark.parametrize(
    "policy, how",
    [
        (dict(), dict(non_retryable=True)),
        (dict(non_retryable_error_types=["Fatal"]), dict(kind="Fatal")),
    ],
    ids=["the failure says so", "the policy names its type"],
)
async def test_a_failure_that_must_not_be_retried_is_not(scene, policy, how):
    task = await started_activity(scene, retry_policy=retry(**policy))
    await scene.fail_activity(task, failure("fatal", **how))
    told = attributes(only((await scene.workflow_task()).history.events, "ActivityTaskFailed"))
    assert told.retry_state == RetryState.RETRY_STATE_NON_RETRYABLE_FAILURE


async def test_the_wait_before_a_retry_grows_and_is_shown(scene):
    task = await started_activity(scene, retry_policy=retry(interval=0.1, backoff=600))
    await scene.fail_activity(task, failure("one"))
    await scene.fail_activity(await scene.activity_task(), failure("two"))
    info = await pending(scene)
    assert info.state == PendingActivityState.PENDING_ACTIVITY_STATE_SCHEDULED
    assert info.current_retry_interval.seconds == 10
    assert info.next_attempt_schedule_time.seconds > info.last_attempt_complete_time.seconds


async def test_a_failure_can_say_when_to_retry(scene):
    task = await started_activity(scene, retry_policy=retry(interval=500))
    again = failure("soon")
    again.application_failure_info.next_retry_delay.CopyFrom(seconds(0.05))
    await scene.fail_activity(task, again)
    assert (await scene.activity_task()).attempt == 2


TIMEOUTS = {
    "start to close": (dict(start_to_close=0.3), True, "START_TO_CLOSE"),
    "heartbeat": (dict(heartbeat_timeout=seconds(0.3)), True, "HEARTBEAT"),
    "schedule to start": (dict(schedule_to_start_timeout=seconds(0.3)), False, "SCHEDULE_TO_START"),
    "schedule to close": (dict(schedule_to_close_timeout=seconds(0.3)), True, "SCHEDULE_TO_CLOSE"),
    # The time to be taken is at most the time to close, and it is the one that is missed first.
    "schedule to close, never taken": (dict(schedule_to_close_timeout=seconds(0.3)), False, "SCHEDULE_TO_START"),
}


@pytest.mark.parametrize("options, taken, kind", TIMEOUTS.values(), ids=TIMEOUTS.keys())
async def test_an_activity_times_out(scene, options, taken, kind):
    await scene.start()
    await scene.answer(schedule_activity("a", scene.task_queue, retry_policy=retry(attempts=1), **options))
    if taken:
        await scene.activity_task()
    told = attributes(only((await scene.workflow_task()).history.events, "ActivityTaskTimedOut"))
    assert TimeoutType.Name(told.failure.timeout_failure_info.timeout_type) == f"TIMEOUT_TYPE_{kind}"


async def timed_out(scene):
    """What the workflow is told of its activity, when it has timed out."""
    return attributes(only((await scene.workflow_task()).history.events, "ActivityTaskTimedOut"))


async def test_a_timeout_that_leaves_no_time_for_a_retry_is_one_of_all_attempts_together(scene):
    options = dict(start_to_close=0.3, schedule_to_close_timeout=seconds(5), retry_policy=retry(interval=20))
    task = await started_activity(scene, **options)
    await scene.heartbeat(task, "half")
    told = await timed_out(scene)
    assert told.retry_state == RetryState.RETRY_STATE_TIMEOUT
    info = told.failure.timeout_failure_info
    assert info.timeout_type == TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE
    assert values(info.last_heartbeat_details) == ["half"]
    assert told.failure.message.startswith("Not enough time to schedule next retry")


async def test_a_timeout_of_the_last_attempt_has_the_failure_before_as_its_cause(scene):
    task = await started_activity(scene, start_to_close=0.3, retry_policy=retry(attempts=2))
    await scene.fail_activity(task, failure("first"))
    await scene.activity_task()
    told = await timed_out(scene)
    assert told.retry_state == RetryState.RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED
    assert told.failure.timeout_failure_info.timeout_type == TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE
    assert told.failure.cause.message == "first"


async def test_an_activity_that_nobody_takes_has_run_out_of_time(scene):
    await scene.start()
    await scene.answer(schedule_activity("a", scene.task_queue, schedule_to_start_timeout=seconds(0.3)))
    told = await timed_out(scene)
    assert told.retry_state == RetryState.RETRY_STATE_TIMEOUT
    assert told.failure.timeout_failure_info.timeout_type == TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_START


async def test_an_activity_that_ignores_its_cancellation_times_out_as_canceled(scene):
    await started_activity(scene, schedule_to_close_timeout=seconds(1), retry_policy=retry())
    await scene.signal("go")
    await scene.answer(cancel_activity(5))
    told = await timed_out(scene)
    assert told.retry_state == RetryState.RETRY_STATE_CANCEL_REQUESTED
    assert told.failure.message == "activity ScheduleToClose timeout"


async def test_a_start_to_close_timeout_is_retried(scene):
    await started_activity(scene, start_to_close=0.3, retry_policy=retry())
    again = await scene.activity_task()
    assert again.attempt == 2
    info = await pending(scene)
    assert info.last_failure.timeout_failure_info.timeout_type == TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE
    await scene.complete_activity(again)


async def test_heartbeats_keep_an_activity_alive_and_their_details_reach_the_next_attempt(scene):
    task = await started_activity(scene, heartbeat_timeout=seconds(5), retry_policy=retry())
    answer = await scene.heartbeat(task, "half")
    assert not answer.cancel_requested
    assert values((await pending(scene)).heartbeat_details) == ["half"]
    await scene.fail_activity(task, failure("again"))
    assert values((await scene.activity_task()).heartbeat_details) == ["half"]


async def test_a_failure_can_carry_the_last_heartbeat(scene):
    task = await started_activity(scene, retry_policy=retry())
    await scene.fail_activity(task, failure("again"), last_heartbeat_details=payloads("last"))
    assert values((await scene.activity_task()).heartbeat_details) == ["last"]


async def test_a_heartbeat_tells_of_a_cancel_and_the_activity_may_be_canceled(scene):
    task = await started_activity(scene, heartbeat_timeout=seconds(5))
    await scene.signal("go")
    await scene.answer(cancel_activity(5))
    assert (await scene.heartbeat(task)).cancel_requested
    assert (await pending(scene)).state == PendingActivityState.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED
    await scene.cancel_activity(task, "bye")
    events = (await scene.workflow_task()).history.events
    canceled = attributes(only(events, "ActivityTaskCanceled"))
    assert values(canceled.details) == ["bye"]
    assert canceled.latest_cancel_requested_event_id == only(events, "ActivityTaskCancelRequested").event_id


async def test_a_canceled_activity_may_complete_all_the_same(scene):
    task = await started_activity(scene)
    await scene.signal("go")
    await scene.answer(cancel_activity(5))
    await scene.complete_activity(task, "too late")
    assert event_type((await scene.workflow_task()).history.events[-3]) == "ActivityTaskCompleted"


async def test_an_activity_nobody_took_is_canceled_at_once(scene):
    await scene.start()
    await scene.answer(schedule_activity("a", scene.task_queue))
    await scene.signal("go")
    await scene.answer(cancel_activity(5))
    events = (await scene.workflow_task()).history.events
    assert event_types(events)[9:11] == ["ActivityTaskCancelRequested", "ActivityTaskCanceled"]


async def test_an_activity_may_not_answer_canceled_unasked(scene):
    task = await started_activity(scene)
    answer = await refused(scene.cancel_activity(task))
    assert answer.code == "INVALID_ARGUMENT"


async def test_an_activity_can_be_completed_by_id(scene):
    await started_activity(scene)
    request = api.RespondActivityTaskCompletedByIdRequest(
        namespace=scene.namespace, workflow_id=scene.workflow_id, activity_id="a", result=payloads("by id")
    )
    await scene.service.respond_activity_task_completed_by_id(request, timeout=CALL)
    told = attributes(only((await scene.workflow_task()).history.events, "ActivityTaskCompleted"))
    assert values(told.result) == ["by id"]


async def test_an_activity_can_heartbeat_and_fail_by_id(scene):
    await started_activity(scene, retry_policy=retry(attempts=1))
    request = api.RecordActivityTaskHeartbeatByIdRequest(
        namespace=scene.namespace, workflow_id=scene.workflow_id, activity_id="a", details=payloads(1)
    )
    await scene.service.record_activity_task_heartbeat_by_id(request, timeout=CALL)
    request = api.RespondActivityTaskFailedByIdRequest(
        namespace=scene.namespace, workflow_id=scene.workflow_id, activity_id="a", failure=failure("by id")
    )
    await scene.service.respond_activity_task_failed_by_id(request, timeout=CALL)
    told = attributes(only((await scene.workflow_task()).history.events, "ActivityTaskFailed"))
    assert told.failure.message == "by id"


async def test_an_unknown_activity_id_is_not_found(scene):
    await scene.start()
    request = api.RespondActivityTaskCompletedByIdRequest(
        namespace=scene.namespace, workflow_id=scene.workflow_id, activity_id="nobody"
    )
    answer = await refused(scene.service.respond_activity_task_completed_by_id(request, timeout=CALL))
    assert answer.code == "NOT_FOUND"
    assert (
        answer.message
        == "cannot find pending activity with ActivityID nobody, check workflow execution history for more details"
    )


async def test_an_answer_after_the_activity_ended_is_not_found(scene):
    task = await started_activity(scene)
    await scene.complete_activity(task)
    for late in (scene.complete_activity(task), scene.fail_activity(task, failure("late")), scene.heartbeat(task)):
        answer = await refused(late)
        assert answer.code == "NOT_FOUND"
        assert (
            answer.message == "invalid activityID or activity already timed out or invoking workflow is completed"
        )


async def test_an_answer_from_an_earlier_attempt_is_not_found(scene):
    task = await started_activity(scene, retry_policy=retry())
    await scene.fail_activity(task, failure("once"))
    await scene.activity_task()
    assert (await refused(scene.complete_activity(task))).code == "NOT_FOUND"


async def test_an_answer_after_the_workflow_closed_is_not_found(scene):
    task = await started_activity(scene)
    await scene.terminate()
    answer = await refused(scene.complete_activity(task))
    assert (answer.code, answer.message) == ("NOT_FOUND", "workflow execution already completed")


async def test_an_eager_activity_comes_with_the_answer_to_the_workflow_task(scene):
    await scene.start()
    task = await scene.workflow_task()
    answer = await scene.complete_task(
        task,
        schedule_activity("a", scene.task_queue, request_eager_execution=True),
        schedule_activity("b", scene.task_queue),
    )
    [eager] = answer.activity_tasks
    assert eager.activity_id == "a"
    assert (await scene.activity_task()).activity_id == "b"
    await scene.complete_activity(eager, "eager")
    assert event_types((await scene.workflow_task()).history.events)[-4:-2] == [
        "ActivityTaskStarted",
        "ActivityTaskCompleted",
    ]


async def test_many_activities_at_once(scene):
    await scene.start()
    await scene.answer(*(schedule_activity(f"a{n}", scene.task_queue) for n in range(10)))
    tasks = [await scene.activity_task() for _ in range(10)]
    assert sorted(task.activity_id for task in tasks) == sorted(f"a{n}" for n in range(10))
    for task in tasks:
        await scene.complete_activity(task, task.activity_id)
    assert (await scene.describe()).pending_activities == []


async def test_a_paused_activity_is_not_dispatched_until_unpaused(scene):
    await scene.start()
    await scene.answer(schedule_activity("a", scene.task_queue))
    execution = scene.execution()
    await scene.service.pause_activity(
        api.PauseActivityRequest(
            namespace=scene.namespace, execution=execution, id="a", identity=IDENTITY, reason="look into it"
        ),
        timeout=CALL,
    )
    info = await pending(scene)
    assert info.paused
    assert info.state == PendingActivityState.PENDING_ACTIVITY_STATE_PAUSED
    assert info.pause_info.manual.reason == "look into it"
    await scene.service.unpause_activity(
        api.UnpauseActivityRequest(namespace=scene.namespace, execution=execution, id="a"), timeout=CALL
    )
    assert not (await pending(scene)).paused
    await scene.complete_activity(await scene.activity_task())


async def test_workflows_are_found_by_the_types_of_their_paused_activities(scene):
    async def found(kind: str) -> int:
        query = f"WorkflowId = '{scene.workflow_id}' AND TemporalPauseInfo = 'property:activityType={kind}'"
        request = api.CountWorkflowExecutionsRequest(namespace=scene.namespace, query=query)
        return (await scene.service.count_workflow_executions(request, timeout=CALL)).count

    async def told() -> list:
        info = (await scene.describe()).workflow_execution_info
        fields = info.search_attributes.indexed_fields
        return sorted(value(fields["TemporalPauseInfo"])) if "TemporalPauseInfo" in fields else []

    await scene.start()
    named = [("a", "First"), ("b", "Second"), ("c", "Second")]
    await scene.answer(
        *(schedule_activity(name, scene.task_queue, activity_type=ActivityType(name=kind)) for name, kind in named)
    )
    which = {"namespace": scene.namespace, "execution": scene.execution()}
    for name in "abc":
        await scene.service.pause_activity(api.PauseActivityRequest(**which, id=name), timeout=CALL)
    assert await told() == ["property:activityType=First", "property:activityType=Second"]
    await until(lambda: found("First"))
    await scene.service.unpause_activity(api.UnpauseActivityRequest(**which, id="a"), timeout=CALL)
    await scene.service.unpause_activity(api.UnpauseActivityRequest(**which, id="b"), timeout=CALL)
    assert await told() == ["property:activityType=Second"]
    await until(lambda: found("First"), lambda count: count == 0)
    assert await found("Second") == 1
    await scene.service.unpause_activity(api.UnpauseActivityRequest(**which, id="c"), timeout=CALL)
    assert await told() == []
    await until(lambda: found("Second"), lambda count: count == 0)


@pytest.mark.differs_from_temporal("there it stays among the paused ones")
async def test_a_paused_activity_that_ends_holds_back_nothing_any_more(scene):
    task = await started_activity(scene)
    which = {"namespace": scene.namespace, "execution": scene.execution()}
    await scene.service.pause_activity(api.PauseActivityRequest(**which, id="a"), timeout=CALL)
    query = f"WorkflowId = '{scene.workflow_id}' AND TemporalPauseInfo IS NOT NULL"
    request = api.CountWorkflowExecutionsRequest(namespace=scene.namespace, query=query)
    assert (await scene.service.count_workflow_executions(request, timeout=CALL)).count == 1
    await scene.complete_activity(task)
    assert (await scene.service.count_workflow_executions(request, timeout=CALL)).count == 0


async def paused(scene, **fields):
    request = api.PauseActivityRequest(namespace=scene.namespace, execution=scene.execution(), id="a", **fields)
    await scene.service.pause_activity(request, timeout=CALL)


async def test_an_activity_that_is_reset_has_not_failed_before(scene):
    task = await started_activity(scene, retry_policy=retry())
    await scene.fail_activity(task, failure("once"))
    request = api.ResetActivityRequest(namespace=scene.namespace, execution=scene.execution(), id="a")
    await scene.service.reset_activity(request, timeout=CALL)
    info = await pending(scene)
    assert (info.attempt, info.HasField("last_failure")) == (1, False)


async def test_a_pause_without_a_request_id_may_be_repeated(scene):
    await started_activity(scene)
    await paused(scene)
    await paused(scene)
    answer = await refused(paused(scene, request_id="another"))
    assert (answer.code, answer.message) == ("FAILED_PRECONDITION", "activity is already paused")


async def test_a_paused_activity_does_not_fail_at_its_last_attempt(scene):
    task = await started_activity(scene, retry_policy=retry(attempts=1))
    await paused(scene)
    await scene.fail_activity(task, failure("last"))
    info = await pending(scene)
    assert (info.attempt, info.last_failure.message) == (2, "last")
    request = api.UnpauseActivityRequest(namespace=scene.namespace, execution=scene.execution(), id="a")
    await scene.service.unpause_activity(request, timeout=CALL)
    await scene.complete_activity(await scene.activity_task(), "after all")
    assert event_type((await scene.workflow_task()).history.events[-3]) == "ActivityTaskCompleted"


async def test_progress_stays_visible_between_attempts(scene):
    task = await started_activity(scene, retry_policy=retry(interval=300), heartbeat_timeout=seconds(60))
    await scene.heartbeat(task, "half")
    await scene.fail_activity(task, failure("one"))
    waiting = await pending(scene)
    assert values(waiting.heartbeat_details) == ["half"]
    assert waiting.HasField("last_heartbeat_time")


async def test_progress_told_with_a_failure_is_visible(scene):
    task = await started_activity(scene, retry_policy=retry(interval=300))
    await scene.service.respond_activity_task_failed(
        api.RespondActivityTaskFailedRequest(
            namespace=scene.namespace,
            task_token=task.task_token,
            failure=failure("one"),
            last_heartbeat_details=payloads("most"),
        ),
        timeout=CALL,
    )
    assert values((await pending(scene)).heartbeat_details) == ["most"]


async def test_newer_clients_pause_alter_reset_and_unpause_the_same_activities(scene):
    await scene.start()
    await scene.answer(schedule_activity("a", scene.task_queue))
    which = {"namespace": scene.namespace, "workflow_id": scene.workflow_id, "activity_id": "a"}
    paused = api.PauseActivityExecutionRequest(**which, identity=IDENTITY, reason="look into it")
    await scene.service.pause_activity_execution(paused, timeout=CALL)
    assert (await pending(scene)).pause_info.manual.reason == "look into it"
    altered = await scene.service.update_activity_execution_options(
        api.UpdateActivityExecutionOptionsRequest(
            **which,
            activity_options=ActivityOptions(start_to_close_timeout=seconds(7)),
            update_mask=FieldMask(paths=["start_to_close_timeout"]),
        ),
        timeout=CALL,
    )
    assert altered.activity_options.start_to_close_timeout.seconds == 7
    await scene.service.reset_activity_execution(
        api.ResetActivityExecutionRequest(**which, keep_paused=True), timeout=CALL
    )
    assert (await pending(scene)).paused
    await scene.service.unpause_activity_execution(
        api.UnpauseActivityExecutionRequest(**which), timeout=CALL
    )
    assert not (await pending(scene)).paused
    await scene.complete_activity(await scene.activity_task())


async def test_a_heartbeat_tells_of_a_pause(scene):
    task = await started_activity(scene, heartbeat_timeout=seconds(5))
    await scene.service.pause_activity(
        api.PauseActivityRequest(namespace=scene.namespace, execution=scene.execution(), id="a"), timeout=CALL
    )
    assert (await scene.heartbeat(task)).activity_paused


async def test_a_reset_activity_begins_at_its_first_attempt(scene):
    task = await started_activity(scene, retry_policy=retry(interval=300))
    await scene.fail_activity(task, failure("one"))
    await scene.service.reset_activity(
        api.ResetActivityRequest(namespace=scene.namespace, execution=scene.execution(), id="a"), timeout=CALL
    )
    assert (await scene.activity_task()).attempt == 1


async def reset_while_it_runs(scene, **policy):
    task = await started_activity(scene, retry_policy=retry(interval=0.05, **policy), heartbeat_timeout=seconds(5))
    await scene.service.reset_activity(
        api.ResetActivityRequest(namespace=scene.namespace, execution=scene.execution(), id="a"), timeout=CALL
    )
    assert (await scene.heartbeat(task)).activity_reset
    await scene.fail_activity(task, failure("reset"))


async def test_an_attempt_that_is_reset_counts_as_the_first(scene):
    await reset_while_it_runs(scene)
    assert (await scene.activity_task()).attempt == 2


async def test_the_only_attempt_stays_the_only_one_when_it_is_reset(scene):
    await reset_while_it_runs(scene, attempts=1)
    failed = attributes(only(await scene.history(), "ActivityTaskFailed"))
    assert failed.retry_state == RetryState.RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED


async def test_the_options_of_a_pending_activity_can_be_changed(scene):
    task = await started_activity(scene, retry_policy=retry(interval=300))
    request = api.UpdateActivityOptionsRequest(
        namespace=scene.namespace,
        execution=scene.execution(),
        id="a",
        activity_options=ActivityOptions(start_to_close_timeout=seconds(42), retry_policy=retry(interval=0.05)),
    )
    request.update_mask.paths.extend(["start_to_close_timeout", "retry_policy.initial_interval"])
    answer = await scene.service.update_activity_options(request, timeout=CALL)
    assert answer.activity_options.start_to_close_timeout.seconds == 42
    assert answer.activity_options.task_queue.kind == TaskQueueKind.TASK_QUEUE_KIND_NORMAL
    await scene.fail_activity(task, failure("one"))
    assert (await pending(scene)).activity_options.start_to_close_timeout.seconds == 42
    assert (await scene.activity_task()).attempt == 2


BAD_COMMANDS = {
    "no activity id": (dict(activity_id=""), "BadScheduleActivityAttributes: activityId is not set"),
    "no type": (dict(activity_type=None), "BadScheduleActivityAttributes: activityType is not set"),
    "no timeout": (
        dict(start_to_close=0),
        "BadScheduleActivityAttributes: a valid StartToCloseTimeout or ScheduleToCloseTimeout must be set on the"
        " activity. ActivityId=a ActivityType=Act",
    ),
}


@pytest.mark.parametrize("changes, message", BAD_COMMANDS.values(), ids=BAD_COMMANDS.keys())
async def test_a_bad_command_fails_the_workflow_task(scene, changes, message):
    await scene.start()
    task = await scene.workflow_task()
    options = {"activity_id": "a", **changes}
    answer = await refused(scene.complete_task(task, schedule_activity(task_queue=scene.task_queue, **options)))
    assert answer.code == "INVALID_ARGUMENT"
    failed = attributes(only(await scene.history(), "WorkflowTaskFailed"))
    assert failed.failure.message == answer.message
    assert answer.message == message
