"""The runs of a schedule: workflow ids, and all options of the action."""

import datetime as dt
import re

import pytest
from histories import attributes
from payloads import payload, seconds, value, values
from temporalio.api.common.v1 import WorkflowType
from temporalio.api.schedule import v1 as proto
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflow.v1 import NewWorkflowExecutionInfo
from temporalio.client import ScheduleIntervalSpec, ScheduleOverlapPolicy, ScheduleSpec
from temporalio.common import Priority, RetryPolicy, SearchAttributeKey, SearchAttributePair, TypedSearchAttributes
from waiting import until

import flows
from flows import SCHEDULED_BY_ID, SCHEDULED_START_TIME
from scheduled import EVERY_SECOND, Scheduled, overlap_policy, status_name

KEYWORD = SearchAttributeKey.for_keyword("CustomKeywordField")
RFC_3339 = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"


async def started(scheduled, workflow_id: str):
    """The run's first event."""
    history = await scheduled.run(workflow_id).fetch_history()
    return attributes(history.events[0])


async def test_a_run_is_named_by_its_nominal_time(scheduled):
    await scheduled.create(EVERY_SECOND, scheduled.action(flows.Returns.run, id="base-" + scheduled.id))
    run = (await scheduled.until_runs(1))[0]
    match = re.fullmatch(f"base-{re.escape(scheduled.id)}-({RFC_3339})", run.id)
    assert match, run.id
    assert run.typed_search_attributes[SCHEDULED_START_TIME] == dt.datetime.fromisoformat(match[1])
    assert run.typed_search_attributes[SCHEDULED_BY_ID] == scheduled.id


async def test_a_spec_fires_at_each_of_its_times(scheduled):
    action = scheduled.action(flows.Returns.run)
    await scheduled.create(EVERY_SECOND, action, overlap=ScheduleOverlapPolicy.ALLOW_ALL)
    runs = await scheduled.until_runs(3)
    times = sorted(run.typed_search_attributes[SCHEDULED_START_TIME] for run in runs)
    assert times == [times[0] + dt.timedelta(seconds=n) for n in range(len(times))]


async def test_jitter_delays_a_run_and_not_its_name(scheduled):
    spec = ScheduleSpec(
        intervals=[ScheduleIntervalSpec(every=dt.timedelta(seconds=2))], jitter=dt.timedelta(seconds=1)
    )
    await scheduled.create(spec, scheduled.action(flows.Returns.run))
    info = await scheduled.until_info(lambda info: info.action_count)
    [action, *_] = info.recent_actions
    nominal = dt.datetime.fromisoformat(action.start_workflow_result.workflow_id.removeprefix(scheduled.id + "-"))
    assert int(nominal.timestamp()) % 2 == 0
    delay = action.schedule_time.ToDatetime(dt.UTC) - nominal
    assert dt.timedelta(0) <= delay <= dt.timedelta(seconds=1)
    assert action.actual_time.ToDatetime() >= action.schedule_time.ToDatetime()


async def test_excluded_times_do_not_fire(scheduled):
    """Every second but the odd ones."""
    spec = proto.ScheduleSpec(
        interval=[proto.IntervalSpec(interval=seconds(1))],
        exclude_calendar=[proto.CalendarSpec(second="1/2", minute="*", hour="*")],
    )
    policies = proto.SchedulePolicies(overlap_policy=overlap_policy("ALLOW_ALL"))
    await scheduled.create_raw(scheduled.raw_schedule(spec, policies=policies))
    runs = await scheduled.until_runs(2)
    assert {run.typed_search_attributes[SCHEDULED_START_TIME].second % 2 for run in runs} == {0}


async def test_a_schedule_past_its_end_starts_nothing_but_can_be_triggered(scheduled):
    spec = ScheduleSpec(intervals=EVERY_SECOND.intervals, end_at=dt.datetime(2025, 1, 1, tzinfo=dt.UTC))
    await scheduled.create(spec, scheduled.action(flows.Returns.run))
    await scheduled.until_status(await scheduled.trigger(), "COMPLETED")
    info = await scheduled.info()
    assert not info.future_action_times
    assert info.action_count == 1


async def test_a_schedule_before_its_start_waits_for_it(scheduled):
    start = dt.datetime(2090, 1, 1, tzinfo=dt.UTC)
    await scheduled.create(ScheduleSpec(intervals=EVERY_SECOND.intervals, start_at=start))
    info = await scheduled.until_info(lambda info: info.future_action_times)
    assert info.future_action_times[0].ToDatetime(dt.UTC) == start
    assert info.action_count == 0


async def test_a_workflow_can_read_which_time_of_which_schedule_it_is_for(scheduled):
    await scheduled.create(action=scheduled.action(flows.TellsWhenItWasDue.run))
    run = await scheduled.trigger(at=dt.datetime(2021, 2, 3, 4, 5, 6, tzinfo=dt.UTC))
    await scheduled.until_status(run, "COMPLETED")
    assert await scheduled.run(run).result() == [scheduled.id, "2021-02-03T04:05:06+00:00"]


async def test_many_schedules_of_one_time_all_fire(client, name, task_queue):
    """Thirty with the same times, twice each."""
    crowd = [Scheduled(client, f"{name}-{n}", task_queue) for n in range(30)]
    for one in crowd:
        action = one.action(flows.Returns.run)
        limit = {"limited_actions": True, "remaining_actions": 2}
        await one.create(EVERY_SECOND, action, ScheduleOverlapPolicy.ALLOW_ALL, **limit)
    for one in crowd:
        await one.until_state(lambda state: state.remaining_actions == 0)
        runs = await one.until_runs(2)
        times = sorted(run.typed_search_attributes[SCHEDULED_START_TIME] for run in runs)
        assert times[1] - times[0] == dt.timedelta(seconds=1)
    for one in crowd:
        await one.remove()


async def test_describe_tells_what_was_started(scheduled):
    await scheduled.create(EVERY_SECOND, scheduled.action(flows.Returns.run))
    info = await scheduled.until_info(lambda info: info.action_count)
    [action, *_] = info.recent_actions
    assert action.schedule_time.nanos == 0
    assert action.start_workflow_result.workflow_id == scheduled.run_id(action.schedule_time.ToDatetime())
    assert action.start_workflow_result.run_id
    assert action.actual_time.ToDatetime() >= action.schedule_time.ToDatetime()


async def test_a_recent_action_tells_how_the_run_ended(scheduled):
    await scheduled.create()
    run = await scheduled.trigger()
    await scheduled.until_info(lambda info: statuses(info) == ["RUNNING"])
    await scheduled.finish(run)
    await scheduled.until_info(lambda info: statuses(info) == ["COMPLETED"])


def statuses(info) -> list[str]:
    return [status_name(action.start_workflow_status) for action in info.recent_actions]


async def test_describe_shows_the_last_ten_actions_and_counts_all(scheduled):
    await scheduled.create(action=scheduled.action(flows.Returns.run))
    runs = []
    for _ in range(12):
        runs.append(await scheduled.trigger("ALLOW_ALL"))
        # Of triggers that follow each other too quickly Temporal loses some.
        info = await scheduled.until_info(lambda info: info.action_count == len(runs))
    assert [action.start_workflow_result.workflow_id for action in info.recent_actions] == runs[2:]


async def test_every_option_of_the_action_arrives(scheduled):
    action = scheduled.action(
        flows.Waits.run,
        {"some": "input"},
        execution_timeout=dt.timedelta(minutes=3),
        run_timeout=dt.timedelta(minutes=2),
        task_timeout=dt.timedelta(seconds=7),
        retry_policy=RetryPolicy(
            initial_interval=dt.timedelta(seconds=5),
            backoff_coefficient=3,
            maximum_interval=dt.timedelta(seconds=50),
            maximum_attempts=4,
            non_retryable_error_types=["Hopeless"],
        ),
        memo={"memo": [1, 2]},
        typed_search_attributes=TypedSearchAttributes([SearchAttributePair(KEYWORD, "mine")]),
        headers={"head": payload("er")},
        priority=Priority(priority_key=2, fairness_key="fair", fairness_weight=1.5),
        static_summary="the summary",
        static_details="the details",
    )
    await scheduled.create(action=action)
    run = await scheduled.trigger()
    await scheduled.until_status(run, "RUNNING")
    event = (await scheduled.run(run).fetch_history()).events[0]
    told = attributes(event)
    assert told.workflow_type.name == "Waits"
    assert told.task_queue.name == scheduled.task_queue
    assert values(told.input) == [{"some": "input"}]
    assert told.workflow_execution_timeout == seconds(180)
    assert told.workflow_run_timeout == seconds(120)
    assert told.workflow_task_timeout == seconds(7)
    assert told.retry_policy.initial_interval == seconds(5)
    assert told.retry_policy.backoff_coefficient == 3
    assert told.retry_policy.maximum_interval == seconds(50)
    assert told.retry_policy.maximum_attempts == 4
    assert list(told.retry_policy.non_retryable_error_types) == ["Hopeless"]
    assert value(told.memo.fields["memo"]) == [1, 2]
    assert value(told.search_attributes.indexed_fields["CustomKeywordField"]) == "mine"
    assert value(told.search_attributes.indexed_fields["TemporalScheduledById"]) == scheduled.id
    assert value(told.header.fields["head"]) == "er"
    assert told.priority.priority_key == 2
    assert told.priority.fairness_key == "fair"
    assert told.priority.fairness_weight == 1.5
    assert value(event.user_metadata.summary) == "the summary"
    assert value(event.user_metadata.details) == "the details"


async def test_a_run_can_be_found_by_the_attributes_of_its_action(scheduled):
    attribute = TypedSearchAttributes([SearchAttributePair(KEYWORD, scheduled.id)])
    await scheduled.create(action=scheduled.action(memo={"key": "told"}, typed_search_attributes=attribute))
    run = await scheduled.trigger()

    async def found():
        query = f"CustomKeywordField = '{scheduled.id}'"
        return [one async for one in scheduled.client.list_workflows(query)]

    [one] = await until(found)
    assert one.id == run
    assert await one.memo() == {"key": "told"}


async def test_the_action_may_be_updated_between_runs(scheduled):
    await scheduled.create_raw()
    first = await scheduled.trigger("ALLOW_ALL")
    await scheduled.until_status(first, "RUNNING")
    action = NewWorkflowExecutionInfo(
        workflow_id=scheduled.id + "-other",
        workflow_type=WorkflowType(name="Returns"),
        task_queue=TaskQueue(name=scheduled.task_queue),
    )
    await scheduled.update_raw(scheduled.raw_schedule(action=proto.ScheduleAction(start_workflow=action)))
    second = (await scheduled.trigger("ALLOW_ALL")).replace(scheduled.id, action.workflow_id)
    await scheduled.until_status(second, "COMPLETED")
    assert (await started(scheduled, second)).workflow_type.name == "Returns"


async def test_a_trigger_starts_a_run_now(scheduled):
    await scheduled.create(action=scheduled.action(flows.Returns.run))
    await scheduled.handle.trigger()
    [run] = await scheduled.until_runs(1)
    assert re.fullmatch(f"{re.escape(scheduled.id)}-{RFC_3339}", run.id), run.id
    assert run.typed_search_attributes[SCHEDULED_BY_ID] == scheduled.id


async def test_the_time_of_a_trigger_names_its_run(scheduled):
    await scheduled.create(action=scheduled.action(flows.Returns.run))
    time = dt.datetime(2021, 2, 3, 4, 5, 6, tzinfo=dt.UTC)
    await scheduled.trigger(at=time)
    [run] = await scheduled.until_runs(1)
    assert run.id == f"{scheduled.id}-2021-02-03T04:05:06Z"
    assert run.typed_search_attributes[SCHEDULED_START_TIME] == time


async def test_a_triggers_run_may_be_started_again_once_it_has_closed(scheduled):
    await scheduled.create(action=scheduled.action(flows.Returns.run))
    time = dt.datetime(2021, 2, 3, 4, 5, 6, tzinfo=dt.UTC)
    for count in (1, 2):
        await scheduled.trigger(at=time)
        runs = await scheduled.until_runs(count)
        await scheduled.until_status(runs[-1].id, "COMPLETED")
    assert {run.id for run in runs} == {scheduled.run_id(time)}


async def test_a_repeated_trigger_with_the_same_request_id_starts_nothing_more(scheduled):
    await scheduled.create(action=scheduled.action(flows.Returns.run))
    for _ in range(2):
        await scheduled.patch(request_id="once", trigger_immediately=proto.TriggerImmediatelyRequest())
    await scheduled.until_status(await scheduled.trigger("ALLOW_ALL"), "COMPLETED")
    await scheduled.until_info(lambda info: info.action_count >= 2)
    assert len(await scheduled.run_ids()) == 2


@pytest.mark.differs_from_temporal("it drops the second of them: their workflow ids are the same")
async def test_triggers_of_one_second_all_start_runs(scheduled):
    await scheduled.create(overlap=ScheduleOverlapPolicy.ALLOW_ALL)
    for _ in range(3):
        await scheduled.handle.trigger()
    runs = await scheduled.until_runs(3)
    assert len({run.id for run in runs}) == 3


@pytest.mark.differs_from_temporal("it ignores keep_original_workflow_id")
async def test_the_original_workflow_id_can_be_kept(scheduled):
    policies = proto.SchedulePolicies(keep_original_workflow_id=True)
    await scheduled.create_raw(scheduled.raw_schedule(policies=policies))
    for count in (1, 2):
        await scheduled.trigger()
        runs = await scheduled.until_runs(count)
        await scheduled.finish(scheduled.id)
    assert [run.id for run in runs] == [scheduled.id] * 2


@pytest.mark.differs_from_temporal("the header is ours")
async def test_a_header_tells_which_schedule_started_the_run_and_why(scheduled):
    await scheduled.create(action=scheduled.action(flows.Returns.run))
    keys = {"schedule_id", "schedule_ulid", "cron_expression", "timezone", "overlap_policy", "trigger_number"}
    for number in (1, 2):
        run = await scheduled.trigger()
        await scheduled.until_status(run, "COMPLETED")
        lineage = value((await started(scheduled, run)).header.fields["perennial-schedule"])
        assert keys | {"occurrence_time", "due_time", "reason", "spec"} <= set(lineage)
        assert lineage["event"] == "ScheduleTriggered"
        assert lineage["schedule_id"] == scheduled.id
        assert lineage["schedule_ulid"] == lineage["schedule_internal_id"] != ""
        assert lineage["reason"] == "trigger"
        assert lineage["trigger_number"] == number
        assert lineage["overlap_policy"] == "skip"
        assert lineage["timezone"] == "UTC"
        assert run.endswith(lineage["occurrence_time"].replace(".000000000", ""))


async def test_a_workflow_that_runs_already_under_that_id_is_left_alone(scheduled):
    """Somebody else's run has the name of the run to start."""
    await scheduled.create()
    at = dt.datetime(2022, 1, 1, tzinfo=dt.UTC)
    taken = scheduled.run_id(at)
    await scheduled.client.start_workflow(flows.Waits.run, id=taken, task_queue=scheduled.task_queue)
    await scheduled.trigger(at=at)
    await scheduled.until_status(await scheduled.trigger("ALLOW_ALL"), "RUNNING")
    await scheduled.finish(taken)
