"""W14: listing and counting workflows by query."""

import datetime as dt

import pytest
from temporalio.api.common.v1 import Payload, SearchAttributes, WorkflowType
from temporalio.api.filter.v1 import StartTimeFilter, WorkflowExecutionFilter
from temporalio.api.workflowservice import v1 as api

from commands import cancel_workflow, command, complete_workflow, continue_as_new, fail_workflow
from payloads import memo, search_attributes, seconds, value
from refusals import refused
from scene import CALL
from waiting import until


@pytest.fixture
def mine(scene) -> str:
    """A query for this test's own workflows."""
    return f"TaskQueue = '{scene.task_queue}'"


async def page(scene, query, **fields) -> api.ListWorkflowExecutionsResponse:
    request = api.ListWorkflowExecutionsRequest(namespace=scene.namespace, query=query, **fields)
    return await scene.service.list_workflow_executions(request, timeout=CALL)


async def ids(scene, query) -> list[str]:
    """Without the test's own prefix."""
    listed = (await page(scene, query)).executions
    return sorted(info.execution.workflow_id.removeprefix(scene.workflow_id + "-") for info in listed)


async def count(scene, query) -> api.CountWorkflowExecutionsResponse:
    request = api.CountWorkflowExecutionsRequest(namespace=scene.namespace, query=query)
    return await scene.service.count_workflow_executions(request, timeout=CALL)


async def lists(scene, query, *expected):
    await until(lambda: ids(scene, query), lambda found: found == sorted(expected))


def raw(data: str) -> Payload:
    return Payload(metadata={"encoding": b"json/plain"}, data=data.encode())


async def start(scene, suffix, **fields):
    return await scene.start(workflow_id=f"{scene.workflow_id}-{suffix}", **fields)


async def test_a_listed_run_shows_what_it_is(scene, mine):
    run = await scene.start(memo=memo(m="shown"), search_attributes=search_attributes(CustomKeywordField="k"))
    await scene.answer(complete_workflow())
    await until(lambda: ids(scene, f"{mine} AND ExecutionStatus = 'Completed'"))
    [info] = (await page(scene, mine)).executions
    assert info.execution.workflow_id == scene.workflow_id
    assert info.execution.run_id == run.run_id
    assert info.type.name == "Flow"
    assert info.task_queue == scene.task_queue
    assert value(info.memo.fields["m"]) == "shown"
    field = info.search_attributes.indexed_fields["CustomKeywordField"]
    assert value(field) == "k"
    assert field.metadata["type"] == b"Keyword"
    assert info.close_time.ToNanoseconds() > info.start_time.ToNanoseconds() > 0
    assert info.history_length == 5
    assert info.execution_duration.ToNanoseconds() > 0


async def test_a_list_shows_each_value_in_one_way(scene, mine):
    """Whether it came by itself or as the only one of a list, and however its number was written."""
    given = {
        "CustomKeywordField": '["red"]',
        "CustomTextField": ' "the fox" ',
        "CustomIntField": "[5]",
        "CustomDoubleField": "1e30",
        "CustomBoolField": "[true]",
        "CustomDatetimeField": '["2026-11-01T12:00:00.5+02:00"]',
        "CustomKeywordListField": '["b", "a", "b"]',
    }
    fields = {name: raw(data) for name, data in given.items()}
    await scene.start(search_attributes=SearchAttributes(indexed_fields=fields))
    await lists(scene, mine, scene.workflow_id)
    [info] = (await page(scene, mine)).executions
    assert {name: field.data.decode() for name, field in info.search_attributes.indexed_fields.items()} == {
        "CustomKeywordField": '"red"',
        "CustomTextField": '"the fox"',
        "CustomIntField": "5",
        "CustomDoubleField": "1e+30",
        "CustomBoolField": "true",
        "CustomDatetimeField": '"2026-11-01T12:00:00.5+02:00"',
        "CustomKeywordListField": '["b","a","b"]',
    }
    described = (await scene.describe()).workflow_execution_info.search_attributes.indexed_fields
    assert {name: field.data.decode() for name, field in described.items()} == given


@pytest.mark.parametrize(
    ("given", "shown"),
    [("5", "5"), ("5.50", "5.5"), ("1e20", "100000000000000000000"), ("-1e-6", "-0.000001"), ("1.5e-7", "1.5e-7")],
)
async def test_a_list_shows_numbers_as_short_as_they_can_be(scene, mine, given, shown):
    fields = {"CustomDoubleField": raw(given)}
    await scene.start(search_attributes=SearchAttributes(indexed_fields=fields))
    await lists(scene, mine, scene.workflow_id)
    [info] = (await page(scene, mine)).executions
    assert info.search_attributes.indexed_fields["CustomDoubleField"].data.decode() == shown


async def test_workflows_are_found_by_their_built_in_attributes(scene, mine):
    run = await start(scene, "a", workflow_type=WorkflowType(name="Alpha"))
    await start(scene, "b", workflow_type=WorkflowType(name="Beta"))
    await lists(scene, mine, "a", "b")
    queries = {
        "WorkflowType = 'Alpha'": ["a"],
        "WorkflowType != 'Alpha'": ["b"],
        "WorkflowType IN ('Alpha', 'Beta')": ["a", "b"],
        "WorkflowType NOT IN ('Alpha')": ["b"],
        "WorkflowType STARTS_WITH 'Al'": ["a"],
        "WorkflowType NOT STARTS_WITH 'Al'": ["b"],
        f"WorkflowId = '{scene.workflow_id}-a'": ["a"],
        f'WorkflowId = "{scene.workflow_id}-a"': ["a"],
        f"WorkflowId STARTS_WITH '{scene.workflow_id}'": ["a", "b"],
        f"RunId = '{run.run_id}'": ["a"],
        "ExecutionStatus = 'Running'": ["a", "b"],
        "ExecutionStatus = 'Completed'": [],
        "CloseTime IS NULL": ["a", "b"],
        "CloseTime IS NOT NULL": [],
        "StartTime > '2020-01-01T00:00:00Z'": ["a", "b"],
        "StartTime < '2020-01-01T00:00:00Z'": [],
        "StartTime BETWEEN '2020-01-01T00:00:00Z' AND '2099-01-01T00:00:00Z'": ["a", "b"],
        "(WorkflowType = 'Alpha' OR WorkflowType = 'Beta') AND NOT WorkflowType = 'Beta'": ["a"],
    }
    for query, found in queries.items():
        assert (query, await ids(scene, f"{mine} AND ({query})")) == (query, found)


async def test_workflows_are_found_by_their_own_attributes(scene, mine):
    await start(
        scene,
        "a",
        search_attributes=search_attributes(
            CustomKeywordField="red",
            CustomKeywordListField=["x", "y"],
            CustomTextField="the quick brown fox",
            CustomIntField=5,
            CustomDoubleField=1.5,
            CustomBoolField=True,
            CustomDatetimeField="2026-11-01T12:00:00Z",
        ),
    )
    await start(scene, "b", search_attributes=search_attributes(CustomKeywordField="redder", CustomIntField=7))
    await start(scene, "c")
    await lists(scene, mine, "a", "b", "c")
    queries = {
        "CustomKeywordField = 'red'": ["a"],
        "CustomKeywordField STARTS_WITH 'red'": ["a", "b"],
        "CustomKeywordField IS NULL": ["c"],
        "CustomKeywordListField = 'y'": ["a"],
        "CustomKeywordListField IN ('z', 'x')": ["a"],
        "CustomTextField = 'quick'": ["a"],
        "CustomTextField = 'slow'": [],
        "CustomIntField = 5": ["a"],
        "CustomIntField >= 5": ["a", "b"],
        "CustomIntField BETWEEN 6 AND 8": ["b"],
        "CustomDoubleField < 2.5": ["a"],
        "CustomBoolField = true": ["a"],
        "CustomDatetimeField BETWEEN '2026-11-01T11:59:59Z' AND '2026-11-01T12:00:01Z'": ["a"],
        "CustomDatetimeField > '2026-10-01T00:00:00+02:00'": ["a"],
    }
    for query, found in queries.items():
        assert (query, await ids(scene, f"{mine} AND {query}")) == (query, found)


async def test_workflows_are_found_by_how_they_closed(scene, mine):
    async def closed_by(suffix, *commands):
        await start(scene, suffix)
        await scene.answer(*commands)

    await closed_by("completed", complete_workflow())
    await closed_by("failed", fail_workflow())
    await start(scene, "canceled")
    await scene.cancel(workflow_id=scene.workflow_id + "-canceled")
    await scene.answer(cancel_workflow())
    await start(scene, "terminated")
    await scene.terminate(workflow_id=scene.workflow_id + "-terminated")
    await start(scene, "timedout", workflow_run_timeout=seconds(1))
    await scene.close_event(workflow_id=scene.workflow_id + "-timedout")
    for status in ("Completed", "Failed", "Canceled", "Terminated", "TimedOut"):
        await lists(scene, f"{mine} AND ExecutionStatus = '{status}'", status.lower())
    both = f"{mine} AND ExecutionStatus IN ('Completed', 'Failed')"
    await lists(scene, both, "completed", "failed")


async def test_every_run_of_a_chain_is_listed(scene, mine):
    await scene.start()
    await scene.answer(continue_as_new("Flow", scene.task_queue))
    await until(lambda: count(scene, f"{mine} AND ExecutionStatus = 'ContinuedAsNew'"), lambda n: n.count == 1)
    await until(lambda: count(scene, f"{mine} AND ExecutionStatus = 'Running'"), lambda n: n.count == 1)


async def test_a_list_comes_in_pages_newest_first(scene, mine):
    for n in range(5):
        await start(scene, str(n))
    await lists(scene, mine, *"01234")
    found, token = [], b""
    while True:
        listed = await page(scene, mine, page_size=2, next_page_token=token)
        assert len(listed.executions) <= 2
        found += [info.execution.workflow_id[-1] for info in listed.executions]
        token = listed.next_page_token
        if not token:
            break
    assert found == list("43210")


async def test_an_upserted_attribute_is_found_at_once(scene, mine):
    await scene.start()
    await scene.answer(
        command("upsert_workflow_search_attributes", search_attributes=search_attributes(CustomIntField=42))
    )
    await until(lambda: ids(scene, f"{mine} AND CustomIntField = 42"))


async def test_what_a_workflow_says_as_it_closes_is_found(scene, mine):
    await scene.start()
    await scene.answer(
        command("upsert_workflow_search_attributes", search_attributes=search_attributes(CustomIntField=42)),
        command("modify_workflow_properties", upserted_memo=memo(last="word")),
        complete_workflow(),
    )
    query = f"{mine} AND CustomIntField = 42 AND ExecutionStatus = 'Completed'"
    await until(lambda: ids(scene, query))
    [info] = (await page(scene, query)).executions
    assert value(info.memo.fields["last"]) == "word"


async def test_workflows_are_counted(scene, mine):
    for n in range(3):
        await start(scene, str(n))
    await until(lambda: count(scene, mine), lambda counted: counted.count == 3)
    assert (await count(scene, f"{mine} AND WorkflowType = 'Nobody'")).count == 0


async def test_workflows_are_counted_by_status(scene, mine):
    for n in range(3):
        await start(scene, str(n))
    await scene.answer(complete_workflow())
    query = f"{mine} GROUP BY ExecutionStatus"

    async def groups():
        counted = await count(scene, query)
        return counted.count, {value(group.group_values[0]): group.count for group in counted.groups}

    await until(groups, lambda found: found == (3, {"Running": 2, "Completed": 1}))


async def test_open_and_closed_workflows_are_listed_by_filter(scene, mine):
    await start(scene, "open")
    await start(scene, "closed")
    await scene.terminate(workflow_id=scene.workflow_id + "-closed")
    await lists(scene, f"{mine} AND ExecutionStatus = 'Terminated'", "closed")
    span = StartTimeFilter()
    span.earliest_time.FromDatetime(dt.datetime.now(dt.UTC) - dt.timedelta(hours=1))
    span.latest_time.FromDatetime(dt.datetime.now(dt.UTC) + dt.timedelta(hours=1))
    request = api.ListOpenWorkflowExecutionsRequest(
        namespace=scene.namespace,
        start_time_filter=span,
        execution_filter=WorkflowExecutionFilter(workflow_id=scene.workflow_id + "-open"),
    )
    opened = await scene.service.list_open_workflow_executions(request, timeout=CALL)
    assert len(opened.executions) == 1
    request = api.ListClosedWorkflowExecutionsRequest(
        namespace=scene.namespace,
        start_time_filter=span,
        execution_filter=WorkflowExecutionFilter(workflow_id=scene.workflow_id + "-closed"),
    )
    closed = await scene.service.list_closed_workflow_executions(request, timeout=CALL)
    assert len(closed.executions) == 1


async def test_a_scan_answers_what_a_list_does(scene, mine):
    await start(scene, "a")
    await lists(scene, mine, "a")
    request = api.ScanWorkflowExecutionsRequest(namespace=scene.namespace, query=mine)
    scanned = await scene.service.scan_workflow_executions(request, timeout=CALL)
    assert len(scanned.executions) == 1


BAD_QUERIES = {
    "not a query": "malformed SQL query: ",
    "Nobody = 'x'": "invalid search attribute: Nobody",
    "CustomIntField = 'x'": (
        'invalid expression: invalid value type for search attribute CustomIntField of type Int: "x" (type: string)'
    ),
    "WorkflowType LIKE 'x'": (
        "operation is not supported: operator 'LIKE' not supported for Keyword type search attribute 'WorkflowType'"
    ),
    "CustomTextField STARTS_WITH 'x'": (
        "operation is not supported: operator 'STARTS_WITH' not supported for Text type search attribute"
        " 'CustomTextField'"
    ),
    "ExecutionStatus = 'Nobody'": "invalid expression: invalid ExecutionStatus value 'Nobody'",
    "StartTime > 'yesterday'": "invalid expression: unable to parse datetime 'yesterday'",
    "WorkflowType = 'x' ORDER BY StartTime": "operation is not supported: 'ORDER BY' clause",
    "WorkflowType = 'x' GROUP BY WorkflowType": (
        "operation is not supported: 'GROUP BY' clause is not supported for search attribute WorkflowType"
    ),
}


@pytest.mark.parametrize("query, message", BAD_QUERIES.items(), ids=BAD_QUERIES.keys())
async def test_a_query_that_cannot_be_read_is_refused(scene, query, message):
    for answer in (await refused(page(scene, query)), await refused(count(scene, query))):
        assert answer.code == "INVALID_ARGUMENT"
        assert answer.message.startswith("invalid query: " + message)
