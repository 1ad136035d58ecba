"""W11: timeouts of runs, of chains and of workflow tasks."""

from temporalio.api.enums.v1 import RetryState, TimeoutType

from commands import complete_workflow, continue_as_new, fail_workflow, retry, start_timer
from histories import attributes, event_type, event_types
from payloads import seconds


async def test_a_run_that_takes_too_long_is_timed_out(scene):
    await scene.start(workflow_run_timeout=seconds(1))
    closed = await scene.close_event()
    assert event_type(closed) == "WorkflowExecutionTimedOut"
    assert attributes(closed).retry_state == RetryState.RETRY_STATE_RETRY_POLICY_NOT_SET
    assert await scene.status() == "TIMED_OUT"


async def test_an_execution_that_takes_too_long_is_timed_out(scene):
    await scene.start(workflow_execution_timeout=seconds(1))
    closed = await scene.close_event()
    assert event_type(closed) == "WorkflowExecutionTimedOut"
    assert await scene.status() == "TIMED_OUT"


async def test_the_execution_timeout_counts_for_the_whole_chain(scene):
    first = await scene.start(workflow_execution_timeout=seconds(3))
    await scene.answer(continue_as_new("Flow", scene.task_queue))
    await scene.close_event(first.run_id)
    second = attributes((await scene.history())[0])
    begun = attributes((await scene.history(first.run_id))[0])
    assert second.workflow_execution_expiration_time == begun.workflow_execution_expiration_time
    assert event_type(await scene.close_event()) == "WorkflowExecutionTimedOut"


async def test_a_retry_that_would_begin_after_the_execution_timeout_is_not_made(scene):
    await scene.start(workflow_execution_timeout=seconds(5), retry_policy=retry(interval=60))
    await scene.answer(fail_workflow())
    closed = attributes(await scene.close_event())
    assert closed.retry_state == RetryState.RETRY_STATE_TIMEOUT


async def test_the_description_says_when_a_run_expires(scene):
    await scene.start(workflow_execution_timeout=seconds(100), workflow_run_timeout=seconds(50))
    described = await scene.describe()
    start = described.workflow_execution_info.start_time.seconds
    assert described.execution_config.workflow_execution_timeout.seconds == 100
    assert described.execution_config.workflow_run_timeout.seconds == 50
    assert 99 <= described.workflow_extended_info.execution_expiration_time.seconds - start <= 101
    assert 49 <= described.workflow_extended_info.run_expiration_time.seconds - start <= 51


async def test_a_workflow_task_that_takes_too_long_is_timed_out_and_tried_again(scene):
    await scene.start(workflow_task_timeout=seconds(1))
    await scene.workflow_task()
    assert (await scene.workflow_task()).attempt == 2
    told = attributes((await scene.history())[3])
    assert told.timeout_type == TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE


async def test_a_run_that_ends_in_time_is_not_timed_out(scene):
    await scene.start(workflow_run_timeout=seconds(2))
    await scene.answer(complete_workflow())
    assert event_types(await scene.history())[-1] == "WorkflowExecutionCompleted"


async def test_a_timer_longer_than_the_run_never_fires(scene):
    await scene.start(workflow_run_timeout=seconds(2))
    await scene.answer(start_timer("t", 60))
    await scene.close_event()
    assert "TimerFired" not in event_types(await scene.history())
