"""The exact events of the situations every worker meets, and which events they refer to.

Replay depends on these: an SDK that finds another order reports non-determinism.
"""

import asyncio

from temporalio.api.enums.v1 import WorkflowTaskFailedCause

from commands import (
    cancel_activity,
    cancel_timer,
    cancel_workflow,
    complete_workflow,
    continue_as_new,
    fail_workflow,
    failure,
    record_marker,
    retry,
    schedule_activity,
    start_child,
    start_timer,
)
from histories import attributes, expected, table
from payloads import payloads, seconds
from refusals import refused
from sticky import sticky_poller_is_known
from updates import accept, accept_and_complete, complete, reject, send_update, send_update_with_start


async def test_an_outcome_comes_behind_what_came_later_while_a_task_ran(scene):
    await scene.start()
    await scene.answer(schedule_activity("a", scene.task_queue))
    activity = await scene.activity_task()
    await scene.signal("first")
    task = await scene.workflow_task()
    await scene.complete_activity(activity, "x")
    await scene.signal("second")
    await scene.complete_task(task)
    assert table((await scene.history())[8:]) == expected("""
        9 WorkflowTaskCompleted scheduled=7 started=8
        10 ActivityTaskStarted scheduled=5 attempt=1
        11 WorkflowExecutionSignaled signal_name=second
        12 ActivityTaskCompleted scheduled=5 started=10
        13 WorkflowTaskScheduled attempt=1
    """)


async def test_one_activity(scene):
    await scene.start()
    await scene.answer(schedule_activity("a", scene.task_queue))
    await scene.complete_activity(await scene.activity_task(), "x")
    await scene.answer(complete_workflow("x"))
    assert table(await scene.history()) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 ActivityTaskScheduled activity_id=a workflow_task_completed=4
        6 ActivityTaskStarted scheduled=5 attempt=1
        7 ActivityTaskCompleted scheduled=5 started=6
        8 WorkflowTaskScheduled attempt=1
        9 WorkflowTaskStarted scheduled=8
        10 WorkflowTaskCompleted scheduled=8 started=9
        11 WorkflowExecutionCompleted workflow_task_completed=10
    """)


async def test_an_activity_that_is_retried(scene):
    await scene.start()
    await scene.answer(schedule_activity("a", scene.task_queue, retry_policy=retry()))
    await scene.fail_activity(await scene.activity_task(), failure("once"))
    await scene.complete_activity(await scene.activity_task())
    await scene.answer(complete_workflow())
    assert table(await scene.history()) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 ActivityTaskScheduled activity_id=a workflow_task_completed=4
        6 ActivityTaskStarted scheduled=5 attempt=2
        7 ActivityTaskCompleted scheduled=5 started=6
        8 WorkflowTaskScheduled attempt=1
        9 WorkflowTaskStarted scheduled=8
        10 WorkflowTaskCompleted scheduled=8 started=9
        11 WorkflowExecutionCompleted workflow_task_completed=10
    """)


async def test_an_activity_that_fails(scene):
    await scene.start()
    await scene.answer(schedule_activity("a", scene.task_queue, retry_policy=retry(attempts=1)))
    await scene.fail_activity(await scene.activity_task(), failure("once"))
    await scene.answer(fail_workflow())
    assert table(await scene.history()) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 ActivityTaskScheduled activity_id=a workflow_task_completed=4
        6 ActivityTaskStarted scheduled=5 attempt=1
        7 ActivityTaskFailed scheduled=5 started=6 retry_state=MAXIMUM_ATTEMPTS_REACHED
        8 WorkflowTaskScheduled attempt=1
        9 WorkflowTaskStarted scheduled=8
        10 WorkflowTaskCompleted scheduled=8 started=9
        11 WorkflowExecutionFailed retry_state=RETRY_POLICY_NOT_SET workflow_task_completed=10
    """)


async def test_an_activity_that_times_out(scene):
    await scene.start()
    await scene.answer(
        schedule_activity("a", scene.task_queue, start_to_close=0.3, retry_policy=retry(attempts=1))
    )
    await scene.activity_task()
    await scene.answer(complete_workflow())
    assert table(await scene.history()) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 ActivityTaskScheduled activity_id=a workflow_task_completed=4
        6 ActivityTaskStarted scheduled=5 attempt=1
        7 ActivityTaskTimedOut scheduled=5 started=6 retry_state=MAXIMUM_ATTEMPTS_REACHED timeout_type=START_TO_CLOSE
        8 WorkflowTaskScheduled attempt=1
        9 WorkflowTaskStarted scheduled=8
        10 WorkflowTaskCompleted scheduled=8 started=9
        11 WorkflowExecutionCompleted workflow_task_completed=10
    """)


async def test_an_activity_that_is_canceled(scene):
    await scene.start()
    await scene.answer(schedule_activity("a", scene.task_queue))
    activity = await scene.activity_task()
    await scene.signal("stop")
    await scene.answer(cancel_activity(5))
    await scene.cancel_activity(activity)
    await scene.answer(complete_workflow())
    assert table(await scene.history()) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 ActivityTaskScheduled activity_id=a workflow_task_completed=4
        6 WorkflowExecutionSignaled signal_name=stop
        7 WorkflowTaskScheduled attempt=1
        8 WorkflowTaskStarted scheduled=7
        9 WorkflowTaskCompleted scheduled=7 started=8
        10 ActivityTaskCancelRequested scheduled=5 workflow_task_completed=9
        11 ActivityTaskStarted scheduled=5 attempt=1
        12 ActivityTaskCanceled latest_cancel_requested=10 scheduled=5 started=11
        13 WorkflowTaskScheduled attempt=1
        14 WorkflowTaskStarted scheduled=13
        15 WorkflowTaskCompleted scheduled=13 started=14
        16 WorkflowExecutionCompleted workflow_task_completed=15
    """)


async def test_an_activity_canceled_in_the_task_that_scheduled_it(scene):
    await scene.start()
    await scene.answer(schedule_activity("a", scene.task_queue), cancel_activity(5))
    await scene.answer(complete_workflow())
    assert table(await scene.history()) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 ActivityTaskScheduled activity_id=a workflow_task_completed=4
        6 ActivityTaskCancelRequested scheduled=5 workflow_task_completed=4
        7 ActivityTaskCanceled latest_cancel_requested=6 scheduled=5
        8 WorkflowTaskScheduled attempt=1
        9 WorkflowTaskStarted scheduled=8
        10 WorkflowTaskCompleted scheduled=8 started=9
        11 WorkflowExecutionCompleted workflow_task_completed=10
    """)


async def test_a_timer_that_fires_and_one_that_is_canceled(scene):
    await scene.start()
    await scene.answer(start_timer("short", 0.1), start_timer("long", 500))
    await scene.answer(cancel_timer("long"), complete_workflow())
    assert table(await scene.history()) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 TimerStarted timer_id=short workflow_task_completed=4
        6 TimerStarted timer_id=long workflow_task_completed=4
        7 TimerFired timer_id=short started=5
        8 WorkflowTaskScheduled attempt=1
        9 WorkflowTaskStarted scheduled=8
        10 WorkflowTaskCompleted scheduled=8 started=9
        11 TimerCanceled timer_id=long started=6 workflow_task_completed=10
        12 WorkflowExecutionCompleted workflow_task_completed=10
    """)


async def test_signals_while_a_workflow_task_runs(scene):
    await scene.start()
    task = await scene.workflow_task()
    await scene.signal("one")
    await scene.signal("two")
    await scene.complete_task(task, start_timer("t", 500))
    await scene.answer(complete_workflow())
    assert table(await scene.history()) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 TimerStarted timer_id=t workflow_task_completed=4
        6 WorkflowExecutionSignaled signal_name=one
        7 WorkflowExecutionSignaled signal_name=two
        8 WorkflowTaskScheduled attempt=1
        9 WorkflowTaskStarted scheduled=8
        10 WorkflowTaskCompleted scheduled=8 started=9
        11 WorkflowExecutionCompleted workflow_task_completed=10
    """)


async def test_a_cancel_request_and_its_acceptance(scene):
    await scene.start()
    await scene.answer(start_timer("t", 500))
    await scene.cancel()
    await scene.answer(cancel_timer("t"), cancel_workflow("ok"))
    assert table(await scene.history()) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 TimerStarted timer_id=t workflow_task_completed=4
        6 WorkflowExecutionCancelRequested
        7 WorkflowTaskScheduled attempt=1
        8 WorkflowTaskStarted scheduled=7
        9 WorkflowTaskCompleted scheduled=7 started=8
        10 TimerCanceled timer_id=t started=5 workflow_task_completed=9
        11 WorkflowExecutionCanceled workflow_task_completed=9
    """)


async def test_a_termination_while_a_workflow_task_runs(scene):
    await scene.start()
    await scene.workflow_task()
    await scene.signal("lost in between")
    await scene.terminate(reason="enough")
    assert table(await scene.history()) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskFailed scheduled=2 started=3 cause=FORCE_CLOSE_COMMAND
        5 WorkflowExecutionSignaled signal_name=lost in between
        6 WorkflowExecutionTerminated
    """)


async def test_a_child(scene):
    child = scene.workflow_id + "-child"
    await scene.start()
    await scene.answer(start_child(child, child))
    started = await scene.workflow_task()
    await scene.complete_task(started)
    await scene.complete_task(await scene.workflow_task(child), complete_workflow("c"))
    await scene.answer(complete_workflow())
    assert table(await scene.history()) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 StartChildWorkflowExecutionInitiated workflow_task_completed=4
        6 ChildWorkflowExecutionStarted initiated=5
        7 WorkflowTaskScheduled attempt=1
        8 WorkflowTaskStarted scheduled=7
        9 WorkflowTaskCompleted scheduled=7 started=8
        10 ChildWorkflowExecutionCompleted initiated=5 started=6
        11 WorkflowTaskScheduled attempt=1
        12 WorkflowTaskStarted scheduled=11
        13 WorkflowTaskCompleted scheduled=11 started=12
        14 WorkflowExecutionCompleted workflow_task_completed=13
    """)
    first = attributes((await scene.history(workflow_id=child))[0])
    assert first.parent_initiated_event_id == 5
    assert first.parent_workflow_execution.workflow_id == scene.workflow_id


async def test_continue_as_new(scene):
    first = await scene.start()
    await scene.answer(continue_as_new("Flow", scene.task_queue))
    await scene.answer(complete_workflow())
    assert table(await scene.history(first.run_id)) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 WorkflowExecutionContinuedAsNew workflow_task_completed=4
    """)
    assert table(await scene.history()) == expected("""
        1 WorkflowExecutionStarted initiator=WORKFLOW attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 WorkflowExecutionCompleted workflow_task_completed=4
    """)


async def test_a_workflow_task_that_fails_and_is_tried_again(scene):
    await scene.start()
    await scene.fail_task(
        await scene.workflow_task(),
        cause=WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE,
        failure=failure("bug"),
    )
    again = await scene.workflow_task()
    # The second attempt is shown as if it were recorded; if it fails, it leaves nothing behind.
    assert table(again.history.events) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskFailed scheduled=2 started=3 cause=WORKFLOW_WORKER_UNHANDLED_FAILURE
        5 WorkflowTaskScheduled attempt=2
        6 WorkflowTaskStarted scheduled=5
    """)
    assert table(await scene.history()) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskFailed scheduled=2 started=3 cause=WORKFLOW_WORKER_UNHANDLED_FAILURE
        5 WorkflowTaskScheduled attempt=2
        6 WorkflowTaskStarted scheduled=5
    """)
    await scene.fail_task(again, failure=failure("bug"))
    third = await scene.workflow_task()
    assert third.attempt == 3
    await scene.complete_task(third, complete_workflow())
    assert table(await scene.history()) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskFailed scheduled=2 started=3 cause=WORKFLOW_WORKER_UNHANDLED_FAILURE
        5 WorkflowTaskScheduled attempt=3
        6 WorkflowTaskStarted scheduled=5
        7 WorkflowTaskCompleted scheduled=5 started=6
        8 WorkflowExecutionCompleted workflow_task_completed=7
    """)


async def test_a_signal_during_the_second_attempt_of_a_workflow_task(scene):
    await scene.start()
    await scene.fail_task(await scene.workflow_task(), failure=failure("bug"))
    again = await scene.workflow_task()
    await scene.signal("s")
    await scene.complete_task(again, start_timer("t", 500))
    await scene.answer(complete_workflow())
    assert table(await scene.history()) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskFailed scheduled=2 started=3
        5 WorkflowTaskScheduled attempt=2
        6 WorkflowTaskStarted scheduled=5
        7 WorkflowTaskCompleted scheduled=5 started=6
        8 TimerStarted timer_id=t workflow_task_completed=7
        9 WorkflowExecutionSignaled signal_name=s
        10 WorkflowTaskScheduled attempt=1
        11 WorkflowTaskStarted scheduled=10
        12 WorkflowTaskCompleted scheduled=10 started=11
        13 WorkflowExecutionCompleted workflow_task_completed=12
    """)


async def test_a_signal_between_two_attempts_of_a_workflow_task(scene):
    await scene.start()
    task = await scene.workflow_task()
    await scene.signal("s")
    await scene.fail_task(task, failure=failure("bug"))
    await scene.answer(complete_workflow())
    assert table(await scene.history()) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskFailed scheduled=2 started=3
        5 WorkflowExecutionSignaled signal_name=s
        6 WorkflowTaskScheduled attempt=1
        7 WorkflowTaskStarted scheduled=6
        8 WorkflowTaskCompleted scheduled=6 started=7
        9 WorkflowExecutionCompleted workflow_task_completed=8
    """)


async def test_a_workflow_task_that_times_out(scene):
    await scene.start(workflow_task_timeout=seconds(1))
    await scene.workflow_task()
    again = await scene.workflow_task()
    assert again.attempt == 2
    await scene.complete_task(again, complete_workflow())
    assert table(await scene.history()) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskTimedOut scheduled=2 started=3 timeout_type=START_TO_CLOSE
        5 WorkflowTaskScheduled attempt=2
        6 WorkflowTaskStarted scheduled=5
        7 WorkflowTaskCompleted scheduled=5 started=6
        8 WorkflowExecutionCompleted workflow_task_completed=7
    """)


async def test_a_close_that_has_not_seen_a_signal_is_refused(scene):
    await scene.start()
    task = await scene.workflow_task()
    await scene.signal("s")
    answer = await refused(scene.complete_task(task, start_timer("t", 500), complete_workflow()))
    assert (answer.code, answer.message) == ("INVALID_ARGUMENT", "UnhandledCommand")
    again = await scene.workflow_task()
    assert again.attempt == 1
    await scene.complete_task(again, complete_workflow())
    assert table(await scene.history()) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskFailed scheduled=2 started=3 cause=UNHANDLED_COMMAND
        5 WorkflowExecutionSignaled signal_name=s
        6 WorkflowTaskScheduled attempt=1
        7 WorkflowTaskStarted scheduled=6
        8 WorkflowTaskCompleted scheduled=6 started=7
        9 WorkflowExecutionCompleted workflow_task_completed=8
    """)


async def test_an_update_accepted_and_completed_in_one_task(scene):
    await scene.start()
    await scene.answer()
    update = send_update(scene, "u1", "change", 1)
    task = await scene.workflow_task()
    assert table(task.history.events) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 WorkflowTaskScheduled attempt=1
        6 WorkflowTaskStarted scheduled=5
    """)
    await accept_and_complete(scene, task, "changed")
    await update
    await scene.signal("end")
    await scene.answer(complete_workflow())
    assert table(await scene.history()) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 WorkflowTaskScheduled attempt=1
        6 WorkflowTaskStarted scheduled=5
        7 WorkflowTaskCompleted scheduled=5 started=6
        8 WorkflowExecutionUpdateAccepted accepted_request_sequencing=5
        9 WorkflowExecutionUpdateCompleted accepted=8
        10 WorkflowExecutionSignaled signal_name=end
        11 WorkflowTaskScheduled attempt=1
        12 WorkflowTaskStarted scheduled=11
        13 WorkflowTaskCompleted scheduled=11 started=12
        14 WorkflowExecutionCompleted workflow_task_completed=13
    """)


async def test_an_update_accepted_first_and_completed_later(scene):
    await scene.start()
    await scene.answer()
    update = send_update(scene, "u1", "change", 1)
    await accept(scene, await scene.workflow_task(), start_timer("t", 0.1))
    await complete(scene, await scene.workflow_task(), "u1", "changed", complete_workflow())
    await update
    assert table(await scene.history()) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 WorkflowTaskScheduled attempt=1
        6 WorkflowTaskStarted scheduled=5
        7 WorkflowTaskCompleted scheduled=5 started=6
        8 WorkflowExecutionUpdateAccepted accepted_request_sequencing=5
        9 TimerStarted timer_id=t workflow_task_completed=7
        10 TimerFired timer_id=t started=9
        11 WorkflowTaskScheduled attempt=1
        12 WorkflowTaskStarted scheduled=11
        13 WorkflowTaskCompleted scheduled=11 started=12
        14 WorkflowExecutionUpdateCompleted accepted=8
        15 WorkflowExecutionCompleted workflow_task_completed=13
    """)


async def test_a_rejected_update_leaves_no_trace(scene):
    await scene.start()
    await scene.answer()
    update = send_update(scene, "u1", "change", 1)
    await reject(scene, await scene.workflow_task(), "no")
    assert (await update).outcome.failure.message == "no"
    assert table(await scene.history()) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskCompleted scheduled=2 started=3
    """)


async def test_an_update_with_start_is_in_the_first_workflow_task(scene):
    update = send_update_with_start(scene, "u1", "change", 1)
    await accept_and_complete(scene, await scene.workflow_task(), "changed")
    await update
    assert table(await scene.history()) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 WorkflowExecutionUpdateAccepted accepted_request_sequencing=2
        6 WorkflowExecutionUpdateCompleted accepted=5
    """)


async def test_a_side_effect(scene):
    await scene.start()
    await scene.answer(record_marker("SideEffect", data=payloads(5)), complete_workflow())
    assert table(await scene.history()) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 MarkerRecorded marker_name=SideEffect workflow_task_completed=4
        6 WorkflowExecutionCompleted workflow_task_completed=4
    """)


async def test_a_sticky_worker_is_sent_only_what_is_new(scene):
    sticky = scene.task_queue + "-sticky"
    await scene.start()
    await scene.complete_task(await scene.workflow_task(), sticky=sticky)
    polling = asyncio.create_task(scene.workflow_task(sticky=sticky))
    await sticky_poller_is_known(scene, sticky)
    await scene.signal("s")
    task = await polling
    assert (task.previous_started_event_id, task.started_event_id) == (3, 7)
    assert table(task.history.events) == expected("""
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 WorkflowExecutionSignaled signal_name=s
        6 WorkflowTaskScheduled attempt=1
        7 WorkflowTaskStarted scheduled=6
    """)
    await scene.complete_task(task, complete_workflow())


async def test_a_run_that_times_out_while_a_workflow_task_runs(scene):
    await scene.start(workflow_run_timeout=seconds(2))
    await scene.workflow_task()
    await scene.close_event()
    assert table(await scene.history()) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskFailed scheduled=2 started=3 cause=FORCE_CLOSE_COMMAND
        5 WorkflowExecutionTimedOut retry_state=RETRY_POLICY_NOT_SET
    """)


async def test_a_workflow_task_kept_alive_by_a_heartbeat(scene):
    await scene.start()
    answer = await scene.complete_task(
        await scene.workflow_task(), force_create_new_workflow_task=True, return_new_workflow_task=True
    )
    assert table(answer.workflow_task.history.events) == expected("""
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 WorkflowTaskScheduled attempt=1
        6 WorkflowTaskStarted scheduled=5
    """)
    await scene.complete_task(answer.workflow_task, complete_workflow())
    assert table(await scene.history()) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 WorkflowTaskScheduled attempt=1
        6 WorkflowTaskStarted scheduled=5
        7 WorkflowTaskCompleted scheduled=5 started=6
        8 WorkflowExecutionCompleted workflow_task_completed=7
    """)
