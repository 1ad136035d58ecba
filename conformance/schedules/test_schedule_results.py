"""A run gets the last result and the last failure of the runs before it."""

import datetime as dt

import pytest
from temporalio.api.common.v1 import WorkflowType
from temporalio.api.schedule import v1 as proto
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflow.v1 import NewWorkflowExecutionInfo
from temporalio.common import RetryPolicy
from waiting import until

import flows
from flows import Waits

QUICK_RETRY = RetryPolicy(initial_interval=dt.timedelta(milliseconds=10), maximum_attempts=3)


async def begin(scheduled, overlap: str = "UNSPECIFIED") -> str:
    """Triggers a run, and waits until it runs."""
    run = await scheduled.trigger(overlap)
    await scheduled.until_status(run, "RUNNING")
    return run


async def finish(scheduled, run: str, result):
    """Returns once the schedule knows."""
    await scheduled.finish(run, result)
    await known(scheduled, run)


async def fail(scheduled, run: str, message: str):
    await scheduled.run(run).signal(Waits.fail, message)
    await scheduled.until_status(run, "FAILED")
    await known(scheduled, run)


async def known(scheduled, run: str):
    await scheduled.until_info(lambda info: run not in [one.workflow_id for one in info.running_workflows])


async def last_result(scheduled, run: str):
    return await scheduled.run(run).query(Waits.last_result)


async def last_failure(scheduled, run: str) -> str:
    return await scheduled.run(run).query(Waits.last_failure)


async def test_the_first_run_is_told_nothing(scheduled):
    await scheduled.create()
    run = await begin(scheduled)
    assert await last_result(scheduled, run) is None
    assert await last_failure(scheduled, run) == ""


async def test_a_run_is_told_the_last_result(scheduled):
    await scheduled.create()
    for result in ["one", "two"]:
        await finish(scheduled, await begin(scheduled), result)
        run = await begin(scheduled)
        assert await last_result(scheduled, run) == result
        assert await last_failure(scheduled, run) == ""
        await finish(scheduled, run, "between")


async def test_a_failure_is_told_and_leaves_the_last_result(scheduled):
    await scheduled.create()
    await finish(scheduled, await begin(scheduled), "good")
    await fail(scheduled, await begin(scheduled), "bad")
    run = await begin(scheduled)
    assert await last_result(scheduled, run) == "good"
    assert await last_failure(scheduled, run) == "bad"


async def test_a_success_resets_the_last_failure(scheduled):
    await scheduled.create()
    await fail(scheduled, await begin(scheduled), "bad")
    await finish(scheduled, await begin(scheduled), "good")
    assert await last_failure(scheduled, await begin(scheduled)) == ""


async def test_the_newest_failure_is_the_last_one(scheduled):
    await scheduled.create()
    await fail(scheduled, await begin(scheduled), "first")
    await fail(scheduled, await begin(scheduled), "second")
    assert await last_failure(scheduled, await begin(scheduled)) == "second"


@pytest.mark.parametrize("how", ["cancel", "terminate"])
async def test_a_run_that_was_stopped_leaves_the_last_result_and_failure(scheduled, how):
    await scheduled.create()
    await finish(scheduled, await begin(scheduled), "good")
    await fail(scheduled, await begin(scheduled), "bad")
    stopped = await begin(scheduled)
    await getattr(scheduled.run(stopped), how)()
    await scheduled.until_status(stopped, {"cancel": "CANCELED", "terminate": "TERMINATED"}[how])
    await known(scheduled, stopped)
    run = await begin(scheduled)
    assert await last_result(scheduled, run) == "good"
    assert await last_failure(scheduled, run) == "bad"


@pytest.mark.differs_from_temporal("it tells nothing of a timeout")
async def test_a_timeout_is_a_failure(scheduled):
    await scheduled.create(action=scheduled.action(run_timeout=dt.timedelta(seconds=1)))
    timed_out = await begin(scheduled)
    await scheduled.until_status(timed_out, "TIMED_OUT")
    await known(scheduled, timed_out)
    assert "timeout" in (await last_failure(scheduled, await begin(scheduled))).lower()


@pytest.mark.differs_from_temporal("it doesn't watch runs that may overlap")
async def test_with_overlap_the_last_result_is_that_of_the_run_that_completed_last(scheduled):
    """
    A  |-------------|
    B      |----|
    C             |-------|
    D                  |-------
    """
    await scheduled.create()
    a = await begin(scheduled, "ALLOW_ALL")
    b = await begin(scheduled, "ALLOW_ALL")
    await finish(scheduled, b, "B")
    c = await begin(scheduled, "ALLOW_ALL")
    await finish(scheduled, a, "A")
    d = await begin(scheduled, "ALLOW_ALL")
    await finish(scheduled, c, "C")
    assert [await last_result(scheduled, run) for run in (a, b, c, d)] == [None, None, "B", "A"]


async def test_runs_continued_as_new_are_one_action_until_the_last_ends(scheduled):
    await scheduled.create(action=scheduled.action(flows.WaitsInEachOfTwoRuns.run))
    chain = await begin(scheduled)
    await continue_as_new(scheduled, chain)
    skipped = await scheduled.trigger()
    await scheduled.until_info(lambda info: info.overlap_skipped == 1)
    assert await scheduled.running() == [chain]
    await scheduled.run(chain).signal("finish")
    await scheduled.until_status(chain, "COMPLETED")
    await known(scheduled, chain)
    assert await scheduled.status(skipped) == "NOT_FOUND"
    assert (await scheduled.info()).action_count == 1


async def test_a_run_continued_as_new_is_not_told_the_last_result(scheduled):
    await scheduled.create()
    await finish(scheduled, await begin(scheduled), "earlier")
    action = NewWorkflowExecutionInfo(
        workflow_id=scheduled.id,
        workflow_type=WorkflowType(name="WaitsInEachOfTwoRuns"),
        task_queue=TaskQueue(name=scheduled.task_queue),
    )
    await scheduled.update_raw(scheduled.raw_schedule(action=proto.ScheduleAction(start_workflow=action)))
    chain = await begin(scheduled)
    assert await scheduled.run(chain).query("last_result") == "earlier"
    await continue_as_new(scheduled, chain)
    await scheduled.run(chain).signal("finish")
    assert await scheduled.run(chain).result() == {"run": 2, "last_result": None}


async def continue_as_new(scheduled, chain: str):
    """Lets the first run of the chain end, and waits for the second."""
    first = (await scheduled.run(chain).describe()).run_id
    await scheduled.run(chain).signal("finish")

    async def second_runs():
        return (await scheduled.run(chain).describe()).run_id != first

    await until(second_runs)


async def test_retries_are_one_action_until_one_succeeds(scheduled):
    action = scheduled.action(flows.SucceedsTheSecondTime.run, retry_policy=QUICK_RETRY)
    await scheduled.create(action=action)
    run = await scheduled.trigger()
    await scheduled.until_status(run, "COMPLETED")
    await known(scheduled, run)
    info = await scheduled.info()
    assert info.action_count == 1
    assert len(info.recent_actions) == 1
    # What the last attempt returned is the last result, and the failure of the first is none of the schedule's.
    await scheduled.update_raw()
    later = await begin(scheduled)
    assert await last_result(scheduled, later) == 2
    assert await last_failure(scheduled, later) == ""
