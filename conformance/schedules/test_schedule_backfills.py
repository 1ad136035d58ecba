"""Backfills, and the times that a schedule would match."""

import datetime as dt

from payloads import seconds
from temporalio.api.schedule import v1 as proto
from temporalio.client import (
    ScheduleBackfill,
    ScheduleCalendarSpec,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    ScheduleRange,
    ScheduleSpec,
)
from waiting import until

import flows
from scheduled import EVERY_SECOND, LONG_AGO

HOUR = dt.timedelta(hours=1)
HOURLY = ScheduleSpec(intervals=[ScheduleIntervalSpec(every=HOUR)])
START = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)


def hours(count: int, start: dt.datetime = START) -> list[dt.datetime]:
    return [start + n * HOUR for n in range(count)]


def names(scheduled, times) -> list[str]:
    return [scheduled.run_id(time) for time in times]


async def test_both_ends_of_a_backfill_belong_to_it(scheduled):
    await scheduled.create(HOURLY, scheduled.action(flows.Returns.run))
    await scheduled.backfill(START, START + 3 * HOUR)
    await scheduled.until_runs(4)
    await scheduled.until_info(lambda info: info.action_count == 4)
    assert sorted(await scheduled.run_ids()) == names(scheduled, hours(4))


async def test_a_backfill_that_allows_all_starts_all_at_once(scheduled):
    await scheduled.create(HOURLY)
    await scheduled.backfill(START, START + 2 * HOUR)
    runs = await scheduled.until_runs(3)
    assert {run.status.name for run in runs} == {"RUNNING"}


async def test_a_backfill_that_buffers_all_runs_one_after_the_other_in_order(scheduled):
    await scheduled.create(HOURLY)
    expected = names(scheduled, hours(4))
    await scheduled.backfill(START, START + 3 * HOUR, "BUFFER_ALL")
    for run in expected:
        await until(scheduled.running, lambda running, run=run: running == [run])
        await scheduled.finish(run)
    await scheduled.until_info(lambda info: not info.running_workflows)
    assert await scheduled.run_ids() == expected


async def test_a_backfill_has_the_policy_of_the_schedule_unless_told(scheduled):
    await scheduled.create(HOURLY, overlap=ScheduleOverlapPolicy.BUFFER_ONE)
    await scheduled.backfill(START, START + 4 * HOUR, "UNSPECIFIED")
    info = await scheduled.until_info(lambda info: info.overlap_skipped == 3 and info.action_count == 1)
    assert info.buffer_size == 1


async def test_one_call_can_backfill_several_windows(scheduled):
    await scheduled.create(HOURLY, scheduled.action(flows.Returns.run))
    later = START + dt.timedelta(days=10)
    windows = [
        ScheduleBackfill(start_at=start, end_at=start + HOUR, overlap=ScheduleOverlapPolicy.ALLOW_ALL)
        for start in (START, later)
    ]
    await scheduled.handle.backfill(*windows)
    await scheduled.until_runs(4)
    assert sorted(await scheduled.run_ids()) == names(scheduled, [*hours(2), *hours(2, later)])


async def test_a_backfill_leaves_out_excluded_times_and_those_outside_the_bounds(scheduled):
    spec = ScheduleSpec(
        cron_expressions=["0 * * * *"],
        skip=[calendar_at(hour=2)],
        start_at=START + HOUR,
        end_at=START + 4 * HOUR,
    )
    await scheduled.create(spec, scheduled.action(flows.Returns.run))
    await scheduled.backfill(START, START + 10 * HOUR)
    await scheduled.until_runs(3)
    assert sorted(await scheduled.run_ids()) == names(scheduled, [START + n * HOUR for n in (1, 3, 4)])


async def test_a_time_whose_run_is_open_is_not_backfilled_again(scheduled):
    await scheduled.create(HOURLY)
    await scheduled.backfill(START, START)
    [run] = await scheduled.until_runs(1)
    await scheduled.backfill(START, START + HOUR)
    await scheduled.until_runs(2)
    await scheduled.until_status(scheduled.run_id(START + HOUR), "RUNNING")
    assert [one.run_id for one in await scheduled.runs() if one.id == run.id] == [run.run_id]


async def test_a_time_whose_run_has_closed_is_backfilled_again(scheduled):
    await scheduled.create(HOURLY, scheduled.action(flows.Returns.run))
    for count in (1, 2):
        await scheduled.backfill(START, START)
        runs = await scheduled.until_runs(count)
        await scheduled.until_status(runs[0].id, "COMPLETED")
    assert [run.id for run in runs] == names(scheduled, [START, START])


async def test_a_future_time_that_was_backfilled_does_not_fire_again(scheduled):
    action = scheduled.action(flows.Returns.run)
    await scheduled.create(EVERY_SECOND, action, overlap=ScheduleOverlapPolicy.ALLOW_ALL)
    info = await scheduled.until_info(lambda info: info.future_action_times)
    # Late enough that it hasn't come yet, and soon enough to wait for.
    time = info.future_action_times[1].ToDatetime(dt.UTC)
    await scheduled.backfill(time, time)
    after = time + dt.timedelta(seconds=1)

    def has_passed(info):
        return any(action.schedule_time.ToDatetime(dt.UTC) >= after for action in info.recent_actions)

    await scheduled.until_info(has_passed)
    assert (await scheduled.run_ids()).count(scheduled.run_id(time)) == 1


async def test_matching_times_begin_after_the_start_and_include_the_end(scheduled):
    await scheduled.create(HOURLY, paused=True)
    assert await scheduled.matching_times(START, START + 3 * HOUR) == hours(4)[1:]
    just_before = START - dt.timedelta(seconds=1)
    assert await scheduled.matching_times(just_before, START) == [START]
    assert await scheduled.matching_times(START, START) == []


async def test_matching_times_are_a_thousand_at_most(scheduled):
    await scheduled.create(EVERY_SECOND, paused=True)
    times = await scheduled.matching_times(START, START + HOUR)
    assert len(times) == 1_000
    assert times[0] == START + dt.timedelta(seconds=1)


async def test_matching_times_know_exclusions_and_bounds_but_not_pauses_and_limits(scheduled):
    spec = ScheduleSpec(cron_expressions=["0 * * * *"], skip=[calendar_at(hour=2)], end_at=START + 4 * HOUR)
    await scheduled.create(spec, paused=True, limited_actions=True, remaining_actions=1)
    times = await scheduled.matching_times(START, START + 10 * HOUR)
    assert times == [START + n * HOUR for n in (1, 3, 4)]


async def test_matching_times_follow_an_update(scheduled):
    await scheduled.create(HOURLY)
    daily = proto.ScheduleSpec(interval=[proto.IntervalSpec(interval=seconds(86_400))])
    await scheduled.update_raw(scheduled.raw_schedule(daily))
    assert await scheduled.matching_times(START, START + 24 * HOUR) == [START + 24 * HOUR]


def calendar_at(hour: int) -> ScheduleCalendarSpec:
    return ScheduleCalendarSpec(hour=[ScheduleRange(hour)])


async def test_describe_names_only_runs_that_are_there(scheduled):
    await scheduled.create(EVERY_SECOND, paused=True)
    await scheduled.backfill(LONG_AGO, LONG_AGO + dt.timedelta(seconds=49))
    count = 0
    while count < 50:
        info = await scheduled.info()
        count = info.action_count
        named = [action.start_workflow_result.workflow_id for action in info.recent_actions]
        for workflow_id in {*named, *(run.workflow_id for run in info.running_workflows)}:
            assert await scheduled.status(workflow_id) != "NOT_FOUND"
    assert len(await scheduled.runs()) == 50
