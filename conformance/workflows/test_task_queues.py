"""W17: description of task queues, and the order of their tasks."""

import asyncio

import pytest
from temporalio.api.common.v1 import Priority
from temporalio.api.enums.v1 import TaskQueueKind, TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue, TaskQueueMetadata
from temporalio.api.workflowservice import v1 as api

from commands import schedule_activity
from payloads import seconds
from scene import CALL, IDENTITY
from sticky import sticky_poller_is_known
from waiting import until

WORKFLOW = TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW
ACTIVITY = TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY


async def describe(scene, kind=WORKFLOW, **fields) -> api.DescribeTaskQueueResponse:
    fields.setdefault("task_queue", TaskQueue(name=scene.task_queue))
    request = api.DescribeTaskQueueRequest(namespace=scene.namespace, task_queue_type=kind, **fields)
    return await scene.service.describe_task_queue(request, timeout=CALL)


async def test_a_queue_nobody_polls_has_no_pollers(scene):
    assert (await describe(scene)).pollers == []


async def test_the_pollers_of_a_queue_are_known_by_identity(scene):
    polling = asyncio.create_task(scene.workflow_task())

    async def pollers():
        return (await describe(scene)).pollers

    [poller] = await until(pollers)
    assert poller.identity == IDENTITY
    assert poller.last_access_time.seconds > 0
    # Workflow and activity pollers are apart.
    assert (await describe(scene, ACTIVITY)).pollers == []
    await scene.start()
    await polling


async def test_the_backlog_of_a_queue_is_counted(scene):
    for n in range(3):
        await scene.start(workflow_id=f"{scene.workflow_id}-{n}")

    async def backlog():
        return (await describe(scene, report_stats=True)).stats.approximate_backlog_count

    await until(backlog, lambda count: count == 3)
    for _ in range(3):
        await scene.answer()
    await until(backlog, lambda count: count == 0)


@pytest.mark.differs_in_a_cluster("the order of tasks holds within a node")
async def test_the_oldest_task_comes_first(scene):
    for n in range(5):
        await scene.start(workflow_id=f"{scene.workflow_id}-{n}")

    async def backlog():
        return (await describe(scene, report_stats=True)).stats.approximate_backlog_count

    await until(backlog, lambda count: count == 5)
    order = [(await scene.workflow_task()).workflow_execution.workflow_id[-1] for _ in range(5)]
    assert order == list("01234")


@pytest.mark.differs_in_a_cluster("a poll knows the backlog of the node that answers it")
async def test_a_poll_tells_the_backlog_of_its_own_queue(scene):
    """Workers choose by it which queue they poll next: told of the normal queue's, they would never poll that."""
    sticky = scene.task_queue + "-sticky"
    kept = [f"{scene.workflow_id}-{n}" for n in range(3)]
    for workflow_id in kept:
        await scene.start(workflow_id=workflow_id)
        await scene.answer(sticky=sticky)
    polling = asyncio.create_task(scene.workflow_task(sticky=sticky))
    await sticky_poller_is_known(scene, sticky)
    for n in range(4):
        await scene.start(workflow_id=f"{scene.workflow_id}-waiting-{n}")

    async def backlog():
        return (await describe(scene, report_stats=True)).stats.approximate_backlog_count

    await until(backlog, lambda count: count == 4)
    for n, workflow_id in enumerate(kept):
        await scene.signal("wake up", workflow_id=workflow_id)
        if n == 0:
            task = await polling
            assert task.backlog_count_hint == 0
            assert task.poller_scaling_decision.poll_request_delta_suggestion <= 0

    async def sticky_backlog():
        queue = TaskQueue(name=sticky, kind=TaskQueueKind.TASK_QUEUE_KIND_STICKY, normal_name=scene.task_queue)
        described = await describe(scene, task_queue=queue, include_task_queue_status=True)
        return described.task_queue_status.backlog_count_hint

    await until(sticky_backlog, lambda count: count == 2)
    assert [(await scene.workflow_task(sticky=sticky)).backlog_count_hint for _ in range(2)] == [1, 0]
    task = await scene.workflow_task()
    assert task.backlog_count_hint == 3
    assert task.poller_scaling_decision.poll_request_delta_suggestion == 1


@pytest.mark.differs_in_a_cluster("a poll that was lent has waited at two nodes")
async def test_a_poll_that_waited_for_long_was_one_too_many(scene):
    """Workers that choose how many polls they have open close one then."""
    polling = [asyncio.create_task(scene.workflow_task()), asyncio.create_task(scene.activity_task())]
    # Who polls for that long has nothing to do.
    await asyncio.wait(polling, timeout=1.5)
    await scene.start()
    task = await polling[0]
    assert task.poller_scaling_decision.poll_request_delta_suggestion == -1
    await scene.complete_task(task, schedule_activity("a", scene.task_queue))
    assert (await polling[1]).poller_scaling_decision.poll_request_delta_suggestion == -1


async def test_a_backlog_is_worked_off_by_priority(scene):
    await scene.start()
    keys = [5, 3, 1, 4, 2]
    await scene.answer(
        *(schedule_activity(str(key), scene.task_queue, priority=Priority(priority_key=key)) for key in keys)
    )

    async def backlog():
        return (await describe(scene, ACTIVITY, report_stats=True)).stats.approximate_backlog_count

    await until(backlog, lambda count: count == 5)
    order = [(await scene.activity_task()).activity_id for _ in keys]
    assert order == ["1", "2", "3", "4", "5"]


async def test_an_activity_has_the_priority_of_its_workflow_unless_it_says_otherwise(scene):
    await scene.start(priority=Priority(priority_key=4))
    await scene.answer(
        schedule_activity("own", scene.task_queue, priority=Priority(priority_key=2)),
        schedule_activity("inherited", scene.task_queue),
    )
    tasks = [await scene.activity_task(), await scene.activity_task()]
    assert {task.activity_id: task.priority.priority_key for task in tasks} == {"own": 2, "inherited": 4}


def poll_at(scene, tasks_per_second: float) -> asyncio.Task:
    """A poll for an activity by a worker that limits the rate of its queue."""
    request = api.PollActivityTaskQueueRequest(
        namespace=scene.namespace,
        task_queue=TaskQueue(name=scene.task_queue),
        identity=IDENTITY,
        task_queue_metadata=TaskQueueMetadata(max_tasks_per_second={"value": tasks_per_second}),
    )
    return asyncio.create_task(scene.service.poll_activity_task_queue(request, timeout=CALL))


async def test_a_worker_can_limit_the_rate_of_its_queue(scene):
    """It is told by the pollers, and shown with them."""
    polling = poll_at(scene, 7.0)

    async def pollers():
        return (await describe(scene, ACTIVITY)).pollers

    [poller] = await until(pollers)
    assert poller.rate_per_second == 7.0
    await scene.start()
    await scene.answer(schedule_activity("a", scene.task_queue))
    assert (await polling).activity_id == "a"


@pytest.mark.differs_in_a_cluster("a rate limit is divided among the nodes")
async def test_tasks_go_at_the_rate_that_the_workers_ask_for(scene):
    """However many polls wait. A second's worth may go at once."""
    polling = [poll_at(scene, 2.0) for _ in range(6)]
    await scene.start()
    await scene.answer(*(schedule_activity(f"a{n}", scene.task_queue) for n in range(6)))
    tasks = [await poll for poll in polling]
    assert {task.activity_id for task in tasks} == {f"a{n}" for n in range(6)}
    started = sorted(task.started_time.ToNanoseconds() / 1e9 for task in tasks)
    assert started[-1] - started[0] > 1.4


async def test_a_poll_with_nothing_to_do_answers_empty_before_the_deadline(scene):
    request = api.PollWorkflowTaskQueueRequest(
        namespace=scene.namespace, task_queue=TaskQueue(name=scene.task_queue), identity=IDENTITY
    )
    answer = await scene.service.poll_workflow_task_queue(request, timeout=seconds(3).ToTimedelta())
    assert answer.task_token == b""


async def test_the_partitions_of_a_queue_are_listed(scene):
    request = api.ListTaskQueuePartitionsRequest(
        namespace=scene.namespace, task_queue=TaskQueue(name=scene.task_queue)
    )
    listed = await scene.service.list_task_queue_partitions(request, timeout=CALL)
    assert [partition.key for partition in listed.workflow_task_queue_partitions] == [scene.task_queue]
