"""W13: cancel, terminate, reset and delete."""

import uuid

import pytest
from temporalio.api.enums.v1 import ResetReapplyExcludeType, ResetReapplyType
from temporalio.api.workflowservice import v1 as api
from temporalio.service import RPCError

from commands import complete_workflow, continue_as_new, fail_workflow, schedule_activity, start_timer
from histories import attributes, event_type, expected, only, table
from payloads import memo, value, values
from refusals import refused
from scene import CALL
from updates import accept_and_complete, send_update
from waiting import until


def signals(events) -> list:
    return [values(attributes(e).input)[0] for e in events if event_type(e) == "WorkflowExecutionSignaled"]


async def test_a_cancel_request_is_recorded_with_its_reason(scene):
    await scene.start()
    await scene.cancel(reason="enough")
    told = attributes(only(await scene.history(), "WorkflowExecutionCancelRequested"))
    assert told.cause == "enough"
    assert told.identity == "conformance"
    assert (await scene.describe()).workflow_extended_info.cancel_requested
    assert await scene.status() == "RUNNING"


async def test_a_second_cancel_request_is_accepted_and_not_recorded(scene):
    await scene.start()
    await scene.cancel(request_id="one")
    await scene.cancel(request_id="two")
    assert only(await scene.history(), "WorkflowExecutionCancelRequested")


async def test_a_cancel_of_a_closed_run_is_accepted(scene):
    run = await scene.start()
    await scene.answer(complete_workflow())
    await scene.cancel()
    await scene.cancel(run_id=run.run_id)
    assert await scene.status() == "COMPLETED"


async def test_a_workflow_may_complete_despite_a_cancel_request(scene):
    await scene.start()
    await scene.cancel()
    await scene.answer(complete_workflow("anyway"))
    assert await scene.status() == "COMPLETED"


async def test_a_termination_closes_at_once_with_its_reason(scene):
    await scene.start()
    await scene.terminate(reason="stuck", details=["d"])
    told = attributes(await scene.close_event())
    assert told.reason == "stuck"
    assert values(told.details) == ["d"]
    assert told.identity == "conformance"


async def test_a_termination_of_a_closed_run_is_not_found(scene):
    await scene.start()
    await scene.terminate()
    answer = await refused(scene.terminate())
    assert (answer.code, answer.message) == ("NOT_FOUND", "workflow execution already completed")


@pytest.mark.parametrize("operation", ["cancel", "terminate"])
async def test_a_first_run_id_guards_against_another_chain(scene, operation):
    first = await scene.start()
    await scene.answer(complete_workflow())
    second = await scene.start()
    act = getattr(scene, operation)
    answer = await refused(act(first_execution_run_id=first.run_id))
    assert (answer.code, answer.message) == ("NOT_FOUND", "workflow execution not found")
    await act(first_execution_run_id=second.run_id)


@pytest.mark.parametrize("named", ["first", "current", "unknown"])
@pytest.mark.parametrize(
    "operation, then", [("cancel", "WorkflowTaskScheduled"), ("terminate", "WorkflowExecutionTerminated")]
)
async def test_a_first_run_id_means_the_current_run_whatever_run_is_named(scene, operation, then, named):
    first = (await scene.start()).run_id
    await scene.answer(continue_as_new("Flow", scene.task_queue))
    current = (await scene.describe()).workflow_execution_info.execution.run_id
    run_id = {"first": first, "current": current, "unknown": str(uuid.uuid4())}[named]
    await getattr(scene, operation)(run_id, first_execution_run_id=first)
    assert event_type((await scene.history(current))[-1]) == then


@pytest.mark.parametrize("operation", ["cancel", "terminate"])
async def test_a_later_run_of_a_chain_is_not_its_first(scene, operation):
    await scene.start()
    await scene.answer(continue_as_new("Flow", scene.task_queue))
    current = (await scene.describe()).workflow_execution_info.execution.run_id
    answer = await refused(getattr(scene, operation)(current, first_execution_run_id=current))
    assert (answer.code, answer.message) == ("NOT_FOUND", "workflow execution not found")


async def test_a_closed_run_says_so_whatever_the_first_run_is(scene):
    await scene.start()
    await scene.answer(complete_workflow())
    unknown = str(uuid.uuid4())
    await scene.cancel(first_execution_run_id=unknown)
    answer = await refused(scene.terminate(first_execution_run_id=unknown))
    assert (answer.code, answer.message) == ("NOT_FOUND", "workflow execution already completed")


async def test_a_reset_ends_the_run_and_repeats_its_history_up_to_the_point(scene):
    first = await scene.start(memo=memo(m=1))
    await scene.answer(start_timer("t", 300))
    await scene.signal("go")
    await scene.answer(schedule_activity("a", scene.task_queue))
    new = await scene.reset(4, reason="try again")
    assert new != first.run_id
    assert await scene.status(first.run_id) == "TERMINATED"
    closed = attributes(await scene.close_event(first.run_id))
    assert closed.reason == "try again"
    events = await scene.history(new)
    assert table(events) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskFailed scheduled=2 started=3 cause=RESET_WORKFLOW
        5 WorkflowExecutionSignaled signal_name=go
        6 WorkflowTaskScheduled attempt=1
    """)
    failed = attributes(events[3])
    assert failed.base_run_id == first.run_id
    assert failed.new_run_id == new
    assert failed.failure.message == "try again"
    assert value((await scene.describe(new)).workflow_execution_info.memo.fields["m"]) == 1


async def test_a_reset_run_goes_on_from_there(scene):
    await scene.start()
    await scene.answer(start_timer("t", 300))
    new = await scene.reset(4)
    task = await scene.workflow_task()
    assert task.workflow_execution.run_id == new
    await scene.complete_task(task, complete_workflow("second try"))
    assert await scene.status() == "COMPLETED"


async def test_a_closed_run_can_be_reset(scene):
    first = await scene.start()
    await scene.answer(fail_workflow("bug"))
    new = await scene.reset(4)
    assert await scene.status(first.run_id) == "FAILED"
    assert await scene.status(new) == "RUNNING"
    described = await scene.describe(first.run_id)
    assert described.workflow_extended_info.reset_run_id == new


async def test_a_reset_to_a_later_point_keeps_what_came_before(scene):
    await scene.start()
    await scene.answer(schedule_activity("a", scene.task_queue))
    await scene.complete_activity(await scene.activity_task(), "kept")
    await scene.answer(start_timer("t", 300))
    new = await scene.reset(10)
    events = await scene.history(new)
    assert table(events) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 ActivityTaskScheduled activity_id=a workflow_task_completed=4
        6 ActivityTaskStarted scheduled=5 attempt=1
        7 ActivityTaskCompleted scheduled=5 started=6
        8 WorkflowTaskScheduled attempt=1
        9 WorkflowTaskStarted scheduled=8
        10 WorkflowTaskFailed scheduled=8 started=9 cause=RESET_WORKFLOW
        11 WorkflowTaskScheduled attempt=1
    """)


async def test_an_activity_started_before_the_point_is_dispatched_again(scene):
    await scene.start()
    await scene.answer(schedule_activity("a", scene.task_queue))
    await scene.activity_task()
    await scene.signal("go")
    await scene.answer(start_timer("t", 300))
    new = await scene.reset(9)
    assert table((await scene.history(new))[4:]) == expected("""
        5 ActivityTaskScheduled activity_id=a workflow_task_completed=4
        6 WorkflowExecutionSignaled signal_name=go
        7 WorkflowTaskScheduled attempt=1
        8 WorkflowTaskStarted scheduled=7
        9 WorkflowTaskFailed scheduled=7 started=8 cause=RESET_WORKFLOW
        10 WorkflowTaskScheduled attempt=1
    """)
    again = await scene.activity_task()
    assert again.workflow_execution.run_id == new
    assert again.activity_id == "a"


@pytest.mark.parametrize("kind", ["SIGNAL", "ALL_ELIGIBLE", "NONE"])
async def test_signals_after_the_point_are_applied_again_if_asked(scene, kind):
    await scene.start()
    await scene.answer()
    await scene.signal("s", 1)
    await scene.signal("s", 2)
    new = await scene.reset(4, reset_reapply_type=ResetReapplyType.Value(f"RESET_REAPPLY_TYPE_{kind}"))
    assert signals(await scene.history(new)) == ([] if kind == "NONE" else [1, 2])


async def test_signals_can_be_left_out(scene):
    await scene.start()
    await scene.answer()
    await scene.signal("s", 1)
    new = await scene.reset(
        4,
        reset_reapply_type=ResetReapplyType.RESET_REAPPLY_TYPE_ALL_ELIGIBLE,
        reset_reapply_exclude_types=[ResetReapplyExcludeType.RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL],
    )
    assert signals(await scene.history(new)) == []


async def test_updates_after_the_point_are_asked_again(scene):
    await scene.start()
    await scene.answer()
    updating = send_update(scene, "u", "change", 1)
    await accept_and_complete(scene, await scene.workflow_task(), "done")
    await updating
    new = await scene.reset(4, reset_reapply_type=ResetReapplyType.RESET_REAPPLY_TYPE_ALL_ELIGIBLE)
    events = await scene.history(new)
    assert table(events) == expected("""
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1
        3 WorkflowTaskStarted scheduled=2
        4 WorkflowTaskFailed scheduled=2 started=3 cause=RESET_WORKFLOW
        5 WorkflowExecutionUpdateAdmitted
        6 WorkflowTaskScheduled attempt=1
    """)
    # The worker reads the request from the event: no message comes with the task.
    assert attributes(events[4]).request.meta.update_id == "u"
    assert (await scene.workflow_task()).messages == []


@pytest.mark.parametrize("event_id", [1, 2, 99])
async def test_a_reset_to_no_workflow_task_is_refused(scene, event_id):
    await scene.start()
    await scene.answer()
    answer = await refused(scene.reset(event_id))
    assert answer.code == "INVALID_ARGUMENT"
    if event_id != 2:
        assert answer.message == "Workflow task finish ID must be > 1 && <= workflow last event ID."


async def gone(scene, run_id="") -> bool:
    try:
        await scene.describe(run_id)
    except RPCError as error:
        return error.status.name == "NOT_FOUND"
    return False


# A server may put the removal of a closed run off until its other work for that run is done.
DELETED_SECONDS_MAX = 60


async def test_a_deleted_open_run_is_gone(scene):
    run = await scene.start()
    await scene.delete(run.run_id)
    await until(lambda: gone(scene, run.run_id), seconds=DELETED_SECONDS_MAX)
    assert (await refused(scene.history(run.run_id))).code == "NOT_FOUND"


async def test_a_deleted_closed_run_is_gone_and_the_next_one_stays(scene):
    first = await scene.start()
    await scene.answer(complete_workflow())
    second = await scene.start()
    await scene.delete(first.run_id)
    await until(lambda: gone(scene, first.run_id), seconds=DELETED_SECONDS_MAX)
    assert (await refused(scene.history(first.run_id))).code == "NOT_FOUND"
    assert await scene.status(second.run_id) == "RUNNING"


async def test_the_deletion_of_an_unknown_run_is_not_found(scene):
    answer = await refused(scene.delete())
    assert answer.code == "NOT_FOUND"
