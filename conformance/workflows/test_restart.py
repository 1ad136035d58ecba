"""Acknowledged requests survive a kill of the server at any moment."""

import asyncio

import pytest
from ports import free_port
from temporalio.api.batch.v1 import BatchOperationTermination
from temporalio.api.common.v1 import Priority
from temporalio.api.enums.v1 import BatchOperationState
from temporalio.api.workflowservice import v1 as api
from temporalio.service import RPCError

from commands import complete_workflow, failure, retry, schedule_activity, start_child, start_timer
from dev_server import DevServer
from histories import attributes, event_type, event_types, only
from payloads import payloads, search_attributes, seconds, values
from refusals import refused
from scene import CALL, IDENTITY, Scene
from updates import accept_and_complete, poll_update, send_update
from waiting import until


class Crashing:
    """A server of one test's own, which can be killed and started again on the same file and port."""

    def __init__(self, server: DevServer, name: str):
        self.server = server
        self.name = name
        self.scene: Scene | None = None

    async def start(self):
        self.scene = Scene(await self.server.start(), self.name)

    async def crash(self):
        self.server.kill()
        await self.start()


@pytest.fixture
async def crashing(tmp_path, name):
    """Started, and not yet crashed."""
    made = Crashing(DevServer(free_port(), str(tmp_path / "crashing.db")), name)
    await made.start()
    yield made
    made.server.stop()


def signals(events) -> list:
    return [values(attributes(e).input)[0] for e in events if event_type(e) == "WorkflowExecutionSignaled"]


async def test_everything_pending_goes_on_after_a_crash(crashing):
    """A workflow waits for an activity, a timer, a child and signals when the server dies."""
    scene = crashing.scene
    child = scene.workflow_id + "-child"
    run = await scene.start(input=payloads("kept"), search_attributes=search_attributes(CustomIntField=7))
    await scene.answer(
        schedule_activity("a", scene.task_queue, retry_policy=retry()),
        start_timer("t", 1),
        start_child(child, child),
    )
    activity = await scene.activity_task()
    for n in range(10):
        await scene.signal("s", n, request_id=f"request-{n}")
    before = await scene.history()

    await crashing.crash()
    scene = crashing.scene
    after = await scene.history()
    assert after[: len(before)] == before
    assert signals(after) == list(range(10))
    # A request repeated after the crash is still the same request.
    await scene.signal("s", 3, request_id="request-3")
    # A worker that held its task over the crash may answer it.
    await scene.complete_activity(activity, "done")
    await scene.complete_task(await scene.workflow_task(child), complete_workflow("grown"))

    wanted = {"TimerFired", "ActivityTaskCompleted", "ChildWorkflowExecutionCompleted"}
    while True:
        task = await scene.workflow_task()
        if wanted <= set(event_types(task.history.events)):
            break
        await scene.complete_task(task)
    await scene.complete_task(task, complete_workflow("survived"))

    events = await scene.history()
    assert [event.event_id for event in events] == list(range(1, len(events) + 1))
    assert signals(events) == list(range(10))
    assert values(attributes(only(events, "ActivityTaskCompleted")).result) == ["done"]
    assert values(attributes(events[-1]).result) == ["survived"]
    assert (await scene.describe()).workflow_execution_info.execution.run_id == run.run_id


async def test_what_was_running_at_the_crash_is_tried_again(crashing):
    scene = crashing.scene
    await scene.start(workflow_task_timeout=seconds(1))
    task = await scene.workflow_task()
    await scene.signal("buffered", 1)

    await crashing.crash()
    scene = crashing.scene
    again = await scene.workflow_task()
    assert signals(again.history.events) == [1]
    # The first worker's answer comes too late.
    with pytest.raises(RPCError):
        await scene.complete_task(task, complete_workflow())
    await scene.complete_task(again, complete_workflow())
    assert await scene.status() == "COMPLETED"


async def test_pages_of_a_completion_that_a_crash_cut_off_are_sent_again(crashing):
    scene = crashing.scene
    await scene.start(workflow_task_timeout=seconds(60))
    task = await scene.workflow_task()
    await scene.complete_task(task, start_timer("t", 60), intermediate_page=True)
    await crashing.crash()

    scene = crashing.scene
    answer = await refused(scene.complete_task(task, complete_workflow(), page_number=1))
    assert (answer.code, answer.detail_names) == ("ABORTED", ["WorkflowTaskCompletionBufferLostFailure"])
    await scene.complete_task(task, start_timer("t", 60), intermediate_page=True)
    await scene.complete_task(task, complete_workflow(), page_number=1)
    assert event_types(await scene.history())[-3:] == [
        "WorkflowTaskCompleted",
        "TimerStarted",
        "WorkflowExecutionCompleted",
    ]


async def test_a_cluster_keeps_its_id(crashing):
    async def cluster_id():
        request = api.GetClusterInfoRequest()
        return (await crashing.scene.service.get_cluster_info(request, timeout=CALL)).cluster_id

    before = await cluster_id()
    await crashing.crash()
    assert await cluster_id() == before


async def test_outcomes_searches_and_ids_survive_a_crash(crashing):
    scene = crashing.scene
    run = await scene.start(request_id="start", search_attributes=search_attributes(CustomKeywordField="kept"))
    await scene.answer()
    updating = send_update(scene, "u", "change", 1)
    await accept_and_complete(scene, await scene.workflow_task(), "changed")
    await updating

    await crashing.crash()
    scene = crashing.scene
    assert values((await poll_update(scene, "u")).outcome.success) == ["changed"]
    assert (await scene.start(request_id="start")).run_id == run.run_id

    async def found():
        request = api.ListWorkflowExecutionsRequest(namespace=scene.namespace, query="CustomKeywordField = 'kept'")
        return (await scene.service.list_workflow_executions(request, timeout=CALL)).executions

    [info] = await until(found)
    assert info.execution.run_id == run.run_id


async def test_every_acknowledged_signal_is_there_when_the_server_dies_under_load(crashing):
    scene = crashing.scene
    await scene.start()
    acknowledged, enough = [], asyncio.Event()

    async def send(first):
        for n in range(first, 100_000, 4):
            try:
                await scene.signal("s", n)
            except RPCError:
                return
            acknowledged.append(n)
            if len(acknowledged) >= 50:
                enough.set()

    senders = [asyncio.create_task(send(first)) for first in range(4)]
    await enough.wait()
    await crashing.crash()
    await asyncio.gather(*senders)
    recorded = signals(await crashing.scene.history())
    assert set(acknowledged) <= set(recorded)
    assert len(recorded) == len(set(recorded))
    # Each sender's own signals are in the order it sent them.
    for first in range(4):
        own = [n for n in recorded if n % 4 == first]
        assert own == sorted(own)


async def test_an_activity_retry_waiting_at_the_crash_comes_after_it(crashing):
    scene = crashing.scene
    await scene.start()
    await scene.answer(schedule_activity("a", scene.task_queue, retry_policy=retry(interval=1)))
    await scene.fail_activity(await scene.activity_task(), failure("once"))
    await crashing.crash()
    again = await crashing.scene.activity_task()
    assert again.attempt == 2


async def test_a_batch_job_killed_half_way_finishes_with_exact_counts(crashing):
    """Each page is a hundred runs: the first kill comes in the middle of one, the second in the next."""
    count = 150
    scene = crashing.scene
    for n in range(count):
        await scene.start(workflow_id=f"{scene.workflow_id}-{n}")
    job_id = scene.workflow_id + "-job"
    await scene.service.start_batch_operation(
        api.StartBatchOperationRequest(
            namespace=scene.namespace,
            job_id=job_id,
            reason="conformance",
            visibility_query=f"TaskQueue = '{scene.task_queue}'",
            max_operations_per_second=200,
            termination_operation=BatchOperationTermination(identity=IDENTITY),
        ),
        timeout=CALL,
    )

    async def running() -> int:
        request = api.CountWorkflowExecutionsRequest(
            namespace=crashing.scene.namespace,
            query=f"TaskQueue = '{scene.task_queue}' AND ExecutionStatus = 'Running'",
        )
        return (await crashing.scene.service.count_workflow_executions(request, timeout=CALL)).count

    async def described():
        request = api.DescribeBatchOperationRequest(namespace=scene.namespace, job_id=job_id)
        return await crashing.scene.service.describe_batch_operation(request, timeout=CALL)

    for left in (120, 30):
        await until(running, lambda found, left=left: found <= left)
        await crashing.crash()
    completed = BatchOperationState.BATCH_OPERATION_STATE_COMPLETED
    job = await until(described, lambda job: job.state == completed)
    counts = (job.total_operation_count, job.complete_operation_count, job.failure_operation_count)
    assert counts == (count, count, 0)
    assert await running() == 0


@pytest.mark.differs_in_a_cluster("fairness holds within a node")
async def test_a_backlog_is_shared_by_weight_also_after_a_crash(crashing):
    """Ten runs of the heavy key to one of the light key, whichever came first."""
    scene = crashing.scene
    for key, weight, count in (("light", 1, 20), ("heavy", 10, 110)):
        for n in range(count):
            priority = Priority(fairness_key=key, fairness_weight=weight)
            await scene.start(workflow_id=f"{scene.workflow_id}-{key}-{n}", priority=priority)

    async def heavy_ones_among(count: int) -> int:
        tasks = [await crashing.scene.workflow_task() for _ in range(count)]
        return sum("-heavy-" in task.workflow_execution.workflow_id for task in tasks)

    assert await heavy_ones_among(22) == 20
    await crashing.crash()
    assert await heavy_ones_among(44) == 40
