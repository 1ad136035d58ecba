"""W12: a start with a delay."""

from commands import complete_workflow
from histories import attributes, event_types, expected, table
from payloads import seconds, values
from refusals import refused
from updates import accept_and_complete, reject, send_update, send_update_with_start


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


async def test_an_update_ends_the_delay(scene):
    await scene.start(workflow_start_delay=seconds(300))
    updating = send_update(scene, "u", "change")
    task = await scene.workflow_task()
    assert table(task.history.events) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
    """)
    await accept_and_complete(scene, task, "changed", then=(complete_workflow(),))
    assert values((await updating).outcome.success) == ["changed"]
    assert await scene.status() == "COMPLETED"


async def test_an_update_that_is_rejected_leaves_the_delay_as_it_was(scene):
    await scene.start(workflow_start_delay=seconds(2))
    updating = send_update(scene, "u", "change")
    await reject(scene, await scene.workflow_task(), "not now")
    assert (await updating).outcome.failure.message == "not now"
    [started] = await scene.history()
    task = await scene.workflow_task()
    scheduled = task.history.events[1]
    assert scheduled.event_time.ToNanoseconds() - started.event_time.ToNanoseconds() >= 2_000_000_000


async def test_a_signal_comes_behind_the_update_that_ended_the_delay(scene):
    await scene.start(workflow_start_delay=seconds(300))
    updating = send_update(scene, "u", "change")
    task = await scene.workflow_task()
    await scene.signal("early")
    await reject(scene, task, "not now")
    await updating
    assert event_types(await scene.history())[1:] == [
        "WorkflowTaskScheduled",
        "WorkflowTaskStarted",
        "WorkflowTaskCompleted",
        "WorkflowExecutionSignaled",
        "WorkflowTaskScheduled",
    ]


async def test_an_update_reaches_a_cron_run_before_its_time(scene):
    await scene.start(cron_schedule="0 0 1 1 *")
    updating = send_update(scene, "u", "change")
    await accept_and_complete(scene, await scene.workflow_task(), "changed")
    assert values((await updating).outcome.success) == ["changed"]
    await scene.signal("after")
    assert event_types(await scene.history())[-2:] == ["WorkflowExecutionSignaled", "WorkflowTaskScheduled"]
    await scene.terminate()


async def test_an_update_finds_the_signal_that_waited(scene):
    await scene.start(workflow_start_delay=seconds(300))
    await scene.signal("early")
    updating = send_update(scene, "u", "change")
    task = await scene.workflow_task()
    assert event_types(task.history.events)[1:] == [
        "WorkflowExecutionSignaled",
        "WorkflowTaskScheduled",
        "WorkflowTaskStarted",
    ]
    await accept_and_complete(scene, task, then=(complete_workflow(),))
    await updating


async def test_update_with_start_may_not_ask_for_a_delay(scene):
    answer = await refused(send_update_with_start(scene, "u", "change", start={"workflow_start_delay": seconds(300)}))
    assert (answer.code, answer.message) == ("INVALID_ARGUMENT", "Update-with-Start could not be executed.")
    [start, update] = answer.detail.statuses
    assert (start.code, start.message) == (3, "WorkflowStartDelay is not supported.")
    assert (update.code, update.message) == (10, "Operation was aborted.")


async def test_update_with_start_ends_the_delay_of_an_open_run(scene):
    await scene.start(workflow_start_delay=seconds(300))
    updating = send_update_with_start(scene, "u", "change")
    await reject(scene, await scene.workflow_task(), "not now")
    await updating
    assert event_types(await scene.history()) == ["WorkflowExecutionStarted"]
    updating = send_update_with_start(scene, "v", "change")
    await accept_and_complete(scene, await scene.workflow_task(), then=(complete_workflow(),))
    await updating


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
