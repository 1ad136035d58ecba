"""Schedules over HTTP: the same answers as Temporal's."""

import pytest

ROOT = "/api/v1/namespaces/default"


@pytest.fixture
def path(name) -> str:
    return f"{ROOT}/schedules/{name}"


@pytest.fixture
def create(name) -> dict:
    return {
        "requestId": f"create-{name}",
        "schedule": {
            "spec": {
                "cronString": ["0 2 * * MON-FRI"],
                "interval": [{"interval": "3600s", "phase": "60s"}],
                "timezoneName": "Europe/Oslo",
            },
            "action": {
                "startWorkflow": {
                    "workflowId": name,
                    "workflowType": {"name": "Night"},
                    "taskQueue": {"name": f"queue-{name}"},
                    "input": [{"a": 1}],
                }
            },
            "policies": {"overlapPolicy": "SCHEDULE_OVERLAP_POLICY_BUFFER_ONE", "catchupWindow": "600s"},
            "state": {"notes": "quiet", "paused": True},
        },
        "memo": {"fields": {"m": 1}},
    }


# Each server sees its schedule a moment earlier or later, and future times are from then.
TIMES = ["futureActionTimes"]


async def test_schedule_has_the_same_life(both, path, name, create):
    both.same("POST", path, create)
    described = both.same("GET", path, dropped=TIMES).done()
    assert described["schedule"]["action"]["startWorkflow"]["input"] == [{"a": 1}]
    assert described["schedule"]["state"] == {"notes": "quiet", "paused": True}
    by_id = f"query=ScheduleId%3D%22{name}%22"
    listed = await both.same_soon(f"{ROOT}/schedules?{by_id}", dropped=TIMES)
    assert [entry["scheduleId"] for entry in listed.body["schedules"]] == [name]
    assert both.same("GET", f"{ROOT}/schedule-count?{by_id}").body == {"count": "1"}

    window = "startTime=2026-01-01T00:00:00Z&endTime=2026-01-01T03:00:00Z"
    matching = both.same("GET", f"{path}/matching-times?{window}").done()
    assert len(matching["startTime"]) == 4

    both.same("POST", f"{path}/patch", {"patch": {"unpause": "go"}})
    both.same("POST", f"{path}/patch", {"patch": {"pause": "stop"}})
    paused = both.same("GET", path, dropped=TIMES).done()
    assert paused["schedule"]["state"] == {"notes": "stop", "paused": True}

    schedule = {**create["schedule"], "state": {"notes": "changed", "paused": True}}
    both.same("POST", f"{path}/update", {"schedule": schedule, "requestId": "update"})
    assert both.same("GET", path, dropped=TIMES).done()["schedule"]["state"]["notes"] == "changed"
    both.same("DELETE", path)


def test_schedule_is_refused_for_the_same_reasons(both, path, create):
    both.same("POST", path, create)
    # Temporal names the workflow that is the schedule.
    assert both.same_code("POST", path, {**create, "requestId": "another"}).code == 409
    bad = {**create["schedule"], "spec": {"cronString": ["61 * * * *"]}}
    both.same_code("POST", f"{path}-2", {**create, "schedule": bad})
    both.same("POST", f"{path}-2", {"schedule": create["schedule"]})
    both.same("DELETE", path)


@pytest.mark.parametrize("method, rest", [("GET", ""), ("POST", "/patch"), ("DELETE", "")])
def test_schedule_that_is_not_there_is_not_found(both, path, method, rest):
    # Temporal names the workflow that would have been the schedule.
    body = {"patch": {"pause": "stop"}} if method == "POST" else None
    assert both.same_code(method, path + rest, body).code == 404
