"""Worker builds in histories, search attributes and lists."""

import datetime as dt

import pytest
from temporalio import activity, workflow
from temporalio.api.common.v1 import WorkerVersionCapabilities, WorkerVersionStamp
from temporalio.api.deployment.v1 import WorkerDeploymentOptions
from temporalio.api.enums.v1 import WorkerVersioningMode
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice import v1 as api
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from commands import complete_workflow, continue_as_new, failure, retry, schedule_activity
from histories import attributes, event_type
from payloads import value
from refusals import refused
from scene import CALL, IDENTITY
from waiting import until

BUILD = {"worker_version_stamp": WorkerVersionStamp(build_id="b1")}


def poll(scene, **fields):
    request = api.PollWorkflowTaskQueueRequest(
        namespace=scene.namespace, task_queue=TaskQueue(name=scene.task_queue), identity=IDENTITY, **fields
    )
    return scene.service.poll_workflow_task_queue(request, timeout=CALL)


async def builds(scene) -> list[str]:
    """The build that each event tells."""
    told = [(event_type(event), attributes(event)) for event in await scene.history()]
    return [f"{kind} {told.worker_version.build_id}" for kind, told in told if hasattr(told, "worker_version")]


async def shown(scene, name: str, run_id: str = "") -> list[str] | None:
    """A search attribute."""
    fields = (await scene.describe(run_id)).workflow_execution_info.search_attributes.indexed_fields
    return value(fields[name]) if name in fields else None


@workflow.defn
class AsksOnce:
    @workflow.run
    async def run(self) -> None:
        await workflow.execute_activity(nothing, start_to_close_timeout=dt.timedelta(seconds=10))


@activity.defn
async def nothing() -> None:
    pass


async def test_a_worker_of_an_sdk_tells_its_build(scene):
    """The SDKs do so only if the server says that it can route tasks by build."""
    worker = Worker(
        scene.client,
        task_queue=scene.task_queue,
        workflows=[AsksOnce],
        activities=[nothing],
        workflow_runner=UnsandboxedWorkflowRunner(),
        build_id="of-the-sdk",
    )
    async with worker:
        await scene.client.execute_workflow(AsksOnce.run, id=scene.workflow_id, task_queue=scene.task_queue)
    assert await builds(scene) == [
        "WorkflowTaskStarted of-the-sdk",
        "WorkflowTaskCompleted of-the-sdk",
        "ActivityTaskStarted of-the-sdk",
        "ActivityTaskCompleted ",
        "WorkflowTaskStarted of-the-sdk",
        "WorkflowTaskCompleted of-the-sdk",
    ]
    assert await shown(scene, "BuildIds") == ["unversioned", "unversioned:of-the-sdk"]
    assert await shown(scene, "BinaryChecksums") is None


async def test_a_run_is_found_by_the_builds_it_has_been_with(scene):
    await scene.start()
    assert await shown(scene, "BuildIds") is None
    await scene.answer(**BUILD)
    for build in ["b2", "b1", ""]:
        await scene.signal("again")
        await scene.answer(worker_version_stamp=WorkerVersionStamp(build_id=build))
    assert await shown(scene, "BuildIds") == ["unversioned", "unversioned:b1", "unversioned:b2"]

    async def found():
        query = f"WorkflowId = '{scene.workflow_id}' AND BuildIds = 'unversioned:b2' AND ExecutionStatus = 'Running'"
        return [run.id async for run in scene.client.list_workflows(query)]

    assert await until(found) == [scene.workflow_id]
    # The first task that each build completed is where the workflow can be reset to.
    points = (await scene.describe()).workflow_execution_info.auto_reset_points.points
    assert [point.build_id for point in points] == ["b1", "b2", ""]


async def test_a_run_that_continues_begins_without_builds(scene):
    first = await scene.start()
    await scene.answer(continue_as_new("Flow", scene.task_queue), **BUILD)
    assert await shown(scene, "BuildIds", first.run_id) == ["unversioned", "unversioned:b1"]
    assert await shown(scene, "BuildIds") is None
    await scene.answer()
    assert await shown(scene, "BuildIds") == ["unversioned"]


async def test_an_old_worker_is_known_by_its_checksum(scene):
    await scene.start()
    await scene.fail_task(await scene.workflow_task(), failure=failure("oops"), binary_checksum="bad")
    await scene.answer(complete_workflow(), binary_checksum="good")
    told = {event_type(event): attributes(event) for event in await scene.history()}
    assert told["WorkflowTaskFailed"].binary_checksum == "bad"
    assert told["WorkflowTaskCompleted"].binary_checksum == "good"
    assert await shown(scene, "BinaryChecksums") == ["good"]
    assert await shown(scene, "BuildIds") == ["unversioned"]


async def test_tasks_that_are_written_late_tell_the_build_that_completed_them(scene):
    """A task that is retried, and an activity: both are started long before the history says so."""
    await scene.start()
    await scene.fail_task(await scene.workflow_task(), failure=failure("oops"))
    await scene.answer(schedule_activity("a", scene.task_queue, retry_policy=retry()), **BUILD)
    task = await scene.activity_task()
    request = api.RespondActivityTaskCompletedRequest(
        namespace=scene.namespace, task_token=task.task_token, worker_version=WorkerVersionStamp(build_id="b2")
    )
    await scene.service.respond_activity_task_completed(request, timeout=CALL)
    assert await builds(scene) == [
        "WorkflowTaskStarted ",
        "WorkflowTaskFailed ",
        "WorkflowTaskStarted b1",
        "WorkflowTaskCompleted b1",
        "ActivityTaskStarted b2",
        "ActivityTaskCompleted ",
    ]


async def test_deployment_options_alone_are_no_build(scene):
    options = {"deployment_options": WorkerDeploymentOptions(build_id="b1", worker_versioning_mode=1)}
    await scene.start()
    await scene.complete_task(await poll(scene, **options), complete_workflow(), **options)
    assert await builds(scene) == ["WorkflowTaskStarted ", "WorkflowTaskCompleted "]


async def test_a_task_that_starts_with_its_workflow_tells_no_size(scene):
    started = await scene.start(request_eager_execution=True)
    await scene.complete_task(started.eager_workflow_task, complete_workflow())
    told = {event_type(event): attributes(event) for event in await scene.history()}
    assert told["WorkflowTaskStarted"].history_size_bytes == 0


VERSIONED = {
    "build ids": {"worker_version_capabilities": WorkerVersionCapabilities(build_id="b1", use_versioning=True)},
    "deployments": {
        "deployment_options": WorkerDeploymentOptions(
            deployment_name="d",
            build_id="b1",
            worker_versioning_mode=WorkerVersioningMode.WORKER_VERSIONING_MODE_VERSIONED,
        )
    },
}


@pytest.mark.differs_from_temporal("it routes tasks by build")
@pytest.mark.parametrize("fields", VERSIONED.values(), ids=VERSIONED.keys())
async def test_a_worker_that_leaves_routing_by_build_to_the_server_is_refused(scene, fields):
    answer = await refused(poll(scene, **fields))
    assert answer.code == "INVALID_ARGUMENT"
    assert "start the worker without versioning" in answer.message
    request = api.PollActivityTaskQueueRequest(
        namespace=scene.namespace, task_queue=TaskQueue(name=scene.task_queue), identity=IDENTITY, **fields
    )
    answer = await refused(scene.service.poll_activity_task_queue(request, timeout=CALL))
    assert answer.code == "INVALID_ARGUMENT"
