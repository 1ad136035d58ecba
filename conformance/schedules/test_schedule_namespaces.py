"""The same schedule id in two namespaces."""

import uuid

import pytest
from scheduled import EVERY_SECOND, Scheduled
from temporalio.api.workflowservice.v1 import CountSchedulesRequest, RegisterNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode
from waiting import until


@pytest.fixture
async def elsewhere(server, client) -> Client:
    """A client of another namespace."""
    name = f"schedules-{uuid.uuid4().hex[:8]}"
    request = RegisterNamespaceRequest(namespace=name)
    request.workflow_execution_retention_period.FromSeconds(86_400)
    await client.workflow_service.register_namespace(request)
    other = await Client.connect(server.address, namespace=name)

    async def count():
        try:
            return (await other.workflow_service.count_schedules(CountSchedulesRequest(namespace=name))).count
        except RPCError as error:
            # Temporal takes a moment to know of a new namespace.
            if error.status != RPCStatusCode.NOT_FOUND:
                raise
            return None

    await until(count, lambda count: count == 0)
    return other


async def test_schedules_of_two_namespaces_have_nothing_to_do_with_each_other(scheduled, elsewhere):
    here, there = scheduled, Scheduled(elsewhere, scheduled.id, scheduled.task_queue)
    await here.create(note="here")
    await there.create(EVERY_SECOND, note="there")
    assert (await here.state()).notes == "here"
    assert (await there.state()).notes == "there"
    [run] = (await there.until_info(lambda info: info.running_workflows)).running_workflows
    assert await here.status(run.workflow_id) == "NOT_FOUND"
    await there.handle.pause(note="stop")
    assert not (await here.state()).paused
    await there.remove()
    assert (await here.state()).notes == "here"
    with pytest.raises(RPCError) as refused:
        await there.describe()
    assert refused.value.status == RPCStatusCode.NOT_FOUND
