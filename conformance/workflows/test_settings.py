"""Effects of Temporal's dynamic configuration."""

import asyncio
import uuid
from contextlib import asynccontextmanager, suppress

import pytest
from dev_server import NAMESPACE, DevServer, is_temporal
from ports import free_port
from temporalio.api.enums.v1 import UpdateWorkflowExecutionLifecycleStage as Stage
from temporalio.api.workflowservice import v1 as api
from temporalio.service import RPCError

from commands import continue_as_new, record_marker
from histories import attributes, event_type
from refusals import refused
from scene import CALL, Scene
from updates import ACCEPTED, accept, send_update, send_update_with_start

ADMITTED = Stage.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ADMITTED


@pytest.fixture
def scene_with(tmp_path, name):
    """A scene on a server of its own, with these settings."""

    @asynccontextmanager
    async def started(settings):
        server = DevServer(free_port(), str(tmp_path / f"{uuid.uuid4()}.db"), settings=settings)
        try:
            yield Scene(await server.start(), name)
        finally:
            server.stop()

    return started


@pytest.mark.parametrize("ends_polls", [True, False])
async def test_the_server_says_whether_it_ends_the_polls_of_a_worker_that_goes(scene_with, ends_polls):
    async with scene_with({"frontend.enableCancelWorkerPollsOnShutdown": str(ends_polls).lower()}) as scene:
        request = api.DescribeNamespaceRequest(namespace=NAMESPACE)
        info = (await scene.service.describe_namespace(request, timeout=CALL)).namespace_info
        assert info.capabilities.worker_poll_complete_on_shutdown == ends_polls


async def test_an_update_with_start_that_waited_long_enough_says_how_far_it_is(scene_with):
    """The client polls the update from there on."""
    async with scene_with({"history.longPollExpirationInterval": '"2s"'}) as scene:
        started, updated = (await send_update_with_start(scene, "u", "change")).responses
        assert started.start_workflow.started
        assert updated.update_workflow.stage == ADMITTED
        run_id = started.start_workflow.run_id
        assert updated.update_workflow.update_ref.workflow_execution.run_id == run_id

        updating = send_update_with_start(scene, "u", "change")
        await accept(scene, await scene.workflow_task())
        started, updated = (await updating).responses
        assert (started.start_workflow.started, started.start_workflow.run_id) == (False, run_id)
        assert updated.update_workflow.stage == ACCEPTED


async def one_too_many(scene, send):
    """How the last of three updates is refused where two may be in flight, the first of which came with the start."""
    first = send_update_with_start(scene, "u1", "change", wait_for=ACCEPTED)
    [_] = (await scene.workflow_task()).messages
    others = [send(scene, update_id, "change", wait_for=ACCEPTED) for update_id in ["u2", "u3"]]
    done, waiting = await asyncio.wait(others, return_when=asyncio.FIRST_COMPLETED)
    for updating in [first, *waiting]:
        updating.cancel()
    return await refused(done.pop())


async def test_an_update_with_start_counts_among_those_in_flight(scene_with):
    async with scene_with({"history.maxInFlightUpdates": 2}) as scene:
        answer = await one_too_many(scene, send_update)
    assert answer.code == "RESOURCE_EXHAUSTED"
    assert answer.message == "limit on number of concurrent in-flight updates has been reached (2)"


@pytest.mark.differs_from_temporal("it tries again until the caller gives up")
async def test_an_update_with_start_beyond_those_in_flight_is_refused(scene_with):
    async with scene_with({"history.maxInFlightUpdates": 2}) as scene:
        answer = await one_too_many(scene, send_update_with_start)
        assert [status.code for status in answer.detail.statuses] == [10, 8]
    # It is refused before it starts a run that could never take it.
    async with scene_with({"history.maxInFlightUpdates": 0}) as scene:
        assert (await refused(send_update_with_start(scene, "u", "change"))).code == "RESOURCE_EXHAUSTED"
        assert (await refused(scene.describe())).code == "NOT_FOUND"


async def test_signals_beyond_a_limit_are_refused(scene_with):
    async with scene_with({"history.maximumSignalsPerExecution": 2}) as scene:
        await scene.start()
        await scene.signal("one")
        await scene.signal("two")
        answer = await refused(scene.signal("three"))
        assert answer.code == "INVALID_ARGUMENT"
        assert answer.message.startswith("exceeded workflow execution limit for signal events")
        if not is_temporal():
            assert "continue as new" in answer.message
        # The next run counts from nothing.
        await scene.answer(continue_as_new("Flow", scene.task_queue))
        await scene.signal("three")


async def test_a_history_beyond_a_limit_ends_its_run(scene_with):
    async with scene_with({"limit.historyCount.error": 10}) as scene:
        await scene.start()
        await scene.answer(*(record_marker("m") for _ in range(6)))
        assert (await scene.describe()).workflow_execution_info.history_length == 10
        assert await scene.status() == "RUNNING"
        # Temporal's server refuses the signal that ends the run, ours takes it.
        with suppress(RPCError):
            await scene.signal("one more")
        closed = await scene.close_event()
        assert event_type(closed) == "WorkflowExecutionTerminated"
        assert attributes(closed).reason == "Workflow history count exceeds limit."
