"""Runs for list filters: the same on every server, and different in everything that a filter can test."""

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from temporalio.api.common.v1 import WorkflowType
from temporalio.api.enums.v1 import WorkflowExecutionStatus
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflow.v1 import WorkflowExecutionInfo
from temporalio.api.workflowservice import v1 as api
from temporalio.client import Client

from commands import cancel_workflow, command, complete_workflow, continue_as_new, fail_workflow, start_child
from payloads import search_attributes, seconds
from scene import CALL, Scene
from waiting import until

TYPES = ["Order", "OrderRefund", "Invoice", "Invoice line"]
QUEUES = ["fast", "fast-lane", "slow"]

# No two words differ in case only, no time's milliseconds end in zero: Temporal would answer by accident.
CUSTOM_VALUES = {
    "CustomKeywordField": ["red", "redder", "green", "sky blue", "50%", "5_", "été", "42", "zz"],
    "CustomKeywordListField": [["x"], ["x", "y"], ["y", "long word"], ["red", "50%"], ["été"]],
    "CustomTextField": [
        "the quick brown fox",
        "quick-silver",
        "The LAZY dog, 42 times",
        "Café au lait",
        "fox_trot",
        "brown",
    ],
    "CustomIntField": [-7, 0, 1, 5, 42, 9_007_199_254_740_993, -9_223_372_036_854_775_808],
    "CustomDoubleField": [-1.5, 0, 0.1, 5, 2.25, 1e20, 1e-7],
    "CustomBoolField": [True, False],
    "CustomDatetimeField": [
        "1969-12-31T23:59:59.501Z",
        "2026-11-01T12:00:00.251Z",
        "2026-11-01T14:00:00.125+02:00",
        "2030-02-28T00:00:00.001Z",
    ],
}

# A value that only an upsert brings: once it is listed, so is everything before.
UPSERTED = "upserted"

# The first is started by a client, each other by the one before.
FAMILY = ["family-parent", "family-child", "family-grandchild"]


@dataclass(frozen=True)
class Planned:
    workflow_id: str
    workflow_type: str
    task_queue: str
    ends: str
    attributes: dict
    options: dict = field(default_factory=dict)

    @property
    def has_task(self) -> bool:
        return not self.options


def plan() -> list[Planned]:
    """In the order of their starts."""
    rng = random.Random("runs for list filters")

    def planned(workflow_id, ends, **options):
        held = {name: rng.choice(values) for name, values in CUSTOM_VALUES.items() if rng.random() < 0.7}
        return Planned(workflow_id, rng.choice(TYPES), rng.choice(QUEUES), ends, held, options)

    endings = ["RUNNING", "COMPLETED", "FAILED", "CANCELED", "TERMINATED", "CONTINUED_AS_NEW"] * 4
    rng.shuffle(endings)
    runs = [planned(f"run-{n}", ends) for n, ends in enumerate(endings)]
    for ends in ("RUNNING", "TERMINATED"):
        runs.append(planned(f"delayed-{ends.lower()}", ends, workflow_start_delay=seconds(3_600)))
    # Time closes it, before the others are closed by hand.
    runs.append(planned("timed-out", "TIMED_OUT", workflow_run_timeout=seconds(1)))
    return runs


async def populate(client: Client) -> list[WorkflowExecutionInfo]:
    """Starts and closes every run, and waits until all of it is listed. Answers that list."""
    runs = plan()
    scene = Scene(client, FAMILY[0])
    for run in runs:
        await start(scene, run)
    # A request that comes when the worker has the task already would make a second task.
    for run in runs:
        if run.ends == "CANCELED":
            await scene.cancel(workflow_id=run.workflow_id)
    await scene.close_event(workflow_id=runs[-1].workflow_id)
    tasks = await first_tasks(scene, runs)
    # What was started last is closed first: so the order of durations is the same in every server.
    for run in reversed(runs[:-1]):
        await end(scene, run, tasks.get(run.workflow_id))
    await start_family(scene)

    expected = [f"{run.workflow_id} {run.ends}" for run in runs]
    expected += [f"{run.workflow_id} RUNNING" for run in runs if run.ends == "CONTINUED_AS_NEW"]
    expected += [f"{FAMILY[0]} RUNNING", f"{FAMILY[1]} RUNNING", f"{FAMILY[2]} COMPLETED"]
    await until(lambda: listed(client), lambda found: sorted(map(name, found)) == sorted(expected))
    upserts = sum(run.ends == "RUNNING" and run.has_task for run in runs)
    upserted = f"CustomKeywordListField = '{UPSERTED}'"
    await until(lambda: listed(client, upserted), lambda found: len(found) == upserts)
    return await listed(client)


async def listed(client: Client, query: str = "") -> Sequence[WorkflowExecutionInfo]:
    request = api.ListWorkflowExecutionsRequest(namespace=client.namespace, query=query, page_size=1_000)
    return (await client.workflow_service.list_workflow_executions(request, timeout=CALL)).executions


def name(run: WorkflowExecutionInfo) -> str:
    """The same in every server. The runs of a chain share an id, but not a status."""
    status = WorkflowExecutionStatus.Name(run.status).removeprefix("WORKFLOW_EXECUTION_STATUS_")
    return f"{run.execution.workflow_id} {status}"


async def start(scene: Scene, run: Planned):
    await scene.start(
        workflow_id=run.workflow_id,
        workflow_type=WorkflowType(name=run.workflow_type),
        task_queue=TaskQueue(name=run.task_queue),
        search_attributes=search_attributes(**run.attributes),
        **run.options,
    )


async def first_tasks(scene: Scene, runs: list[Planned]) -> dict[str, api.PollWorkflowTaskQueueResponse]:
    """By workflow id."""
    tasks = {}
    for run in runs:
        if run.has_task:
            task = await scene.workflow_task(run.task_queue)
            tasks[task.workflow_execution.workflow_id] = task
    return tasks


async def end(scene: Scene, run: Planned, task: api.PollWorkflowTaskQueueResponse | None):
    if run.ends == "TERMINATED":
        await scene.terminate(workflow_id=run.workflow_id)
    elif task:
        upsert = search_attributes(CustomKeywordListField=[UPSERTED])
        answer = {
            "RUNNING": command("upsert_workflow_search_attributes", search_attributes=upsert),
            "COMPLETED": complete_workflow(),
            "FAILED": fail_workflow(),
            "CANCELED": cancel_workflow(),
            "CONTINUED_AS_NEW": continue_as_new(run.workflow_type, run.task_queue),
        }
        await scene.complete_task(task, answer[run.ends])


async def start_family(scene: Scene):
    """Each has the task queue of its name: a parent who hears of its child has a second task."""
    await scene.start(workflow_id=FAMILY[0], task_queue=TaskQueue(name=FAMILY[0]))
    for parent, child in itertools.pairwise(FAMILY):
        await scene.complete_task(await scene.workflow_task(parent), start_child(child, child))
    await scene.complete_task(await scene.workflow_task(FAMILY[-1]), complete_workflow())
