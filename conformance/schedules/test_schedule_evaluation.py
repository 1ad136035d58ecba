"""Evaluation of schedules on demand."""

import asyncio
import datetime as dt
import json
import subprocess

import pytest
import pytest_asyncio
from dev_server import DevServer, under_test
from ports import free_port
from scheduled import EVERY_SECOND, Scheduled
from temporalio.client import ScheduleOverlapPolicy
from waiting import until

from native import Native

pytestmark = pytest.mark.differs_from_temporal("only Perennial has this setting")


class OnDemand(DevServer):
    def command(self, port: int | None = None, http_port: int | None = None) -> list[str]:
        command = [self._executable, "server", "--db", self._storage(), "--allow-fsync-off"]
        command += ["--port", str(port or self.port), "--no-http"]
        return [*command, "--schedule-evaluation", "on-demand", "--log-level", "error"]


@pytest_asyncio.fixture
async def on_demand(tmp_path):
    server = OnDemand(free_port(), str(tmp_path / "schedules.db"))
    client = await server.start()
    yield server, client
    server.stop()


async def test_nothing_fires_until_someone_asks_and_then_what_is_due_does_in_that_order(on_demand, name):
    server, client = on_demand
    later, sooner = (Scheduled(client, f"{name}-{which}", "nobody-polls") for which in ("later", "sooner"))
    await sooner.create(EVERY_SECOND, overlap=ScheduleOverlapPolicy.ALLOW_ALL)
    created = (await sooner.info()).create_time.ToDatetime(dt.UTC)

    async def now():
        return dt.datetime.now(dt.UTC)

    await until(now, lambda time: time > created + dt.timedelta(seconds=1.5))
    await later.create(EVERY_SECOND, overlap=ScheduleOverlapPolicy.ALLOW_ALL)
    await until(now, lambda time: time > created + dt.timedelta(seconds=3.5))
    assert (await sooner.info()).action_count == 0

    native = Native(server.address, client.namespace, sooner.id)
    evaluated = native.call("EvaluateSchedules")["evaluated"]
    ids = [one["schedule_id"] for one in evaluated]
    # Each time has an entry, and the schedules are in the order they were due.
    assert ids == sorted(ids, key=[sooner.id, later.id].index)
    assert ids.count(sooner.id) >= 3 and ids.count(later.id) >= 1
    for one, which in zip(evaluated, [sooner if one == sooner.id else later for one in ids], strict=True):
        assert one["outcome"] == "triggered"
        nominal = dt.datetime.fromisoformat(one["occurrence_time"])
        assert one["instance_id"] == which.run_id(nominal)
        assert one["next_fire_at"] > one["occurrence_time"]
        assert dt.datetime.fromisoformat(one["last_fired_at"]) > nominal
    await sooner.until_info(lambda info: info.action_count == ids.count(sooner.id))

    await until(now, lambda time: time > created + dt.timedelta(seconds=5.5))
    evaluated = native.call("EvaluateSchedules", limit=1)
    assert len({one["schedule_id"] for one in evaluated["evaluated"]}) == 1
    assert evaluated["has_more"]
    native.close()


async def due(scheduled: Scheduled, seconds: float):
    """Waits until so many of its times have come."""
    created = (await scheduled.info()).create_time.ToDatetime(dt.UTC)

    async def now():
        return dt.datetime.now(dt.UTC)

    await until(now, lambda time: time > created + dt.timedelta(seconds=seconds))


async def test_each_skip_is_told_with_its_time_and_its_reason(on_demand, name):
    server, client = on_demand
    scheduled = Scheduled(client, name, "nobody-polls")
    await scheduled.create(EVERY_SECOND)
    await due(scheduled, 3.5)
    native = Native(server.address, client.namespace, scheduled.id)
    first, *others = native.call("EvaluateSchedules")["evaluated"]
    assert first["outcome"] == "triggered"
    assert len(others) >= 2
    assert {(one["outcome"], one["reason"]) for one in others} == {("skipped", "overlap_policy_skip")}
    times = [dt.datetime.fromisoformat(one["occurrence_time"]) for one in [first, *others]]
    assert times == [times[0] + dt.timedelta(seconds=n) for n in range(len(times))]
    native.close()


async def test_passes_that_overlap_share_out_what_is_due(on_demand, name):
    server, client = on_demand
    schedules = [Scheduled(client, f"{name}-{number}", "nobody-polls") for number in range(10)]
    for scheduled in schedules:
        await scheduled.create(EVERY_SECOND, overlap=ScheduleOverlapPolicy.ALLOW_ALL)
    await due(schedules[-1], 3.5)
    natives = [Native(server.address, client.namespace, name) for _ in range(4)]
    passes = await asyncio.gather(*[asyncio.to_thread(native.call, "EvaluateSchedules") for native in natives])
    entries = [one for evaluated in passes for one in evaluated.get("evaluated", [])]
    claimed = [(one["schedule_id"], one["occurrence_time"]) for one in entries]
    assert len(set(claimed)) == len(claimed), "no time is claimed twice"
    started = {run for scheduled in schedules for run in await scheduled.run_ids()}
    assert {one["instance_id"] for one in entries} == started, "and none is left out"
    for native in natives:
        native.close()


async def test_no_end_of_a_run_and_no_trigger_evaluates_what_is_due(on_demand, name):
    server, client = on_demand
    scheduled = Scheduled(client, name, "nobody-polls")
    await scheduled.create(EVERY_SECOND)
    await due(scheduled, 2.5)
    triggered = await scheduled.trigger()
    await scheduled.run(triggered).terminate()
    await scheduled.until_info(lambda info: not info.running_workflows)
    assert await scheduled.run_ids() == [triggered]
    native = Native(server.address, client.namespace, scheduled.id)
    assert native.call("EvaluateSchedules")["evaluated"][0]["outcome"] == "triggered"
    native.close()


async def test_one_namespace_is_evaluated_if_one_is_named(on_demand, name):
    server, client = on_demand
    other = f"{name}-namespace"
    for namespace in (client.namespace, other):
        if namespace == other:
            command(server, "operator", "namespace", "create", "--namespace", other)
        create = ["schedule", "create", "--schedule-id", name, "--interval", "1s", "--namespace", namespace]
        command(server, *create, "--type", "T", "--task-queue", "nobody-polls")
    await due(Scheduled(client, name, "nobody-polls"), 2.5)
    evaluate = ["schedule", "evaluate", "--json"]
    only = json.loads(command(server, *evaluate, "--namespace", other, "--limit", "-1"))
    assert {one["namespace"] for one in only} == {other}
    assert {"triggered", "skipped"} >= {one["outcome"] for one in only}
    every = json.loads(command(server, *evaluate))
    assert client.namespace in {one["namespace"] for one in every}


def command(server: DevServer, *arguments: str) -> str:
    """What our command line says."""
    said = subprocess.run(
        [under_test(), *arguments, "--address", server.address], capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stderr
    return said.stdout
