"""One test's own workflow id and task queue, with the client's and the worker's calls on them.

The calls are raw: a test decides itself what the worker answers, and sees exactly what the server sent.
Each has a deadline, so that a server that never answers fails the test instead of stopping it.
"""

import datetime as dt
import uuid
from collections.abc import Sequence

from temporalio.api.command.v1 import Command
from temporalio.api.common.v1 import WorkflowExecution, WorkflowType
from temporalio.api.enums.v1 import HistoryEventFilterType, TaskQueueKind, WorkflowExecutionStatus
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.query.v1 import WorkflowQuery
from temporalio.api.taskqueue.v1 import StickyExecutionAttributes, TaskQueue
from temporalio.api.workflowservice import v1 as api
from temporalio.client import Client

from payloads import payloads, seconds

CALL = dt.timedelta(seconds=10)
IDENTITY = "conformance"

# Callers that don't say so are told that a run which is followed by another was continued as new.
SUPPORTED_FEATURES = {"supported-features": "follows-next-run-id"}


class Scene:
    def __init__(self, client: Client, name: str):
        self.client = client
        self.service = client.workflow_service
        self.namespace = client.namespace
        self.workflow_id = name
        self.task_queue = name

    # What clients do.

    def start_request(self, **fields) -> api.StartWorkflowExecutionRequest:
        fields.setdefault("workflow_id", self.workflow_id)
        fields.setdefault("task_queue", TaskQueue(name=self.task_queue))
        fields.setdefault("workflow_type", WorkflowType(name="Flow"))
        fields.setdefault("request_id", str(uuid.uuid4()))
        fields.setdefault("identity", IDENTITY)
        return api.StartWorkflowExecutionRequest(namespace=self.namespace, **fields)

    async def start(self, **fields) -> api.StartWorkflowExecutionResponse:
        return await self.service.start_workflow_execution(self.start_request(**fields), timeout=CALL)

    async def signal(self, name: str, *arguments, run_id: str = "", workflow_id: str = "", **fields):
        request = api.SignalWorkflowExecutionRequest(
            namespace=self.namespace,
            workflow_execution=self.execution(run_id, workflow_id),
            signal_name=name,
            input=payloads(*arguments),
            identity=IDENTITY,
            **fields,
        )
        await self.service.signal_workflow_execution(request, timeout=CALL)

    async def signal_with_start(
        self, name: str, *arguments, **fields
    ) -> api.SignalWithStartWorkflowExecutionResponse:
        fields.setdefault("workflow_id", self.workflow_id)
        fields.setdefault("task_queue", TaskQueue(name=self.task_queue))
        fields.setdefault("workflow_type", WorkflowType(name="Flow"))
        fields.setdefault("request_id", str(uuid.uuid4()))
        request = api.SignalWithStartWorkflowExecutionRequest(
            namespace=self.namespace,
            signal_name=name,
            signal_input=payloads(*arguments),
            identity=IDENTITY,
            **fields,
        )
        return await self.service.signal_with_start_workflow_execution(request, timeout=CALL)

    async def cancel(self, run_id: str = "", workflow_id: str = "", **fields):
        request = api.RequestCancelWorkflowExecutionRequest(
            namespace=self.namespace,
            workflow_execution=self.execution(run_id, workflow_id),
            identity=IDENTITY,
            **fields,
        )
        await self.service.request_cancel_workflow_execution(request, timeout=CALL)

    async def terminate(self, run_id: str = "", workflow_id: str = "", details: Sequence = (), **fields):
        request = api.TerminateWorkflowExecutionRequest(
            namespace=self.namespace,
            workflow_execution=self.execution(run_id, workflow_id),
            details=payloads(*details),
            identity=IDENTITY,
            **fields,
        )
        await self.service.terminate_workflow_execution(request, timeout=CALL)

    async def delete(self, run_id: str = ""):
        request = api.DeleteWorkflowExecutionRequest(
            namespace=self.namespace, workflow_execution=self.execution(run_id)
        )
        await self.service.delete_workflow_execution(request, timeout=CALL)

    async def reset(self, finish_event_id: int, run_id: str = "", **fields) -> str:
        """Returns the new run's id."""
        fields.setdefault("request_id", str(uuid.uuid4()))
        request = api.ResetWorkflowExecutionRequest(
            namespace=self.namespace,
            workflow_execution=self.execution(run_id),
            workflow_task_finish_event_id=finish_event_id,
            **fields,
        )
        return (await self.service.reset_workflow_execution(request, timeout=CALL)).run_id

    async def describe(self, run_id: str = "", workflow_id: str = "") -> api.DescribeWorkflowExecutionResponse:
        request = api.DescribeWorkflowExecutionRequest(
            namespace=self.namespace, execution=self.execution(run_id, workflow_id)
        )
        return await self.service.describe_workflow_execution(request, timeout=CALL)

    async def status(self, run_id: str = "", workflow_id: str = "") -> str:
        """`RUNNING`, `COMPLETED`, …"""
        status = (await self.describe(run_id, workflow_id)).workflow_execution_info.status
        return WorkflowExecutionStatus.Name(status).removeprefix("WORKFLOW_EXECUTION_STATUS_")

    async def query(self, kind: str, *arguments, run_id: str = "", **fields) -> api.QueryWorkflowResponse:
        request = api.QueryWorkflowRequest(
            namespace=self.namespace,
            execution=self.execution(run_id),
            query=WorkflowQuery(query_type=kind, query_args=payloads(*arguments)),
            **fields,
        )
        return await self.service.query_workflow(request, timeout=CALL)

    async def history(self, run_id: str = "", workflow_id: str = "") -> list[HistoryEvent]:
        events, token = [], b""
        while True:
            page = await self.history_page(run_id, workflow_id, next_page_token=token)
            events += page.history.events
            token = page.next_page_token
            if not token:
                return events

    async def history_page(
        self, run_id: str = "", workflow_id: str = "", **fields
    ) -> api.GetWorkflowExecutionHistoryResponse:
        request = api.GetWorkflowExecutionHistoryRequest(
            namespace=self.namespace, execution=self.execution(run_id, workflow_id), **fields
        )
        # A long poll may last 20 s.
        timeout = CALL + dt.timedelta(seconds=20) if request.wait_new_event else CALL
        return await self.service.get_workflow_execution_history(
            request, timeout=timeout, metadata=SUPPORTED_FEATURES
        )

    async def close_event(self, run_id: str = "", workflow_id: str = "") -> HistoryEvent:
        """Waits for the run to close."""
        token = b""
        while True:
            page = await self.history_page(
                run_id,
                workflow_id,
                wait_new_event=True,
                history_event_filter_type=HistoryEventFilterType.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT,
                next_page_token=token,
            )
            if page.history.events:
                return page.history.events[-1]
            token = page.next_page_token
            assert token, "the wait for the close event ended without one"

    def execution(self, run_id: str = "", workflow_id: str = "") -> WorkflowExecution:
        return WorkflowExecution(workflow_id=workflow_id or self.workflow_id, run_id=run_id)

    # What workers do.

    async def workflow_task(self, task_queue: str = "", sticky: str = "") -> api.PollWorkflowTaskQueueResponse:
        """The next workflow task; there must be one."""
        queue = TaskQueue(name=task_queue or self.task_queue)
        if sticky:
            queue = TaskQueue(
                name=sticky, kind=TaskQueueKind.TASK_QUEUE_KIND_STICKY, normal_name=task_queue or self.task_queue
            )
        request = api.PollWorkflowTaskQueueRequest(namespace=self.namespace, task_queue=queue, identity=IDENTITY)
        task = await self.service.poll_workflow_task_queue(request, timeout=CALL)
        assert task.task_token, "no workflow task came"
        return task

    async def events_of(self, task: api.PollWorkflowTaskQueueResponse) -> list[HistoryEvent]:
        """What the task tells, and the rest of the history that its token stands for."""
        events, token = list(task.history.events), task.next_page_token
        while token:
            page = await self.history_page(task.workflow_execution.run_id, next_page_token=token)
            events += page.history.events
            token = page.next_page_token
        return events

    async def complete_task(
        self, task: api.PollWorkflowTaskQueueResponse, *commands: Command, sticky: str = "", **fields
    ) -> api.RespondWorkflowTaskCompletedResponse:
        if sticky:
            fields["sticky_attributes"] = StickyExecutionAttributes(
                worker_task_queue=TaskQueue(
                    name=sticky, kind=TaskQueueKind.TASK_QUEUE_KIND_STICKY, normal_name=self.task_queue
                ),
                schedule_to_start_timeout=seconds(10),
            )
        request = api.RespondWorkflowTaskCompletedRequest(
            namespace=self.namespace,
            task_token=task.task_token,
            commands=commands,
            identity=IDENTITY,
            **fields,
        )
        return await self.service.respond_workflow_task_completed(request, timeout=CALL)

    async def answer(self, *commands: Command, **fields) -> api.PollWorkflowTaskQueueResponse:
        """Takes the next workflow task and completes it."""
        task = await self.workflow_task()
        await self.complete_task(task, *commands, **fields)
        return task

    async def fail_task(self, task: api.PollWorkflowTaskQueueResponse, **fields):
        request = api.RespondWorkflowTaskFailedRequest(
            namespace=self.namespace, task_token=task.task_token, identity=IDENTITY, **fields
        )
        await self.service.respond_workflow_task_failed(request, timeout=CALL)

    async def activity_task(self, task_queue: str = "") -> api.PollActivityTaskQueueResponse:
        """The next activity task; there must be one."""
        request = api.PollActivityTaskQueueRequest(
            namespace=self.namespace, task_queue=TaskQueue(name=task_queue or self.task_queue), identity=IDENTITY
        )
        task = await self.service.poll_activity_task_queue(request, timeout=CALL)
        assert task.task_token, "no activity task came"
        return task

    async def complete_activity(self, task: api.PollActivityTaskQueueResponse, *result):
        request = api.RespondActivityTaskCompletedRequest(
            namespace=self.namespace, task_token=task.task_token, result=payloads(*result), identity=IDENTITY
        )
        await self.service.respond_activity_task_completed(request, timeout=CALL)

    async def fail_activity(self, task: api.PollActivityTaskQueueResponse, failure, **fields):
        request = api.RespondActivityTaskFailedRequest(
            namespace=self.namespace, task_token=task.task_token, failure=failure, identity=IDENTITY, **fields
        )
        await self.service.respond_activity_task_failed(request, timeout=CALL)

    async def cancel_activity(self, task: api.PollActivityTaskQueueResponse, *details):
        request = api.RespondActivityTaskCanceledRequest(
            namespace=self.namespace, task_token=task.task_token, details=payloads(*details), identity=IDENTITY
        )
        await self.service.respond_activity_task_canceled(request, timeout=CALL)

    async def heartbeat(
        self, task: api.PollActivityTaskQueueResponse, *details
    ) -> api.RecordActivityTaskHeartbeatResponse:
        request = api.RecordActivityTaskHeartbeatRequest(
            namespace=self.namespace, task_token=task.task_token, details=payloads(*details), identity=IDENTITY
        )
        return await self.service.record_activity_task_heartbeat(request, timeout=CALL)
