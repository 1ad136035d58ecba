"""W3: workflow tasks."""

import asyncio
import uuid

from temporalio.api.enums.v1 import PendingWorkflowTaskState, TaskQueueKind, WorkflowTaskFailedCause
from temporalio.api.sdk.v1 import WorkflowTaskCompletedMetadata
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice import v1 as api

from commands import complete_workflow, failure, start_timer
from histories import attributes, event_types, only
from payloads import seconds
from refusals import refused
from scene import CALL, IDENTITY
from sticky import sticky_poller_is_known


async def test_a_workflow_task_carries_the_run_and_its_history(scene):
    run = await scene.start()
    task = await scene.workflow_task()
    assert task.workflow_execution.workflow_id == scene.workflow_id
    assert task.workflow_execution.run_id == run.run_id
    assert task.workflow_type.name == "Flow"
    assert task.attempt == 1
    assert task.previous_started_event_id == 0
    assert task.started_event_id == 3
    assert task.workflow_execution_task_queue.name == scene.task_queue
    assert task.scheduled_time.ToNanoseconds() <= task.started_time.ToNanoseconds()
    started = attributes(task.history.events[-1])
    assert started.identity == "conformance"
    assert started.history_size_bytes > 0
    assert not started.suggest_continue_as_new


async def test_a_long_history_comes_with_a_token_for_its_rest(scene):
    await scene.start()
    for n in range(300):
        await scene.signal("s", n)
    events = await scene.events_of(await scene.workflow_task())
    assert [event.event_id for event in events] == list(range(1, 304))


async def test_a_poll_that_waits_gets_the_task_when_it_appears(scene):
    polling = asyncio.create_task(scene.workflow_task())
    await scene.start()
    assert (await polling).workflow_execution.workflow_id == scene.workflow_id


async def test_each_task_is_given_to_one_worker(scene):
    polls = [asyncio.create_task(scene.workflow_task()) for _ in range(4)]
    for n in range(4):
        await scene.start(workflow_id=f"{scene.workflow_id}-{n}")
    tasks = await asyncio.gather(*polls)
    assert len({task.workflow_execution.workflow_id for task in tasks}) == 4


async def test_describe_shows_the_pending_workflow_task(scene):
    await scene.start()
    waiting = (await scene.describe()).pending_workflow_task
    assert waiting.state == PendingWorkflowTaskState.PENDING_WORKFLOW_TASK_STATE_SCHEDULED
    task = await scene.workflow_task()
    started = (await scene.describe()).pending_workflow_task
    assert started.state == PendingWorkflowTaskState.PENDING_WORKFLOW_TASK_STATE_STARTED
    assert started.attempt == 1
    await scene.complete_task(task)
    assert not (await scene.describe()).HasField("pending_workflow_task")


async def test_a_completion_records_what_the_worker_said_of_itself(scene):
    await scene.start()
    await scene.answer(
        sdk_metadata=WorkflowTaskCompletedMetadata(core_used_flags=[1, 2], sdk_name="me", sdk_version="9"),
    )
    told = attributes((await scene.history())[3])
    assert told.identity == "conformance"
    assert list(told.sdk_metadata.core_used_flags) == [1, 2]
    assert told.sdk_metadata.sdk_name == "me"


async def test_a_second_answer_to_a_workflow_task_is_not_found(scene):
    await scene.start()
    task = await scene.answer()
    for late in (scene.complete_task(task), scene.fail_task(task)):
        answer = await refused(late)
        assert (answer.code, answer.message) == ("NOT_FOUND", "Workflow task not found.")


async def test_an_answer_after_the_run_closed_is_not_found(scene):
    await scene.start()
    task = await scene.workflow_task()
    await scene.terminate()
    answer = await refused(scene.complete_task(task))
    assert (answer.code, answer.message) == ("NOT_FOUND", "Workflow task not found.")


async def test_an_unreadable_task_token_is_refused(scene):
    answer = await refused(scene.complete_task(api.PollWorkflowTaskQueueResponse(task_token=b"junk")))
    assert answer.code == "INVALID_ARGUMENT"


async def test_a_failure_is_recorded_with_its_cause_and_the_task_tried_again(scene):
    await scene.start()
    cause = WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR
    await scene.fail_task(await scene.workflow_task(), cause=cause, failure=failure("[TMPRL1100] not the same"))
    told = attributes((await scene.history())[3])
    assert told.cause == cause
    assert told.failure.message == "[TMPRL1100] not the same"
    assert told.identity == "conformance"
    again = await scene.workflow_task()
    assert again.attempt == 2
    assert (await scene.describe()).pending_workflow_task.attempt == 2


async def test_attempts_after_the_second_wait_longer(scene):
    """The second comes at once, the third after a pause that grows."""
    await scene.start()
    for attempt in (1, 2):
        task = await scene.workflow_task()
        assert task.attempt == attempt
        await scene.fail_task(task, failure=failure("bug"))
    assert (await scene.describe()).pending_workflow_task.attempt == 3
    assert (await scene.workflow_task()).attempt == 3


async def test_every_failure_that_a_worker_reports_counts(scene):
    await scene.start()
    cause = WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND
    await scene.fail_task(await scene.workflow_task(), cause=cause, failure=failure("it says"))
    assert (await scene.workflow_task()).attempt == 2


async def test_commands_that_make_no_sense_again_keep_the_task_until_it_times_out(scene):
    """A worker that sends the same each time isn't asked as fast as it can answer."""
    await scene.start(workflow_task_timeout=seconds(1))
    first = await scene.workflow_task()
    answer = await refused(scene.complete_task(first, start_timer("", 1)))
    assert answer.code == "INVALID_ARGUMENT"
    [*_, failed, scheduled] = await scene.history()
    assert attributes(failed).failure.message == answer.message
    assert attributes(scheduled).attempt == 2
    again = await scene.workflow_task()
    assert again.attempt == 2
    assert (await refused(scene.complete_task(again, start_timer("", 1)))).message == answer.message
    pending = (await scene.describe()).pending_workflow_task
    assert pending.state == PendingWorkflowTaskState.PENDING_WORKFLOW_TASK_STATE_STARTED
    assert pending.attempt == 2
    # The worker may still say something better.
    await scene.complete_task(again, complete_workflow())
    assert await scene.status() == "COMPLETED"


async def test_an_answer_from_an_earlier_attempt_is_not_found(scene):
    await scene.start(workflow_task_timeout=seconds(1))
    late = await scene.workflow_task()
    assert (await scene.workflow_task()).attempt == 2
    assert (await refused(scene.complete_task(late))).code == "NOT_FOUND"


async def test_force_new_task_without_asking_for_it_goes_through_the_queue(scene):
    await scene.start()
    answer = await scene.complete_task(await scene.workflow_task(), force_create_new_workflow_task=True)
    assert not answer.HasField("workflow_task")
    assert (await scene.workflow_task()).started_event_id == 6


async def test_a_completion_can_return_the_next_task_at_once(scene):
    await scene.start()
    task = await scene.workflow_task()
    await scene.signal("s")
    answer = await scene.complete_task(task, return_new_workflow_task=True)
    assert event_types(answer.workflow_task.history.events) == [
        "WorkflowTaskCompleted",
        "WorkflowExecutionSignaled",
        "WorkflowTaskScheduled",
        "WorkflowTaskStarted",
    ]
    await scene.complete_task(answer.workflow_task, complete_workflow())


async def test_an_answer_too_large_to_be_sent_ends_the_run(scene):
    """No other attempt would be smaller."""
    too_large = WorkflowTaskFailedCause.Value("WORKFLOW_TASK_FAILED_CAUSE_GRPC_MESSAGE_TOO_LARGE")
    await scene.start()
    task = await scene.workflow_task()
    await scene.signal("unseen")
    await scene.fail_task(task, cause=too_large, failure=failure("it says"))
    events = await scene.history()
    assert event_types(events)[3:] == [
        "WorkflowTaskFailed",
        "WorkflowExecutionSignaled",
        "WorkflowExecutionTerminated",
    ]
    failed, terminated = attributes(events[3]), attributes(events[5])
    assert failed.cause == WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND
    assert failed.identity == terminated.identity == "history-service"
    assert not failed.HasField("failure")
    assert terminated.reason == "GrpcMessageTooLarge"


async def test_an_answer_too_large_to_be_sent_again_ends_the_run_too(scene):
    too_large = WorkflowTaskFailedCause.Value("WORKFLOW_TASK_FAILED_CAUSE_GRPC_MESSAGE_TOO_LARGE")
    await scene.start()
    await scene.fail_task(await scene.workflow_task(), failure=failure("oops"))
    await scene.fail_task(await scene.workflow_task(), cause=too_large)
    assert event_types(await scene.history())[3:] == ["WorkflowTaskFailed", "WorkflowExecutionTerminated"]


async def test_a_sticky_queue_without_a_poller_is_passed_over(scene):
    await scene.start()
    await scene.complete_task(await scene.workflow_task(), sticky=scene.task_queue + "-sticky")
    await scene.signal("s")
    task = await scene.workflow_task()
    assert task.history.events[0].event_id == 1
    # The history keeps the queue the task was first meant for.
    scheduled = attributes(only(task.history.events[4:], "WorkflowTaskScheduled"))
    assert scheduled.task_queue.name == scene.task_queue + "-sticky"
    assert scheduled.task_queue.normal_name == scene.task_queue


async def test_a_reset_of_the_sticky_queue_sends_tasks_to_the_normal_one(scene):
    sticky = scene.task_queue + "-sticky"
    await scene.start()
    await scene.complete_task(await scene.workflow_task(), sticky=sticky)
    request = api.ResetStickyTaskQueueRequest(namespace=scene.namespace, execution=scene.execution())
    await scene.service.reset_sticky_task_queue(request, timeout=CALL)
    await scene.signal("s")
    assert (await scene.workflow_task()).history.events[0].event_id == 1


async def test_the_shutdown_of_a_sticky_worker_sends_its_tasks_to_the_normal_queue(scene):
    sticky = scene.task_queue + "-sticky"
    await scene.start()
    await scene.complete_task(await scene.workflow_task(), sticky=sticky)
    polling = asyncio.create_task(scene.workflow_task(sticky=sticky))
    await sticky_poller_is_known(scene, sticky)
    await scene.signal("s")
    task = await polling
    await scene.complete_task(task, sticky=sticky)
    request = api.ShutdownWorkerRequest(
        namespace=scene.namespace, sticky_task_queue=sticky, identity="conformance", reason="done"
    )
    await scene.service.shutdown_worker(request, timeout=CALL)
    await scene.signal("s")
    assert (await scene.workflow_task()).history.events[0].event_id == 1


async def test_a_worker_that_goes_has_its_polls_ended_and_not_those_of_another_with_the_same_key(scene):
    """SDKs may have a worker of their own beside the user's, which says the same key and goes at once."""
    worker = str(uuid.uuid4())

    def poll(queue: TaskQueue):
        request = api.PollWorkflowTaskQueueRequest(
            namespace=scene.namespace, task_queue=queue, identity=IDENTITY, worker_instance_key=worker
        )
        return asyncio.create_task(scene.service.poll_workflow_task_queue(request, timeout=CALL))

    async def go(queue: str):
        request = api.ShutdownWorkerRequest(
            namespace=scene.namespace, identity=IDENTITY, worker_instance_key=worker, task_queue=queue
        )
        await scene.service.shutdown_worker(request, timeout=CALL)

    user = TaskQueue(name=scene.task_queue)
    own = TaskQueue(
        name=scene.task_queue + "-sticky",
        kind=TaskQueueKind.TASK_QUEUE_KIND_STICKY,
        normal_name=scene.task_queue,
    )
    polling = poll(user)
    await go(scene.task_queue + "-of-the-sdk")
    await scene.start()
    await scene.complete_task(await polling, complete_workflow())
    polls = [poll(user), poll(own)]
    await go(scene.task_queue)
    # Those under way, and those that come later.
    for ended in [*polls, poll(user), poll(own)]:
        assert not (await ended).task_token


async def test_reset_points_name_the_first_completed_task_of_each_build(scene):
    await scene.start()
    await scene.answer(binary_checksum="build-1")
    await scene.signal("s")
    await scene.answer(binary_checksum="build-2")
    points = (await scene.describe()).workflow_execution_info.auto_reset_points.points
    assert [(point.binary_checksum, point.first_workflow_task_completed_id) for point in points] == [
        ("build-1", 4),
        ("build-2", 8),
    ]


def pause_request(scene) -> dict:
    return dict(
        namespace=scene.namespace,
        workflow_id=scene.workflow_id,
        identity=IDENTITY,
        reason="look into it",
        request_id=str(uuid.uuid4()),
    )


async def test_a_task_that_no_worker_has_is_withdrawn_when_the_run_is_paused(scene):
    await scene.start()
    await scene.service.pause_workflow_execution(
        api.PauseWorkflowExecutionRequest(**pause_request(scene)), timeout=CALL
    )
    await scene.service.unpause_workflow_execution(
        api.UnpauseWorkflowExecutionRequest(**pause_request(scene)), timeout=CALL
    )
    assert (await scene.workflow_task()).attempt == 1
    events = await scene.history()
    assert event_types(events) == [
        "WorkflowExecutionStarted",
        "WorkflowTaskScheduled",
        "WorkflowTaskFailed",
        "WorkflowExecutionPaused",
        "WorkflowExecutionUnpaused",
        "WorkflowTaskScheduled",
        "WorkflowTaskStarted",
    ]
    failed = attributes(events[2])
    cause = WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_PAUSE_REQUESTED_BEFORE_TASK_STARTED
    assert (failed.cause, failed.scheduled_event_id, failed.started_event_id) == (cause, 2, 0)
    # A worker that is older than pausing goes on without these.
    assert [event.event_id for event in events if event.worker_may_ignore] == [4, 5]
