"""W18: one operation on every workflow a query finds."""

import uuid

import pytest
from google.protobuf.empty_pb2 import Empty
from temporalio.api.batch.v1 import (
    BatchOperationCancellation,
    BatchOperationDeletion,
    BatchOperationReset,
    BatchOperationSignal,
    BatchOperationTermination,
)
from temporalio.api.common.v1 import ResetOptions, WorkerVersionStamp
from temporalio.api.enums.v1 import BatchOperationState, BatchOperationType
from temporalio.api.workflowservice import v1 as api

from commands import continue_as_new
from histories import attributes, event_types, only
from payloads import payloads, values
from refusals import refused
from scene import CALL, IDENTITY
from waiting import until

COUNT = 3


class Batch:
    """Workflows of one test, and batch operations on them."""

    def __init__(self, scene):
        self.scene = scene
        self.query = f"TaskQueue = '{scene.task_queue}'"
        self.workflow_ids = [f"{scene.workflow_id}-{n}" for n in range(COUNT)]

    async def start_workflows(self):
        for workflow_id in self.workflow_ids:
            await self.scene.start(workflow_id=workflow_id)
        await self.found(COUNT)

    async def found(self, number: int, seconds: float = 10):
        """Returns when the query finds so many."""

        async def count():
            request = api.CountWorkflowExecutionsRequest(namespace=self.scene.namespace, query=self.query)
            return (await self.scene.service.count_workflow_executions(request, timeout=CALL)).count

        await until(count, lambda found: found == number, seconds=seconds)

    async def start(self, **operation) -> str:
        job_id = str(uuid.uuid4())
        request = api.StartBatchOperationRequest(
            namespace=self.scene.namespace,
            job_id=job_id,
            reason="conformance",
            visibility_query=self.query,
            **operation,
        )
        await self.scene.service.start_batch_operation(request, timeout=CALL)
        return job_id

    async def describe(self, job_id: str) -> api.DescribeBatchOperationResponse:
        request = api.DescribeBatchOperationRequest(namespace=self.scene.namespace, job_id=job_id)
        return await self.scene.service.describe_batch_operation(request, timeout=CALL)

    async def completed(self, job_id: str) -> api.DescribeBatchOperationResponse:
        running = BatchOperationState.BATCH_OPERATION_STATE_RUNNING
        return await until(lambda: self.describe(job_id), lambda job: job.state != running, seconds=30)


@pytest.fixture
async def batch(scene) -> Batch:
    made = Batch(scene)
    await made.start_workflows()
    return made


async def test_a_batch_tells_its_progress(batch):
    job = await batch.completed(
        await batch.start(termination_operation=BatchOperationTermination(identity=IDENTITY))
    )
    assert job.state == BatchOperationState.BATCH_OPERATION_STATE_COMPLETED
    assert job.operation_type == BatchOperationType.BATCH_OPERATION_TYPE_TERMINATE_WORKFLOW
    assert (job.total_operation_count, job.complete_operation_count, job.failure_operation_count) == (
        COUNT,
        COUNT,
        0,
    )
    assert job.reason == "conformance"
    assert job.start_time.seconds > 0
    assert job.close_time.seconds >= job.start_time.seconds


async def test_a_batch_terminates(batch, scene):
    await batch.completed(
        await batch.start(termination_operation=BatchOperationTermination(details=payloads("d")))
    )
    for workflow_id in batch.workflow_ids:
        assert await scene.status(workflow_id=workflow_id) == "TERMINATED"
    told = attributes(await scene.close_event(workflow_id=batch.workflow_ids[0]))
    assert told.reason == "conformance"


async def test_a_batch_cancels(batch, scene):
    await batch.completed(await batch.start(cancellation_operation=BatchOperationCancellation()))
    for workflow_id in batch.workflow_ids:
        assert only(await scene.history(workflow_id=workflow_id), "WorkflowExecutionCancelRequested")


async def test_a_batch_signals(batch, scene):
    await batch.completed(await batch.start(signal_operation=BatchOperationSignal(signal="s", input=payloads(1))))
    for workflow_id in batch.workflow_ids:
        told = attributes(only(await scene.history(workflow_id=workflow_id), "WorkflowExecutionSignaled"))
        assert told.signal_name == "s"
        assert values(told.input) == [1]


async def test_a_batch_resets(batch, scene):
    for _ in range(COUNT):
        await scene.answer()
    options = ResetOptions(first_workflow_task=Empty())
    await batch.completed(await batch.start(reset_operation=BatchOperationReset(options=options)))
    for workflow_id in batch.workflow_ids:
        assert "WorkflowTaskFailed" in event_types(await scene.history(workflow_id=workflow_id))


async def test_a_batch_resets_to_the_first_task_of_a_build(scene):
    batch = Batch(scene)
    batch.workflow_ids = batch.workflow_ids[:1]
    await scene.start(workflow_id=batch.workflow_ids[0])
    for build in ("good", "bad", "bad"):
        await scene.answer(worker_version_stamp=WorkerVersionStamp(build_id=build))
        await scene.signal(build, workflow_id=batch.workflow_ids[0])
    await batch.found(1)

    options = ResetOptions(build_id="bad")
    job = await batch.completed(await batch.start(reset_operation=BatchOperationReset(options=options)))
    assert (job.complete_operation_count, job.failure_operation_count) == (1, 0)
    events = await scene.history(workflow_id=batch.workflow_ids[0])
    kinds = event_types(events)
    assert kinds[: kinds.index("WorkflowTaskFailed")] == [
        "WorkflowExecutionStarted",
        "WorkflowTaskScheduled",
        "WorkflowTaskStarted",
        "WorkflowTaskCompleted",
        "WorkflowExecutionSignaled",
        "WorkflowTaskScheduled",
        "WorkflowTaskStarted",
    ]
    kept = attributes(only(events, "WorkflowTaskCompleted"))
    assert kept.worker_version.build_id == "good"


@pytest.mark.parametrize("current_run_only", [False, True])
async def test_a_batch_resets_to_a_build_of_an_earlier_run_if_it_may(scene, current_run_only):
    batch = Batch(scene)
    batch.workflow_ids = batch.workflow_ids[:1]
    [workflow_id] = batch.workflow_ids
    first = await scene.start(workflow_id=workflow_id)
    good, bad = (WorkerVersionStamp(build_id=build) for build in ("good", "bad"))
    await scene.answer(continue_as_new("Flow", scene.task_queue), worker_version_stamp=good)
    await scene.answer(worker_version_stamp=bad)
    batch.query += " AND ExecutionStatus = 'Running'"
    await batch.found(1)

    options = ResetOptions(build_id="good", current_run_only=current_run_only)
    operation = BatchOperationReset(options=options)
    job = await batch.completed(await batch.start(reset_operation=operation))
    assert (job.complete_operation_count, job.failure_operation_count) == ((0, 1) if current_run_only else (1, 0))
    current = attributes((await scene.history(workflow_id=workflow_id))[0])
    assert (current.continued_execution_run_id == first.run_id) == current_run_only


async def test_a_batch_reset_to_an_unknown_build_fails_for_the_run(batch):
    options = ResetOptions(build_id="nobody's")
    job = await batch.completed(await batch.start(reset_operation=BatchOperationReset(options=options)))
    assert (job.complete_operation_count, job.failure_operation_count) == (0, COUNT)


async def test_a_batch_deletes(batch):
    job = await batch.completed(await batch.start(deletion_operation=BatchOperationDeletion()))
    assert job.complete_operation_count == COUNT
    await batch.found(0, seconds=60)


async def test_batches_are_listed(batch, scene):
    job_id = await batch.start(termination_operation=BatchOperationTermination())
    await batch.completed(job_id)

    async def listed():
        request = api.ListBatchOperationsRequest(namespace=scene.namespace)
        answer = await scene.service.list_batch_operations(request, timeout=CALL)
        return [info.job_id for info in answer.operation_info]

    await until(listed, lambda jobs: job_id in jobs)


async def test_an_unknown_batch_is_not_found(scene):
    answer = await refused(Batch(scene).describe("nobody"))
    assert answer.code == "NOT_FOUND"


async def test_a_batch_without_a_query_is_refused(scene):
    request = api.StartBatchOperationRequest(
        namespace=scene.namespace,
        job_id="j",
        reason="r",
        termination_operation=BatchOperationTermination(),
    )
    answer = await refused(scene.service.start_batch_operation(request, timeout=CALL))
    assert (answer.code, answer.message) == (
        "INVALID_ARGUMENT",
        "must provide required parameters: BatchType,Reason,Namespace,"
        " AND one of (Query OR Executions OR TargetExecutions)",
    )
