"""Namespace, search attribute, cluster and task queue commands: Temporal's CLI and ours print the same."""

import uuid

import pytest
from waiting import until


def without_namespace(tool, namespace: str):
    """The tool, for another namespace."""
    address = tool.server[:2]
    return type(tool)(tool.name, tool.executable, (*address, "--namespace", namespace), tool.id)


@pytest.fixture
def in_own_namespaces(both):
    """Each tool in a namespace of its own."""
    return type(both)(*(without_namespace(tool, tool.id) for tool in (both.temporal, both.ours)))


async def test_namespaces_are_created_described_listed_updated_and_deleted(both, in_own_namespaces):
    own = in_own_namespaces
    settings = ["--retention", "48h", "--description", "a shop", "--email", "shop@example.com", "--data", "team=a"]
    assert await own.same("operator", "namespace", "create", *settings) is None

    async def codes():
        return [answer.code for answer in await own("operator", "namespace", "describe")]

    await until(codes, lambda codes: codes == [0, 0])
    described = await own.same("operator", "namespace", "describe")
    assert described["config"]["workflowExecutionRetentionTtl"] == "172800s"
    listed = (await both.ours("operator", "namespace", "list")).json
    assert {both.ours.id, both.temporal.id} <= {entry["namespaceInfo"]["name"] for entry in listed}
    # They write what they are told into the same list, so it is the same list.
    assert listed == (await both.temporal("operator", "namespace", "list")).json
    await own.same("operator", "namespace", "update", "--retention", "72h", "--data", "team=b")
    assert (await own.same("operator", "namespace", "describe"))["namespaceInfo"]["data"] == {"team": "b"}
    _, ours = await own.refused("operator", "namespace", "create")
    assert ours.code == 4
    deleted = await own.same("operator", "namespace", "delete", "--yes", without=("deletedNamespace",))
    assert deleted == {}


async def test_search_attributes_are_created_listed_and_removed(both):
    name = f"Attribute{uuid.uuid4().hex[:8]}"
    flags = ["--name", name, "--type", "Keyword"]
    # The second one finds that it is there already, which is fine.
    assert await both.same("operator", "search-attribute", "create", *flags) is None

    async def there():
        listed = await both.same("operator", "search-attribute", "list")
        return listed["customAttributes"].get(name)

    assert await until(there) == "INDEXED_VALUE_TYPE_KEYWORD"
    _, ours = await both.refused("operator", "search-attribute", "create", "--name", name, "--type", "Int")
    assert "already exists and has different type Keyword" in ours.err
    removed = await both.ours("operator", "search-attribute", "remove", "--name", name, "--yes")
    assert removed.code == 0


@pytest.mark.parametrize("command", ["health", "describe", "system", "list"])
async def test_the_cluster(both, command):
    await both.same("operator", "cluster", command)


async def test_task_queues_tell_who_polls_and_what_waits(both, task_queue):
    waiting = ["--type", "Unattended", "--task-queue", "{id}", "--workflow-id", "{id}"]
    await both.same("workflow", "start", *waiting)
    for kind, count in (("workflow", 1), ("activity", 0)):
        flags = ["--task-queue", "{id}", "--task-queue-type", kind]
        [stats] = (await both.same("task-queue", "describe", *flags))["stats"]
        assert (stats["taskQueueType"], stats["approximateBacklogCount"]) == (kind, count)

    async def polled():
        return (await both.ours("task-queue", "describe", "--task-queue", task_queue)).json["pollers"]

    await until(polled)
    await both.same("task-queue", "list-partition", "--task-queue", task_queue)
