"""The state of a course: the run as last described, the tasks the worker holds, the updates in flight."""

import asyncio
import random

from histories import attributes, event_type
from rendering import Rendering
from scene import Scene
from temporalio.api.enums.v1 import PendingWorkflowTaskState, WorkflowExecutionStatus
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflowservice import v1 as api
from temporalio.service import RPCError, RPCStatusCode

# How long the real server may take over what it does in the background.
SETTLE_SECONDS = 5.0
RUNNING = WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_RUNNING

# What follows from a command by itself, and the field that names the command's event.
ANSWERED_BY = {
    "SignalExternalWorkflowExecutionInitiated": {
        "ExternalWorkflowExecutionSignaled",
        "SignalExternalWorkflowExecutionFailed",
    },
    "RequestCancelExternalWorkflowExecutionInitiated": {
        "ExternalWorkflowExecutionCancelRequested",
        "RequestCancelExternalWorkflowExecutionFailed",
    },
    "StartChildWorkflowExecutionInitiated": {
        "ChildWorkflowExecutionStarted",
        "StartChildWorkflowExecutionFailed",
    },
}


def is_late(update: asyncio.Task) -> bool:
    problem = update.exception()
    late = (RPCStatusCode.CANCELLED, RPCStatusCode.DEADLINE_EXCEEDED)
    return isinstance(problem, RPCError) and problem.status in late


class Driver:
    def __init__(self, scene: Scene, rng: random.Random):
        self.scene = scene
        self.rng = rng
        self.log: list[str] = []
        self.render = Rendering(scene)
        self.described = api.DescribeWorkflowExecutionResponse()
        self.events: list[HistoryEvent] = []
        self.run_id = ""
        self.task: api.PollWorkflowTaskQueueResponse | None = None
        self.activities: dict[str, api.PollActivityTaskQueueResponse] = {}
        self.stale: list = []
        self.updates: dict[str, asyncio.Task] = {}
        # Those whose callers want to hear of the acceptance.
        self.heard_when_accepted: set[str] = set()
        # Updates that the workflow has accepted and not completed.
        self.accepted: list[str] = []
        self.due: set[str] = set()
        self.numbers = 0
        # From here on the servers differ on purpose.
        self.is_over = False

    def number(self) -> int:
        self.numbers += 1
        return self.numbers

    @property
    def is_open(self) -> bool:
        return self.described.workflow_execution_info.status == RUNNING

    @property
    def may_touch_activities(self) -> bool:
        """While an update waits there may be a task that leaves no trace if the update is rejected. On the real
        server it leaves one if anything else has changed in the run meanwhile."""
        return self.is_open and not self.updates

    @property
    def task_state(self) -> int:
        """0 if there is no workflow task."""
        return self.described.pending_workflow_task.state if self.is_open else 0

    @property
    def has_scheduled_task(self) -> bool:
        return self.task_state == PendingWorkflowTaskState.PENDING_WORKFLOW_TASK_STATE_SCHEDULED

    async def ask(self, what: str, call):
        """Logs what is answered. `None` if the call is refused."""
        try:
            answer = await call
        except RPCError as error:
            self.log.append(f" {what}: {self.render.error(error)}")
            return None
        self.log.append(f" {what}: {self.render.message(answer) if hasattr(answer, 'DESCRIPTOR') else 'ok'}")
        return answer

    async def look(self):
        """Waits until nothing happens by itself any more, and logs what there is to see."""
        before = self.run_id
        for _ in range(int(SETTLE_SECONDS / 0.05)):
            self.described = await self.scene.describe()
            self.run_id = self.described.workflow_execution_info.execution.run_id
            self.render.name_run(self.run_id)
            self.events = await self.scene.history(self.run_id)
            if self.is_settled():
                self.described = await self.scene.describe(self.run_id)
                break
            await asyncio.sleep(0.05)
        else:
            self.log.append(" it doesn't settle")
        if before and before != self.run_id:
            self.task, self.activities = None, {}
            self.log.append(f" after {self.render.text(before)}:")
            self.log += [self.render.event(event) for event in await self.scene.history(before)]
        if self.task and not self.described.HasField("pending_workflow_task"):
            self.task = None
        self.log += [self.render.event(event) for event in self.events]
        self.log += self.render.description(self.described)
        await self.hear_of_updates()

    def is_settled(self) -> bool:
        if not self.is_open or self.task_state == PendingWorkflowTaskState.PENDING_WORKFLOW_TASK_STATE_STARTED:
            return True
        kinds = [event_type(event) for event in self.events]
        if kinds == ["WorkflowExecutionStarted"] and not self.described.HasField("pending_workflow_task"):
            # A retry that waits for its time, unless the course said it should wait long.
            return attributes(self.events[0]).first_workflow_task_backoff.seconds > 60
        answers = {
            (event_type(event), attributes(event).initiated_event_id)
            for event in self.events
            if hasattr(attributes(event), "initiated_event_id")
        }
        for event in self.events:
            wanted = ANSWERED_BY.get(event_type(event))
            if wanted and not any((kind, event.event_id) in answers for kind in wanted):
                return False
        fired = {
            attributes(event).started_event_id
            for event in self.events
            if event_type(event) in ("TimerFired", "TimerCanceled")
        }
        return not any(
            event_type(event) == "TimerStarted"
            and attributes(event).start_to_fire_timeout.seconds < 1
            and event.event_id not in fired
            for event in self.events
        )

    async def hear_of_updates(self):
        """Logs the answers to updates: of those that must be known, and of those that happen to be."""
        if not self.is_open:
            self.due |= self.updates.keys()
        waiting = [self.updates[name] for name in self.due if name in self.updates]
        if waiting:
            await asyncio.wait(waiting, timeout=SETTLE_SECONDS)
        for name in sorted(self.updates):
            if self.updates[name].done():
                update = self.updates.pop(name)
                # A caller's own deadline says nothing of the server.
                if not is_late(update):
                    await self.ask(f"update {name}", update)
        self.due.clear()

    async def end(self):
        for update in self.updates.values():
            update.cancel()
        await asyncio.gather(*self.updates.values(), return_exceptions=True)
