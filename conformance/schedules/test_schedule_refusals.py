"""Invalid requests are refused with a message that names the problem, without any effect."""

import datetime as dt
import uuid

import pytest
from dev_server import is_temporal
from payloads import payloads, search_attributes, seconds
from refusals import refused
from temporalio.api.common.v1 import Priority, RetryPolicy, WorkflowType
from temporalio.api.enums.v1 import WorkflowIdReusePolicy
from temporalio.api.schedule.v1 import (
    CalendarSpec,
    IntervalSpec,
    Range,
    Schedule,
    ScheduleAction,
    SchedulePolicies,
    ScheduleSpec,
    ScheduleState,
    StructuredCalendarSpec,
)
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflow.v1 import NewWorkflowExecutionInfo
from temporalio.api.workflowservice import v1 as api

from scheduled import CALL, Scheduled

ANY_DATE = {"day_of_month": [Range(start=1, end=31)], "month": [Range(start=1, end=12)], "day_of_week": [Range(end=6)]}


def hours(*ranges: Range) -> StructuredCalendarSpec:
    return StructuredCalendarSpec(second=[Range()], minute=[Range()], hour=ranges, **ANY_DATE)


def every(interval: float, phase: float = 0) -> dict:
    return {"interval": [IntervalSpec(interval=seconds(interval), phase=seconds(phase))]}


# What is wrong with the spec, and the word for it.
SPECS = {
    "a minute out of range": ({"cron_string": ["61 * * * *"]}, "minute"),
    "a cron of three fields": ({"cron_string": ["* * *"]}, "cron"),
    "an empty cron": ({"cron_string": [""]}, "cron"),
    "an unknown zone": ({"cron_string": ["0 * * * *"], "timezone_name": "Nowhere/None"}, "Nowhere/None"),
    "an unknown zone in a cron": ({"cron_string": ["TZ=Nowhere/None 0 * * * *"]}, "Nowhere/None"),
    "crons of two zones": ({"cron_string": ["TZ=Asia/Tokyo 0 * * * *", "TZ=Europe/Oslo 0 * * * *"]}, "zone"),
    "a cron of another zone": ({"cron_string": ["TZ=Asia/Tokyo 0 * * * *"], "timezone_name": "UTC"}, "zone"),
    "an unknown named calendar": ({"cron_string": ["EXCLUDE=no-such-calendar 0 2 * * *"]}, "no-such-calendar"),
    "an interval of nothing": (every(0), "interval"),
    "an interval of half a second": (every(0.5), "interval"),
    "a negative interval": (every(-5), "interval"),
    "a negative phase": (every(5, -1), "phase"),
    "a phase as long as its interval": (every(5, 5), "phase"),
    "an hour out of range": ({"calendar": [CalendarSpec(hour="24")]}, "hour"),
    "an unknown month": ({"calendar": [CalendarSpec(month="Smarch")]}, "month"),
    "a structured hour out of range": ({"structured_calendar": [hours(Range(start=25))]}, "hour"),
    "a range that ends before it starts": ({"structured_calendar": [hours(Range(start=5, end=3))]}, "hour"),
    "a negative step": ({"structured_calendar": [hours(Range(start=5, end=8, step=-1))]}, "hour"),
    "an excluded hour out of range": ({"exclude_calendar": [CalendarSpec(hour="24")]}, "hour"),
    "an excluded structured hour out of range": ({"exclude_structured_calendar": [hours(Range(start=25))]}, "hour"),
    "a comment that is too long": ({"calendar": [CalendarSpec(hour="2", comment="c" * 201)]}, "comment"),
    "a negative jitter": ({"jitter": seconds(-1)}, "jitter"),
    "zone data that isn't": ({"cron_string": ["0 * * * *"], "timezone_data": b"junk"}, "zone"),
}

ACTIONS = {
    "a cron in the action": ({"cron_schedule": "0 * * * *"}, "CronSchedule"),
    "a reuse policy": (
        {"workflow_id_reuse_policy": WorkflowIdReusePolicy.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE},
        "ReusePolicy",
    ),
    "a workflow id that is too long": ({"workflow_id": "w" * 1_001}, "WorkflowId"),
    "a workflow id that leaves no room for the time": ({"workflow_id": "w" * 990}, "WorkflowId"),
    "no workflow type": ({"workflow_type": None}, "WorkflowType"),
    "a workflow type that is too long": ({"workflow_type": WorkflowType(name="t" * 1_001)}, "WorkflowType"),
    "no task queue": ({"task_queue": None}, "taskQueue"),
    "a task queue that is too long": ({"task_queue": TaskQueue(name="q" * 1_001)}, "taskQueue"),
    "a negative timeout": ({"workflow_run_timeout": seconds(-1)}, "RunTimeout"),
    "a retry policy that can't be": ({"retry_policy": RetryPolicy(backoff_coefficient=0.5)}, "BackoffCoefficient"),
    "an unknown attribute": ({"search_attributes": search_attributes(NoSuchAttribute=1)}, "NoSuchAttribute"),
    "a value of another type": ({"search_attributes": search_attributes(CustomIntField="x")}, "CustomIntField"),
    "an input that is too large": ({"input": payloads("x" * 2_500_000)}, "size"),
    "a negative priority": ({"priority": Priority(priority_key=-1)}, "priority"),
}

PARTS = {
    "notes that are too long": ({"state": ScheduleState(notes="n" * 1_001)}, "Notes"),
    "negative remaining actions": (
        {"state": ScheduleState(limited_actions=True, remaining_actions=-1)},
        "RemainingActions",
    ),
    "a negative catch-up window": ({"policies": SchedulePolicies(catchup_window=seconds(-1))}, "CatchupWindow"),
    "no action": ({"action": ScheduleAction()}, "action"),
}

CALLS = {
    "an empty id": ({"schedule_id": ""}, "ScheduleId"),
    "an id that is too long": ({"schedule_id": "x" * 1_001}, "ScheduleId"),
    "no request id": ({"request_id": ""}, "RequestId"),
    "a request id that is too long": ({"request_id": "r" * 1_001}, "RequestId"),
}

# It takes these, and fails later or never; or says INTERNAL.
TAKEN_BY_TEMPORAL = {
    "an excluded structured hour out of range",
    "a negative jitter",
    "notes that are too long",
    "negative remaining actions",
    "a negative catch-up window",
    "no action",
    "a retry policy that can't be",
    "a negative priority",
}


def table(cases: dict) -> pytest.MarkDecorator:
    kept = [case for case in cases if not (is_temporal() and case in TAKEN_BY_TEMPORAL)]
    return pytest.mark.parametrize(("fields", "word"), [cases[case] for case in kept], ids=kept)


async def refuses(scheduled: Scheduled, word: str, schedule: Schedule | None = None, **fields):
    """A create: the code, the word in the message, and that nothing was created."""
    answer = await refused(scheduled.create_raw(schedule, **fields))
    assert answer.code == "INVALID_ARGUMENT"
    if not is_temporal():
        assert word.lower() in answer.message.lower()
    if fields.get("schedule_id", scheduled.id) == scheduled.id:
        assert (await refused(scheduled.describe())).code == "NOT_FOUND"


@table(SPECS)
async def test_create_refuses_a_spec_with(scheduled, fields, word):
    await refuses(scheduled, word, scheduled.raw_schedule(ScheduleSpec(**fields)))


@table(ACTIONS)
async def test_create_refuses_an_action_with(scheduled, fields, word):
    usual = {
        "workflow_id": scheduled.id,
        "workflow_type": WorkflowType(name="Waits"),
        "task_queue": TaskQueue(name=scheduled.task_queue),
    }
    said = {name: value for name, value in {**usual, **fields}.items() if value is not None}
    action = ScheduleAction(start_workflow=NewWorkflowExecutionInfo(**said))
    await refuses(scheduled, word, scheduled.raw_schedule(action=action))


@table(PARTS)
async def test_create_refuses_a_schedule_with(scheduled, fields, word):
    await refuses(scheduled, word, scheduled.raw_schedule(**fields))


@table(CALLS)
async def test_create_refuses_a_call_with(scheduled, fields, word):
    await refuses(scheduled, word, **fields)


async def test_a_schedule_id_must_leave_room_for_the_time_where_it_names_the_runs(scheduled):
    action = scheduled.raw_schedule().action
    action.start_workflow.workflow_id = ""
    answer = await refused(scheduled.create_raw(scheduled.raw_schedule(action=action), schedule_id="x" * 990))
    assert answer.code == "INVALID_ARGUMENT"


@pytest.mark.differs_from_temporal("it doesn't name them after the schedule")
async def test_runs_are_named_by_the_schedule_unless_told(scheduled):
    action = scheduled.raw_schedule().action
    action.start_workflow.workflow_id = ""
    await scheduled.create_raw(scheduled.raw_schedule(action=action))
    await scheduled.until_status(await scheduled.trigger(), "RUNNING")


async def test_an_unknown_namespace_is_not_found(scheduled):
    elsewhere = Scheduled(scheduled.client, scheduled.id, scheduled.task_queue)
    elsewhere.namespace = f"no-such-{uuid.uuid4().hex[:8]}"
    assert (await refused(elsewhere.create_raw())).code == "NOT_FOUND"
    assert (await refused(elsewhere.describe())).code == "NOT_FOUND"
    request = api.ListSchedulesRequest(namespace=elsewhere.namespace)
    assert (await refused(elsewhere.service.list_schedules(request, timeout=CALL))).code == "NOT_FOUND"


async def test_a_refused_update_changes_nothing(scheduled):
    await scheduled.create_raw(scheduled.raw_schedule(state=ScheduleState(notes="kept")))
    before = await scheduled.describe()
    for fields in [{"cron_string": ["61 * * * *"]}, {"timezone_name": "Nowhere/None"}, every(0)]:
        update = scheduled.raw_schedule(ScheduleSpec(**fields), state=ScheduleState(notes="changed"))
        assert (await refused(scheduled.update_raw(update))).code == "INVALID_ARGUMENT"
    after = await scheduled.describe()
    assert after == before


async def test_an_update_with_an_unknown_attribute_changes_nothing(scheduled):
    token = (await scheduled.create_raw()).conflict_token
    answer = await refused(scheduled.update_raw(search_attributes=search_attributes(NoSuchAttribute=1)))
    assert answer.code == "INVALID_ARGUMENT"
    assert "NoSuchAttribute" in answer.message
    assert (await scheduled.describe()).conflict_token == token


async def test_an_empty_patch_is_refused(scheduled):
    await scheduled.create_raw()
    request = api.PatchScheduleRequest(namespace=scheduled.namespace, schedule_id=scheduled.id, request_id="r")
    answer = await refused(scheduled.service.patch_schedule(request, timeout=CALL))
    assert answer.code == "INVALID_ARGUMENT"


async def test_a_pause_with_notes_that_are_too_long_changes_nothing(scheduled):
    await scheduled.create_raw()
    answer = await refused(scheduled.patch(pause="n" * 1_001))
    assert answer.code == "INVALID_ARGUMENT"
    assert not (await scheduled.state()).paused


@pytest.mark.differs_from_temporal("it takes a window that ends before it starts, and starts nothing")
async def test_a_backfill_that_ends_before_it_starts_is_refused(scheduled):
    await scheduled.create_raw()
    start = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)
    answer = await refused(scheduled.backfill(start, start - dt.timedelta(hours=1)))
    assert answer.code == "INVALID_ARGUMENT"
    assert "end time" in answer.message
