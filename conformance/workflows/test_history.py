"""W2: event histories, paged, reversed and by long poll, and the statuses runs close with."""

import asyncio
import datetime as dt

import pytest
from temporalio.api.enums.v1 import HistoryEventFilterType
from temporalio.api.workflowservice import v1 as api

from commands import cancel_workflow, complete_workflow, continue_as_new, fail_workflow
from histories import attributes, event_type, event_types
from payloads import seconds, values
from scene import CALL

CLOSE_EVENT = HistoryEventFilterType.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT


async def long_history(scene):
    await scene.start()
    for n in range(20):
        await scene.signal("s", n)


async def test_event_ids_count_from_one_and_times_never_go_back(scene):
    await long_history(scene)
    events = await scene.history()
    assert [event.event_id for event in events] == list(range(1, 23))
    times = [event.event_time.ToNanoseconds() for event in events]
    assert times == sorted(times)
    tasks = [event.task_id for event in events]
    assert tasks == sorted(tasks) and len(set(tasks)) == len(tasks)


async def test_a_history_comes_in_pages(scene):
    await long_history(scene)
    pages, token = [], b""
    while True:
        page = await scene.history_page(maximum_page_size=5, next_page_token=token)
        pages.append([event.event_id for event in page.history.events])
        token = page.next_page_token
        if not token:
            break
    assert sum(pages, []) == list(range(1, 23))
    assert len(pages) > 1


async def test_a_page_token_belongs_to_its_run_even_after_the_next_began(scene):
    first = await scene.start()
    for n in range(10):
        await scene.signal("s", n)
    page = await scene.history_page(maximum_page_size=3)
    await scene.terminate()
    await scene.start()
    rest = await scene.history_page(maximum_page_size=100, next_page_token=page.next_page_token)
    assert rest.history.events[0].event_id == page.history.events[-1].event_id + 1
    assert (await scene.history(first.run_id))[0].event_id == 1


async def test_a_history_comes_reversed(scene):
    await long_history(scene)
    ids, token = [], b""
    while True:
        request = api.GetWorkflowExecutionHistoryReverseRequest(
            namespace=scene.namespace, execution=scene.execution(), maximum_page_size=7, next_page_token=token
        )
        page = await scene.service.get_workflow_execution_history_reverse(request, timeout=CALL)
        ids += [event.event_id for event in page.history.events]
        token = page.next_page_token
        if not token:
            break
    assert ids == list(range(22, 0, -1))


async def test_a_long_poll_answers_as_soon_as_an_event_is_added(scene):
    await scene.start()
    page = await scene.history_page(wait_new_event=True)
    assert event_types(page.history.events) == ["WorkflowExecutionStarted", "WorkflowTaskScheduled"]
    waiting = asyncio.create_task(scene.history_page(wait_new_event=True, next_page_token=page.next_page_token))
    await scene.signal("s")
    page = await waiting
    assert event_types(page.history.events) == ["WorkflowExecutionSignaled"]


async def test_a_long_poll_ends_without_a_token_when_the_run_closed(scene):
    await scene.start()
    page = await scene.history_page(wait_new_event=True)
    waiting = asyncio.create_task(scene.history_page(wait_new_event=True, next_page_token=page.next_page_token))
    await scene.terminate()
    page = await waiting
    assert event_types(page.history.events)[-1] == "WorkflowExecutionTerminated"
    assert page.next_page_token == b""


async def test_the_close_event_filter_waits_for_the_close_and_answers_only_that(scene):
    await scene.start()
    waiting = asyncio.create_task(scene.history_page(wait_new_event=True, history_event_filter_type=CLOSE_EVENT))
    await scene.signal("not this")
    await scene.answer(complete_workflow("result"))
    page = await waiting
    assert event_types(page.history.events) == ["WorkflowExecutionCompleted"]
    assert values(attributes(page.history.events[0]).result) == ["result"]


async def test_the_close_event_filter_finds_nothing_in_an_open_run(scene):
    await scene.start()
    request = api.GetWorkflowExecutionHistoryRequest(
        namespace=scene.namespace, execution=scene.execution(), history_event_filter_type=CLOSE_EVENT
    )
    page = await scene.service.get_workflow_execution_history(request, timeout=dt.timedelta(seconds=2))
    assert page.history.events == []
    assert page.next_page_token == b""


async def test_a_long_poll_gives_up_with_a_token_before_the_callers_deadline(scene):
    await scene.start()
    page = await scene.history_page(wait_new_event=True)
    request = api.GetWorkflowExecutionHistoryRequest(
        namespace=scene.namespace,
        execution=scene.execution(),
        wait_new_event=True,
        next_page_token=page.next_page_token,
    )
    page = await scene.service.get_workflow_execution_history(request, timeout=dt.timedelta(seconds=3))
    assert page.history.events == []
    assert page.next_page_token


async def completed(scene):
    await scene.answer(complete_workflow())


async def failed(scene):
    await scene.answer(fail_workflow())


async def canceled(scene):
    await scene.cancel()
    await scene.answer(cancel_workflow())


async def terminated(scene):
    await scene.terminate()


async def continued(scene):
    await scene.answer(continue_as_new("Flow", scene.task_queue))


async def timed_out(scene):
    await scene.close_event()


CLOSES = [
    (completed, "COMPLETED", "WorkflowExecutionCompleted"),
    (failed, "FAILED", "WorkflowExecutionFailed"),
    (canceled, "CANCELED", "WorkflowExecutionCanceled"),
    (terminated, "TERMINATED", "WorkflowExecutionTerminated"),
    (continued, "CONTINUED_AS_NEW", "WorkflowExecutionContinuedAsNew"),
    (timed_out, "TIMED_OUT", "WorkflowExecutionTimedOut"),
]


@pytest.mark.parametrize("close, status, last", CLOSES, ids=[status for _, status, _ in CLOSES])
async def test_every_close_has_its_status_and_event(scene, close, status, last):
    run = await scene.start(workflow_run_timeout=seconds(1 if close is timed_out else 60))
    await close(scene)
    assert await scene.status(run.run_id) == status
    events = await scene.history(run.run_id)
    assert event_type(events[-1]) == last
    info = (await scene.describe(run.run_id)).workflow_execution_info
    assert info.history_length == len(events)
    assert info.close_time.ToNanoseconds() == events[-1].event_time.ToNanoseconds()
    assert info.history_size_bytes > 0
