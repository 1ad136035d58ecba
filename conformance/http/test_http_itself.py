"""HTTP features: content types, JSON forms, unknown paths."""

import pytest

ROOT = "/api/v1/namespaces/default"


@pytest.mark.parametrize(
    "form", ["pretty", "no-payload-shorthand", "pretty+no-payload-shorthand"], ids=lambda form: form
)
def test_answer_has_the_form_that_is_accepted(ours, theirs, form):
    accepted = f"application/json+{form}"
    for server in (ours, theirs):
        answer = server.ask("GET", ROOT, headers={"Accept": accepted})
        headers = {name.lower(): value for name, value in answer.headers.items()}
        assert headers["content-type"] == accepted


@pytest.mark.differs_from_temporal("it says that the type is *")
def test_answer_is_json_by_default(ours):
    headers = {name.lower(): value for name, value in ours.get(ROOT).headers.items()}
    assert headers["content-type"] == "application/json"


def test_unknown_path_is_not_found(both):
    assert both.same_code("GET", "/api/v1/nope").code == 404


@pytest.mark.differs_from_temporal("it answers 501")
def test_wrong_method_is_not_allowed(ours):
    answer = ours.ask("PUT", f"{ROOT}/workflows", {})
    assert (answer.code, answer.body["code"]) == (405, 12)


@pytest.mark.parametrize(
    "body",
    [{"workflowTypee": 1}, {"workflowType": {"name": 5}}, {"workflowRunTimeout": "soon"}, ["array"]],
    ids=str,
)
def test_bad_body_is_refused(both, name, body):
    assert both.same_code("POST", f"{ROOT}/workflows/{name}", body).code == 400


def test_bad_query_is_refused(both):
    assert both.same_code("GET", f"{ROOT}/workflows?pageSize=x").code == 400


@pytest.mark.differs_from_temporal("it ignores fields of a query that it doesn't know")
def test_unknown_field_of_a_query_is_refused(ours):
    refused = ours.get(f"{ROOT}/workflows?pageSise=1")
    assert (refused.code, "pageSise" in refused.body["message"]) == (400, True)


@pytest.mark.differs_from_temporal("it writes an empty list as null")
def test_payload_comes_back_as_it_went(ours, name):
    path = f"{ROOT}/workflows/{name}"
    values = [[], {}, {"list": []}, 0, -1.5, "", "é", False, 9007199254740993, {"z": 1, "a": {"m": None}}]
    start = {"workflowType": {"name": "Order"}, "taskQueue": {"name": name}, "input": values}
    ours.post(path, start).done()
    events = ours.get(f"{path}/history").done()["history"]["events"]
    assert events[0]["workflowExecutionStartedEventAttributes"]["input"] == values


@pytest.mark.differs_from_temporal("an id with a slash has no path there")
def test_id_may_hold_a_slash(ours, name):
    path = f"{ROOT}/workflows/{name}%2Fa%20b"
    ours.post(path, {"workflowType": {"name": "Order"}, "taskQueue": {"name": name}}).done()
    info = ours.get(path).done()["workflowExecutionInfo"]
    assert info["execution"]["workflowId"] == f"{name}/a b"
