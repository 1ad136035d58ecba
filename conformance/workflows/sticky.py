"""Sticky task queues: a worker with a cached run polls one for the run's next task."""

from temporalio.api.enums.v1 import TaskQueueKind, TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice import v1 as api

from scene import CALL
from waiting import until


async def sticky_poller_is_known(scene, sticky: str):
    """A task goes to a sticky queue only if someone polls it: waits until the server knows."""
    queue = TaskQueue(name=sticky, kind=TaskQueueKind.TASK_QUEUE_KIND_STICKY, normal_name=scene.task_queue)
    request = api.DescribeTaskQueueRequest(
        namespace=scene.namespace, task_queue=queue, task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW
    )

    async def pollers():
        return (await scene.service.describe_task_queue(request, timeout=CALL)).pollers

    await until(pollers)
