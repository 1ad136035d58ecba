"""The server is killed between two times of a schedule: nothing is lost, nothing happens twice."""

import datetime as dt

import pytest
from dev_server import DevServer
from ports import free_port
from temporalio.client import ScheduleOverlapPolicy, SchedulePolicy
from temporalio.worker import UnsandboxedWorkflowRunner, Worker
from waiting import until

import flows
from flows import SCHEDULED_START_TIME
from scheduled import EVERY_SECOND, Scheduled

slow_in_temporal = pytest.mark.differs_from_temporal("after a crash its schedules may go on later than we wait")



class Crashing:
    """A server of one test's own, with a schedule, which can be killed and started again on the same file."""

    def __init__(self, server: DevServer, name: str):
        self.server = server
        self.name = name
        self.scheduled: Scheduled | None = None

    async def start(self) -> Scheduled:
        self.scheduled = Scheduled(await self.server.start(), self.name, self.name)
        return self.scheduled

    async def crash(self) -> Scheduled:
        self.server.kill()
        return await self.start()

    def worker(self) -> Worker:
        """To be entered."""
        return Worker(
            self.scheduled.client,
            task_queue=self.name,
            workflows=flows.ALL,
            workflow_runner=UnsandboxedWorkflowRunner(),
        )


@pytest.fixture
async def crashing(tmp_path, name):
    made = Crashing(DevServer(free_port(), str(tmp_path / "crashing.db")), name)
    await made.start()
    yield made
    made.server.stop()


async def nominal_times(scheduled) -> list[dt.datetime]:
    return sorted(run.typed_search_attributes[SCHEDULED_START_TIME] for run in await scheduled.runs())


def every_second_from(first: dt.datetime, count: int) -> list[dt.datetime]:
    return [first + dt.timedelta(seconds=n) for n in range(count)]


@slow_in_temporal
async def test_each_time_gets_one_run_however_often_the_server_dies(crashing):
    """No worker: a run goes on for as long as the test, and none may be started twice."""
    scheduled = crashing.scheduled
    await scheduled.create(EVERY_SECOND, overlap=ScheduleOverlapPolicy.ALLOW_ALL)
    for _ in range(3):
        before = len(await nominal_times(scheduled))
        await scheduled.until_runs(before + 1)
        scheduled = await crashing.crash()
    before = len(await nominal_times(scheduled))
    await scheduled.until_runs(before + 1)

    # In a cluster a run of another node may start before that of an earlier time.
    async def taken():
        return await nominal_times(scheduled)

    times = await until(taken, lambda times: times == every_second_from(times[0], len(times)))
    info = await scheduled.until_info(lambda info: info.action_count >= len(times))
    assert info.missed_catchup_window == 0


async def test_times_missed_while_the_server_was_down_are_caught_up_within_the_window(crashing):
    """One schedule's window is longer than the server is down, the other's is shorter."""
    patient = crashing.scheduled
    await patient.create(EVERY_SECOND, overlap=ScheduleOverlapPolicy.ALLOW_ALL)
    hasty = Scheduled(patient.client, patient.id + "-hasty", patient.task_queue)
    shortest = SchedulePolicy(overlap=ScheduleOverlapPolicy.ALLOW_ALL, catchup_window=dt.timedelta(seconds=10))
    await hasty.create(EVERY_SECOND, policy=shortest)
    await patient.until_runs(1)
    await hasty.until_runs(1)
    crashing.server.kill()
    # Nobody can be asked while the server is down. Only the clock can make it miss something.
    down_until = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=12)

    async def clock():
        return dt.datetime.now(dt.UTC)

    await until(clock, lambda now: now > down_until, seconds=20)
    patient = await crashing.start()
    hasty = Scheduled(patient.client, hasty.id, hasty.task_queue)

    async def passed(scheduled):
        async def newest():
            return (await nominal_times(scheduled))[-1]

        await until(newest, lambda time: time > down_until)
        return await nominal_times(scheduled)

    await passed(patient)

    # In a cluster a run of another node may start before that of an earlier time.
    async def taken():
        return await nominal_times(patient)

    times = await until(taken, lambda times: times == every_second_from(times[0], len(times)))
    assert len(times) >= 12
    times = await passed(hasty)
    missed = (await hasty.info()).missed_catchup_window
    assert missed >= 1
    expected = set(every_second_from(times[0], len(times) + missed))
    assert set(times) <= expected
    assert len(times) == len(set(times))
    # The oldest are those that are missed.
    gone = expected - set(times)
    assert max(gone) < down_until - dt.timedelta(seconds=9)


@slow_in_temporal
async def test_what_was_told_before_the_crash_is_so_after_it(crashing):
    scheduled = crashing.scheduled
    await scheduled.create(note="first")
    await scheduled.handle.pause(note="paused before the crash")
    running = await scheduled.trigger("BUFFER_ALL")
    await scheduled.until_status(running, "RUNNING")
    buffered = await scheduled.trigger("BUFFER_ALL")
    await scheduled.until_info(lambda info: info.buffer_size == 1 and info.running_workflows)
    before = await scheduled.describe()
    scheduled = await crashing.crash()
    after = await scheduled.until_info(lambda info: info.buffer_size == 1)
    assert list(after.running_workflows) == list(before.info.running_workflows)
    described = await scheduled.describe()
    assert described.schedule == before.schedule
    assert described.conflict_token == before.conflict_token
    assert described.info.recent_actions == before.info.recent_actions
    async with crashing.worker():
        await scheduled.finish(running)
        await scheduled.until_status(buffered, "RUNNING")
        assert await scheduled.running() == [buffered]
        await scheduled.finish(buffered)


@slow_in_temporal
async def test_a_run_that_ends_just_before_the_crash_lets_the_next_one_start(crashing):
    scheduled = crashing.scheduled
    await scheduled.create(overlap=ScheduleOverlapPolicy.BUFFER_ALL)
    first = await scheduled.trigger()
    await scheduled.until_status(first, "RUNNING")
    second = await scheduled.trigger()
    await scheduled.until_info(lambda info: info.buffer_size == 1)
    await scheduled.run(first).terminate()
    scheduled = await crashing.crash()
    assert await scheduled.status(first) == "TERMINATED"
    await scheduled.until_status(second, "RUNNING")


async def test_a_deleted_schedule_stays_deleted(crashing):
    scheduled = crashing.scheduled
    await scheduled.create(EVERY_SECOND)
    await scheduled.remove()
    scheduled = await crashing.crash()

    async def listed():
        return [one.id async for one in await scheduled.client.list_schedules()]

    await until(listed, lambda ids: ids == [])
    await scheduled.create()
    assert (await scheduled.info()).action_count == 0


async def test_a_backfill_survives_a_crash(crashing):
    """Killed at once after it was accepted: each of its times gets its run."""
    scheduled = crashing.scheduled
    await scheduled.create(EVERY_SECOND, paused=True)
    start = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)
    await scheduled.backfill(start, start + dt.timedelta(seconds=29))
    scheduled = await crashing.crash()
    await scheduled.until_runs(30)
    assert await nominal_times(scheduled) == every_second_from(start, 30)
