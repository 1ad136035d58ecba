"""Compares our times with `ListScheduleMatchingTimes` of Temporal's server.

Our default dialect and DST policy are Temporal's, so what both accept has the same times. The few
places where Temporal's are wrong, or ours mean more, are in `TEMPORAL_DIFFERS`, and the tests leave out
exactly those:

- East of Greenwich Temporal goes astray in an hour that comes twice: from an hour before the clock is
  put back until two hours after.
- It takes every change of a clock for one of a whole hour.
- Where the clock jumps over midnight west of Greenwich, it takes that day for the weekday before.
- Calendars of any year reach back to 1970 in Temporal, to 2000 in ours; all ends with 2100 UTC in
  Temporal, calendars with the local 2100 in ours. Windows lie within both.
"""

import datetime as dt
import functools
import random
import zoneinfo
from dataclasses import dataclass

import pytest
import schedule_specs
from binary import Refused, Window, rfc3339, unix_seconds
from schedule_specs import Spec
from temporal_server import LISTED_MAX

HOUR, DAY = 3_600, 86_400

# 2020-01-01 and 2036-01-01.
YEARS = (1_577_836_800, 2_082_758_400)

# Where Temporal goes astray: so long before and after a clock is put back, or put forward too.
ASTRAY = {
    "Europe/Oslo": (HOUR, 2 * HOUR, False),
    "Asia/Beirut": (HOUR, 2 * HOUR, False),
    "Africa/Casablanca": (HOUR, 2 * HOUR, False),
    "Pacific/Apia": (HOUR, 2 * HOUR, False),
    "Australia/Lord_Howe": (2 * HOUR, 2 * HOUR, True),
}

ZONES = ["", "UTC", "America/New_York", "Europe/Oslo", "Asia/Kolkata", "Pacific/Apia"]


def test_crons(perennial, temporal, rng):
    cases = []
    for _ in range(300):
        spec = Spec(crons=[schedule_specs.cron(rng)], zone=rng.choice(ZONES))
        if spec.zone:
            spec.zone_prefix = rng.choice(["", "", "CRON_TZ", "TZ"])
        cases.append((spec, random_window(rng)))
    compare(perennial, temporal, cases)


def test_calendars_by_named_fields(perennial, temporal, rng):
    cases = [
        (Spec(calendars=[schedule_specs.calendar(rng)], zone=rng.choice(ZONES)), random_window(rng))
        for _ in range(150)
    ]
    compare(perennial, temporal, cases)


def test_structured_calendars(perennial, temporal, rng):
    cases = [
        (Spec(structured=[schedule_specs.structured(rng)], zone=rng.choice(ZONES)), random_window(rng))
        for _ in range(100)
    ]
    compare(perennial, temporal, cases)


def test_unions_minus_exclusions_within_bounds(perennial, temporal, rng):
    compare(perennial, temporal, [random_union(rng) for _ in range(200)])


@pytest.mark.parametrize("zone", ["America/New_York", "America/Santiago", *ASTRAY])
def test_around_changes_of_clocks(perennial, temporal, rng, zone):
    compare(perennial, temporal, [around_a_change(rng, zone) for _ in range(80)])


def test_the_first_and_last_years(perennial, temporal, rng):
    first = int(dt.datetime(2000, 1, 2, tzinfo=dt.UTC).timestamp())
    last = int(dt.datetime(2100, 12, 31, tzinfo=dt.UTC).timestamp())
    cases = []
    for zone in ["", "America/New_York", "Asia/Kolkata"]:
        for cron in ["0 * * * *", "0 12 1 1 *", "0 0 31 12 *", "0 0 29 2 *", "*/10 * * * * 2000,2100"]:
            spec = Spec(crons=[cron], zone=zone)
            cases += [(spec, Window(first, first + 20 * DAY)), (spec, Window(last - 20 * DAY, last))]
            cases += [(spec, Window(first, last))]
    compare(perennial, temporal, cases)


@dataclass
class Difference:
    """What each answers in a window, and why ours does. When Temporal changes, this fails."""

    because: str
    cron: str
    zone: str
    window: tuple[str, str]
    ours: list[str]
    temporals: list[str]


TEMPORAL_DIFFERS = [
    Difference(
        "01:28 comes once; Temporal takes 02:28 for a second 01:28",
        "28 1 * * *",
        "Europe/Oslo",
        ("2025-10-25T12:00:00Z", "2025-10-26T12:00:00Z"),
        ["2025-10-25T23:28:00Z"],
        ["2025-10-25T23:28:00Z", "2025-10-26T00:28:00Z"],
    ),
    Difference(
        "02:30 comes twice; Temporal misses the first",
        "30 2 * * *",
        "Europe/Oslo",
        ("2025-10-25T12:00:00Z", "2025-10-26T12:00:00Z"),
        ["2025-10-26T00:30:00Z", "2025-10-26T01:30:00Z"],
        ["2025-10-26T01:30:00Z"],
    ),
    Difference(
        "half past every hour comes every hour; Temporal misses one",
        "30 * * * *",
        "Europe/Oslo",
        ("2025-10-26T00:00:00Z", "2025-10-26T03:00:00Z"),
        ["2025-10-26T00:30:00Z", "2025-10-26T01:30:00Z", "2025-10-26T02:30:00Z"],
        ["2025-10-26T01:30:00Z", "2025-10-26T02:30:00Z"],
    ),
    Difference(
        "a Sunday without a midnight is a Sunday; Temporal skips it",
        "0 12 * * SUN",
        "America/Santiago",
        ("2027-09-03T00:00:00Z", "2027-09-13T00:00:00Z"),
        ["2027-09-05T15:00:00Z", "2027-09-12T15:00:00Z"],
        ["2027-09-12T15:00:00Z"],
    ),
    Difference(
        "30 December 2011 was skipped; Temporal answers another day's midnight for ever",
        "0 0 30 12 *",
        "Pacific/Apia",
        ("2011-12-27T00:00:00Z", "2012-01-02T00:00:00Z"),
        [],
        ["2011-12-29T10:00:00Z"] * LISTED_MAX,
    ),
    Difference(
        "02:15 was skipped; Temporal fires at 02:45",
        "15 2 * * *",
        "Australia/Lord_Howe",
        ("2025-10-04T00:00:00Z", "2025-10-05T12:00:00Z"),
        [],
        ["2025-10-04T15:45:00Z"],
    ),
    Difference(
        "01:45 comes twice; Temporal misses the first",
        "45 1 * * *",
        "Australia/Lord_Howe",
        ("2025-04-05T00:00:00Z", "2025-04-06T12:00:00Z"),
        ["2025-04-05T14:45:00Z", "2025-04-05T15:15:00Z"],
        ["2025-04-05T15:15:00Z"],
    ),
    Difference(
        "7 is a Sunday, also in 1-7; Temporal loses it",
        "0 12 * * 1-7",
        "",
        ("2026-11-14T00:00:00Z", "2026-11-17T00:00:00Z"),
        ["2026-11-14T12:00:00Z", "2026-11-15T12:00:00Z", "2026-11-16T12:00:00Z"],
        ["2026-11-14T12:00:00Z", "2026-11-16T12:00:00Z"],
    ),
    Difference(
        "FRI#2 is the second Friday; to Temporal #2 is a comment",
        "0 12 * * FRI#2",
        "",
        ("2026-11-01T00:00:00Z", "2026-11-15T00:00:00Z"),
        ["2026-11-13T12:00:00Z"],
        ["2026-11-06T12:00:00Z", "2026-11-13T12:00:00Z"],
    ),
]


@pytest.mark.parametrize("case", TEMPORAL_DIFFERS, ids=lambda case: case.because)
def test_differences(perennial, temporal, case):
    window = Window(*map(unix_seconds, case.window))
    spec = Spec(crons=[case.cron], zone=case.zone)
    specs, flags = spec.for_perennial()
    ours = perennial.between(specs, window, LISTED_MAX, flags)
    [theirs] = temporal.matching_times([(spec.for_temporal(), window)])
    assert ([*map(rfc3339, ours)], [*map(rfc3339, theirs)]) == (case.ours, case.temporals)


def compare(perennial, temporal, cases):
    """Fails if a spec is refused by one of them only, or has other times where Temporal's are
    right."""
    theirs = temporal.matching_times([(spec.for_temporal(), window) for spec, window in cases])
    questions = []
    for spec, window in cases:
        specs, flags = spec.for_perennial()
        questions.append((specs, window, LISTED_MAX, flags))
    ours = perennial.between_many(questions)
    differences = []
    for (spec, window), mine, other in zip(cases, ours, theirs):
        if isinstance(mine, Refused) or isinstance(other, Refused):
            if type(mine) is not type(other):
                differences.append(f"{spec}\n  ours:     {mine}\n  Temporal: {other}")
            continue
        # A list that is full says nothing about what comes after it.
        horizon = min(times[-1] if len(times) == LISTED_MAX else window.end for times in (mine, other))
        left_out = astray(spec)
        mine, other = ([time for time in times if counts(time, horizon, left_out)] for times in (mine, other))
        if mine != other:
            differences.append(f"{spec} after {window.start}: {difference(mine, other)}")
    assert not differences, f"{len(differences)} of {len(cases)}:\n" + "\n".join(differences[:8])
    compared = sum(len(times) for times in theirs if not isinstance(times, Refused))
    assert compared > len(cases), "too few times were compared"


def astray(spec: Spec) -> list[range]:
    """Where Temporal's times are wrong, see above."""
    before, after, forward_too = ASTRAY.get(spec.zone, (0, 0, False))
    left_out = [
        range(change.at - before, change.at + after)
        for change in changes(spec.zone or "UTC")
        if forward_too or not change.forward
    ]
    if spec.zone == "America/Santiago" and any(restricts_weekdays(cron) for cron in spec.crons):
        left_out += [range(change.at, change.at + DAY) for change in changes(spec.zone) if change.forward]
    return left_out


def restricts_weekdays(cron: str) -> bool:
    fields = cron.split("#")[0].split()
    return cron.startswith("@weekly") or len(fields) >= 5 and fields[5 if len(fields) == 7 else 4] != "*"


def counts(time: int, horizon: int, left_out) -> bool:
    return time <= horizon and not any(time in hours for hours in left_out)


def difference(ours: list[int], theirs: list[int]) -> str:
    only_ours = sorted(set(ours) - set(theirs))[:5]
    only_theirs = sorted(set(theirs) - set(ours))[:5]
    return f"only ours {only_ours}, only Temporal's {only_theirs} ({len(ours)} and {len(theirs)} times)"


def random_window(rng: random.Random) -> Window:
    start = rng.randint(*YEARS)
    return Window(start, start + rng.choice([HOUR, DAY, 30 * DAY, 400 * DAY, 3000 * DAY]))


def random_union(rng: random.Random) -> tuple[Spec, Window]:
    window = random_window(rng)
    spec = Spec(zone=rng.choice(ZONES))
    spec.crons = [schedule_specs.cron(rng) for _ in range(rng.randint(0, 2))]
    spec.calendars = [schedule_specs.calendar(rng) for _ in range(rng.randint(0, 2))]
    spec.structured = [schedule_specs.structured(rng) for _ in range(rng.randint(0, 1))]
    for _ in range(rng.randint(0, 2)):
        every = rng.randint(1, 3 * DAY)
        spec.intervals.append((every, rng.randrange(every)))
    if not spec.for_perennial()[0]:
        spec.intervals.append((HOUR, 0))
    if rng.random() < 0.6:
        spec.excluded = [schedule_specs.whole_days(rng) for _ in range(rng.randint(0, 2))]
        spec.excluded_structured = [schedule_specs.structured(rng) for _ in range(rng.randint(0, 1))]
        # Temporal tries each excluded time, up to 2100 if nothing ends it sooner.
        window = Window(window.start, min(window.end, window.start + 30 * DAY))
        spec.end = window.end
    if rng.random() < 0.3:
        spec.start = rng.randint(window.start, window.end)
    if rng.random() < 0.3:
        spec.end = rng.randint(window.start, window.end)
    return spec, window


def around_a_change(rng: random.Random, zone: str) -> tuple[Spec, Window]:
    """A window that holds a change, or begins or ends close to one."""
    change = rng.choice(changes(zone)).at
    start = change - rng.choice([HOUR // 2, HOUR, 3 * HOUR, 2 * DAY, -HOUR // 2]) - rng.randint(0, HOUR)
    window = Window(start, start + rng.choice([HOUR, 4 * HOUR, 3 * DAY]))
    cron = rng.choice(
        [
            schedule_specs.cron(rng),
            f"*/{rng.randint(1, 20)} * * * *",
            f"{rng.randint(0, 59)} {rng.randint(0, 4)} * * *",
            f"{rng.randint(0, 59)} {rng.randint(20, 23)},0,1 * * *",
            f"*/{rng.randint(10, 30)} {rng.randint(10, 59)} 0-3 * * * *",
        ]
    )
    return Spec(crons=[cron], zone=zone), window


@dataclass(frozen=True)
class Change:
    at: int
    forward: bool


@functools.cache
def changes(zone: str) -> list[Change]:
    """When the zone's clock changes within the years, to the second."""
    rules = zoneinfo.ZoneInfo(zone)

    def offset(second):
        return dt.datetime.fromtimestamp(second, rules).utcoffset()

    found = []
    for start in range(*YEARS, DAY):
        low, high = start, start + DAY
        if offset(low) != offset(high):
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if offset(middle) != offset(low) else (middle, high)
            found.append(Change(high, offset(high) > offset(low)))
    return found
