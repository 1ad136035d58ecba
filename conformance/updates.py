"""Updates: the caller's side, and the worker's answers to the messages that carry them."""

import asyncio

from google.protobuf.any_pb2 import Any
from temporalio.api.command.v1 import Command
from temporalio.api.enums.v1 import UpdateWorkflowExecutionLifecycleStage as Stage
from temporalio.api.enums.v1 import WorkflowIdConflictPolicy
from temporalio.api.protocol.v1 import Message
from temporalio.api.update.v1 import (
    Acceptance,
    Input,
    Meta,
    Outcome,
    Rejection,
    Request,
    Response,
    UpdateRef,
    WaitPolicy,
)
from temporalio.api.workflowservice import v1 as api

from commands import command, failure
from payloads import payloads
from scene import CALL, IDENTITY

Operation = api.ExecuteMultiOperationRequest.Operation
USE_EXISTING = WorkflowIdConflictPolicy.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING
ACCEPTED = Stage.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ACCEPTED
COMPLETED = Stage.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED


def update_request(
    scene, update_id: str, name: str, *arguments, wait_for=COMPLETED, run_id: str = "", **fields
) -> api.UpdateWorkflowExecutionRequest:
    return api.UpdateWorkflowExecutionRequest(
        namespace=scene.namespace,
        workflow_execution=scene.execution(run_id),
        wait_policy=WaitPolicy(lifecycle_stage=wait_for),
        request=Request(
            meta=Meta(update_id=update_id, identity=IDENTITY), input=Input(name=name, args=payloads(*arguments))
        ),
        **fields,
    )


def send_update(scene, update_id: str, name: str, *arguments, **fields) -> asyncio.Task:
    """Sends it in the background: its answer waits for the worker."""
    request = update_request(scene, update_id, name, *arguments, **fields)
    return asyncio.create_task(scene.service.update_workflow_execution(request, timeout=CALL))


def send_update_with_start(scene, update_id: str, name: str, *arguments, start=None, **fields) -> asyncio.Task:
    """Starts the workflow, or uses the open run, and updates it, in one call."""
    start = {"workflow_id_conflict_policy": USE_EXISTING, **(start or {})}
    operations = [
        Operation(start_workflow=scene.start_request(**start)),
        Operation(update_workflow=update_request(scene, update_id, name, *arguments, **fields)),
    ]
    request = api.ExecuteMultiOperationRequest(namespace=scene.namespace, operations=operations)
    return asyncio.create_task(scene.service.execute_multi_operation(request, timeout=CALL))


async def poll_update(scene, update_id: str, wait_for=COMPLETED, run_id: str = ""):
    request = api.PollWorkflowExecutionUpdateRequest(
        namespace=scene.namespace,
        update_ref=UpdateRef(workflow_execution=scene.execution(run_id), update_id=update_id),
        identity=IDENTITY,
        wait_policy=WaitPolicy(lifecycle_stage=wait_for),
    )
    return await scene.service.poll_workflow_execution_update(request, timeout=CALL)


def acceptance(message: Message) -> Message:
    """The worker's acceptance of an update request."""
    body = Acceptance(
        accepted_request_message_id=message.id,
        accepted_request_sequencing_event_id=message.event_id,
        accepted_request=request_of(message),
    )
    return answer_to(message, "accept", body)


def response(update_id: str, *result) -> Message:
    body = Response(meta=Meta(update_id=update_id), outcome=Outcome(success=payloads(*result)))
    return Message(id=f"{update_id}/complete", protocol_instance_id=update_id, body=packed(body))


def failed_response(update_id: str, message: str) -> Message:
    body = Response(meta=Meta(update_id=update_id), outcome=Outcome(failure=failure(message)))
    return Message(id=f"{update_id}/complete", protocol_instance_id=update_id, body=packed(body))


def rejection(message: Message, why: str) -> Message:
    body = Rejection(
        rejected_request_message_id=message.id,
        rejected_request_sequencing_event_id=message.event_id,
        rejected_request=request_of(message),
        failure=failure(why),
    )
    return answer_to(message, "reject", body)


def placed(message: Message) -> Command:
    """The command that gives the message's event its place among those of the other commands."""
    return command("protocol_message", message_id=message.id)


async def accept_and_complete(scene, task, *result, then: tuple[Command, ...] = ()):
    [request] = task.messages
    messages = [acceptance(request), response(request.protocol_instance_id, *result)]
    await scene.complete_task(task, *map(placed, messages), *then, messages=messages)


async def accept(scene, task, *commands: Command):
    [request] = task.messages
    messages = [acceptance(request)]
    await scene.complete_task(task, *map(placed, messages), *commands, messages=messages)


async def complete(scene, task, update_id: str, result, *commands: Command):
    messages = [response(update_id, result)]
    await scene.complete_task(task, *map(placed, messages), *commands, messages=messages)


async def reject(scene, task, why: str):
    [request] = task.messages
    await scene.complete_task(task, messages=[rejection(request, why)])


def request_of(message: Message) -> Request:
    request = Request()
    assert message.body.Unpack(request), message.body.type_url
    return request


def answer_to(message: Message, verb: str, body) -> Message:
    instance = message.protocol_instance_id
    return Message(id=f"{instance}/{verb}", protocol_instance_id=instance, body=packed(body))


def packed(body) -> Any:
    carried = Any()
    carried.Pack(body)
    return carried
