"""Times during an outage, however short, are missed; the catch-up mode selects those to start."""

import datetime as dt

import pytest
import pytest_asyncio
from dev_server import DevServer
from ports import free_port
from temporalio.client import ScheduleOverlapPolicy
from waiting import until

from native import Native
from scheduled import EVERY_SECOND, Scheduled

pytestmark = pytest.mark.differs_from_temporal("only Perennial has catch-up modes")

# Shorter than anything that could be called late.
OUTAGE = dt.timedelta(seconds=3.5)
# A process that lives on has to be away for longer than five seconds after it meant to go on.
SUSPENSION = dt.timedelta(seconds=7)


@pytest_asyncio.fixture
async def server(tmp_path):
    made = DevServer(free_port(), str(tmp_path / "outages.db"))
    yield made
    made.stop()


def is_mid_second(now: dt.datetime) -> bool:
    return 300_000 < now.microsecond < 700_000


async def clock() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


async def quiet_moment(native: Native) -> dt.datetime:
    """In the middle of a second whose run is started: nothing is due in the same moment."""

    async def ask():
        now = dt.datetime.now(dt.UTC)
        settled = dt.datetime.fromisoformat(native.call("DescribeSchedule")["settled_up_to"])
        return now if is_mid_second(now) and settled == now.replace(microsecond=0) else None

    return await until(ask)


def seconds_between(start: dt.datetime, end: dt.datetime) -> list[dt.datetime]:
    """Whole seconds after `start` and before `end`."""
    first = start.replace(microsecond=0) + dt.timedelta(seconds=1)
    count = int((end - first).total_seconds()) + 1
    return [first + dt.timedelta(seconds=n) for n in range(count)]


class Verdicts:
    """What became of each time, by its second."""

    def __init__(self, occurrences: list[dict]):
        self._lines = [
            (dt.datetime.fromisoformat(it["nominal_time"]), dt.datetime.fromisoformat(it["until"]), it)
            for it in occurrences
        ]

    def of(self, time: dt.datetime) -> tuple[str, str]:
        [line] = [line for first, last, line in self._lines if first <= time <= last]
        return line["verdict"].removeprefix("VERDICT_"), line.get("reason", "")


LATE = ("LATE", "")
MISSED = ("MISSED", "catchup_mode")


@pytest.mark.parametrize(
    "mode, expected",
    [
        ("ALL", lambda count: [LATE] * count),
        ("ONE", lambda count: [LATE] + [MISSED] * (count - 1)),
        ("LATEST", lambda count: [MISSED] * (count - 1) + [LATE]),
        ("NONE", lambda count: [MISSED] * count),
    ],
)
async def test_an_outage_of_a_few_seconds_counts_for_the_catch_up_mode(server, name, mode, expected):
    scheduled = Scheduled(await server.start(), name, "nobody-polls")
    await scheduled.create(EVERY_SECOND, overlap=ScheduleOverlapPolicy.ALLOW_ALL)
    native = Native(server.address, scheduled.namespace, scheduled.id)
    native.call("UpdateSchedule", extensions={"catchup_mode": f"CATCHUP_MODE_{mode}"})
    await scheduled.until_info(lambda info: info.action_count >= 1)
    killed = await quiet_moment(native)
    server.kill()
    native.close()
    started = await until(clock, lambda now: now > killed + OUTAGE and is_mid_second(now))
    scheduled = Scheduled(await server.start(), name, "nobody-polls")
    native = Native(server.address, scheduled.namespace, scheduled.id)
    missed = seconds_between(killed, started)
    after = missed[-1] + dt.timedelta(seconds=3)

    async def ledger():
        return native.call("ListOccurrences", limit=1000)["occurrences"]

    lines = await until(ledger, lambda lines: lines[-1]["until"] >= f"{after:%Y-%m-%dT%H:%M:%SZ}")
    verdicts = Verdicts(lines)
    # The server may have been ready only in the next second: what was due until then was missed too.
    of_all = [verdicts.of(time) for time in seconds_between(killed, after)]
    of_missed = [verdict for verdict in of_all if verdict in (LATE, MISSED)]
    assert len(of_missed) >= len(missed)
    assert of_missed == expected(len(of_missed))
    assert of_all[-1] == ("FIRED", "")
    native.close()


async def test_a_server_that_was_stopped_for_six_seconds_has_missed_what_was_due(server, name):
    """As on a machine that was suspended: the process lives on, and nothing evaluated the schedule."""
    scheduled = Scheduled(await server.start(), name, "nobody-polls")
    await scheduled.create(EVERY_SECOND, overlap=ScheduleOverlapPolicy.ALLOW_ALL)
    native = Native(server.address, scheduled.namespace, scheduled.id)
    native.call("UpdateSchedule", extensions={"catchup_mode": "CATCHUP_MODE_NONE"})
    await scheduled.until_info(lambda info: info.action_count >= 1)
    stopped = await quiet_moment(native)
    with server.suspended():
        going_on = await until(clock, lambda now: now > stopped + SUSPENSION and is_mid_second(now))
    missed = seconds_between(stopped, going_on)

    async def ledger():
        return native.call("ListOccurrences", limit=1000)["occurrences"]

    after = missed[-1] + dt.timedelta(seconds=2)
    lines = await until(ledger, lambda lines: lines[-1]["until"] >= f"{after:%Y-%m-%dT%H:%M:%SZ}")
    verdicts = Verdicts(lines)
    assert {verdicts.of(time) for time in missed} == {MISSED}
    assert verdicts.of(after) == ("FIRED", "")
    native.close()
