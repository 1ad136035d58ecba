"""Compares our cron strings with Python's croniter.

They agree on five fields of `*`, values, ranges, steps, lists and names. They differ in this, so the
tests keep away from it:

- six fields: croniter has the second last or, by option, first; ours has the year last. Written with
  seven fields here, ours with the second first.
- both day fields restricted: croniter's `day_or` chooses; False is our default dialect (AND), True is
  our `classic` (OR).
- a range that ends where it starts, `5-5`, or `x/y` from the last value on: the whole circle in
  croniter, one value in ours.
- `4/3` as a day of week: ours goes on to the Sunday that is 7, as Temporal's does.
- which days count as unrestricted: in croniter also a list that has them all but not `*/1`, in ours
  `*/1` but no list, as in robfig/cron.
- `@yearly` and its like carry no comment in croniter, and `?`, `L`, `#`, `R` and `H` have meanings of
  its own.
- where clocks change, croniter follows the machine's idea of a local time, so windows in zones with
  DST lie between two changes.
"""

import datetime as dt
import random
import zoneinfo

import pytest
from binary import Window
from croniter import CroniterBadDateError, croniter
from cron_expressions import field, five_fields

ZONES = ["UTC", "America/New_York", "Australia/Lord_Howe", "Europe/Oslo", "America/Santiago", "Asia/Kolkata"]

EXPRESSIONS = 250
TIMES_MAX = 40


@pytest.mark.parametrize("zone", ZONES)
def test_both_day_fields_must_match(perennial, rng, zone):
    cases = [(five_fields(rng), random_window(rng, zone)) for _ in range(EXPRESSIONS)]
    compare(perennial, cases, zone, lambda cron: cron, day_or=False)


@pytest.mark.parametrize("zone", ZONES)
def test_one_day_field_is_enough_in_the_classic_dialect(perennial, rng, zone):
    cases = [(five_fields(rng), random_window(rng, zone)) for _ in range(EXPRESSIONS)]
    cases = [(cron, window) for cron, window in cases if not spells_out_every_day(cron)]
    compare(perennial, cases, zone, lambda cron: cron, day_or=True, flags=["--dialect", "classic"])


def test_seconds_come_first(perennial, rng):
    crons = [f"{field(rng, 'second')} {five_fields(rng)}" for _ in range(EXPRESSIONS)]
    cases = [(cron, random_window(rng, "UTC")) for cron in crons]
    compare(perennial, cases, "UTC", lambda cron: f"{cron} *", day_or=False)


def compare(perennial, cases, zone, ours_writes, day_or, flags=()):
    flags = ["--tz", zone, *flags]
    questions = [([ours_writes(cron)], window, TIMES_MAX, flags) for cron, window in cases]
    answers = perennial.between_many(questions)
    expected = [croniter_times(cron, window, zone, day_or) for cron, window in cases]
    differences = [
        f"{cron!r} in {zone} after {window.start}\n  ours:     {ours}\n  croniter: {theirs}"
        for (cron, window), ours, theirs in zip(cases, answers, expected)
        if ours != theirs
    ]
    assert not differences, "\n".join(differences[:5])
    assert sum(map(len, expected)) > EXPRESSIONS * TIMES_MAX / 4, "too few times were compared"


def spells_out_every_day(cron: str) -> bool:
    fields, (expanded, _) = cron.split(), croniter.expand(cron)
    return any(expanded[n] == ["*"] and fields[n] != "*" for n in (2, 4))


def croniter_times(cron: str, window: Window, zone: str, day_or: bool) -> list[int]:
    start = dt.datetime.fromtimestamp(window.start, zoneinfo.ZoneInfo(zone))
    seconds_first = len(cron.split()) == 6
    times = croniter(
        cron, start, day_or=day_or, second_at_beginning=seconds_first, max_years_between_matches=1
    )
    found = []
    try:
        while len(found) < TIMES_MAX and (time := int(times.get_next(float))) <= window.end:
            found.append(time)
    except CroniterBadDateError:
        pass  # There is none within the year.
    return found


def random_window(rng: random.Random, zone: str) -> Window:
    """Up to ninety days within 2020–2035, with two days at each end, in which no clock changes."""
    rules = zoneinfo.ZoneInfo(zone)
    while True:
        start = rng.randint(1_577_836_800, 2_051_222_400)
        days = rng.choice([1, 7, 60, 90])
        shown = [dt.datetime.fromtimestamp(start + 86_400 * day, rules) for day in range(-2, days + 3)]
        if len({time.utcoffset() for time in shown}) == 1:
            return Window(start, start + 86_400 * days)
