"""W6: signals, and signals and cancels from one workflow to another."""

import asyncio

from temporalio.api.common.v1 import Header
from temporalio.api.enums.v1 import WorkflowIdConflictPolicy as Conflict
from temporalio.api.enums.v1 import WorkflowIdReusePolicy as Reuse

from commands import cancel_external, complete_workflow, signal_external
from histories import attributes, event_type, event_types, expected, only, table
from payloads import payload, payloads, value, values
from refusals import refused


def signals(events) -> list:
    return [
        values(attributes(event).input)[0] for event in events if event_type(event) == "WorkflowExecutionSignaled"
    ]


async def test_a_signal_is_recorded_with_everything_it_carries(scene):
    await scene.start()
    await scene.signal("paint", "blue", 2, header=Header(fields={"h": payload("x")}))
    told = attributes(only(await scene.history(), "WorkflowExecutionSignaled"))
    assert told.signal_name == "paint"
    assert values(told.input) == ["blue", 2]
    assert told.identity == "conformance"
    assert value(told.header.fields["h"]) == "x"


async def test_a_signal_is_recorded_in_order_and_once_by_request_id(scene):
    await scene.start()
    for n in range(5):
        await scene.signal("count", n, request_id=f"request-{n}")
        await scene.signal("count", n, request_id=f"request-{n}")
    assert signals(await scene.history()) == [0, 1, 2, 3, 4]


async def test_signals_without_a_request_id_are_all_recorded(scene):
    await scene.start()
    await scene.signal("count", 1)
    await scene.signal("count", 1)
    assert signals(await scene.history()) == [1, 1]


async def test_signals_before_the_first_task_share_it(scene):
    await scene.start()
    await scene.signal("s", 1)
    await scene.signal("s", 2)
    task = await scene.workflow_task()
    assert event_types(task.history.events) == [
        "WorkflowExecutionStarted",
        "WorkflowTaskScheduled",
        "WorkflowExecutionSignaled",
        "WorkflowExecutionSignaled",
        "WorkflowTaskStarted",
    ]


async def test_a_signal_schedules_a_workflow_task_when_none_is_pending(scene):
    await scene.start()
    await scene.answer()
    await scene.signal("s", 1)
    assert event_types(await scene.history())[4:] == ["WorkflowExecutionSignaled", "WorkflowTaskScheduled"]


async def test_signals_while_a_task_runs_come_after_its_completion(scene):
    await scene.start()
    task = await scene.workflow_task()
    await scene.signal("s", 1)
    await scene.signal("s", 2)
    # They are kept, but the history shows them only once they have their place in it.
    assert signals(await scene.history()) == []
    await scene.complete_task(task)
    assert event_types(await scene.history())[3:] == [
        "WorkflowTaskCompleted",
        "WorkflowExecutionSignaled",
        "WorkflowExecutionSignaled",
        "WorkflowTaskScheduled",
    ]
    assert signals((await scene.workflow_task()).history.events) == [1, 2]


async def test_many_signals_at_the_same_time_are_all_recorded(scene):
    await scene.start()
    await asyncio.gather(*(scene.signal("s", n, request_id=str(n)) for n in range(50)))
    assert sorted(signals(await scene.history())) == list(range(50))


async def test_a_signal_to_a_named_run_reaches_that_run_only(scene):
    first = await scene.start()
    await scene.answer(complete_workflow())
    second = await scene.start()
    answer = await refused(scene.signal("s", 1, run_id=first.run_id))
    assert (answer.code, answer.message) == ("NOT_FOUND", "workflow execution already completed")
    await scene.signal("s", 2, run_id=second.run_id)
    assert signals(await scene.history(second.run_id)) == [2]


async def test_signal_with_start_starts_and_signals_in_one_step(scene):
    answer = await scene.signal_with_start("s", 1, input=payloads("in"))
    assert answer.started
    events = await scene.history()
    assert event_types(events) == [
        "WorkflowExecutionStarted",
        "WorkflowExecutionSignaled",
        "WorkflowTaskScheduled",
    ]
    assert values(attributes(events[0]).input) == ["in"]


async def test_signal_with_start_signals_the_open_run(scene):
    first = await scene.start()
    answer = await scene.signal_with_start("s", 1)
    assert answer.run_id == first.run_id
    assert not answer.started
    assert signals(await scene.history()) == [1]


async def test_signal_with_start_is_idempotent_by_request_id(scene):
    first = await scene.signal_with_start("s", 1, request_id="same")
    again = await scene.signal_with_start("s", 1, request_id="same")
    assert again.run_id == first.run_id
    assert signals(await scene.history()) == [1]


async def test_signal_with_start_obeys_the_reuse_policy(scene):
    first = await scene.start()
    await scene.answer(complete_workflow())
    answer = await refused(
        scene.signal_with_start("s", 1, workflow_id_reuse_policy=Reuse.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE)
    )
    assert answer.code == "ALREADY_EXISTS"
    assert answer.detail.run_id == first.run_id
    again = await scene.signal_with_start("s", 1)
    assert again.run_id != first.run_id


async def test_signal_with_start_can_replace_the_open_run(scene):
    first = await scene.start()
    answer = await scene.signal_with_start(
        "s", 1, workflow_id_conflict_policy=Conflict.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING
    )
    assert answer.run_id != first.run_id
    assert await scene.status(first.run_id) == "TERMINATED"
    assert signals(await scene.history()) == [1]


async def test_a_workflow_signals_another(scene):
    other = scene.workflow_id + "-other"
    await scene.start()
    target = await scene.start(workflow_id=other)
    first, second = await scene.workflow_task(), await scene.workflow_task()
    sender, receiver = (
        (first, second) if first.workflow_execution.workflow_id == scene.workflow_id else (second, first)
    )
    await scene.complete_task(receiver)
    await scene.complete_task(sender, signal_external(other, "hello", input=payloads("hi"), control="c"))
    task = await scene.workflow_task()
    if task.workflow_execution.workflow_id == scene.workflow_id:
        mine, theirs = task, await scene.workflow_task()
    else:
        theirs, mine = task, await scene.workflow_task()
    assert table(mine.history.events[4:6]) == expected("""
        5 SignalExternalWorkflowExecutionInitiated workflow_task_completed=4 signal_name=hello
        6 ExternalWorkflowExecutionSignaled initiated=5
    """)
    assert attributes(mine.history.events[5]).namespace == "default"
    assert attributes(mine.history.events[4]).control == "c"
    received = attributes(only(theirs.history.events, "WorkflowExecutionSignaled"))
    assert values(received.input) == ["hi"]
    assert received.external_workflow_execution.workflow_id == scene.workflow_id
    assert theirs.workflow_execution.run_id == target.run_id


async def test_a_signal_to_an_unknown_workflow_fails_in_the_sender(scene):
    await scene.start()
    await scene.answer(signal_external(scene.workflow_id + "-nobody", "hello"))
    task = await scene.workflow_task()
    assert table(task.history.events[4:6]) == expected("""
        5 SignalExternalWorkflowExecutionInitiated workflow_task_completed=4 signal_name=hello
        6 SignalExternalWorkflowExecutionFailed cause=EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND initiated=5
    """)
    assert attributes(task.history.events[5]).namespace == "default"


async def test_a_workflow_cancels_another(scene):
    other = scene.workflow_id + "-other"
    await scene.start(workflow_id=other)
    await scene.answer()
    await scene.start()
    await scene.answer(cancel_external(other, reason="enough"))
    tasks = [await scene.workflow_task(), await scene.workflow_task()]
    tasks.sort(key=lambda task: task.workflow_execution.workflow_id)
    mine, theirs = tasks
    assert table(mine.history.events[4:6]) == expected("""
        5 RequestCancelExternalWorkflowExecutionInitiated workflow_task_completed=4
        6 ExternalWorkflowExecutionCancelRequested initiated=5
    """)
    assert attributes(mine.history.events[5]).namespace == "default"
    received = attributes(only(theirs.history.events, "WorkflowExecutionCancelRequested"))
    assert received.external_initiated_event_id == 5
    assert received.external_workflow_execution.workflow_id == scene.workflow_id
    assert received.cause == "enough"


async def test_a_cancel_of_an_unknown_workflow_fails_in_the_sender(scene):
    await scene.start()
    await scene.answer(cancel_external(scene.workflow_id + "-nobody"))
    task = await scene.workflow_task()
    assert table(task.history.events[4:6]) == expected("""
        5 RequestCancelExternalWorkflowExecutionInitiated workflow_task_completed=4
        6 RequestCancelExternalWorkflowExecutionFailed cause=EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND initiated=5
    """)
    assert attributes(task.history.events[5]).namespace == "default"
