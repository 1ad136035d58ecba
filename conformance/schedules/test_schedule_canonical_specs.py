"""Describe returns the same canonical spec as Temporal's server, however the spec is written."""

import asyncio
import os

import pytest
import pytest_asyncio
import schedule_specs
from dev_server import TEMPORAL, DevServer, is_temporal
from google.protobuf.json_format import MessageToDict
from payloads import seconds
from ports import free_port
from refusals import refusal
from schedule_specs import Spec
from temporalio.api.schedule.v1 import CalendarSpec, IntervalSpec, Range, ScheduleSpec, StructuredCalendarSpec
from temporalio.service import RPCError

from scheduled import Scheduled

ASKED_AT_ONCE = 8

WHOLE_DAY = {"second": [Range(end=59)], "minute": [Range(end=59)], "hour": [Range(end=23)]}
ANY_DATE = {"day_of_month": [Range(start=1, end=31)], "month": [Range(start=1, end=12)], "day_of_week": [Range(end=6)]}

SPECS = {
    "nothing": ScheduleSpec(),
    "a cron of five fields": ScheduleSpec(cron_string=["30 9 * * 1-5"]),
    "a cron of six fields": ScheduleSpec(cron_string=["30 9 * * * 2030"]),
    "a cron of seven fields": ScheduleSpec(cron_string=["*/10 30 9 * * * 2030-2032"]),
    "a cron with names": ScheduleSpec(cron_string=["0 0 * jan,MAR-may Sun,wednesday"]),
    "a cron with Sunday as 7": ScheduleSpec(cron_string=["0 0 * * 5-7"]),
    "a cron with lists and steps": ScheduleSpec(cron_string=["5,10-20/3,40/7 */6 1,15 2/3 *"]),
    "a cron with a comment": ScheduleSpec(cron_string=["0 12 * * * # at noon"]),
    "a cron with a zone": ScheduleSpec(cron_string=["CRON_TZ=Europe/Oslo 0 12 * * *"]),
    "a cron with a zone, the other way": ScheduleSpec(cron_string=["TZ=America/New_York 0 12 * * *"]),
    "two crons of one zone": ScheduleSpec(cron_string=["TZ=Asia/Tokyo 0 1 * * *", "TZ=Asia/Tokyo 0 2 * * *"]),
    "@daily": ScheduleSpec(cron_string=["@daily"]),
    "@hourly": ScheduleSpec(cron_string=["@hourly"]),
    "@weekly": ScheduleSpec(cron_string=["@weekly # once"]),
    "@monthly": ScheduleSpec(cron_string=["@monthly"]),
    "@yearly": ScheduleSpec(cron_string=["@yearly"]),
    "@every": ScheduleSpec(cron_string=["@every 90m"]),
    "@every with a phase": ScheduleSpec(cron_string=["@every 1d/2h30m"]),
    "a calendar of defaults": ScheduleSpec(calendar=[CalendarSpec(hour="9")]),
    "an empty calendar": ScheduleSpec(calendar=[CalendarSpec()]),
    "a calendar of everything": ScheduleSpec(
        calendar=[
            CalendarSpec(
                second="15",
                minute="*/5",
                hour="8-17/3",
                day_of_month="1,15",
                month="January,6-8",
                day_of_week="mon-fri",
                year="2027/2",
                comment="all of them",
            )
        ]
    ),
    "a structured calendar without ends and steps": ScheduleSpec(
        structured_calendar=[
            StructuredCalendarSpec(second=[Range()], minute=[Range(start=3)], hour=[Range(start=7, end=9)], **ANY_DATE)
        ]
    ),
    "a structured calendar with empty fields": ScheduleSpec(
        structured_calendar=[StructuredCalendarSpec(hour=[Range(start=7)], comment="never")]
    ),
    "an interval": ScheduleSpec(interval=[IntervalSpec(interval=seconds(3600))]),
    "an interval with no phase": ScheduleSpec(interval=[IntervalSpec(interval=seconds(3600), phase=seconds(0))]),
    "an interval with a phase": ScheduleSpec(interval=[IntervalSpec(interval=seconds(3600), phase=seconds(60))]),
    "everything at once": ScheduleSpec(
        cron_string=["0 1 * * *", "@every 7h/1h"],
        calendar=[CalendarSpec(hour="2", comment="two")],
        structured_calendar=[StructuredCalendarSpec(**WHOLE_DAY, **ANY_DATE, comment="all day")],
        interval=[IntervalSpec(interval=seconds(100))],
        timezone_name="Europe/Oslo",
    ),
    "an exclusion": ScheduleSpec(
        cron_string=["0 0 * * *"], exclude_calendar=[CalendarSpec(day_of_week="sat,sun", comment="weekends")]
    ),
    "a structured exclusion": ScheduleSpec(
        cron_string=["0 0 * * *"], exclude_structured_calendar=[StructuredCalendarSpec(**WHOLE_DAY, **ANY_DATE)]
    ),
    "jitter": ScheduleSpec(cron_string=["0 0 * * *"], jitter=seconds(90)),
    "no jitter": ScheduleSpec(cron_string=["0 0 * * *"], jitter=seconds(0)),
    "a time zone": ScheduleSpec(cron_string=["0 0 * * *"], timezone_name="America/Sao_Paulo"),
    "UTC": ScheduleSpec(cron_string=["0 0 * * *"], timezone_name="UTC"),
    "start and end": Spec(intervals=[(60, 0)], start=1_800_000_000, end=1_900_000_000).for_temporal(),
}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def temporal(tmp_path_factory):
    """A client of the real server."""
    if is_temporal():
        pytest.skip("it would be compared with itself")
    if not os.path.exists(TEMPORAL):
        pytest.skip("there is no Temporal server to compare with: pip install -r conformance/requirements.txt")
    server = DevServer(free_port(), str(tmp_path_factory.mktemp("temporal") / "temporal.db"), TEMPORAL)
    yield await server.start()
    server.stop()


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
async def test_a_spec_in_the_words_of_the_server(client, temporal, name, spec):
    ours, theirs = [await told(one, name, spec) for one in (client, temporal)]
    assert ours == theirs


async def test_generated_specs_in_the_words_of_the_server(client, temporal, name, rng):
    specs = {}
    for n in range(30):
        spec = generated(rng)
        specs[f"{n}: {spec}"] = spec.for_temporal()
    await compare(client, temporal, name, specs)


def generated(rng) -> Spec:
    spec = Spec(zone=rng.choice(["", "", "Europe/Oslo", "America/New_York"]))
    if rng.random() < 0.5:
        spec.crons.append(schedule_specs.cron(rng))
        spec.zone_prefix = rng.choice(["", "CRON_TZ", "TZ"]) if spec.zone else ""
    if rng.random() < 0.4:
        spec.calendars.append(schedule_specs.calendar(rng))
    if rng.random() < 0.4:
        spec.structured.append(schedule_specs.structured(rng))
    if rng.random() < 0.2:
        spec.intervals.append((rng.randint(60, 100_000), rng.randrange(60)))
    if rng.random() < 0.3:
        spec.excluded.append(schedule_specs.whole_days(rng))
    return spec


async def compare(client, temporal, name: str, specs: dict[str, ScheduleSpec]):
    gate = asyncio.Semaphore(ASKED_AT_ONCE)

    async def ask(n: int, spec: ScheduleSpec):
        async with gate:
            return await asyncio.gather(*(told(one, f"{name}-{n}", spec) for one in (client, temporal)))

    answers = await asyncio.gather(*(ask(n, spec) for n, spec in enumerate(specs.values())))
    different = {spec: pair for spec, pair in zip(specs, answers, strict=True) if pair[0] != pair[1]}
    shown = "\n".join(f"{spec}\n  ours:   {ours}\n  theirs: {theirs}" for spec, (ours, theirs) in different.items())
    assert not different, f"{len(different)} of {len(specs)} differ:\n{shown}"


async def told(client, name: str, spec: ScheduleSpec):
    """The spec as describe tells it, or the code it is refused with."""
    scheduled = Scheduled(client, name, "never-polled")
    try:
        schedule = scheduled.raw_schedule(spec)
        schedule.state.paused = True
        await scheduled.create_raw(schedule)
    except RPCError as error:
        return refusal(error).code
    description = await scheduled.describe()
    await scheduled.remove()
    return MessageToDict(without_zeros(description.schedule.spec))


def without_zeros(spec: ScheduleSpec) -> ScheduleSpec:
    """Temporal keeps a phase or a jitter of zero if it is told one; ours is one form for one meaning."""
    for interval in spec.interval:
        if interval.phase == seconds(0):
            interval.ClearField("phase")
    if spec.jitter == seconds(0):
        spec.ClearField("jitter")
    return spec
