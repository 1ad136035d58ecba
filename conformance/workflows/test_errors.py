"""The errors clients rely on: their code, their message and their detail."""

import asyncio
import uuid

import pytest
from temporalio.api.errordetails.v1 import NamespaceNotFoundFailure, QueryFailedFailure
from temporalio.api.workflowservice import v1 as api
from temporalio.client import Client

from commands import complete_workflow, failure
from payloads import search_attributes
from refusals import as_temporal_says, refused
from scene import CALL, Scene
from updates import poll_update, send_update, send_update_with_start


def told(refusal):
    return refusal.code, refusal.message, refusal.detail_names


@pytest.fixture
async def nowhere(server, name) -> Scene:
    """In a namespace that doesn't exist."""
    client = await Client.connect(server.address, namespace="nowhere", lazy=True)
    return Scene(client, name)


# Every call that names a workflow.
CALLS = {
    "describe": lambda scene: scene.describe(),
    "history": lambda scene: scene.history(),
    "signal": lambda scene: scene.signal("s"),
    "cancel": lambda scene: scene.cancel(),
    "terminate": lambda scene: scene.terminate(),
    "reset": lambda scene: scene.reset(4),
    "query": lambda scene: scene.query("q"),
    "update": lambda scene: send_update(scene, "u", "change"),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
async def test_an_unknown_workflow_is_not_found(scene, call):
    assert told(await refused(call(scene))) == (
        "NOT_FOUND",
        f"workflow not found for ID: {scene.workflow_id}",
        ["NotFoundFailure"],
    )


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
async def test_an_unknown_namespace_is_not_found(nowhere, call):
    answer = await refused(call(nowhere))
    assert told(answer) == ("NOT_FOUND", "Namespace nowhere is not found.", ["NamespaceNotFoundFailure"])
    assert answer.detail == NamespaceNotFoundFailure(namespace="nowhere")


@pytest.mark.parametrize("poll", ["workflow_task", "activity_task", "start"])
async def test_an_unknown_namespace_is_not_found_by_workers_and_starters(nowhere, poll):
    answer = await refused(getattr(nowhere, poll)())
    assert told(answer) == ("NOT_FOUND", "Namespace nowhere is not found.", ["NamespaceNotFoundFailure"])


async def test_an_unknown_run_is_not_found(scene):
    await scene.start()
    run_id = "11111111-2222-3333-4444-555555555555"
    assert told(await refused(scene.describe(run_id))) == (
        "NOT_FOUND",
        f'workflow execution not found for workflow ID "{scene.workflow_id}" and run ID "{run_id}"',
        ["NotFoundFailure"],
    )


async def test_a_run_id_that_is_none_is_refused(scene):
    assert told(await refused(scene.describe("not-a-run-id"))) == ("INVALID_ARGUMENT", "Invalid RunId.", [])


CLOSED_CALLS = {
    "signal": lambda scene: scene.signal("s"),
    "terminate": lambda scene: scene.terminate(),
    "update": lambda scene: send_update(scene, "u", "change"),
}


@pytest.mark.parametrize("call", CLOSED_CALLS.values(), ids=CLOSED_CALLS.keys())
async def test_a_closed_run_takes_no_more(scene, call):
    await scene.start()
    await scene.answer(complete_workflow())
    answer = await refused(call(scene))
    assert told(answer) == ("NOT_FOUND", "workflow execution already completed", ["NotFoundFailure"])


async def test_a_closed_run_may_be_canceled_again_and_again(scene):
    await scene.start()
    await scene.answer(complete_workflow())
    await scene.cancel()
    await scene.cancel()


async def test_a_duplicate_start_tells_of_the_first(scene):
    first = await scene.start(request_id="first")
    answer = await refused(scene.start())
    assert answer.code == "ALREADY_EXISTS"
    assert answer.message == (
        f"Workflow execution is already running. WorkflowId: {scene.workflow_id}, RunId: {first.run_id}."
    )
    assert (answer.detail.start_request_id, answer.detail.run_id) == ("first", first.run_id)
    assert answer.detail.first_execution_run_id == first.run_id


async def test_an_unknown_update_is_not_found(scene):
    await scene.start()
    answer = await refused(poll_update(scene, "nobody"))
    assert told(answer) == ("NOT_FOUND", 'update "nobody" not found', ["NotFoundFailure"])


async def test_an_unknown_search_attribute_is_refused(scene):
    answer = await refused(scene.start(search_attributes=search_attributes(Nobody="x")))
    sentence = "Namespace default has no mapping defined for search attribute Nobody"
    assert (answer.code, as_temporal_says(answer.message), answer.details) == ("INVALID_ARGUMENT", sentence, [])


@pytest.mark.differs_from_temporal("it doesn't say what to do")
async def test_an_unknown_search_attribute_says_how_to_create_it(scene):
    answer = await refused(scene.start(search_attributes=search_attributes(Nobody="x")))
    assert "`perennial operator search-attribute create --name Nobody --type Keyword`" in answer.message


async def test_a_search_attribute_of_another_type_is_refused(scene):
    answer = await refused(scene.start(search_attributes=search_attributes(CustomIntField="x")))
    assert told(answer) == (
        "INVALID_ARGUMENT",
        "invalid value for search attribute CustomIntField of type Int: x",
        [],
    )


async def test_a_word_is_no_list_of_words(scene):
    answer = await refused(scene.start(search_attributes=search_attributes(CustomKeywordListField="x")))
    assert told(answer) == (
        "INVALID_ARGUMENT",
        "invalid value for search attribute CustomKeywordListField of type KeywordList: x",
        [],
    )


async def test_a_failed_query_carries_its_failure(scene):
    await scene.start()
    await scene.answer()
    asking = asyncio.create_task(scene.query("q"))
    task = await scene.workflow_task()
    request = api.RespondQueryTaskCompletedRequest(
        namespace=scene.namespace,
        task_token=task.task_token,
        completed_type=2,
        error_message="told",
        failure=failure("told"),
    )
    await scene.service.respond_query_task_completed(request, timeout=CALL)
    answer = await refused(asking)
    assert told(answer) == ("INVALID_ARGUMENT", "told", ["QueryFailedFailure"])
    assert answer.detail == QueryFailedFailure(failure=failure("told"))


async def test_a_close_with_unhandled_events_is_refused(scene):
    await scene.start()
    task = await scene.workflow_task()
    await scene.signal("unseen")
    answer = await refused(scene.complete_task(task, complete_workflow()))
    assert told(answer) == ("INVALID_ARGUMENT", "UnhandledCommand", [])


async def test_a_stale_workflow_task_is_not_found(scene):
    await scene.start()
    task = await scene.answer()
    answer = await refused(scene.complete_task(task))
    assert told(answer) == ("NOT_FOUND", "Workflow task not found.", ["NotFoundFailure"])


def field(number: int, text: str) -> bytes:
    """A field of an encoded message."""
    return bytes([number << 3 | 2, len(text)]) + text.encode()


def temporal_token(namespace_id: str, workflow_id: str, run_id: str) -> bytes:
    """As a server of Temporal's gives it out: a namespace, a workflow, a run, an event and an attempt."""
    return field(1, namespace_id) + field(2, workflow_id) + field(3, run_id) + bytes([4 << 3, 2, 5 << 3, 1])


BY_TOKEN = {
    "workflow task completed": ("respond_workflow_task_completed", api.RespondWorkflowTaskCompletedRequest),
    "workflow task failed": ("respond_workflow_task_failed", api.RespondWorkflowTaskFailedRequest),
    "activity completed": ("respond_activity_task_completed", api.RespondActivityTaskCompletedRequest),
    "activity failed": ("respond_activity_task_failed", api.RespondActivityTaskFailedRequest),
    "activity canceled": ("respond_activity_task_canceled", api.RespondActivityTaskCanceledRequest),
    "heartbeat": ("record_activity_task_heartbeat", api.RecordActivityTaskHeartbeatRequest),
    "query answered": ("respond_query_task_completed", api.RespondQueryTaskCompletedRequest),
}


@pytest.mark.parametrize("method, request_type", BY_TOKEN.values(), ids=BY_TOKEN.keys())
async def test_a_token_is_refused_by_what_is_wrong_with_it(scene, nowhere, method, request_type):
    async def answer(token: bytes, namespace: str = scene.namespace):
        request = request_type(namespace=namespace, task_token=token)
        return told(await refused(getattr(scene.service, method)(request, timeout=CALL)))

    describe = api.DescribeNamespaceRequest(namespace=scene.namespace)
    namespace_id = (await scene.service.describe_namespace(describe, timeout=CALL)).namespace_info.id
    of_nothing = temporal_token(namespace_id, scene.workflow_id, str(uuid.uuid4()))

    assert await answer(b"xyz") == ("INVALID_ARGUMENT", "Error deserializing task token.", [])
    assert await answer(b"") == ("INVALID_ARGUMENT", "Task token not set on request.", [])
    code, _, details = await answer(of_nothing)
    assert (code, details) == ("NOT_FOUND", ["NotFoundFailure"])
    # Whatever the token is, the namespace comes first.
    for token in [b"xyz", b"", of_nothing]:
        code, _, details = await answer(token, nowhere.namespace)
        assert (code, details) == ("NOT_FOUND", ["NamespaceNotFoundFailure"])


async def test_an_update_with_start_of_a_closed_workflow_id_that_may_not_be_reused(scene):
    await scene.start()
    await scene.answer(complete_workflow())
    answer = await refused(send_update_with_start(scene, "u", "change", start={"workflow_id_reuse_policy": 3}))
    assert answer.code == "ALREADY_EXISTS"
    assert answer.detail_names == ["MultiOperationExecutionFailure"]
    assert [status.code for status in answer.detail.statuses] == [6, 10]


async def test_an_update_with_start_needs_both_operations(scene):
    request = api.ExecuteMultiOperationRequest(namespace=scene.namespace)
    answer = await refused(scene.service.execute_multi_operation(request, timeout=CALL))
    assert told(answer) == ("INVALID_ARGUMENT", "Operations have to be exactly [Start, Update].", [])


async def test_an_empty_workflow_id_is_refused(scene):
    request = api.SignalWorkflowExecutionRequest(namespace=scene.namespace, signal_name="s")
    answer = await refused(scene.service.signal_workflow_execution(request, timeout=CALL))
    assert told(answer) == ("INVALID_ARGUMENT", "Execution is not set on request.", [])


async def test_a_request_without_a_namespace_is_refused(scene):
    request = api.DescribeWorkflowExecutionRequest(execution=scene.execution())
    answer = await refused(scene.service.describe_workflow_execution(request, timeout=CALL))
    assert told(answer) == ("INVALID_ARGUMENT", "Namespace is empty.", [])
