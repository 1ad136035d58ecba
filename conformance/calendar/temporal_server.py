"""Asks Temporal's development server for the times that a schedule spec matches."""

import asyncio
import itertools
import os
import subprocess
import sys
from collections.abc import Sequence

from binary import Refused, Window
from ports import free_port
from temporalio.api.common.v1 import WorkflowType
from temporalio.api.schedule.v1 import Schedule, ScheduleAction, ScheduleSpec, ScheduleState
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflow.v1 import NewWorkflowExecutionInfo
from temporalio.api.workflowservice.v1 import (
    CreateScheduleRequest,
    DescribeNamespaceRequest,
    ListScheduleMatchingTimesRequest,
    UpdateScheduleRequest,
)
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

NAMESPACE = "default"
START_SECONDS_MAX = 60

# Schedules that are updated again and again, each by one question at a time.
SCHEDULES = 8

# How many times the server lists in one answer.
LISTED_MAX = 1_000


class TemporalServer:
    """Owns the server's process and one event loop to talk to it."""

    def __init__(self):
        port = free_port()
        command = [os.path.join(os.path.dirname(sys.executable), "temporal"), "server", "start-dev"]
        command += ["--headless", "--ip", "127.0.0.1", "--port", str(port), "--log-level", "error"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._loop = asyncio.new_event_loop()
        try:
            self._service = self._loop.run_until_complete(self._connect(f"127.0.0.1:{port}"))
            self._loop.run_until_complete(self._create_schedules())
        except BaseException:
            self.stop()
            raise

    def stop(self):
        self._loop.close()
        self._process.terminate()
        self._process.wait()

    def matching_times(self, questions: Sequence[tuple[ScheduleSpec, Window]]) -> list[list[int] | Refused]:
        """For each question the times in Unix seconds, or why the spec is refused."""
        return self._loop.run_until_complete(self._matching_times(questions))

    async def _connect(self, address: str):
        deadline = self._loop.time() + START_SECONDS_MAX
        while True:
            assert self._process.poll() is None, "the Temporal server ended before it answered"
            try:
                service = (await Client.connect(address)).workflow_service
                await service.describe_namespace(DescribeNamespaceRequest(namespace=NAMESPACE))
                return service
            except (RPCError, RuntimeError):
                assert self._loop.time() < deadline, "the Temporal server doesn't answer"
                await asyncio.sleep(0.05)

    async def _create_schedules(self):
        requests = [
            CreateScheduleRequest(
                namespace=NAMESPACE,
                schedule_id=f"schedule-{n}",
                schedule=paused_schedule(ScheduleSpec()),
                request_id="create",
            )
            for n in range(SCHEDULES)
        ]
        await asyncio.gather(*(self._service.create_schedule(request) for request in requests))

    async def _matching_times(self, questions):
        answers = [None] * len(questions)
        waiting = iter(enumerate(questions))

        async def ask_in_turn(schedule_id):
            for n, (spec, window) in waiting:
                try:
                    await self._update(schedule_id, spec)
                    answers[n] = await self._list(schedule_id, window)
                except RPCError as error:
                    if error.status != RPCStatusCode.INVALID_ARGUMENT:
                        raise
                    answers[n] = Refused(error.message)

        await asyncio.gather(*(ask_in_turn(f"schedule-{n}") for n in range(SCHEDULES)))
        return answers

    async def _update(self, schedule_id, spec, request_ids=itertools.count()):
        request = UpdateScheduleRequest(
            namespace=NAMESPACE,
            schedule_id=schedule_id,
            schedule=paused_schedule(spec),
            request_id=str(next(request_ids)),
        )
        await self._service.update_schedule(request)

    async def _list(self, schedule_id, window):
        request = ListScheduleMatchingTimesRequest(namespace=NAMESPACE, schedule_id=schedule_id)
        request.start_time.FromSeconds(window.start)
        request.end_time.FromSeconds(window.end)
        listed = await self._service.list_schedule_matching_times(request)
        return [time.ToSeconds() for time in listed.start_time]


def paused_schedule(spec: ScheduleSpec) -> Schedule:
    """It only answers questions: nothing is ever started."""
    action = NewWorkflowExecutionInfo(
        workflow_id="never-started",
        workflow_type=WorkflowType(name="never-started"),
        task_queue=TaskQueue(name="never-polled"),
    )
    return Schedule(
        spec=spec, action=ScheduleAction(start_workflow=action), state=ScheduleState(paused=True)
    )
