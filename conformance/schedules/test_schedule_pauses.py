"""Pausing, by hand and by failure; limited actions; the catch-up window."""

import datetime as dt

import pytest
from payloads import seconds
from temporalio.api.schedule import v1 as proto
from temporalio.client import (
    ScheduleBackfill,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleSpec,
)
from temporalio.common import RetryPolicy

import flows
from scheduled import EVERY_SECOND

PAUSES = SchedulePolicy(pause_on_failure=True)


async def test_pause_and_unpause_leave_notes(scheduled):
    handle = await scheduled.create(note="first")
    await handle.pause(note="lunch")
    state = await scheduled.until_state(lambda state: state.paused)
    assert state.notes == "lunch"
    await handle.unpause(note="back")
    state = await scheduled.until_state(lambda state: not state.paused)
    assert state.notes == "back"


async def test_a_schedule_can_be_created_paused(scheduled):
    await scheduled.create(EVERY_SECOND, scheduled.action(flows.Returns.run), paused=True, note="not yet")
    state = await scheduled.state()
    assert (state.paused, state.notes) == (True, "not yet")
    await scheduled.handle.unpause()
    await scheduled.until_runs(1)


async def test_a_paused_schedule_starts_nothing_and_catches_nothing_up(scheduled):
    """Times that pass while it is paused are gone: the first run after is for a time after the unpausing."""
    action = scheduled.action(flows.Returns.run)
    await scheduled.create(EVERY_SECOND, action, overlap=ScheduleOverlapPolicy.ALLOW_ALL, paused=True)
    paused_at = (await scheduled.info()).create_time.ToDatetime()
    # Two times at least have passed once another schedule has met two.
    await scheduled_beside(scheduled, 2)
    assert (await scheduled.info()).action_count == 0
    await scheduled.handle.unpause()
    info = await scheduled.until_info(lambda info: info.action_count >= 1)
    first = info.recent_actions[0].schedule_time.ToDatetime()
    assert first >= paused_at + dt.timedelta(seconds=1.5)
    assert info.missed_catchup_window == 0
    assert len(await scheduled.run_ids()) <= (await scheduled.info()).action_count


async def scheduled_beside(scheduled, actions: int):
    """Waits until another schedule of every second has acted so often."""
    other = type(scheduled)(scheduled.client, scheduled.id + "-beside", scheduled.task_queue)
    await other.create(EVERY_SECOND, other.action(flows.Returns.run), overlap=ScheduleOverlapPolicy.ALLOW_ALL)
    await other.until_info(lambda info: info.action_count >= actions)
    await other.remove()


async def test_a_paused_schedule_has_future_times_nevertheless(scheduled):
    await scheduled.create(EVERY_SECOND, paused=True)
    assert len((await scheduled.until_info(lambda info: info.future_action_times)).future_action_times) == 10


async def test_a_paused_schedule_can_be_triggered(scheduled):
    await scheduled.create(paused=True)
    await scheduled.until_status(await scheduled.trigger(), "RUNNING")
    assert (await scheduled.state()).paused


async def test_a_paused_schedule_can_be_backfilled(scheduled):
    await scheduled.create(EVERY_SECOND, scheduled.action(flows.Returns.run), paused=True)
    start = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)
    await scheduled.backfill(start, start + dt.timedelta(seconds=1))
    runs = await scheduled.until_runs(2)
    assert {run.id for run in runs} == {scheduled.run_id(start + dt.timedelta(seconds=n)) for n in (0, 1)}


async def test_a_failure_pauses_if_asked_to(scheduled):
    await scheduled.create(action=scheduled.action(flows.Fails.run, "out of paper"), policy=PAUSES, note="before")
    run = await scheduled.trigger()
    state = await scheduled.until_state(lambda state: state.paused)
    assert state.notes != "before"
    assert run in state.notes
    assert "fail" in state.notes.lower()


async def test_a_failure_does_not_pause_unless_asked_to(scheduled):
    await scheduled.create(action=scheduled.action(flows.Fails.run))
    run = await scheduled.trigger()
    await scheduled.until_status(run, "FAILED")
    await scheduled.until_info(lambda info: not info.running_workflows)
    assert not (await scheduled.state()).paused


async def test_only_the_last_retry_counts_as_a_failure(scheduled):
    retry = RetryPolicy(initial_interval=dt.timedelta(milliseconds=10), maximum_attempts=2)
    await scheduled.create(action=scheduled.action(flows.SucceedsTheSecondTime.run, retry_policy=retry), policy=PAUSES)
    run = await scheduled.trigger()
    await scheduled.until_status(run, "COMPLETED")
    await scheduled.until_info(lambda info: not info.running_workflows)
    assert not (await scheduled.state()).paused


async def test_a_failure_after_all_retries_pauses(scheduled):
    retry = RetryPolicy(initial_interval=dt.timedelta(milliseconds=10), maximum_attempts=2)
    await scheduled.create(action=scheduled.action(flows.Fails.run, retry_policy=retry), policy=PAUSES)
    run = await scheduled.trigger()
    await scheduled.until_state(lambda state: state.paused)
    history = await scheduled.run(run).fetch_history()
    assert history.events[0].workflow_execution_started_event_attributes.attempt == 2


async def test_a_timeout_pauses(scheduled):
    action = scheduled.action(run_timeout=dt.timedelta(seconds=1))
    await scheduled.create(action=action, policy=PAUSES)
    run = await scheduled.trigger()
    state = await scheduled.until_state(lambda state: state.paused)
    assert run in state.notes
    assert await scheduled.status(run) == "TIMED_OUT"


@pytest.mark.parametrize("how", ["cancel", "terminate"])
async def test_a_run_that_was_stopped_pauses_nothing(scheduled, how):
    await scheduled.create(policy=PAUSES)
    run = await scheduled.trigger()
    await scheduled.until_status(run, "RUNNING")
    await getattr(scheduled.run(run), how)()
    await scheduled.until_info(lambda info: not info.running_workflows)
    assert await scheduled.status(run) != "RUNNING"
    assert not (await scheduled.state()).paused


async def test_pausing_on_failure_changes_the_conflict_token(scheduled):
    await scheduled.create(action=scheduled.action(flows.Fails.run), policy=PAUSES)
    before = (await scheduled.describe()).conflict_token
    await scheduled.trigger()
    await scheduled.until_state(lambda state: state.paused)
    assert (await scheduled.describe()).conflict_token != before


@pytest.mark.differs_from_temporal("it doesn't watch runs that may overlap")
async def test_a_failure_of_a_run_that_may_overlap_pauses(scheduled):
    await scheduled.create(action=scheduled.action(flows.Fails.run), policy=PAUSES)
    await scheduled.trigger("ALLOW_ALL")
    await scheduled.until_state(lambda state: state.paused)


@pytest.mark.differs_from_temporal("it keeps them in the buffer")
async def test_buffered_times_of_the_spec_are_dropped_when_it_pauses_and_triggers_stay(scheduled):
    await scheduled.create(EVERY_SECOND, overlap=ScheduleOverlapPolicy.BUFFER_ALL)
    info = await scheduled.until_info(lambda info: info.buffer_size >= 1)
    manual = await scheduled.trigger()
    await scheduled.handle.pause()
    await scheduled.until_info(lambda info: info.buffer_size == 1)
    await scheduled.finish(info.running_workflows[0].workflow_id)
    await scheduled.until_status(manual, "RUNNING")
    assert await scheduled.running() == [manual]


async def test_limited_actions_count_down_and_then_nothing_is_started(scheduled):
    action = scheduled.action(flows.Returns.run)
    overlap = ScheduleOverlapPolicy.ALLOW_ALL
    await scheduled.create(EVERY_SECOND, action, overlap, limited_actions=True, remaining_actions=2)
    await scheduled.until_state(lambda state: state.remaining_actions == 1)
    state = await scheduled.until_state(lambda state: state.remaining_actions == 0)
    assert state.limited_actions
    await scheduled_beside(scheduled, 1)
    info = await scheduled.info()
    assert info.action_count == 2
    assert len(await scheduled.run_ids()) == 2
    assert not info.future_action_times


async def test_skipped_times_do_not_count_against_the_limit(scheduled):
    await scheduled.create(EVERY_SECOND, limited_actions=True, remaining_actions=5)
    await scheduled.until_info(lambda info: info.overlap_skipped >= 1)
    assert (await scheduled.state()).remaining_actions == 4


async def test_triggers_and_backfills_do_not_count_against_the_limit(scheduled):
    hourly = ScheduleSpec(intervals=[ScheduleIntervalSpec(every=dt.timedelta(hours=1))])
    await scheduled.create(hourly, scheduled.action(flows.Returns.run), limited_actions=True, remaining_actions=1)
    await scheduled.until_status(await scheduled.trigger(), "COMPLETED")
    start = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)
    await scheduled.backfill(start, start + dt.timedelta(hours=1))
    await scheduled.until_info(lambda info: info.action_count == 3)
    assert (await scheduled.state()).remaining_actions == 1


async def test_an_exhausted_schedule_can_be_triggered(scheduled):
    state = proto.ScheduleState(limited_actions=True, remaining_actions=0)
    every_second = proto.ScheduleSpec(interval=[proto.IntervalSpec(interval=seconds(1))])
    await scheduled.create_raw(scheduled.raw_schedule(every_second, state=state))
    await scheduled.until_status(await scheduled.trigger(), "RUNNING")
    assert (await scheduled.info()).action_count == 1


async def test_future_times_are_no_more_than_remain(scheduled):
    hourly = proto.ScheduleSpec(interval=[proto.IntervalSpec(interval=seconds(3600))])
    state = proto.ScheduleState(limited_actions=True, remaining_actions=3)
    await scheduled.create_raw(scheduled.raw_schedule(hourly, state=state))
    info = await scheduled.until_info(lambda info: info.future_action_times)
    assert len(info.future_action_times) == 3


@pytest.mark.parametrize(
    ("asked", "told"), [(None, 31_536_000), (0, 10), (1, 10), (10, 10), (60, 60), (100_000_000, 100_000_000)]
)
async def test_the_catchup_window_is_a_year_unless_told_and_ten_seconds_at_least(scheduled, asked, told):
    policies = proto.SchedulePolicies()
    if asked is not None:
        policies.catchup_window.CopyFrom(seconds(asked))
    await scheduled.create_raw(scheduled.raw_schedule(policies=policies))
    assert (await scheduled.describe()).schedule.policies.catchup_window == seconds(told)


async def test_create_can_trigger_at_once(scheduled):
    await scheduled.create(options={"trigger_immediately": True})
    [run] = await scheduled.until_runs(1)
    assert await scheduled.status(run.id) == "RUNNING"


async def test_create_can_trigger_a_paused_schedule(scheduled):
    await scheduled.create(EVERY_SECOND, options={"trigger_immediately": True}, paused=True)
    info = await scheduled.until_info(lambda info: info.action_count)
    assert info.action_count == 1


async def test_create_can_backfill(scheduled):
    start = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)
    backfill = ScheduleBackfill(
        start_at=start, end_at=start + dt.timedelta(seconds=2), overlap=ScheduleOverlapPolicy.ALLOW_ALL
    )
    action = scheduled.action(flows.Returns.run)
    await scheduled.create(EVERY_SECOND, action, paused=True, options={"backfill": [backfill]})
    runs = await scheduled.until_runs(3)
    assert {run.id for run in runs} == {scheduled.run_id(start + dt.timedelta(seconds=n)) for n in range(3)}
