"""Schedules that are looked at only when someone asks."""

import datetime as dt

import pytest
import pytest_asyncio
from dev_server import DevServer
from ports import free_port
from scheduled import EVERY_SECOND, Scheduled
from temporalio.client import ScheduleOverlapPolicy
from waiting import until

from native import Native

pytestmark = pytest.mark.differs_from_temporal("only Perennial has this setting")


class OnDemand(DevServer):
    def command(self) -> list[str]:
        command = [self._executable, "server", "--db", self.database, "--port", str(self.port), "--no-http"]
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
    assert [one["schedule_id"] for one in evaluated] == [sooner.id, later.id]
    first = evaluated[0]
    assert first["outcome"] == "triggered"
    assert first["instance_id"] == sooner.run_id(dt.datetime.fromisoformat(first["occurrence_time"]))
    assert first["next_fire_at"] > first["occurrence_time"]
    await sooner.until_info(lambda info: info.action_count >= 3)

    await until(now, lambda time: time > created + dt.timedelta(seconds=5.5))
    [one] = native.call("EvaluateSchedules", limit=1)["evaluated"]
    assert one["outcome"] == "triggered"
    native.close()
