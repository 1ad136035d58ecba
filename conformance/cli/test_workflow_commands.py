"""Workflow commands: Temporal's CLI and ours print the same for the same server."""

import datetime as dt
import json

import pytest
from temporalio.common import RetryPolicy
from waiting import until

from tools import normal

AT_ONCE = RetryPolicy(initial_interval=dt.timedelta(milliseconds=10), maximum_attempts=2)


@pytest.fixture
def starts(task_queue):
    """The flags that start a workflow of a type."""

    def flags(workflow: str, *more: str) -> list[str]:
        return ["--type", workflow, "--task-queue", task_queue, "--workflow-id", "{id}", *more]

    return flags


@pytest.fixture
def unattended():
    """The flags that start a workflow no worker sees."""
    return ["--type", "Unattended", "--task-queue", "never-polled", "--workflow-id", "{id}"]


async def ended(both, *, status: str):
    """Both tools' workflows have ended so."""

    async def statuses():
        described = await both("workflow", "describe", "--workflow-id", "{id}")
        return [answer.json["workflowExecutionInfo"]["status"] for answer in described]

    await until(statuses, lambda got: all(one == f"WORKFLOW_EXECUTION_STATUS_{status}" for one in got), seconds=30)


async def test_start_and_describe(both, unattended):
    more = ["--input", '{"a": 1}', "--memo", 'note="x"', "--search-attribute", 'CustomKeywordField="k"']
    more += ["--run-timeout", "90s", "--static-summary", "a summary", "--priority-key", "2", "--start-delay", "1h"]
    started = await both.same("workflow", "start", *unattended, *more)
    assert started.keys() == {"workflowId", "runId", "type", "namespace", "taskQueue"}
    described = await both.same("workflow", "describe", "--workflow-id", "{id}")
    assert described["executionConfig"]["workflowRunTimeout"] == "90s"
    assert described["workflowExecutionInfo"]["memo"]["fields"] == {"note": "x"}


async def test_start_shows_the_workflow_that_runs_unless_it_is_to_fail(both, unattended):
    await both.same("workflow", "start", *unattended)
    await both.same("workflow", "start", *unattended)
    _, ours = await both.refused("workflow", "start", *unattended, "--fail-existing")
    assert ours.code == 4


async def test_execute_gives_the_result(both, starts):
    answered = await both.same("workflow", "execute", *starts("Echo", "--input", '{"some": ["value"]}'))
    assert answered["result"] == {"some": ["value"]}
    assert answered["status"] == "COMPLETED"


async def test_execute_with_details_has_the_history(both, starts):
    answered = await both.same("workflow", "execute", *starts("Echo"), "--detailed")
    assert len(answered["history"]["events"]) == 5


async def test_result_of_a_failed_workflow_fails_the_command(both, starts):
    await both("workflow", "start", *starts("Breaks"))
    theirs, ours = await both.refused("workflow", "result", "--workflow-id", "{id}")
    told = [normal(json.loads(answer.out)) for answer in (theirs, ours)]
    assert told[0] == told[1]
    assert told[1]["status"] == "FAILED"
    assert "broken on purpose" in ours.err
    described = await both.same("workflow", "describe", "--workflow-id", "{id}")
    assert described["closeEvent"]["eventType"] == "EVENT_TYPE_WORKFLOW_EXECUTION_FAILED"


async def test_result_of_a_retried_workflow_is_that_of_its_last_attempt(both, client, task_queue, name):
    retried = {"id": name, "task_queue": task_queue, "retry_policy": AT_ONCE}
    first = await client.start_workflow("FailsOnce", **retried)
    one = ["--workflow-id", name, "--run-id", first.first_execution_run_id]
    answered = await both.same("workflow", "result", *one)
    assert (answered["status"], answered["result"]) == ("COMPLETED", 2)
    # The real tool is told of a continuation: it doesn't say that it follows retries.
    described = (await both.ours("workflow", "describe", *one)).json
    assert described["closeEvent"]["eventType"] == "EVENT_TYPE_WORKFLOW_EXECUTION_FAILED"


async def test_show_is_what_replayers_read(both, starts):
    await both.same("workflow", "execute", *starts("Echo", "--input", '"text"'))
    history = await both.same("workflow", "show", "--workflow-id", "{id}")
    started = history["events"][0]["workflowExecutionStartedEventAttributes"]
    assert started["input"]["payloads"][0].keys() == {"metadata", "data"}, "payloads are never shortened"
    backwards = await both.same("workflow", "show", "--workflow-id", "{id}", "--reverse")
    assert backwards["events"] == history["events"][::-1]


async def test_list_and_count(both, unattended):
    attribute = 'CustomKeywordField="{id}"'
    await both.same("workflow", "start", *unattended, "--search-attribute", attribute)
    query = ["--query", "CustomKeywordField = '{id}'"]

    async def listed():
        return [answer.json for answer in await both("workflow", "list", *query)]

    await until(listed, lambda lists: all(len(one) == 1 for one in lists))
    [entry] = await both.same("workflow", "list", *query, "--limit", "1")
    assert entry["execution"]["workflowId"] == "<id>"
    assert await both.same("workflow", "count", *query) == {"count": "1"}
    grouped = ["--query", "CustomKeywordField = '{id}' GROUP BY ExecutionStatus"]
    assert await both.same("workflow", "count", *grouped) == {
        "count": "1",
        "groups": [{"groupValues": ["Running"], "count": "1"}],
    }
    assert await both.same("workflow", "list", "--query", "WorkflowId = 'nobody'") == []


async def test_signals_queries_and_updates(both, starts):
    await both.same("workflow", "start", *starts("Listens"))
    one = ["--workflow-id", "{id}"]
    assert await both.same("workflow", "signal", *one, "--name", "hear", "--input", '"a"') is None
    answered = await both.same("workflow", "query", *one, "--name", "heard")
    assert answered == {"queryResult": [["a"]]}
    updated = await both.same("workflow", "update", "execute", *one, "--name", "add", "--input", "5")
    assert (updated["name"], updated["result"]) == ("add", 2)
    started = ["--name", "add", "--input", "6", "--update-id", "six", "--wait-for-stage", "accepted"]
    await both.same("workflow", "update", "start", *one, *started)
    assert (await both.same("workflow", "update", "result", *one, "--update-id", "six"))["result"] == 3
    described = await both.same("workflow", "update", "describe", *one, "--update-id", "six")
    assert described["stage"] == "Completed"
    _, ours = await both.refused("workflow", "update", "execute", *one, "--name", "add", "--input", "-1")
    assert "no negative numbers" in ours.err
    stacks = [answer.json["queryResult"][0] for answer in await both("workflow", "stack", *one)]
    assert all("workflow: Listens" in stack for stack in stacks)
    await both.same("workflow", "metadata", *one)
    await both.same("workflow", "signal", *one, "--name", "finish")
    result = await both.same("workflow", "result", *one)
    assert result["result"] == ["a", 5, 6]


async def test_signal_with_start_and_update_with_start(both, starts):
    signal = ["--signal-name", "hear", "--signal-input", '"first"']
    await both.same("workflow", "signal-with-start", *starts("Listens"), *signal)
    update = ["--update-name", "add", "--update-input", "1", "--update-id", "one"]
    policy = ["--id-conflict-policy", "UseExisting"]
    updated = await both.same("workflow", "execute-update-with-start", *starts("Listens"), *update, *policy)
    assert updated["updateResult"] == 2


async def test_cancel_and_terminate(both, starts, unattended):
    await both.same("workflow", "start", *starts("Listens"))
    assert await both.same("workflow", "cancel", "--workflow-id", "{id}") is None
    await ended(both, status="CANCELED")
    await both.same("workflow", "start", *unattended)
    assert await both.same("workflow", "terminate", "--workflow-id", "{id}", "--reason", "enough") is None
    described = await both.same("workflow", "describe", "--workflow-id", "{id}")
    assert described["closeEvent"]["workflowExecutionTerminatedEventAttributes"]["reason"] == "enough"


async def test_reset_begins_a_new_run(both, starts):
    await both.same("workflow", "execute", *starts("Echo", "--input", "1"))
    reset = ["--workflow-id", "{id}", "--type", "FirstWorkflowTask"]
    assert (await both.same("workflow", "reset", *reset, "--reason", "again")).keys() == {"runId"}
    assert (await both.same("workflow", "result", "--workflow-id", "{id}"))["result"] == 1
    await both.same("workflow", "reset", "--workflow-id", "{id}", "--event-id", "4", "--reason", "once more")


async def test_delete_leaves_nothing(both, unattended):
    await both.same("workflow", "start", *unattended)
    assert await both.same("workflow", "delete", "--workflow-id", "{id}", "--yes") is None

    async def codes():
        return [answer.code for answer in await both("workflow", "describe", "--workflow-id", "{id}")]

    assert await until(codes, lambda codes: 0 not in codes) == [1, 3]


async def test_pause_and_unpause(both, unattended):
    await both.same("workflow", "start", *unattended)
    await both.same("workflow", "pause", "--workflow-id", "{id}", "--reason", "later")
    # The real tool looks for the event that closed a paused workflow, and finds none.
    described = (await both.ours("workflow", "describe", "--workflow-id", "{id}")).json
    assert described["workflowExtendedInfo"]["pauseInfo"]["reason"] == "later"
    await both.same("workflow", "unpause", "--workflow-id", "{id}")


async def test_a_batch_is_started_listed_described_and_done(both, unattended):
    await both.same("workflow", "start", *unattended, "--search-attribute", 'CustomKeywordField="{id}"')
    query = ["--query", "CustomKeywordField = '{id}'"]

    async def counts():
        return [answer.json for answer in await both("workflow", "count", *query)]

    await until(counts, lambda counts: all(one == {"count": "1"} for one in counts))
    jobs = await both("workflow", "terminate", *query, "--reason", "all of them", "--yes")
    await ended(both, status="TERMINATED")
    assert [answer.json.keys() for answer in jobs] == [{"batchJobId"}, {"batchJobId"}]
    job = jobs[1].json["batchJobId"]

    async def described():
        return (await both.temporal("batch", "describe", "--job-id", job)).json

    await until(described, lambda it: it["state"] == "BATCH_OPERATION_STATE_COMPLETED")
    told = await both.same("batch", "describe", "--job-id", job)
    assert told["completeOperationCount"] == "1"
    await both.same("batch", "list", "--limit", "2")
    _, ours = await both.refused("workflow", "terminate", *query)
    assert "--yes" in ours.err, "a program isn't asked"


async def test_what_is_not_there_is_not_found(both):
    for command in ("describe", "show", "result", "cancel", "terminate"):
        _, ours = await both.refused("workflow", command, "--workflow-id", "{id}")
        assert ours.code == 3, (command, ours)
