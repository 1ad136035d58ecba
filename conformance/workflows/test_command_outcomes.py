"""The events of a completion's commands are consecutive: SDKs predict their event ids."""

from commands import (
    cancel_activity,
    cancel_external,
    cancel_timer,
    complete_workflow,
    schedule_activity,
    signal_external,
    start_child,
    start_timer,
)
from histories import attributes, event_types, expected, table
from payloads import values
from waiting import until


async def test_outcomes_of_commands_come_behind_the_events_of_all_commands(scene):
    nobody = scene.task_queue + "-nobody"
    await scene.start()
    task = await scene.workflow_task()
    await scene.signal("meanwhile")
    await scene.complete_task(
        task,
        schedule_activity("a", nobody),
        cancel_activity(5),
        schedule_activity("a", nobody),
        start_timer("t", 100),
        schedule_activity("b", nobody),
        cancel_activity(9),
        cancel_timer("t"),
        start_timer("t", 100),
    )
    events = await scene.history()
    assert table(events) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 ActivityTaskScheduled activity_id=a workflow_task_completed=4
        6 ActivityTaskCancelRequested scheduled=5 workflow_task_completed=4
        7 ActivityTaskScheduled activity_id=a workflow_task_completed=4
        8 TimerStarted timer_id=t workflow_task_completed=4
        9 ActivityTaskScheduled activity_id=b workflow_task_completed=4
        10 ActivityTaskCancelRequested scheduled=9 workflow_task_completed=4
        11 TimerCanceled timer_id=t started=8 workflow_task_completed=4
        12 TimerStarted timer_id=t workflow_task_completed=4
        13 WorkflowExecutionSignaled signal_name=meanwhile
        14 ActivityTaskCanceled latest_cancel_requested=6 scheduled=5
        15 ActivityTaskCanceled latest_cancel_requested=10 scheduled=9
        16 WorkflowTaskScheduled attempt=1
    """)
    assert values(attributes(events[13]).details) == ["ACTIVITY_ID_NOT_STARTED"]


async def test_what_others_answer_comes_behind_the_events_of_all_commands(scene):
    nobody = scene.task_queue + "-nobody"
    await scene.start()
    await scene.answer(
        start_child(f"{scene.workflow_id}-child", nobody),
        signal_external(f"{scene.workflow_id}-nobody", "s"),
        cancel_external(f"{scene.workflow_id}-nobody"),
        schedule_activity("a", nobody),
        cancel_activity(8),
        start_timer("t", 100),
    )
    answers = {
        "ChildWorkflowExecutionStarted",
        "SignalExternalWorkflowExecutionFailed",
        "RequestCancelExternalWorkflowExecutionFailed",
    }
    events = await until(scene.history, lambda events: answers <= set(event_types(events)))
    assert table(events[4:12]) == expected("""
        5 StartChildWorkflowExecutionInitiated workflow_task_completed=4
        6 SignalExternalWorkflowExecutionInitiated workflow_task_completed=4 signal_name=s
        7 RequestCancelExternalWorkflowExecutionInitiated workflow_task_completed=4
        8 ActivityTaskScheduled activity_id=a workflow_task_completed=4
        9 ActivityTaskCancelRequested scheduled=8 workflow_task_completed=4
        10 TimerStarted timer_id=t workflow_task_completed=4
        11 ActivityTaskCanceled latest_cancel_requested=9 scheduled=8
        12 WorkflowTaskScheduled attempt=1
    """)


async def test_an_eager_activity_that_the_same_task_cancels_is_never_started(scene):
    await scene.start()
    task = await scene.workflow_task()
    eager = schedule_activity("a", scene.task_queue, request_eager_execution=True)
    answer = await scene.complete_task(task, eager, cancel_activity(5))
    assert not answer.activity_tasks
    assert event_types(await scene.history())[4:] == [
        "ActivityTaskScheduled",
        "ActivityTaskCancelRequested",
        "ActivityTaskCanceled",
        "WorkflowTaskScheduled",
    ]


async def test_a_workflow_may_close_in_the_task_that_cancels_an_activity(scene):
    await scene.start()
    await scene.answer(schedule_activity("a", scene.task_queue), cancel_activity(5), complete_workflow())
    assert event_types(await scene.history())[4:] == [
        "ActivityTaskScheduled",
        "ActivityTaskCancelRequested",
        "WorkflowExecutionCompleted",
    ]
