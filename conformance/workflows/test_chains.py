"""W10: continue-as-new, retries and cron: several runs under one workflow id."""

from temporalio.api.enums.v1 import ContinueAsNewInitiator, HistoryEventFilterType, RetryState, TimeoutType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflowservice import v1 as api

from commands import (
    cancel_workflow,
    complete_workflow,
    continue_as_new,
    fail_workflow,
    retry,
)
from histories import attributes, event_type, expected, table
from payloads import memo, payloads, search_attributes, seconds, value, values
from refusals import refused
from scene import CALL

EVERY_SECOND = "@every 1s"


async def test_continue_as_new_carries_on_under_the_same_id(scene):
    first = await scene.start(workflow_run_timeout=seconds(100), workflow_task_timeout=seconds(9))
    await scene.answer(
        continue_as_new(
            "Other",
            scene.task_queue,
            "next",
            memo=memo(m=1),
            search_attributes=search_attributes(CustomKeywordField="k"),
            retry_policy=retry(attempts=3),
        )
    )
    closed = attributes(await scene.close_event(first.run_id))
    events = await scene.history()
    told = attributes(events[0])
    second = (await scene.describe()).workflow_execution_info
    assert closed.new_execution_run_id == second.execution.run_id == told.original_execution_run_id
    assert told.continued_execution_run_id == first.run_id
    assert told.first_execution_run_id == second.first_run_id == first.run_id
    assert told.workflow_type.name == "Other"
    assert values(told.input) == ["next"]
    assert told.initiator == ContinueAsNewInitiator.CONTINUE_AS_NEW_INITIATOR_WORKFLOW
    assert value(told.memo.fields["m"]) == 1
    assert value(told.search_attributes.indexed_fields["CustomKeywordField"]) == "k"
    assert told.retry_policy.maximum_attempts == 3
    assert told.workflow_run_timeout.seconds == 100
    assert told.workflow_task_timeout.seconds == 9
    assert told.attempt == 1
    assert told.identity == "", "nobody started it"


async def test_continue_as_new_carries_over_only_what_the_worker_says(scene):
    first = await scene.start(
        memo=memo(m=1),
        search_attributes=search_attributes(CustomKeywordField="k"),
        retry_policy=retry(attempts=3),
        cron_schedule=EVERY_SECOND,
    )
    await scene.answer(continue_as_new("Flow", scene.task_queue))
    await scene.close_event(first.run_id)
    told = attributes((await scene.history())[0])
    assert not told.memo.fields
    assert not told.search_attributes.indexed_fields
    assert not told.HasField("retry_policy")
    assert told.cron_schedule == ""


async def test_continue_as_new_says_nothing_of_empty_fields(scene):
    first = await scene.start()
    empty = {"memo": memo(a=None, b=[], c=1), "search_attributes": search_attributes(CustomKeywordField=[])}
    await scene.answer(continue_as_new("Flow", scene.task_queue, **empty))
    closed = attributes(await scene.close_event(first.run_id))
    told = attributes((await scene.history())[0])
    assert list(closed.memo.fields) == list(told.memo.fields) == ["c"]
    assert not closed.HasField("search_attributes")
    assert not told.HasField("search_attributes")


async def test_continue_as_new_may_change_options(scene):
    await scene.start(memo=memo(m=1), workflow_run_timeout=seconds(100))
    await scene.answer(
        continue_as_new(
            "Flow",
            scene.task_queue + "-2",
            workflow_run_timeout=seconds(50),
            memo=memo(m=2),
        )
    )
    task = await scene.workflow_task(scene.task_queue + "-2")
    told = attributes(task.history.events[0])
    assert told.workflow_run_timeout.seconds == 50
    assert value(told.memo.fields["m"]) == 2


async def test_signals_unseen_by_a_run_hinder_it_from_continuing(scene):
    await scene.start()
    task = await scene.workflow_task()
    await scene.signal("unseen")
    answer = await refused(scene.complete_task(task, continue_as_new("Flow", scene.task_queue)))
    assert (answer.code, answer.message) == ("INVALID_ARGUMENT", "UnhandledCommand")


async def test_a_failed_workflow_is_retried(scene):
    first = await scene.start(retry_policy=retry(attempts=2), input=payloads("same"), memo=memo(m=1))
    await scene.answer(fail_workflow("once"))
    closed = attributes(await scene.close_event(first.run_id))
    assert closed.retry_state == RetryState.RETRY_STATE_IN_PROGRESS
    assert closed.new_execution_run_id != ""
    assert await scene.status(first.run_id) == "FAILED"
    task = await scene.workflow_task()
    told = attributes(task.history.events[0])
    assert task.workflow_execution.run_id == closed.new_execution_run_id
    assert told.attempt == 2
    assert told.initiator == ContinueAsNewInitiator.CONTINUE_AS_NEW_INITIATOR_RETRY
    assert told.continued_failure.message == "once"
    assert told.continued_execution_run_id == first.run_id
    assert told.first_execution_run_id == first.run_id
    assert values(told.input) == ["same"]
    assert value(told.memo.fields["m"]) == 1
    await scene.complete_task(task, fail_workflow("twice"))
    closed = attributes(await scene.close_event(task.workflow_execution.run_id))
    assert closed.retry_state == RetryState.RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED
    assert closed.new_execution_run_id == ""


async def test_a_retry_waits_before_its_first_workflow_task(scene):
    first = await scene.start(retry_policy=retry(interval=1))
    await scene.answer(fail_workflow("once"))
    await scene.close_event(first.run_id)
    events = await scene.history()
    assert table(events) == "1 WorkflowExecutionStarted initiator=RETRY attempt=2"
    assert attributes(events[0]).first_workflow_task_backoff.ToMilliseconds() == 1000
    task = await scene.workflow_task()
    assert task.history.events[1].event_time.ToNanoseconds() >= events[0].event_time.ToNanoseconds() + 999_000_000


async def test_a_failure_that_must_not_be_retried_ends_the_chain(scene):
    await scene.start(retry_policy=retry())
    await scene.answer(fail_workflow("fatal", non_retryable=True))
    closed = attributes(await scene.close_event())
    assert closed.retry_state == RetryState.RETRY_STATE_NON_RETRYABLE_FAILURE
    assert await scene.status() == "FAILED"


async def test_a_run_timeout_is_retried_too(scene):
    first = await scene.start(retry_policy=retry(attempts=2), workflow_run_timeout=seconds(1))
    closed = attributes(await scene.close_event(first.run_id))
    assert closed.retry_state == RetryState.RETRY_STATE_IN_PROGRESS
    # Read from the history: the second run may time out as well before a worker sees it.
    told = attributes((await scene.history(closed.new_execution_run_id))[0])
    assert told.attempt == 2
    assert told.continued_failure.message == "workflow timeout"
    assert told.continued_failure.timeout_failure_info.timeout_type == TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE


async def unfollowed_close_event(scene, run_id: str) -> HistoryEvent:
    """The run's close event, as a client gets it that knows of next runs only from continued-as-new."""
    await scene.close_event(run_id)
    request = api.GetWorkflowExecutionHistoryRequest(
        namespace=scene.namespace,
        execution=scene.execution(run_id),
        history_event_filter_type=HistoryEventFilterType.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT,
        wait_new_event=True,
    )
    page = await scene.service.get_workflow_execution_history(request, timeout=CALL)
    [event] = page.history.events
    return event


async def test_clients_that_dont_follow_a_retry_are_told_that_the_run_was_continued(scene):
    first = await scene.start(retry_policy=retry(attempts=2))
    await scene.answer(fail_workflow("once"))
    real = await scene.close_event(first.run_id)
    told = await unfollowed_close_event(scene, first.run_id)
    assert event_type(told) == "WorkflowExecutionContinuedAsNew"
    assert (told.event_id, told.event_time) == (real.event_id, real.event_time)
    continued = attributes(told)
    assert continued.new_execution_run_id == attributes(real).new_execution_run_id
    assert continued.failure == attributes(real).failure
    # Who reads the whole history sees what happened, and the last attempt is nobody's continuation.
    assert event_type((await scene.history(first.run_id))[-1]) == "WorkflowExecutionFailed"
    await scene.answer(fail_workflow("twice"))
    assert event_type(await unfollowed_close_event(scene, continued.new_execution_run_id)) == "WorkflowExecutionFailed"


async def test_clients_that_dont_follow_a_timeout_are_told_that_the_run_was_continued(scene):
    first = await scene.start(retry_policy=retry(attempts=2), workflow_run_timeout=seconds(1))
    told = await unfollowed_close_event(scene, first.run_id)
    assert event_type(told) == "WorkflowExecutionContinuedAsNew"
    assert attributes(told).new_execution_run_id
    assert attributes(told).failure.message == "workflow timeout"
    assert attributes(told).failure.timeout_failure_info.timeout_type == TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE


async def test_clients_that_dont_follow_a_cron_run_are_told_that_it_was_continued(scene):
    first = await scene.start(cron_schedule=EVERY_SECOND)
    await scene.answer(complete_workflow("one"))
    told = await unfollowed_close_event(scene, first.run_id)
    assert event_type(told) == "WorkflowExecutionContinuedAsNew"
    assert attributes(told).new_execution_run_id
    assert values(attributes(told).last_completion_result) == ["one"]


async def test_a_cancel_during_a_retry_back_off_wakes_the_worker(scene):
    first = await scene.start(retry_policy=retry(interval=300))
    await scene.answer(fail_workflow("once"))
    await scene.close_event(first.run_id)
    await scene.cancel()
    assert table(await scene.history()) == expected("""
        1 WorkflowExecutionStarted initiator=RETRY attempt=2
        2 WorkflowExecutionCancelRequested
        3 WorkflowTaskScheduled attempt=1
    """)
    await scene.answer(cancel_workflow())
    assert await scene.status() == "CANCELED"


async def test_a_terminate_ends_the_chain(scene):
    first = await scene.start(retry_policy=retry(interval=300))
    await scene.answer(fail_workflow("once"))
    await scene.close_event(first.run_id)
    await scene.terminate()
    assert await scene.status() == "TERMINATED"
    assert table(await scene.history()) == expected("""
        1 WorkflowExecutionStarted initiator=RETRY attempt=2
        2 WorkflowExecutionTerminated
    """)


async def test_a_cron_run_waits_for_its_time_and_begins_again_after_each_end(scene):
    first = await scene.start(cron_schedule=EVERY_SECOND, input=payloads("same"))
    [started] = await scene.history()
    told = attributes(started)
    assert told.cron_schedule == EVERY_SECOND
    assert 0 < told.first_workflow_task_backoff.ToMilliseconds() <= 1000
    await scene.answer(complete_workflow("one"))
    closed = attributes(await scene.close_event(first.run_id))
    assert closed.new_execution_run_id
    assert await scene.status(first.run_id) == "COMPLETED"
    task = await scene.workflow_task()
    told = attributes(task.history.events[0])
    assert told.initiator == ContinueAsNewInitiator.CONTINUE_AS_NEW_INITIATOR_CRON_SCHEDULE
    assert values(told.input) == ["same"]
    assert values(told.last_completion_result) == ["one"]
    assert told.attempt == 1
    assert told.continued_execution_run_id == first.run_id
    assert told.cron_schedule == EVERY_SECOND


async def test_a_cron_run_that_fails_is_followed_by_the_next_which_knows_both(scene):
    await scene.start(cron_schedule=EVERY_SECOND)
    await scene.answer(complete_workflow("good"))
    await scene.answer(fail_workflow("bad"))
    task = await scene.workflow_task()
    told = attributes(task.history.events[0])
    assert values(told.last_completion_result) == ["good"]
    assert told.continued_failure.message == "bad"
    await scene.complete_task(task, complete_workflow("good again"))
    told = attributes((await scene.workflow_task()).history.events[0])
    assert values(told.last_completion_result) == ["good again"]
    assert not told.HasField("continued_failure")


async def test_a_terminated_cron_run_ends_the_chain(scene):
    await scene.start(cron_schedule="0 0 1 1 *")
    await scene.terminate()
    assert await scene.status() == "TERMINATED"


async def test_retries_of_a_cron_run_come_before_the_next_one(scene):
    await scene.start(cron_schedule=EVERY_SECOND, retry_policy=retry(attempts=2))
    await scene.answer(fail_workflow("first attempt"))
    task = await scene.workflow_task()
    told = attributes(task.history.events[0])
    assert told.attempt == 2
    assert told.initiator == ContinueAsNewInitiator.CONTINUE_AS_NEW_INITIATOR_RETRY
    await scene.complete_task(task, fail_workflow("second attempt"))
    told = attributes((await scene.workflow_task()).history.events[0])
    assert told.attempt == 1
    assert told.initiator == ContinueAsNewInitiator.CONTINUE_AS_NEW_INITIATOR_CRON_SCHEDULE


async def test_a_cron_run_waiting_for_its_time_is_described(scene):
    await scene.start(cron_schedule="0 0 1 1 *")
    described = (await scene.describe()).workflow_execution_info
    assert await scene.status() == "RUNNING"
    assert described.execution_time.seconds > described.start_time.seconds + 60
    assert described.execution_time.seconds % 86_400 == 0
