"""Overlap policies. Most starts here are triggers, which follow the same policies
as scheduled starts and happen at a known time."""

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.schedule.v1 import SchedulePolicies
from temporalio.api.workflowservice import v1 as api
from temporalio.client import ScheduleOverlapPolicy
from waiting import until

import flows
from scheduled import CALL, EVERY_SECOND, overlap_policy, status_name


async def busy(scheduled, overlap: ScheduleOverlapPolicy, action=None) -> str:
    """A schedule with that policy, whose first run goes on."""
    await scheduled.create(action=action, overlap=overlap)
    run = await scheduled.trigger()
    await scheduled.until_status(run, "RUNNING")
    return run


async def until_buffered(scheduled, count: int):
    await scheduled.until_info(lambda info: info.buffer_size == count)


async def until_running(scheduled, runs: list[str]):
    await scheduled.until_info(lambda info: [one.workflow_id for one in info.running_workflows] == runs)


async def test_describe_shows_what_is_running(scheduled):
    first = await busy(scheduled, ScheduleOverlapPolicy.SKIP)
    await until_running(scheduled, [first])
    [shown] = (await scheduled.info()).running_workflows
    assert shown.run_id == (await scheduled.run(first).describe()).run_id
    await scheduled.finish(first)
    await until_running(scheduled, [])


async def test_skip_starts_nothing_beside_a_running_one(scheduled):
    first = await busy(scheduled, ScheduleOverlapPolicy.SKIP)
    for count in (1, 2):
        skipped = await scheduled.trigger()
        await scheduled.until_info(lambda info, count=count: info.overlap_skipped == count)
    assert (await scheduled.info()).buffer_size == 0
    await scheduled.finish(first)
    await until_running(scheduled, [])
    assert await scheduled.status(skipped) == "NOT_FOUND"
    third = await scheduled.trigger()
    await scheduled.until_status(third, "RUNNING")
    assert (await scheduled.info()).action_count == 2


async def test_skip_is_what_happens_to_the_times_of_a_spec(scheduled):
    await scheduled.create(EVERY_SECOND)
    info = await scheduled.until_info(lambda info: info.overlap_skipped >= 1)
    assert info.action_count == 1
    assert info.buffer_size == 0
    assert len(info.running_workflows) == 1


async def test_buffer_one_keeps_the_first_that_waits(scheduled):
    first = await busy(scheduled, ScheduleOverlapPolicy.BUFFER_ONE)
    kept = await scheduled.trigger()
    await until_buffered(scheduled, 1)
    dropped = await scheduled.trigger()
    await scheduled.until_info(lambda info: info.overlap_skipped == 1)
    assert (await scheduled.info()).buffer_size == 1
    await scheduled.finish(first)
    await scheduled.until_status(kept, "RUNNING")
    await until_buffered(scheduled, 0)
    await scheduled.finish(kept)
    await until_running(scheduled, [])
    assert await scheduled.status(dropped) == "NOT_FOUND"


async def test_buffer_all_runs_them_one_after_the_other_in_their_order(scheduled):
    runs = [await busy(scheduled, ScheduleOverlapPolicy.BUFFER_ALL)]
    for count in (1, 2, 3):
        runs.append(await scheduled.trigger())
        await until_buffered(scheduled, count)
    for n, run in enumerate(runs):
        await until_running(scheduled, [run])
        await until_buffered(scheduled, len(runs) - 1 - n)
        await scheduled.finish(run)
    await until_running(scheduled, [])
    assert await scheduled.run_ids() == runs


async def test_the_times_of_a_spec_are_buffered(scheduled):
    await scheduled.create(EVERY_SECOND, overlap=ScheduleOverlapPolicy.BUFFER_ALL)
    info = await scheduled.until_info(lambda info: info.buffer_size >= 2)
    assert info.action_count == 1
    [first] = info.running_workflows
    await scheduled.finish(first.workflow_id)
    info = await scheduled.until_info(lambda info: info.action_count == 2 and info.running_workflows)
    [second] = info.running_workflows
    times = [action.schedule_time.ToSeconds() for action in info.recent_actions]
    assert times[1] == times[0] + 1
    assert second.workflow_id == info.recent_actions[1].start_workflow_result.workflow_id


async def test_cancel_other_waits_for_the_canceled_run_to_end(scheduled):
    action = scheduled.action(flows.WaitsForPermissionToEnd.run)
    first = await busy(scheduled, ScheduleOverlapPolicy.CANCEL_OTHER, action)
    second = await scheduled.trigger()
    await until_buffered(scheduled, 1)
    await until_asked(scheduled, first)
    assert await scheduled.status(second) == "NOT_FOUND"
    await scheduled.run(first).signal("finish")
    await scheduled.until_status(first, "CANCELED")
    await scheduled.until_status(second, "RUNNING")
    await until_running(scheduled, [second])


async def test_of_those_that_wait_for_a_cancellation_the_newest_stays(scheduled):
    action = scheduled.action(flows.WaitsForPermissionToEnd.run)
    first = await busy(scheduled, ScheduleOverlapPolicy.CANCEL_OTHER, action)
    second = await scheduled.trigger()
    await until_asked(scheduled, first)
    third = await scheduled.trigger()
    # Temporal finds out only later which of them stays.
    await scheduled.until_info(lambda info: info.overlap_skipped == 1 or info.buffer_size == 2)
    await scheduled.run(first).signal("finish")
    await scheduled.until_status(third, "RUNNING")
    await until_running(scheduled, [third])
    assert await scheduled.status(second) == "NOT_FOUND"


async def until_asked(scheduled, run: str):
    async def asked():
        return await scheduled.run(run).query(flows.WaitsForPermissionToEnd.was_asked)

    await until(asked)


async def test_a_run_that_is_canceled_by_the_next_one_ends_at_once_if_it_lets_itself(scheduled):
    first = await busy(scheduled, ScheduleOverlapPolicy.CANCEL_OTHER)
    second = await scheduled.trigger()
    await scheduled.until_status(first, "CANCELED")
    await scheduled.until_status(second, "RUNNING")


async def test_terminate_other_ends_the_running_one(scheduled):
    action = scheduled.action(flows.WaitsForPermissionToEnd.run)
    first = await busy(scheduled, ScheduleOverlapPolicy.TERMINATE_OTHER, action)
    second = await scheduled.trigger()
    await scheduled.until_status(first, "TERMINATED")
    await scheduled.until_status(second, "RUNNING")
    await until_running(scheduled, [second])


async def test_terminate_beats_cancel(scheduled):
    action = scheduled.action(flows.WaitsForPermissionToEnd.run)
    first = await busy(scheduled, ScheduleOverlapPolicy.CANCEL_OTHER, action)
    await scheduled.trigger()
    await until_asked(scheduled, first)
    last = await scheduled.trigger("TERMINATE_OTHER")
    await scheduled.until_status(first, "TERMINATED")
    await scheduled.until_status(last, "RUNNING")


async def test_allow_all_starts_beside_the_others(scheduled):
    first = await busy(scheduled, ScheduleOverlapPolicy.ALLOW_ALL)
    second = await scheduled.trigger()
    await scheduled.until_status(second, "RUNNING")
    assert await scheduled.status(first) == "RUNNING"
    info = await scheduled.info()
    assert (info.buffer_size, info.overlap_skipped, info.action_count) == (0, 0, 2)


@pytest.mark.differs_from_temporal("it doesn't watch runs that may overlap")
async def test_runs_that_overlap_are_all_shown_as_running(scheduled):
    runs = [await busy(scheduled, ScheduleOverlapPolicy.ALLOW_ALL)]
    for _ in range(2):
        runs.append(await scheduled.trigger())
        await scheduled.until_status(runs[-1], "RUNNING")
    assert sorted(await scheduled.running()) == sorted(runs)
    await scheduled.finish(runs[1])
    await scheduled.until_info(lambda info: len(info.running_workflows) == 2)
    assert sorted(await scheduled.running()) == sorted([runs[0], runs[2]])


@pytest.mark.parametrize(
    ("policy", "end"),
    [(ScheduleOverlapPolicy.CANCEL_OTHER, "CANCELED"), (ScheduleOverlapPolicy.TERMINATE_OTHER, "TERMINATED")],
)
async def test_the_current_run_of_a_chain_is_the_one_to_end(scheduled, policy, end):
    first = await busy(scheduled, policy, scheduled.action(flows.WaitsInEachOfTwoRuns.run))
    run_id = (await scheduled.run(first).describe()).run_id
    await scheduled.run(first).signal("finish")

    async def continued():
        return (await scheduled.run(first).describe()).run_id != run_id

    await until(continued)
    second = await scheduled.trigger()
    await scheduled.until_status(first, end)
    await scheduled.until_status(second, "RUNNING")


async def test_a_run_that_was_deleted_is_in_nobodys_way(scheduled):
    first = await busy(scheduled, ScheduleOverlapPolicy.SKIP)
    request = api.DeleteWorkflowExecutionRequest(
        namespace=scheduled.namespace, workflow_execution=WorkflowExecution(workflow_id=first)
    )
    await scheduled.service.delete_workflow_execution(request, timeout=CALL)
    await until_running(scheduled, [])
    await scheduled.until_status(await scheduled.trigger(), "RUNNING")


async def test_an_update_leaves_what_runs_and_what_is_buffered(scheduled):
    first = await busy(scheduled, ScheduleOverlapPolicy.BUFFER_ALL)
    second = await scheduled.trigger()
    await until_buffered(scheduled, 1)
    policies = SchedulePolicies(overlap_policy=overlap_policy("BUFFER_ALL"))
    await scheduled.update_raw(scheduled.raw_schedule(policies=policies))
    info = await scheduled.until_info(lambda info: info.HasField("update_time"))
    assert info.buffer_size == 1
    assert [one.workflow_id for one in info.running_workflows] == [first]
    assert info.action_count == 1
    await scheduled.finish(first)
    await scheduled.until_status(second, "RUNNING")


async def test_a_new_schedule_of_an_old_name_does_not_know_the_old_ones_runs(scheduled):
    first = await busy(scheduled, ScheduleOverlapPolicy.SKIP)
    await scheduled.remove()
    await scheduled.create()
    assert await scheduled.running() == []
    await scheduled.until_status(await scheduled.trigger(), "RUNNING")
    assert await scheduled.status(first) == "RUNNING"


@pytest.mark.parametrize(
    ("override", "first_becomes", "second_becomes"),
    [
        ("SKIP", "RUNNING", "NOT_FOUND"),
        ("BUFFER_ONE", "RUNNING", "NOT_FOUND"),
        ("BUFFER_ALL", "RUNNING", "NOT_FOUND"),
        ("CANCEL_OTHER", "CANCELED", "RUNNING"),
        ("TERMINATE_OTHER", "TERMINATED", "RUNNING"),
        ("ALLOW_ALL", "RUNNING", "RUNNING"),
    ],
)
async def test_a_trigger_can_override_the_policy(scheduled, override, first_becomes, second_becomes):
    own = ScheduleOverlapPolicy.ALLOW_ALL if override == "SKIP" else ScheduleOverlapPolicy.SKIP
    await scheduled.create(overlap=own)
    # Not one that may overlap: Temporal doesn't watch those.
    first = await scheduled.trigger("SKIP")
    await scheduled.until_status(first, "RUNNING")
    second = await scheduled.trigger(override)
    if override == "SKIP":
        await scheduled.until_info(lambda info: info.overlap_skipped == 1)
    if override.startswith("BUFFER"):
        await until_buffered(scheduled, 1)
    await scheduled.until_status(first, first_becomes)
    await scheduled.until_status(second, second_becomes)


async def test_a_buffered_start_goes_when_the_running_one_ends_in_any_way(scheduled):
    runs = [await busy(scheduled, ScheduleOverlapPolicy.BUFFER_ALL)]
    for count in (1, 2, 3):
        runs.append(await scheduled.trigger())
        await until_buffered(scheduled, count)
    await scheduled.run(runs[0]).signal(flows.Waits.fail, "bad")
    await until_running(scheduled, [runs[1]])
    await scheduled.run(runs[1]).cancel()
    await until_running(scheduled, [runs[2]])
    await scheduled.run(runs[2]).terminate()
    await until_running(scheduled, [runs[3]])
    info = await scheduled.info()
    shown = [status_name(action.start_workflow_status) for action in info.recent_actions]
    assert shown == ["FAILED", "CANCELED", "TERMINATED", "RUNNING"]


async def test_delete_drops_what_is_buffered(scheduled):
    first = await busy(scheduled, ScheduleOverlapPolicy.BUFFER_ALL)
    second = await scheduled.trigger()
    await until_buffered(scheduled, 1)
    await scheduled.remove()
    await scheduled.finish(first)
    # A new schedule of that name starts its own first.
    await scheduled.create()
    third = await scheduled.trigger()
    await scheduled.until_status(third, "RUNNING")
    assert await scheduled.status(second) == "NOT_FOUND"
