"""One test's own schedule, with the client's calls on it.

The calls are the SDK's where it has them, and raw where a test must see exactly what the server says, or say
what the SDK cannot.
"""

import datetime as dt
import uuid

from google.protobuf.timestamp_pb2 import Timestamp
from temporalio.api.common.v1 import WorkflowType
from temporalio.api.enums.v1 import ScheduleOverlapPolicy as Overlap
from temporalio.api.enums.v1 import WorkflowExecutionStatus as Status
from temporalio.api.schedule import v1 as proto
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflow.v1 import NewWorkflowExecutionInfo
from temporalio.api.workflowservice import v1 as api
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleHandle,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleSpec,
    ScheduleState,
    WorkflowExecution,
    WorkflowHandle,
)
from temporalio.service import RPCError, RPCStatusCode
from waiting import until

from flows import Waits

CALL = dt.timedelta(seconds=10)
IDENTITY = "conformance"

# Only what a test asks for is started.
NEVER = ScheduleSpec()
EVERY_SECOND = ScheduleSpec(intervals=[ScheduleIntervalSpec(every=dt.timedelta(seconds=1))])

# Names the runs of triggers, so that none of them meet.
LONG_AGO = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)


class Scheduled:
    def __init__(self, client: Client, name: str, task_queue: str):
        self.client = client
        self.service = client.workflow_service
        self.namespace = client.namespace
        self.id = name
        self.task_queue = task_queue
        self.handle: ScheduleHandle = client.get_schedule_handle(name)
        self._triggers = 0

    # As the SDK writes it.

    def action(self, workflow=Waits.run, *arguments, **options) -> ScheduleActionStartWorkflow:
        options.setdefault("id", self.id)
        return ScheduleActionStartWorkflow(workflow, args=arguments, task_queue=self.task_queue, **options)

    def schedule(self, spec=NEVER, action=None, overlap=None, policy=None, **state) -> Schedule:
        if policy is None:
            policy = SchedulePolicy(overlap=overlap or ScheduleOverlapPolicy.SKIP)
        return Schedule(action=action or self.action(), spec=spec, policy=policy, state=ScheduleState(**state))

    async def create(self, spec=NEVER, action=None, overlap=None, policy=None, options=None, **state):
        """`options` are the call's, `state` is the schedule's."""
        schedule = self.schedule(spec, action, overlap, policy, **state)
        self.handle = await self.client.create_schedule(self.id, schedule, **(options or {}), rpc_timeout=CALL)
        return self.handle

    # As the API has it.

    def raw_schedule(self, spec=None, **parts) -> proto.Schedule:
        action = NewWorkflowExecutionInfo(
            workflow_id=self.id,
            workflow_type=WorkflowType(name="Waits"),
            task_queue=TaskQueue(name=self.task_queue),
        )
        parts.setdefault("action", proto.ScheduleAction(start_workflow=action))
        return proto.Schedule(spec=spec or proto.ScheduleSpec(), **parts)

    async def create_raw(self, schedule=None, **fields) -> api.CreateScheduleResponse:
        fields.setdefault("schedule_id", self.id)
        fields.setdefault("request_id", str(uuid.uuid4()))
        request = api.CreateScheduleRequest(
            namespace=self.namespace, schedule=schedule or self.raw_schedule(), identity=IDENTITY, **fields
        )
        return await self.service.create_schedule(request, timeout=CALL)

    async def update_raw(self, schedule=None, **fields) -> api.UpdateScheduleResponse:
        fields.setdefault("request_id", str(uuid.uuid4()))
        request = api.UpdateScheduleRequest(
            namespace=self.namespace,
            schedule_id=self.id,
            schedule=schedule or self.raw_schedule(),
            identity=IDENTITY,
            **fields,
        )
        return await self.service.update_schedule(request, timeout=CALL)

    async def patch(self, request_id: str = "", **fields) -> api.PatchScheduleResponse:
        request = api.PatchScheduleRequest(
            namespace=self.namespace,
            schedule_id=self.id,
            patch=proto.SchedulePatch(**fields),
            identity=IDENTITY,
            request_id=request_id or str(uuid.uuid4()),
        )
        return await self.service.patch_schedule(request, timeout=CALL)

    async def trigger(self, overlap: str = "UNSPECIFIED", at: dt.datetime | None = None) -> str:
        """The id of the run that this starts now or later. Each trigger is for another second, however quickly
        they follow each other. (Of two that follow too quickly Temporal loses one: see what came of the first.)"""
        if at is None:
            at = LONG_AGO + dt.timedelta(seconds=self._triggers)
            self._triggers += 1
        request = proto.TriggerImmediatelyRequest(
            overlap_policy=overlap_policy(overlap), scheduled_time=timestamp(at)
        )
        await self.patch(trigger_immediately=request)
        return self.run_id(at)

    async def backfill(self, start: dt.datetime, end: dt.datetime, overlap: str = "ALLOW_ALL"):
        request = proto.BackfillRequest(
            start_time=timestamp(start), end_time=timestamp(end), overlap_policy=overlap_policy(overlap)
        )
        await self.patch(backfill_request=[request])

    async def describe(self) -> api.DescribeScheduleResponse:
        request = api.DescribeScheduleRequest(namespace=self.namespace, schedule_id=self.id)
        return await self.service.describe_schedule(request, timeout=CALL)

    async def info(self) -> proto.ScheduleInfo:
        return (await self.describe()).info

    async def state(self) -> proto.ScheduleState:
        return (await self.describe()).schedule.state

    async def matching_times(self, start: dt.datetime, end: dt.datetime) -> list[dt.datetime]:
        request = api.ListScheduleMatchingTimesRequest(
            namespace=self.namespace,
            schedule_id=self.id,
            start_time=timestamp(start),
            end_time=timestamp(end),
        )
        listed = await self.service.list_schedule_matching_times(request, timeout=CALL)
        return [time.ToDatetime(dt.UTC) for time in listed.start_time]

    async def remove(self):
        try:
            request = api.DeleteScheduleRequest(namespace=self.namespace, schedule_id=self.id, identity=IDENTITY)
            await self.service.delete_schedule(request, timeout=CALL)
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:
                raise

    # Its runs.

    def run_id(self, nominal: dt.datetime) -> str:
        """The workflow id of the run for that time."""
        return f"{self.id}-{nominal:%Y-%m-%dT%H:%M:%SZ}"

    def run(self, workflow_id: str) -> WorkflowHandle:
        return self.client.get_workflow_handle(workflow_id)

    async def runs(self) -> list[WorkflowExecution]:
        """In the order in which they started."""
        query = f"TemporalScheduledById = '{self.id}'"
        found = [run async for run in self.client.list_workflows(query, page_size=1_000)]
        return sorted(found, key=lambda run: (run.start_time, run.id))

    async def run_ids(self) -> list[str]:
        return [run.id for run in await self.runs()]

    async def running(self) -> list[str]:
        """The workflow ids that describe shows as running."""
        return [run.workflow_id for run in (await self.info()).running_workflows]

    async def status(self, workflow_id: str) -> str:
        """`RUNNING`, `COMPLETED`, …, or `NOT_FOUND`."""
        try:
            return (await self.run(workflow_id).describe(rpc_timeout=CALL)).status.name
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:
                raise
            return "NOT_FOUND"

    async def until_status(self, workflow_id: str, status: str):
        async def ask():
            return await self.status(workflow_id)

        await until(ask, lambda found: found == status)

    async def until_info(self, holds) -> proto.ScheduleInfo:
        return await until(self.info, holds)

    async def until_state(self, holds) -> proto.ScheduleState:
        return await until(self.state, holds)

    async def until_runs(self, count: int) -> list[WorkflowExecution]:
        """Waits for at least so many."""
        return await until(self.runs, lambda runs: len(runs) >= count)

    async def finish(self, workflow_id: str, result=None):
        await self.run(workflow_id).signal(Waits.finish, result)
        await self.until_status(workflow_id, "COMPLETED")


def overlap_policy(name: str) -> int:
    return Overlap.Value(f"SCHEDULE_OVERLAP_POLICY_{name}")


def status_name(status: int) -> str:
    return Status.Name(status).removeprefix("WORKFLOW_EXECUTION_STATUS_")


def timestamp(time: dt.datetime) -> Timestamp:
    stamp = Timestamp()
    stamp.FromDatetime(time)
    return stamp
