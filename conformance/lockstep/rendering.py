"""Renders responses as comparable lines, without times, sizes and generated ids."""

import json
import re
from collections.abc import Iterable

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from histories import attributes, event_type
from refusals import refusal
from scene import Scene
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflowservice import v1 as api
from temporalio.service import RPCError

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")

# They differ on purpose, or between any two runs.
LEFT_OUT = {
    "historySizeBytes",
    "stateTransitionCount",
    "executionDuration",
    "firstWorkflowTaskBackoff",
    "currentRetryInterval",
    "nextAttemptScheduleTime",
    "namespaceId",
    "parentWorkflowNamespaceId",
    "prevAutoResetPoints",
    "autoResetPoints",
    "workerVersion",
    "mostRecentWorkerVersionStamp",
    "versioningInfo",
    "workerVersionStamp",
    "lastWorkerDeploymentVersion",
    "BuildIds",
    "extendedInfo",
    "requestIdInfos",
    # There it stays when the activity that was paused has ended.
    "TemporalPauseInfo",
    "requestId",
    "encoding",
    "taskToken",
}


class Rendering:
    """Names runs in the order in which they were first seen."""

    def __init__(self, scene: Scene):
        self._scene = scene
        self._runs: dict[str, str] = {}

    def name_run(self, run_id: str):
        if run_id:
            self._runs.setdefault(run_id, f"run{len(self._runs) + 1}")

    def text(self, text: str) -> str:
        for run_id, name in self._runs.items():
            text = text.replace(run_id, name)
        return UUID.sub("<uuid>", text.replace(self._scene.workflow_id, "ID"))

    def error(self, error: RPCError) -> str:
        found = refusal(error)
        details = [f"{type(detail).__name__} {self.message(detail)}" for detail in found.details]
        return self.text(f"{found.code} {found.message!r} {details}")

    def event(self, event: HistoryEvent) -> str:
        told = type(attributes(event))()
        told.CopyFrom(attributes(event))
        if event_type(event) == "WorkflowTaskStarted":
            # The real one doesn't say who has a task that may leave no trace.
            told.ClearField("identity")
        return f"  {event.event_id} {event_type(event)} {self.message(told)}"

    def message(self, message: Message) -> str:
        for answered in getattr(message, "responses", ()):
            # The real one doesn't say all of it of a run or an update that was there before.
            if answered.HasField("start_workflow"):
                answered.start_workflow.ClearField("first_execution_run_id")
                answered.start_workflow.ClearField("link")
            else:
                answered.update_workflow.ClearField("link")
        return self.text(json.dumps(plain(MessageToDict(message)), sort_keys=True))

    def description(self, described: api.DescribeWorkflowExecutionResponse) -> Iterable[str]:
        # The real one may have written down a task that could still leave no trace.
        described.workflow_execution_info.ClearField("history_length")
        yield f"  info {self.message(described.workflow_execution_info)}"
        if described.workflow_execution_info.HasField("close_time"):
            return
        for activity in sorted(described.pending_activities, key=lambda it: it.activity_id):
            yield f"  pending {self.message(activity)}"
        for child in sorted(described.pending_children, key=lambda it: it.initiated_id):
            yield f"  pending {self.message(child)}"
        if described.HasField("pending_workflow_task"):
            yield f"  pending task {self.message(described.pending_workflow_task)}"


def plain(of):
    if isinstance(of, dict):
        kept = {key: plain(value) for key, value in of.items() if key not in LEFT_OUT}
        return {key: value for key, value in kept.items() if value not in ({}, [])}
    if isinstance(of, list):
        return [plain(value) for value in of]
    if isinstance(of, str) and TIME.match(of):
        return "<time>"
    return of
