"""Perennial's own schedule service, used together with the official SDK."""

import datetime as dt
import uuid

import grpc
import pytest
from scheduled import EVERY_SECOND, LONG_AGO
from temporalio.client import ScheduleOverlapPolicy
from waiting import until

from native import Native

pytestmark = pytest.mark.differs_from_temporal("only Perennial has this service")

ALLOW_ALL = "SCHEDULE_OVERLAP_POLICY_ALLOW_ALL"
BUFFER_ALL = "SCHEDULE_OVERLAP_POLICY_BUFFER_ALL"


@pytest.fixture
def native(server, client, scheduled):
    made = Native(server.address, client.namespace, scheduled.id)
    yield made
    made.close()


def rfc3339(time: dt.datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"


async def until_occurrence(native, holds, **fields) -> list[dict]:
    async def ask():
        return native.call("ListOccurrences", **fields).get("occurrences", [])

    return await until(ask, holds)


async def test_a_trigger_answers_with_what_came_of_it(scheduled, native):
    await scheduled.create()
    started = native.call("TriggerSchedule")["started"]
    assert await scheduled.status(started["workflow_id"]) == "RUNNING"
    assert native.call("TriggerSchedule") == {"skipped": "overlap_policy_skip"}
    assert native.call("TriggerSchedule", overlap_policy=BUFFER_ALL) == {"buffered": "1"}
    assert "started" in native.call("TriggerSchedule", overlap_policy=ALLOW_ALL)


async def test_a_repeated_trigger_starts_nothing_more(scheduled, native):
    await scheduled.create(overlap=ScheduleOverlapPolicy.ALLOW_ALL)
    request_id = str(uuid.uuid4())
    first = native.call("TriggerSchedule", request_id=request_id)
    assert native.call("TriggerSchedule", request_id=request_id) == first
    assert (await scheduled.info()).action_count == 1


async def test_a_trigger_may_bring_other_input(scheduled, native):
    await scheduled.create()
    data = {"metadata": {"encoding": "anNvbi9wbGFpbg=="}, "data": "NDI="}
    started = native.call("TriggerSchedule", input={"payloads": [data]})["started"]
    history = await scheduled.run(started["workflow_id"]).fetch_history()
    [payload] = history.events[0].workflow_execution_started_event_attributes.input.payloads
    assert payload.data == b"42"


async def test_the_ledger_has_a_verdict_for_each_time(scheduled, native):
    await scheduled.create(EVERY_SECOND)
    lines = await until_occurrence(native, lambda lines: len(lines) >= 2 and int(lines[1]["count"]) >= 2)
    fired, skipped = lines[:2]
    assert fired["verdict"] == "VERDICT_FIRED"
    assert fired["run"]["workflow_id"] == f"{scheduled.id}-{fired['nominal_time']}"
    assert (skipped["verdict"], skipped["reason"]) == ("VERDICT_SKIPPED", "overlap_policy_skip")
    why = native.call("ExplainOccurrence", time=skipped["nominal_time"])
    assert "another run was still going" in why["explanation"]


async def test_paused_times_are_one_line_and_explained(scheduled, native):
    await scheduled.create(EVERY_SECOND, overlap=ScheduleOverlapPolicy.ALLOW_ALL, paused=True, note="not yet")
    created = (await scheduled.info()).create_time.ToDatetime(dt.UTC)
    await until(scheduled.info, lambda _: dt.datetime.now(dt.UTC) > created + dt.timedelta(seconds=3))
    native.call("ResumeSchedule", notes="go")
    [line] = await until_occurrence(native, lambda lines: lines, limit=1)
    assert (line["verdict"], line["reason"]) == ("VERDICT_SKIPPED", "paused")
    assert line["until"] > line["nominal_time"]
    explained = native.call("ExplainOccurrence", time=line["until"])["explanation"]
    assert explained == "Nothing was started: the schedule was paused."


async def test_a_time_that_is_none_is_explained_by_its_neighbours(scheduled, native):
    await scheduled.create()
    native.call("UpdateSchedule", spec={"cron_string": ["0 12 * * *"]})
    answer = native.call("ExplainOccurrence", time="2099-03-01T13:00:00Z")
    assert answer["occurrence"]["verdict"] == "VERDICT_NOT_A_TIME"
    assert answer["explanation"] == (
        "It is none of the schedule's times: the one before is 2099-03-01T12:00:00Z, "
        "the one after 2099-03-02T12:00:00Z."
    )
    to_come = native.call("ExplainOccurrence", time="2099-03-01T12:00:00Z")
    assert to_come["occurrence"]["verdict"] == "VERDICT_PENDING"


async def test_the_audit_stream_tells_who_did_what_without_gaps(scheduled, native):
    await scheduled.create()
    context = {"principal": "ops", "source": "test", "reason": "why not"}
    native.call("PauseSchedule", notes="stop", context=context)
    native.call("ResumeSchedule", notes="go")
    native.call("UpdateSchedule", notes="better")
    started = native.call("TriggerSchedule", context=context)["started"]
    await scheduled.until_status(started["workflow_id"], "RUNNING")

    async def ask():
        return native.call("ListScheduleEvents")["events"]

    events = await until(ask, lambda events: len(events) == 5)
    assert [event["sequence"] for event in events] == ["1", "2", "3", "4", "5"]
    created, paused, resumed, updated, triggered = events
    assert set(created["created"]) == {"spec", "action", "overlap_policy", "command_context"}
    assert paused["paused"]["reason"] == "stop"
    assert paused["paused"]["command_context"] == context
    assert "command_context" not in resumed["resumed"]
    assert updated["updated"]["changed_fields"] == ["notes"]
    told = triggered["triggered"]
    assert told["workflow_instance_id"] == started["workflow_id"]
    assert told["workflow_run_id"] == started["run_id"]
    assert told["trigger_number"] == "1"
    assert told["command_context"]["principal"] == "ops"


async def test_the_audit_stream_comes_in_pages_and_outlives_the_schedule(scheduled, native):
    await scheduled.create()
    for number in range(3):
        native.call("PauseSchedule", notes=f"stop {number}")
        native.call("ResumeSchedule", notes="go")
    native.call("DeleteSchedule", reason="done with it")
    first = native.call("ListScheduleEvents", limit=5)
    assert (first["has_more"], first["next_cursor"]) == (True, "5")
    rest = native.call("ListScheduleEvents", limit=5, after_sequence=first["next_cursor"])
    assert [event["sequence"] for event in rest["events"]] == ["6", "7", "8"]
    assert "has_more" not in rest
    assert rest["events"][-1]["deleted"]["reason"] == "done with it"
    assert native.call("DescribeSchedule")["status"] == "SCHEDULE_STATUS_DELETED"
    with pytest.raises(grpc.RpcError) as refused:
        native.call("PauseSchedule", notes="too late")
    assert refused.value.code() == grpc.StatusCode.NOT_FOUND


async def test_deleted_schedules_are_listed_when_asked_for(scheduled, native):
    await scheduled.create()
    native.call("DeleteSchedule", reason="done with it")
    await scheduled.create()
    query = f"ScheduleId = '{scheduled.id}'"
    [listed] = native.call("ListSchedules", query=query)["schedules"]
    assert listed["status"] == "SCHEDULE_STATUS_ACTIVE"
    both = native.call("ListSchedules", query=query, with_deleted=True)["schedules"]
    assert [one["status"] for one in both] == ["SCHEDULE_STATUS_ACTIVE", "SCHEDULE_STATUS_DELETED"]
    assert both[1]["status_reason"] == "done with it"
    assert both[0]["internal_id"] == listed["internal_id"] != both[1]["internal_id"]


async def test_an_earlier_schedule_of_the_same_id_can_still_be_asked_about(scheduled, native):
    await scheduled.create()
    first = native.call("DescribeSchedule")["internal_id"]
    native.call("TriggerSchedule")
    native.call("DeleteSchedule", reason="done with it")
    await scheduled.create()

    [event] = native.call("ListScheduleEvents")["events"]
    assert "created" in event
    created, triggered, deleted = native.call("ListScheduleEvents", internal_id=first)["events"]
    assert "created" in created and "triggered" in triggered
    assert deleted["deleted"]["reason"] == "done with it"
    described = native.call("DescribeSchedule", internal_id=first)
    assert described["status"] == "SCHEDULE_STATUS_DELETED"
    assert native.call("ListOccurrences", manual=True).get("occurrences", []) == []
    [line] = native.call("ListOccurrences", manual=True, internal_id=first)["occurrences"]
    asked = {"time": line["nominal_time"], "internal_id": first}
    assert native.call("ExplainOccurrence", **asked)["manual"][0]["run"] == line["run"]
    for unknown in ["' OR 'a' = 'a", str(uuid.uuid4())]:
        with pytest.raises(grpc.RpcError, match="never had the internal id") as refused:
            native.call("DescribeSchedule", internal_id=unknown)
        assert refused.value.code() == grpc.StatusCode.NOT_FOUND


async def test_an_update_changes_what_is_given_and_nothing_else(scheduled, native):
    await scheduled.create(action=scheduled.action(id="kept", memo={"a": "b"}), note="before")
    native.call("UpdateSchedule", overlap_policy=BUFFER_ALL, spec={"cron_string": ["@daily"]})
    shown = await scheduled.describe()
    assert shown.schedule.policies.overlap_policy == 3
    assert shown.schedule.action.start_workflow.workflow_id == "kept"
    assert "a" in shown.schedule.action.start_workflow.memo.fields
    assert shown.schedule.state.notes == "before"


async def test_an_update_of_what_was_changed_meanwhile_is_an_error_to_who_says_what_it_saw(scheduled, native):
    await scheduled.create()
    seen = native.call("DescribeSchedule")["schedule"]["conflict_token"]
    native.call("UpdateSchedule", notes="first")
    with pytest.raises(grpc.RpcError) as refused:
        native.call("UpdateSchedule", notes="second", conflict_token=seen)
    assert refused.value.code() == grpc.StatusCode.FAILED_PRECONDITION


async def test_a_backfill_can_be_tried_watched_and_canceled(scheduled, native):
    await scheduled.create(EVERY_SECOND, paused=True)
    window = {"start_time": rfc3339(LONG_AGO), "end_time": rfc3339(LONG_AGO + dt.timedelta(seconds=3))}
    tried = native.call("BackfillSchedule", dry_run=True, **window)
    assert len(tried["times"]) == 4
    assert (await scheduled.info()).action_count == 0
    begun = native.call("BackfillSchedule", overlap_policy=BUFFER_ALL, **window)["backfill"]
    assert (begun["planned_count"], begun["started_count"]) == ("4", "1")
    native.call("CancelBackfill", backfill_id=begun["backfill_id"])
    [ended] = native.call("ListBackfills")["backfills"]
    assert ended["canceled"] and ended["finished_at"]
    assert ended["skipped_count"] == "3"
    lines = native.call("ListOccurrences", manual=True)["occurrences"]
    assert [line["verdict"] for line in lines] == ["VERDICT_FIRED"] + ["VERDICT_SKIPPED"] * 3
    assert {line["start_reason"] for line in lines} == {"backfill"}


async def test_a_backfill_tells_what_became_of_each_time(scheduled, native):
    await scheduled.create(EVERY_SECOND, paused=True)
    window = {"start_time": rfc3339(LONG_AGO), "end_time": rfc3339(LONG_AGO + dt.timedelta(seconds=3))}
    native.call("TriggerSchedule", overlap_policy="SCHEDULE_OVERLAP_POLICY_ALLOW_ALL")
    answer = native.call("BackfillSchedule", overlap_policy="SCHEDULE_OVERLAP_POLICY_ALLOW_ALL", **window)
    assert answer["backfill"]["backfill_id"] == "1", "backfills count by themselves"
    times = [rfc3339(LONG_AGO + dt.timedelta(seconds=n)) for n in range(4)]
    assert [one["nominal_time"] for one in answer["occurrences"]] == times
    assert {one["schedule_id"] for one in answer["occurrences"]} == {scheduled.id}
    assert {one["outcome"] for one in answer["occurrences"]} == {"triggered"}
    run_ids = [scheduled.run_id(LONG_AGO + dt.timedelta(seconds=n)) for n in range(4)]
    assert [one["run"]["workflow_id"] for one in answer["occurrences"]] == run_ids

    # The same times once more: their runs are open, and the policy says no.
    again = native.call("BackfillSchedule", overlap_policy="SCHEDULE_OVERLAP_POLICY_SKIP", **window)
    assert again["backfill"]["backfill_id"] == "2"
    listed, token = [], ""
    while True:
        page = native.call("ListBackfillOccurrences", backfill_id=2, limit=3, next_page_token=token)
        listed += page.get("occurrences", [])
        token = page.get("next_page_token")
        if not token:
            break
    assert [(one["outcome"], one["reason"], "run" in one) for one in listed] == [
        ("skipped", "overlap_policy_skip", False)
    ] * 4
    with pytest.raises(grpc.RpcError, match="has no backfill 7"):
        native.call("ListBackfillOccurrences", backfill_id=7)


async def test_a_trigger_beyond_the_limit_of_the_buffer_is_dropped(scheduled, native):
    await scheduled.create(overlap=ScheduleOverlapPolicy.BUFFER_ALL)
    native.call("UpdateSchedule", extensions={"buffer_max": 1})
    outcomes = [native.call("TriggerSchedule") for _ in range(3)]
    assert [list(outcome) for outcome in outcomes] == [["started"], ["buffered"], ["dropped"]]
    assert outcomes[2]["dropped"] == "buffer_full"
    lines = native.call("ListOccurrences", manual=True)["occurrences"]
    assert [line["verdict"] for line in lines][-1] == "VERDICT_DROPPED"


async def test_an_exhausted_or_deleted_schedule_says_why_to_whoever_changes_it(scheduled, native):
    await scheduled.create(limited_actions=True, remaining_actions=1, spec=EVERY_SECOND)
    await scheduled.until_info(lambda info: info.action_count == 1)
    assert native.call("ResumeSchedule")["status_reason"] == "remaining_actions_exhausted"
    assert native.call("UpdateSchedule", notes="x")["status_reason"] == "remaining_actions_exhausted"
    native.call("DeleteSchedule", reason="not needed any more")
    with pytest.raises(grpc.RpcError, match="it was deleted at .*: not needed any more") as refused:
        native.call("PauseSchedule")
    assert refused.value.code() == grpc.StatusCode.NOT_FOUND


async def test_a_skip_stands_behind_the_start_that_caused_it(scheduled, native):
    await scheduled.create(EVERY_SECOND)
    await scheduled.until_info(lambda info: info.overlap_skipped >= 2)
    names = [next(iter(set(event) - {"sequence", "recorded_at"})) for event in native.call("ListScheduleEvents")["events"]]
    assert names[:3] == ["created", "triggered", "trigger_skipped"]


async def test_what_is_left_of_the_maximum_of_runs_is_shown(scheduled, native):
    await scheduled.create(overlap=ScheduleOverlapPolicy.ALLOW_ALL)
    native.call("UpdateSchedule", extensions={"max_runs": 3})
    native.call("TriggerSchedule")
    assert native.call("DescribeSchedule")["remaining_runs"] == "2"
    listed = native.call("ListSchedules", query=f"ScheduleId = '{scheduled.id}'")["schedules"]
    assert [one["remaining_runs"] for one in listed] == ["2"]


async def test_a_verdict_keeps_its_time_of_decision_when_others_join_it(scheduled, native):
    await scheduled.create(EVERY_SECOND)
    await scheduled.until_info(lambda info: info.overlap_skipped >= 1)
    first = native.call("ListOccurrences")["occurrences"][1]
    await scheduled.until_info(lambda info: info.overlap_skipped >= 3)
    later = native.call("ListOccurrences")["occurrences"][1]
    assert (first["reason"], later["reason"]) == ("overlap_policy_skip",) * 2
    assert later["decided_at"] == first["decided_at"]
    assert later["last_decided_at"] > first["last_decided_at"]


async def test_each_start_that_was_asked_for_is_listed_once_however_the_pages_fall(scheduled, native):
    await scheduled.create(overlap=ScheduleOverlapPolicy.ALLOW_ALL)
    times = [f"2026-03-01T09:00:0{second}Z" for second in ("0.250", "0.750", "0.500", "1", "1.900")]
    for time in times:
        native.call("TriggerSchedule", scheduled_time=time)

    def listed(**fields):
        lines, token = [], ""
        while True:
            page = native.call("ListOccurrences", manual=True, limit=2, next_page_token=token, **fields)
            lines += [line["nominal_time"] for line in page.get("occurrences", [])]
            token = page.get("next_page_token")
            if not token:
                return lines

    # Those of one second in the order in which they were asked for.
    assert listed() == times
    assert listed(reverse=True) == times[::-1]
    assert listed(start_time=times[2], end_time=times[3]) == times[1:4]
    token = native.call("ListOccurrences", manual=True, limit=2)["next_page_token"]
    with pytest.raises(grpc.RpcError, match="Invalid NextPageToken"):
        native.call("ListOccurrences", next_page_token=token)


async def test_max_runs_ends_the_schedule_with_its_last_run(scheduled, native):
    await scheduled.create(overlap=ScheduleOverlapPolicy.ALLOW_ALL)
    native.call("UpdateSchedule", extensions={"max_runs": 2})
    native.call("TriggerSchedule")
    last = native.call("TriggerSchedule")["started"]
    described = native.call("DescribeSchedule")
    assert described["status"] == "SCHEDULE_STATUS_DELETED"
    assert described["status_reason"] == "max_runs_exhausted"
    assert described["latest_run"] == last


async def test_an_update_through_temporals_api_leaves_what_that_cannot_say(scheduled, native):
    await scheduled.create()
    native.call("UpdateSchedule", extensions={"catchup_mode": "CATCHUP_MODE_ONE"})
    await scheduled.update_raw()
    assert native.call("DescribeSchedule")["extensions"] == {"catchup_mode": "CATCHUP_MODE_ONE"}


async def test_labels_find_a_schedule_and_its_runs(client, scheduled, native):
    await scheduled.create()
    label = f"team={scheduled.id}"
    native.call("UpdateSchedule", extensions={"labels": {"team": scheduled.id, "cost": "eu"}})
    started = native.call("TriggerSchedule")["started"]
    query = f"PerennialLabels = '{label}'"
    assert [run.id async for run in client.list_workflows(query)] == [started["workflow_id"]]
    assert [it.id async for it in await client.list_schedules(query)] == [scheduled.id]
    described = await scheduled.run(started["workflow_id"]).describe()
    assert described.search_attributes["PerennialLabels"] == ["cost=eu", label]
    native.call("UpdateSchedule", extensions={})
    assert [it async for it in await client.list_schedules(query)] == []


@pytest.mark.parametrize(
    "labels, problem",
    [
        ({"": "x"}, "must not be empty"),
        ({"a=b": "x"}, "or contain an equals sign"),
        ({"team": "x" * 100}, "exceed 100 bytes"),
        ({f"key{number}": "" for number in range(21)}, "at most 20 labels, not 21"),
    ],
)
async def test_a_label_that_could_not_be_asked_for_is_refused(scheduled, native, labels, problem):
    await scheduled.create()
    with pytest.raises(grpc.RpcError, match=problem) as refused:
        native.call("UpdateSchedule", extensions={"labels": labels})
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_describe_tells_of_fires_and_skips(scheduled, native):
    await scheduled.create(EVERY_SECOND)
    await scheduled.until_info(lambda info: info.overlap_skipped >= 1)
    described = native.call("DescribeSchedule")
    assert described["status"] == "SCHEDULE_STATUS_ACTIVE"
    assert described["last_skip_reason"] == "overlap_policy_skip"
    assert int(described["skipped_trigger_count"]) >= 1
    assert described["next_fire_at"] > described["last_fired_at"]
    assert "last_fire_lag" in described
