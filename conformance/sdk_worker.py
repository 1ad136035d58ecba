"""The official SDK's worker, on a test's own task queue."""

from collections.abc import Callable, Sequence

from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from scene import Scene


def worker(scene: Scene, workflows: Sequence[type], activities: Sequence[Callable] = (), **options) -> Worker:
    """To be entered: `async with worker(scene, [Flow]): …`"""
    return Worker(
        scene.client,
        task_queue=scene.task_queue,
        workflows=workflows,
        activities=activities,
        # The sandbox guards workflow code, and these tests are about the server.
        workflow_runner=UnsandboxedWorkflowRunner(),
        **options,
    )
