"""The official SDK's client and worker, as people use them: replay, caches and retries are theirs."""

import asyncio
import datetime as dt

import pytest
from temporalio import activity, workflow
from temporalio.client import (
    WithStartWorkflowOperation,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowQueryFailedError,
    WorkflowUpdateFailedError,
)
from temporalio.common import RetryPolicy, WorkflowIDConflictPolicy
from temporalio.exceptions import ApplicationError, CancelledError, ChildWorkflowError, TerminatedError

from sdk_worker import worker

SHORT = dt.timedelta(milliseconds=10)
LONG = dt.timedelta(seconds=10)


@activity.defn
async def double(number: int) -> int:
    return 2 * number


@activity.defn
async def succeed_the_second_time() -> int:
    if activity.info().attempt < 2:
        raise ApplicationError("not yet")
    return activity.info().attempt


@activity.defn
async def wait_for_cancel() -> str:
    try:
        while True:
            activity.heartbeat("alive")
            await asyncio.sleep(0.05)
    except asyncio.CancelledError:
        return "canceled"


@workflow.defn
class Child:
    @workflow.run
    async def run(self, name: str) -> str:
        if name == "bad":
            raise ApplicationError("a bad child", non_retryable=True)
        return f"hello {name}"


@workflow.defn
class Everything:
    """Uses one of each, in an order that replay must find again."""

    @workflow.run
    async def run(self, number: int) -> dict:
        doubled = await workflow.execute_activity(double, number, start_to_close_timeout=LONG)
        local = await workflow.execute_local_activity(double, doubled, start_to_close_timeout=LONG)
        await workflow.sleep(SHORT)
        attempts = await workflow.execute_activity(
            succeed_the_second_time,
            start_to_close_timeout=LONG,
            retry_policy=RetryPolicy(initial_interval=SHORT),
        )
        child = await workflow.execute_child_workflow(
            Child.run, "child", id=workflow.info().workflow_id + "-child"
        )
        patched = workflow.patched("a-change")
        workflow.upsert_memo({"stage": "last"})
        return {"local": local, "attempts": attempts, "child": child, "patched": patched}


@workflow.defn
class Counter:
    """Counts what it is sent until it is told to stop."""

    def __init__(self):
        self.total = 0
        self.stopped = False

    @workflow.run
    async def run(self) -> int:
        await workflow.wait_condition(lambda: self.stopped)
        return self.total

    @workflow.signal
    def add(self, number: int):
        self.total += number

    @workflow.signal
    def stop(self):
        self.stopped = True

    @workflow.query
    def current(self) -> int:
        return self.total

    @workflow.query
    def broken(self) -> int:
        raise ApplicationError("cannot say")

    @workflow.update
    async def add_and_get(self, number: int) -> int:
        if number == 13:
            raise ApplicationError("unlucky")
        await workflow.sleep(SHORT)
        self.total += number
        return self.total

    @add_and_get.validator
    def only_positive(self, number: int):
        if number <= 0:
            raise ValueError("must be positive")


@workflow.defn
class Countdown:
    @workflow.run
    async def run(self, left: int) -> str:
        if left:
            workflow.continue_as_new(left - 1)
        return "lift-off"


@workflow.defn
class CancelsItsActivity:
    @workflow.run
    async def run(self) -> str:
        handle = workflow.start_activity(
            wait_for_cancel,
            start_to_close_timeout=LONG,
            heartbeat_timeout=dt.timedelta(seconds=2),
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        )
        await workflow.sleep(dt.timedelta(milliseconds=300))
        handle.cancel()
        return await handle


@workflow.defn
class ParentOfABadChild:
    @workflow.run
    async def run(self) -> str:
        await workflow.execute_child_workflow(Child.run, "bad", id=workflow.info().workflow_id + "-child")
        return "unreachable"


def start_options(scene) -> dict:
    return {"id": scene.workflow_id, "task_queue": scene.task_queue, "execution_timeout": dt.timedelta(seconds=30)}


@pytest.mark.parametrize("cache", [1000, 0], ids=["cached", "replayed at every task"])
async def test_a_workflow_that_uses_everything_completes(scene, cache):
    activities = [double, succeed_the_second_time]
    async with worker(scene, [Everything, Child], activities, max_cached_workflows=cache):
        result = await scene.client.execute_workflow(Everything.run, 5, **start_options(scene))
    assert result == {"local": 20, "attempts": 2, "child": "hello child", "patched": True}
    described = await scene.client.get_workflow_handle(scene.workflow_id).describe()
    assert described.status == WorkflowExecutionStatus.COMPLETED
    assert await described.memo() == {"stage": "last"}


@pytest.mark.parametrize("cache", [1000, 0], ids=["cached", "replayed at every task"])
async def test_signals_queries_and_updates_reach_a_workflow(scene, cache):
    async with worker(scene, [Counter], max_cached_workflows=cache):
        handle = await scene.client.start_workflow(Counter.run, **start_options(scene))
        for number in range(5):
            await handle.signal(Counter.add, number)
        assert await handle.query(Counter.current) == 10
        assert await handle.execute_update(Counter.add_and_get, 5) == 15
        with pytest.raises(WorkflowUpdateFailedError) as failed:
            await handle.execute_update(Counter.add_and_get, 13)
        assert failed.value.cause.message == "unlucky"
        with pytest.raises(WorkflowUpdateFailedError) as rejected:
            await handle.execute_update(Counter.add_and_get, -1)
        assert rejected.value.cause.message == "must be positive"
        with pytest.raises(WorkflowQueryFailedError) as broken:
            await handle.query(Counter.broken)
        assert broken.value.message == "cannot say"
        assert "workflow: Counter" in await handle.query("__stack_trace")
        await handle.signal(Counter.stop)
        assert await handle.result() == 15
        assert await handle.query(Counter.current) == 15


async def test_update_with_start_and_signal_with_start(scene):
    async with worker(scene, [Counter]):
        start = WithStartWorkflowOperation(
            Counter.run, id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING, **start_options(scene)
        )
        assert (
            await scene.client.execute_update_with_start_workflow(
                Counter.add_and_get, 3, start_workflow_operation=start
            )
            == 3
        )
        handle = await scene.client.start_workflow(
            Counter.run, start_signal="add", start_signal_args=[4], **start_options(scene)
        )
        assert await handle.query(Counter.current) == 7
        await handle.signal(Counter.stop)
        assert await handle.result() == 7


async def test_a_result_is_followed_through_continue_as_new(scene):
    async with worker(scene, [Countdown]):
        assert await scene.client.execute_workflow(Countdown.run, 2, **start_options(scene)) == "lift-off"


async def test_an_activity_hears_of_its_cancellation_by_heartbeat(scene):
    async with worker(scene, [CancelsItsActivity], [wait_for_cancel]):
        result = await scene.client.execute_workflow(CancelsItsActivity.run, **start_options(scene))
    assert result == "canceled"


async def test_a_childs_failure_is_its_parents(scene):
    async with worker(scene, [ParentOfABadChild, Child]):
        with pytest.raises(WorkflowFailureError) as failed:
            await scene.client.execute_workflow(ParentOfABadChild.run, **start_options(scene))
    assert isinstance(failed.value.cause, ChildWorkflowError)
    assert failed.value.cause.cause.message == "a bad child"


async def test_cancel_and_terminate_end_a_workflow(scene):
    async with worker(scene, [Counter]):
        handle = await scene.client.start_workflow(Counter.run, **start_options(scene))
        await handle.query(Counter.current)
        await handle.cancel()
        with pytest.raises(WorkflowFailureError) as ended:
            await handle.result()
        assert isinstance(ended.value.cause, CancelledError)
        handle = await scene.client.start_workflow(Counter.run, **start_options(scene))
        await handle.terminate(reason="enough")
        with pytest.raises(WorkflowFailureError) as ended:
            await handle.result()
        assert isinstance(ended.value.cause, TerminatedError)


async def test_another_worker_takes_over_when_one_stops(scene):
    async with worker(scene, [Counter]):
        handle = await scene.client.start_workflow(Counter.run, **start_options(scene))
        await handle.signal(Counter.add, 1)
        assert await handle.query(Counter.current) == 1
    async with worker(scene, [Counter]):
        await handle.signal(Counter.add, 2)
        assert await handle.query(Counter.current) == 3
        await handle.signal(Counter.stop)
        assert await handle.result() == 3
