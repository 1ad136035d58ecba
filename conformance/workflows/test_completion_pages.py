"""W3: completions of workflow tasks that are too large for one request, in pages."""

import asyncio
import datetime as dt

import pytest
from temporalio import activity, workflow
from temporalio.api.command.v1 import Command
from temporalio.api.enums.v1 import QueryResultType, WorkflowTaskFailedCause
from temporalio.api.query.v1 import WorkflowQueryResult

from commands import complete_workflow, continue_as_new, record_marker
from histories import attributes, event_type, event_types
from payloads import payloads, seconds, values
from refusals import refused
from sdk_worker import worker

PART = 500 * 1024
# For many of them.
PATIENT = seconds(60)

LOST = ["WorkflowTaskCompletionBufferLostFailure"]


async def send_page(scene, task, number: int, *commands: Command):
    """One that isn't the last."""
    return await scene.complete_task(task, *commands, intermediate_page=True, page_number=number)


def marker(number: int, size: int = 1) -> Command:
    return record_marker(str(number), data=payloads("x" * size))


async def recorded(scene, run_id: str = "") -> list[str]:
    """The markers in the history, by name."""
    events = await scene.history(run_id)
    return [attributes(event).marker_name for event in events if event_type(event) == "MarkerRecorded"]


async def test_pages_are_one_completion_in_the_order_of_their_numbers(scene):
    await scene.start()
    task = await scene.workflow_task()
    # A worker sends several at once, and one again whose answer it didn't get: the first of it counts.
    for number, name in [(1, 1), (0, 0), (1, 9)]:
        await send_page(scene, task, number, marker(name))
    assert event_types(await scene.history())[-1] == "WorkflowTaskStarted"
    await scene.complete_task(task, marker(2), complete_workflow(), page_number=2)
    assert event_types(await scene.history())[3:] == [
        "WorkflowTaskCompleted",
        *["MarkerRecorded"] * 3,
        "WorkflowExecutionCompleted",
    ]
    assert await recorded(scene) == ["0", "1", "2"]


async def test_a_completion_may_be_larger_than_a_request(scene):
    run = await scene.start(workflow_task_timeout=PATIENT)
    task = await scene.workflow_task()
    for number in range(4):
        await send_page(scene, task, number, *[marker(7 * number + n, PART) for n in range(7)])
    await scene.complete_task(task, continue_as_new("Flow", scene.task_queue), page_number=4)
    assert await recorded(scene, run.run_id) == [str(n) for n in range(28)]
    # The next run begins as any does.
    assert event_types((await scene.workflow_task()).history.events)[-1] == "WorkflowTaskStarted"


async def test_the_next_task_tells_of_all_that_was_in_the_pages(scene):
    await scene.start(workflow_task_timeout=PATIENT)
    task = await scene.workflow_task()
    for number in range(3):
        await send_page(scene, task, number, *[marker(7 * number + n, PART) for n in range(7)])
    await scene.complete_task(task, page_number=3)
    await scene.signal("s")
    events = await scene.events_of(await scene.workflow_task())
    assert [event.event_id for event in events] == list(range(1, 29))


async def test_missing_pages_are_to_be_sent_again(scene):
    await scene.start()
    task = await scene.workflow_task()
    answer = await refused(scene.complete_task(task, complete_workflow(), page_number=1))
    assert (answer.code, answer.detail_names) == ("ABORTED", LOST)
    assert answer.message == "workflow task completion buffer lost for scheduled event 2 attempt 1"

    await send_page(scene, task, 1, marker(1))
    answer = await refused(scene.complete_task(task, complete_workflow(), page_number=2))
    assert (answer.code, answer.detail_names) == ("ABORTED", LOST)
    assert answer.message == "workflow task completion buffer missing page 0 of 2"

    # All of them: none was kept.
    await send_page(scene, task, 0, marker(0))
    answer = await refused(scene.complete_task(task, complete_workflow(), page_number=2))
    assert answer.message == "workflow task completion buffer missing page 1 of 2"

    await send_page(scene, task, 0, marker(0))
    await send_page(scene, task, 1, marker(1))
    await scene.complete_task(task, complete_workflow(), page_number=2)
    assert await recorded(scene) == ["0", "1"]


async def test_a_completion_in_one_piece_forgets_the_pages_before_it(scene):
    await scene.start()
    task = await scene.workflow_task()
    await send_page(scene, task, 0, marker(0))
    await scene.complete_task(task, marker(7))
    assert await recorded(scene) == ["7"]


async def test_a_signal_between_pages_comes_behind_their_commands(scene):
    await scene.start()
    task = await scene.workflow_task()
    await send_page(scene, task, 0, marker(0))
    await scene.signal("s")
    await scene.complete_task(task, page_number=1)
    assert event_types(await scene.history())[3:] == [
        "WorkflowTaskCompleted",
        "MarkerRecorded",
        "WorkflowExecutionSignaled",
        "WorkflowTaskScheduled",
    ]


async def test_pages_end_with_a_task_that_times_out(scene):
    await scene.start(workflow_task_timeout=seconds(1))
    late = await scene.workflow_task()
    await send_page(scene, late, 0, marker(0))
    task = await scene.workflow_task()
    for call in [send_page(scene, late, 1, marker(1)), scene.complete_task(late, page_number=1)]:
        answer = await refused(call)
        assert (answer.code, answer.message) == ("NOT_FOUND", "Workflow task not found.")
    answer = await refused(scene.complete_task(task, page_number=1))
    assert (answer.code, answer.detail_names) == ("ABORTED", LOST)


async def test_pages_end_with_a_task_that_fails(scene):
    await scene.start()
    task = await scene.workflow_task()
    await send_page(scene, task, 0, marker(0))
    await scene.signal("s")
    answer = await refused(scene.complete_task(task, complete_workflow(), page_number=1))
    assert (answer.code, answer.message) == ("INVALID_ARGUMENT", "UnhandledCommand")
    task = await scene.workflow_task()
    answer = await refused(scene.complete_task(task, complete_workflow(), page_number=1))
    assert (answer.code, answer.detail_names) == ("ABORTED", LOST)
    assert await recorded(scene) == []


async def test_pages_end_with_the_run(scene):
    await scene.start()
    task = await scene.workflow_task()
    await send_page(scene, task, 0, marker(0))
    await scene.terminate()
    for call in [send_page(scene, task, 1, marker(1)), scene.complete_task(task, page_number=1)]:
        answer = await refused(call)
        assert (answer.code, answer.message) == ("NOT_FOUND", "Workflow task not found.")


async def test_a_query_is_answered_once_the_pages_are_complete(scene):
    await scene.start()
    asking = asyncio.create_task(scene.query("state"))
    await scene.fail_task(await scene.workflow_task())
    task = await scene.workflow_task()
    [key] = task.queries
    answers = {
        key: WorkflowQueryResult(
            result_type=QueryResultType.QUERY_RESULT_TYPE_ANSWERED, answer=payloads("after the pages")
        )
    }
    await refused(scene.complete_task(task, page_number=1, query_results=answers))
    assert not asking.done()
    await send_page(scene, task, 0, marker(0))
    await scene.complete_task(task, page_number=1, query_results=answers)
    assert values((await asking).query_result) == ["after the pages"]


BAD = {
    "without commands": (0, [], "intermediate workflow task page must carry at least one command"),
    "before the first": (
        -1,
        [marker(0)],
        "workflow task completion pagination page number must be non-negative",
    ),
    "too many": (1024, [marker(0)], "workflow task completion pagination supports at most 1024 pages"),
}


@pytest.mark.parametrize("number, commands, message", BAD.values(), ids=BAD.keys())
async def test_a_page_that_makes_no_sense_is_refused(scene, number, commands, message):
    await scene.start()
    task = await scene.workflow_task()
    answer = await refused(send_page(scene, task, number, *commands))
    assert (answer.code, answer.message) == ("INVALID_ARGUMENT", message)
    # The worker may still answer.
    await scene.complete_task(task, complete_workflow())


async def test_pages_that_are_too_large_together_end_the_run(scene):
    await scene.start(workflow_task_timeout=PATIENT)
    task = await scene.workflow_task()
    # 40 MiB are allowed.
    for number in range(11):
        await send_page(scene, task, number, *[marker(n, PART) for n in range(7)])
    answer = await refused(send_page(scene, task, 11, *[marker(n, PART) for n in range(7)]))
    reason = "RequestTooLarge: workflow task completion buffer size exceeds the per-workflow limit"
    assert (answer.code, answer.message) == ("INVALID_ARGUMENT", reason)
    failed, terminated = (await scene.history())[3:]
    assert attributes(failed).cause == WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_REQUEST_TOO_LARGE
    assert attributes(terminated).reason == reason


@activity.defn
async def length(text: str) -> int:
    return len(text)


@workflow.defn
class ManyLargeInputs:
    @workflow.run
    async def run(self) -> int:
        calls = [
            workflow.execute_activity(length, "x" * PART, start_to_close_timeout=dt.timedelta(seconds=10))
            for _ in range(20)
        ]
        return sum(await asyncio.gather(*calls))


async def test_the_sdk_sends_a_large_completion_in_pages(scene, client):
    async with worker(scene, [ManyLargeInputs], [length]):
        ran = await client.execute_workflow(
            ManyLargeInputs.run,
            id=scene.workflow_id,
            task_queue=scene.task_queue,
            task_timeout=PATIENT.ToTimedelta(),
        )
    assert ran == 20 * PART
    # At once: nothing was refused on the way.
    kinds = event_types(await scene.history())
    assert kinds[3:24] == ["WorkflowTaskCompleted", *["ActivityTaskScheduled"] * 20]
