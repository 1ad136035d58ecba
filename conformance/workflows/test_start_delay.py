"""W12: a start with a delay."""

from histories import attributes, event_types
from payloads import seconds
from refusals import refused


async def test_the_first_workflow_task_waits_for_the_delay(scene):
    await scene.start(workflow_start_delay=seconds(1))
    [started] = await scene.history()
    assert attributes(started).first_workflow_task_backoff.ToMilliseconds() == 1000
    task = await scene.workflow_task()
    scheduled = task.history.events[1]
    assert scheduled.event_time.ToNanoseconds() - started.event_time.ToNanoseconds() >= 1_000_000_000


async def test_the_description_says_when_a_delayed_run_begins(scene):
    await scene.start(workflow_start_delay=seconds(100))
    info = (await scene.describe()).workflow_execution_info
    assert 99 <= info.execution_time.seconds - info.start_time.seconds <= 101
    assert await scene.status() == "RUNNING"


async def test_a_signal_is_recorded_and_waits_with_the_run(scene):
    await scene.start(workflow_start_delay=seconds(1))
    await scene.signal("early")
    assert event_types(await scene.history()) == ["WorkflowExecutionStarted", "WorkflowExecutionSignaled"]
    task = await scene.workflow_task()
    assert event_types(task.history.events)[1:] == [
        "WorkflowExecutionSignaled",
        "WorkflowTaskScheduled",
        "WorkflowTaskStarted",
    ]


async def test_signal_with_start_bypasses_the_delay_of_an_open_run(scene):
    await scene.start(workflow_start_delay=seconds(300))
    await scene.signal_with_start("now")
    task = await scene.workflow_task()
    assert event_types(task.history.events)[1:] == [
        "WorkflowExecutionSignaled",
        "WorkflowTaskScheduled",
        "WorkflowTaskStarted",
    ]


async def test_signal_with_start_can_begin_with_a_delay(scene):
    await scene.signal_with_start("now", workflow_start_delay=seconds(300))
    assert event_types(await scene.history()) == ["WorkflowExecutionStarted", "WorkflowExecutionSignaled"]


async def test_a_cancel_ends_the_delay(scene):
    await scene.start(workflow_start_delay=seconds(300))
    await scene.cancel()
    assert event_types(await scene.history())[1:] == ["WorkflowExecutionCancelRequested", "WorkflowTaskScheduled"]


async def test_a_delayed_run_can_be_terminated(scene):
    await scene.start(workflow_start_delay=seconds(300))
    await scene.terminate()
    assert event_types(await scene.history()) == ["WorkflowExecutionStarted", "WorkflowExecutionTerminated"]


async def test_a_run_that_ends_within_its_delay_lasted_less_than_no_time(scene):
    await scene.start(workflow_start_delay=seconds(300))
    await scene.terminate()
    info = (await scene.describe()).workflow_execution_info
    lasted = info.close_time.ToNanoseconds() - info.execution_time.ToNanoseconds()
    assert info.execution_duration.ToNanoseconds() == lasted < 0


async def test_a_delay_is_refused_together_with_cron(scene):
    answer = await refused(scene.start(workflow_start_delay=seconds(1), cron_schedule="@every 1s"))
    assert (answer.code, answer.message) == (
        "INVALID_ARGUMENT",
        "CronSchedule and WorkflowStartDelay may not be used together.",
    )


async def test_the_run_timeout_counts_from_the_end_of_the_delay(scene):
    await scene.start(workflow_start_delay=seconds(100), workflow_run_timeout=seconds(50))
    described = await scene.describe()
    start = described.workflow_execution_info.start_time.seconds
    assert 149 <= described.workflow_extended_info.run_expiration_time.seconds - start <= 151
