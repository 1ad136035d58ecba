"""W15: requests beyond a limit are refused with a clear error."""

import asyncio

import pytest
from temporalio.api.workflowservice import v1 as api

from commands import command, complete_workflow, failure, record_marker, retry, schedule_activity
from histories import attributes, event_type, only
from payloads import memo, payloads, search_attributes
from refusals import refused
from scene import CALL

TOO_LARGE = "x" * (2 * 1024 * 1024 + 1)


async def test_a_start_with_too_large_an_input_is_refused(scene):
    answer = await refused(scene.start(input=payloads(TOO_LARGE)))
    assert (answer.code, answer.message) == ("INVALID_ARGUMENT", "Blob data size exceeds limit.")


async def test_a_start_with_too_large_a_memo_is_refused(scene):
    answer = await refused(scene.start(memo=memo(m=TOO_LARGE)))
    assert (answer.code, answer.message) == ("INVALID_ARGUMENT", "Memo size exceeds limit.")


async def test_a_signal_with_too_large_an_input_is_refused(scene):
    await scene.start()
    answer = await refused(scene.signal("s", TOO_LARGE))
    assert (answer.code, answer.message) == ("INVALID_ARGUMENT", "Blob data size exceeds limit.")
    assert len(await scene.history()) == 2


ENDED = {
    "activity input": (
        lambda scene: schedule_activity("a", scene.task_queue, input=payloads(TOO_LARGE)),
        "BadScheduleActivityAttributes: ScheduleActivityTaskCommandAttributes.Input exceeds size limit.",
    ),
    "search attribute": (
        lambda scene: command(
            "upsert_workflow_search_attributes",
            search_attributes=search_attributes(CustomKeywordField="x" * 3000),
        ),
        "BadSearchAttributes: search attribute CustomKeywordField value size 3002 exceeds size limit 2048",
    ),
    "workflow result": (
        lambda scene: complete_workflow(TOO_LARGE),
        "BadScheduleActivityAttributes: CompleteWorkflowExecutionCommandAttributes.Result exceeds size limit.",
    ),
    "marker": (
        lambda scene: record_marker("m", data=payloads(TOO_LARGE)),
        "BadRecordMarkerAttributes: RecordMarkerCommandAttributes.Details exceeds size limit.",
    ),
}


@pytest.mark.parametrize("command, reason", ENDED.values(), ids=ENDED.keys())
async def test_too_large_a_command_ends_the_run(scene, command, reason):
    await scene.start()
    answer = await refused(scene.complete_task(await scene.workflow_task(), command(scene)))
    assert (answer.code, answer.message) == ("INVALID_ARGUMENT", reason)
    closed = await scene.close_event()
    assert event_type(closed) == "WorkflowExecutionTerminated"
    assert attributes(closed).reason == reason


async def test_too_large_an_activity_result_fails_the_activity(scene):
    await scene.start()
    await scene.answer(schedule_activity("a", scene.task_queue))
    await scene.complete_activity(await scene.activity_task(), TOO_LARGE)
    told = attributes(only((await scene.workflow_task()).history.events, "ActivityTaskFailed"))
    assert told.failure.message == "Complete result exceeds size limit."
    assert told.failure.server_failure_info.non_retryable


async def test_too_large_heartbeat_details_fail_the_activity(scene):
    await scene.start()
    await scene.answer(schedule_activity("a", scene.task_queue))
    answer = await scene.heartbeat(await scene.activity_task(), TOO_LARGE)
    assert answer.cancel_requested
    told = attributes(only((await scene.workflow_task()).history.events, "ActivityTaskFailed"))
    assert told.failure.message == "Heartbeat details exceed size limit."
    assert told.failure.server_failure_info.non_retryable


async def test_too_large_an_activity_failure_is_cut(scene):
    await scene.start()
    await scene.answer(schedule_activity("a", scene.task_queue, retry_policy=retry(attempts=1)))
    await scene.fail_activity(await scene.activity_task(), failure(TOO_LARGE))
    told = attributes(only((await scene.workflow_task()).history.events, "ActivityTaskFailed"))
    assert told.failure.message == "Failure exceeds size limit."


async def test_too_large_a_query_answer_fails_the_query(scene):
    await scene.start()
    await scene.answer()
    asking = asyncio.create_task(scene.query("state"))
    task = await scene.workflow_task()
    request = api.RespondQueryTaskCompletedRequest(
        namespace=scene.namespace, task_token=task.task_token, completed_type=1, query_result=payloads(TOO_LARGE)
    )
    await scene.service.respond_query_task_completed(request, timeout=CALL)
    answer = await refused(asking)
    assert (answer.code, answer.message) == ("INVALID_ARGUMENT", "Blob data size exceeds limit.")


async def test_too_long_a_signal_name_is_refused(scene):
    await scene.start()
    answer = await refused(scene.signal("s" * 1001))
    assert (answer.code, answer.message) == ("INVALID_ARGUMENT", "SignalName length exceeds limit.")


@pytest.mark.differs_from_temporal("its limit is 51,200, though its documents say 50,000")
async def test_a_history_of_more_than_50_000_events_ends_its_run(scene):
    await scene.start()
    # Behind the four events of the workflow task.
    await scene.answer(*(record_marker("m") for _ in range(50_000 - 4)))
    described = (await scene.describe()).workflow_execution_info
    assert described.history_length == 50_000
    assert await scene.status() == "RUNNING"
    await scene.signal("one more")
    closed = await scene.close_event()
    assert event_type(closed) == "WorkflowExecutionTerminated"
    assert attributes(closed).reason == "Workflow history count exceeds limit."
