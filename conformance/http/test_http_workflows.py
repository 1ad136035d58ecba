"""Workflows over HTTP: the same answers as Temporal's."""

import pytest

ROOT = "/api/v1/namespaces/default"

# Temporal shows a task that waits in a run that is over, and calls the event of a signal with start a start.
OF_CLOSED_RUN = ["pendingWorkflowTask", "requestIdInfos"]


@pytest.fixture
def start(name) -> dict:
    return {
        "workflowType": {"name": "Order"},
        "taskQueue": {"name": f"queue-{name}"},
        "requestId": f"start-{name}",
        "input": [{"a": [1.5, "é"], "b": 1}, "x", None, True],
        "memo": {"fields": {"k": [1, 2], "proto": {"_protoMessageType": "a.B", "x": 1}}},
        "searchAttributes": {"indexedFields": {"CustomKeywordField": "blue"}},
        "workflowRunTimeout": "3600s",
        "retryPolicy": {"maximumAttempts": 3, "backoffCoefficient": 1.5},
    }


@pytest.fixture
def path(name) -> str:
    return f"{ROOT}/workflows/{name}"


async def test_started_workflow_is_described_listed_and_counted(both, path, name, start):
    assert both.same("POST", path, start).done()["started"]
    described = both.same("GET", path).done()
    assert described["workflowExecutionInfo"]["memo"]["fields"]["k"] == [1, 2]
    by_id = f"query=WorkflowId%3D%22{name}%22"
    listed = await both.same_soon(f"{ROOT}/workflows?{by_id}")
    assert len(listed.body["executions"]) == 1
    assert both.same("GET", f"{ROOT}/workflow-count?{by_id}").body == {"count": "1"}
    grouped = f"{by_id}%20GROUP%20BY%20ExecutionStatus"
    both.same("GET", f"{ROOT}/workflow-count?{grouped}")


def test_history_is_the_same_both_ways_and_in_both_forms_of_payloads(both, path, start):
    both.same("POST", path, start)
    both.same("POST", f"{path}/signal/go", {"input": [1, {"x": True}], "identity": "me"})
    history = both.same("GET", f"{path}/history").done()["history"]["events"]
    started = history[0]["workflowExecutionStartedEventAttributes"]
    assert started["input"][:2] == [{"a": [1.5, "é"], "b": 1}, "x"]
    assert started["memo"]["fields"]["proto"] == {"_protoMessageType": "a.B", "x": 1}
    both.same("GET", f"{path}/history-reverse")
    full = both.same("GET", f"{path}/history?noPayloadShorthand").done()["history"]["events"]
    payloads = full[0]["workflowExecutionStartedEventAttributes"]["input"]["payloads"]
    assert payloads[1] == {"metadata": {"encoding": "anNvbi9wbGFpbg=="}, "data": "Ingi"}
    both.same("GET", f"{path}/history?historyEventFilterType=HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT")


def test_older_paths_answer_too(both, name, start):
    path = f"/namespaces/default/workflows/{name}"
    both.same("POST", path, start)
    both.same("GET", path)
    both.same("GET", f"{path}/history?maximumPageSize=100")


def test_signal_cancel_and_terminate_leave_the_same_history(both, path, start):
    both.same("POST", f"{path}/signal-with-start/go", {**start, "signalInput": ["s"]})
    both.same("POST", f"{path}/signal/more", {"input": [None]})
    both.same("POST", f"{path}/cancel", {"reason": "why", "requestId": "c"})
    both.same("POST", f"{path}/terminate", {"reason": "bye", "details": ["d"]})
    closed = both.same("GET", path, dropped=OF_CLOSED_RUN).done()
    assert closed["workflowExecutionInfo"]["status"] == "WORKFLOW_EXECUTION_STATUS_TERMINATED"
    both.same("GET", f"{path}/history")
    assert both.same("POST", f"{path}/signal/go", {}).code == 404
    assert both.same("POST", f"{path}/terminate", {}).code == 404
    both.same("POST", f"{path}/cancel", {})


def test_names_of_fields_and_enums_may_be_as_in_the_files_or_as_older_clients_write_them(both, path, start):
    start = {**start, "workflow_id_reuse_policy": "RejectDuplicate"}
    both.same("POST", path, start)
    both.same("POST", f"{path}/terminate", {})
    refused = both.same("POST", path, {**start, "requestId": "another"})
    assert refused.code == 409


def test_query_is_refused_for_the_same_reasons(both, path, start):
    both.same("POST", path, start)
    both.same("POST", f"{path}/terminate", {})
    condition = {"queryRejectCondition": "QUERY_REJECT_CONDITION_NOT_OPEN"}
    rejected = both.same("POST", f"{path}/query/state", condition).done()
    assert rejected["queryRejected"]["status"] == "WORKFLOW_EXECUTION_STATUS_TERMINATED"
    assert both.same("POST", f"{path}-missing/query/state", {}).code == 404


def test_query_without_a_worker_ends_with_the_callers_patience(ours, theirs, path, start):
    for server in (ours, theirs):
        server.post(path, start).done()
        refused = server.ask("POST", f"{path}/query/state", {}, {"Grpc-Timeout": "2S"})
        assert (refused.code, refused.body["code"]) == (504, 4)


def test_refusals_have_the_same_codes_words_and_details(both, path, name, start):
    both.same("POST", path, start)
    again = both.same("POST", path, {**start, "requestId": "another"})
    detail = again.body["details"][0]
    assert detail["@type"].endswith("WorkflowExecutionAlreadyStartedFailure")
    assert both.same("GET", f"{path}-missing").code == 404
    both.same("GET", f"{path}-missing/history")
    both.same("GET", f"{path}/history?execution.runId=nope")
    both.same("POST", f"{path}-missing/signal/go", {})
    both.same("POST", f"{path}-missing/update/go", {})
    both.same("POST", f"{path}/reset", {"reason": "again", "workflowTaskFinishEventId": "99"})
    both.same("POST", f"{path}-2", {"workflowType": {"name": "Order"}})
    both.same("POST", f"{path}-2", {"taskQueue": {"name": "queue"}})
    # Ours goes on with what to do.
    unknown = {**start, "searchAttributes": {"indexedFields": {"Nope": 1}}}
    ours = both.same("POST", f"{path}-2", unknown, dropped=["message"])
    assert ours.body["message"].startswith("Namespace default has no mapping defined for search attribute Nope")
    ours = both.same("GET", f"{ROOT}/workflows?query=Nope%3D1", dropped=["message"])
    assert ours.body["message"].startswith("invalid query: invalid search attribute: Nope")
    assert both.same("GET", f"/api/v1/namespaces/nowhere-{name}/workflows").code == 404


def test_batch_terminates_by_query(both, path, name, start):
    both.same("POST", path, start)
    job = f"{ROOT}/batch-operations/job-{name}"
    query = f'WorkflowId="{name}"'
    both.same("POST", job, {"visibilityQuery": query, "reason": "batch", "terminationOperation": {}})
    both.same("POST", f"{job}-2", {"reason": "batch"})
    assert both.same("GET", f"{job}-missing").code == 404
