"""W16: namespaces."""

import uuid

import pytest
from temporalio.api.enums.v1 import NamespaceState
from temporalio.api.namespace.v1 import NamespaceConfig, UpdateNamespaceInfo
from temporalio.api.operatorservice.v1 import DeleteNamespaceRequest
from temporalio.api.workflowservice import v1 as api
from temporalio.client import Client
from temporalio.service import RPCError

from dev_server import NAMESPACE
from payloads import seconds
from refusals import refused
from scene import CALL, Scene
from waiting import until

DAY = 86_400


@pytest.fixture
def other() -> str:
    return f"other-{uuid.uuid4().hex[:8]}"


async def register(client, name, **fields):
    fields.setdefault("workflow_execution_retention_period", seconds(3 * DAY))
    request = api.RegisterNamespaceRequest(namespace=name, **fields)
    await client.workflow_service.register_namespace(request, timeout=CALL)


async def describe(client, name="", id="") -> api.DescribeNamespaceResponse:
    request = api.DescribeNamespaceRequest(namespace=name, id=id)
    return await client.workflow_service.describe_namespace(request, timeout=CALL)


async def usable(server, name) -> Scene:
    """A registered namespace may need a moment before every part of the server knows it."""
    client = await Client.connect(server.address, namespace=name)

    async def answers():
        try:
            await client.count_workflows()
            return True
        except RPCError:
            return False

    await until(answers)
    return Scene(client, f"{name}-workflow")


async def test_the_first_namespace_is_described(client):
    described = await describe(client, NAMESPACE)
    assert described.namespace_info.name == NAMESPACE
    assert described.namespace_info.state == NamespaceState.NAMESPACE_STATE_REGISTERED
    assert described.namespace_info.id
    assert described.config.workflow_execution_retention_ttl.seconds == DAY
    assert not described.is_global_namespace


async def test_a_namespace_is_registered_with_everything_it_was_given(client, other):
    await register(client, other, description="for tests", owner_email="a@example.com", data={"k": "v"})
    described = await describe(client, other)
    assert described.namespace_info.description == "for tests"
    assert described.namespace_info.owner_email == "a@example.com"
    assert described.namespace_info.data == {"k": "v"}
    assert described.config.workflow_execution_retention_ttl.seconds == 3 * DAY
    by_id = await describe(client, id=described.namespace_info.id)
    assert by_id.namespace_info.name == other


async def test_a_name_is_registered_once(client, other):
    await register(client, other)
    answer = await refused(register(client, other))
    assert (answer.code, answer.message) == ("ALREADY_EXISTS", f'Namespace "{other}" already exists')
    assert answer.detail_names == ["NamespaceAlreadyExistsFailure"]


async def test_a_namespace_is_listed(client, other):
    await register(client, other)
    names, token = [], b""
    while True:
        request = api.ListNamespacesRequest(page_size=100, next_page_token=token)
        listed = await client.workflow_service.list_namespaces(request, timeout=CALL)
        names += [each.namespace_info.name for each in listed.namespaces]
        token = listed.next_page_token
        if not token:
            break
    assert NAMESPACE in names and other in names


async def test_an_update_changes_only_what_it_says(client, other):
    await register(client, other, description="before", owner_email="a@example.com")
    request = api.UpdateNamespaceRequest(
        namespace=other,
        update_info=UpdateNamespaceInfo(description="after", owner_email="a@example.com"),
        config=NamespaceConfig(workflow_execution_retention_ttl=seconds(5 * DAY)),
    )
    await client.workflow_service.update_namespace(request, timeout=CALL)
    described = await describe(client, other)
    assert described.namespace_info.description == "after"
    assert described.namespace_info.owner_email == "a@example.com"
    assert described.config.workflow_execution_retention_ttl.seconds == 5 * DAY


async def test_a_deprecated_namespace_says_so(client, other):
    await register(client, other)
    request = api.DeprecateNamespaceRequest(namespace=other)
    await client.workflow_service.deprecate_namespace(request, timeout=CALL)
    described = await describe(client, other)
    assert described.namespace_info.state == NamespaceState.NAMESPACE_STATE_DEPRECATED


async def test_the_same_workflow_id_runs_in_two_namespaces(client, server, other, scene):
    await register(client, other)
    there = await usable(server, other)
    there.workflow_id = scene.workflow_id
    there.task_queue = scene.task_queue
    here_run, there_run = await scene.start(), await there.start()
    assert here_run.run_id != there_run.run_id
    await there.signal("only there")
    assert len(await scene.history()) == 2
    assert len(await there.history()) == 3
    task = await there.workflow_task()
    assert task.workflow_execution.run_id == there_run.run_id


async def test_a_deleted_namespace_is_gone_with_its_workflows(client, server, other):
    await register(client, other)
    there = await usable(server, other)
    await there.start()
    answer = await client.operator_service.delete_namespace(DeleteNamespaceRequest(namespace=other), timeout=CALL)
    assert answer.deleted_namespace

    async def gone():
        try:
            await describe(client, other)
            return False
        except RPCError as error:
            return error.status.name == "NOT_FOUND"

    await until(gone)


RETENTION = "A valid retention period is not set on request."

INVALID = {
    "no name": (dict(name=""), "Namespace not set on request."),
    "no retention": (dict(name="x", workflow_execution_retention_period=seconds(0)), RETENTION),
    "short retention": (dict(name="x", workflow_execution_retention_period=seconds(60)), RETENTION),
}


@pytest.mark.parametrize("fields, message", INVALID.values(), ids=INVALID.keys())
async def test_a_namespace_that_cannot_be_is_refused(client, fields, message):
    answer = await refused(register(client, **fields))
    assert (answer.code, answer.message) == ("INVALID_ARGUMENT", message)
