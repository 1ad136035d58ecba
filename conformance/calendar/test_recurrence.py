"""Compares recurrence rules with python-dateutil.

Seeded random rules over every FREQ and part of RFC 5545 are asked of `perennial calendar between`
and of `dateutil.rrule`. Where dateutil departs from the RFC, another oracle is asked instead; those
tests stand at the end and say why.
"""

import datetime
import itertools
import random
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from unittest import mock
from zoneinfo import ZoneInfo

import pytest
from binary import Window
from dateutil.rrule import rrulestr

FREQUENCIES = ["SECONDLY", "MINUTELY", "HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY"]
WEEKDAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]
RULES_PER_FREQUENCY = 60
TIMES_COMPARED = 30


@pytest.mark.parametrize("frequency", FREQUENCIES)
def test_random_rules_have_the_times_that_dateutil_gives(perennial, frequency):
    rules = [random_rule(frequency, seed) for seed in range(RULES_PER_FREQUENCY)]
    with ThreadPoolExecutor() as threads:
        ask = lambda rule: between(perennial, rule.text, rule.before, rule.end, TIMES_COMPARED)
        for rule, times in zip(rules, threads.map(ask, rules)):
            assert times == rule.dateutil_times(TIMES_COMPARED), rule.text


@pytest.mark.parametrize("frequency", FREQUENCIES)
def test_a_window_far_from_dtstart_has_the_same_times(perennial, frequency):
    """The search does not start at DTSTART, so it might lose the count of INTERVAL there."""
    rules = [random_rule(frequency, seed) for seed in range(1000, 1000 + RULES_PER_FREQUENCY // 2)]
    for rule in rules:
        expected = rule.dateutil_times(100)
        if len(expected) < 3:
            continue
        chance = random.Random(rule.text)
        start = chance.randrange(len(expected) - 2)
        # After a time and before the next one: the window is open at its start.
        gap = int((expected[start + 1] - expected[start]).total_seconds())
        after = expected[start] + timedelta(seconds=chance.randrange(gap))
        window = expected[start + 1 : start + 11]
        assert between(perennial, rule.text, after, window[-1]) == window, rule.text


def test_the_clock_of_tzid_is_read(perennial):
    """Nine in the morning in New York, across both changes of its clock."""
    new_york = ZoneInfo("America/New_York")
    utc = datetime.timezone.utc
    for rule in ["FREQ=DAILY;INTERVAL=3", "FREQ=MONTHLY;BYDAY=-1SU,1MO", "FREQ=YEARLY;BYYEARDAY=1,200"]:
        rule_of_dateutil = rrulestr(f"DTSTART:20260105T090000\nRRULE:{rule}")
        civil = itertools.takewhile(lambda t: t.year < 2028, rule_of_dateutil)
        zoned = (t.replace(tzinfo=new_york) for t in civil)
        expected = [t.astimezone(utc).replace(tzinfo=None) for t in zoned]
        text = f"DTSTART;TZID=America/New_York:20260105T090000 RRULE:{rule}"
        assert between(perennial, text, datetime.datetime(2026, 1, 1), expected[-1]) == expected, rule


def test_a_week_number_is_the_one_of_iso_8601(perennial):
    """dateutil misplaces the days around New Year for some years (2011-01-01 is in week 52, not
    53), and does not know that -52 or -53 may be the first week of the coming year."""
    days = [date(1997, 1, 1) + timedelta(days=n) for n in range(365 * 30)]
    for number in [1, 52, 53, -1, -52, -53]:
        def is_in_week(day):
            year, week, _ = day.isocalendar()
            weeks = date(year, 12, 28).isocalendar().week
            return week == number or week - weeks - 1 == number

        expected = [midnight(day) for day in days if is_in_week(day)]
        text = f"DTSTART:19970101T000000 RRULE:FREQ=YEARLY;BYWEEKNO={number};BYDAY=MO,TU,WE,TH,FR,SA,SU"
        assert between(perennial, text, datetime.datetime(1996, 12, 31), midnight(days[-1])) == expected, number


def test_weekdays_with_and_without_a_number_add_up(perennial):
    """dateutil asks that a day be both, so that BYDAY=SA,1MO never comes."""
    end = datetime.datetime(2030, 1, 1)
    for frequency in ["MONTHLY", "YEARLY"]:
        rule = f"DTSTART:20260105T090000 RRULE:FREQ={frequency};BYMONTH=2,3,10"
        both = [rrulestr(f"{rule};BYDAY={days}".replace(" ", "\n")) for days in ["SA", "1MO,-1MO"]]
        expected = sorted(itertools.chain(*(itertools.takewhile(lambda t: t <= end, r) for r in both)))
        assert between(perennial, f"{rule};BYDAY=SA,1MO,-1MO", datetime.datetime(2026, 1, 1), end) == expected


def test_the_first_week_is_counted_from_its_beginning(perennial):
    """dateutil counts BYSETPOS from DTSTART in the first week, but from the week's beginning in all
    others. RFC 5545: "A set of recurrence instances starts at the beginning of the interval"."""
    # 2026-01-07 is a Wednesday, the second of the week's three days.
    text = "DTSTART:20260107T090000 RRULE:FREQ=WEEKLY;BYDAY=MO,WE,FR;BYSETPOS=2"
    times = between(perennial, text, datetime.datetime(2026, 1, 1), datetime.datetime(2026, 1, 31))
    assert [t.day for t in times] == [7, 14, 21, 28]


class Rule:
    """A rule as text, and the years after DTSTART that are worth comparing."""

    def __init__(self, text, start, years):
        self.text = text
        self.before = start - timedelta(seconds=1)
        self.end = datetime.datetime(min(start.year + years, 2100), 12, 31, 23, 59, 59)

    def dateutil_times(self, limit):
        # dateutil gives up only after the last year there is: far too late for a rule that never
        # fires. It is told that the world ends earlier.
        with mock.patch.object(datetime, "MAXYEAR", self.end.year):
            try:
                times = (t.replace(tzinfo=None) for t in rrulestr(self.text.replace(" ", "\n")))
                return list(itertools.islice(itertools.takewhile(lambda t: t <= self.end, times), limit))
            except ValueError as error:
                # How it says that INTERVAL never meets a part.
                assert "empty" in str(error), self.text
                return []


def between(perennial, text, after, to, count=1_000_000):
    """The times of the rule after `after` up to `to`, both and all in UTC."""
    unix_seconds = lambda time: int(time.replace(tzinfo=datetime.UTC).timestamp())
    seconds = perennial.between([text], Window(unix_seconds(after), unix_seconds(to)), count)
    return [datetime.datetime.fromtimestamp(s, datetime.UTC).replace(tzinfo=None) for s in seconds]


def midnight(day):
    return datetime.datetime(day.year, day.month, day.day)


# Intervals that meet the lengths of hours, days and years, and some that just miss them.
INTERVALS = {
    "SECONDLY": [1, 2, 7, 10, 60, 61, 90, 3600, 86399, 86400],
    "MINUTELY": [1, 2, 7, 15, 60, 90, 1439, 1440, 1441],
    "HOURLY": [1, 2, 5, 7, 23, 24, 25, 48, 100],
    "DAILY": [1, 2, 3, 7, 10, 30, 100],
    "WEEKLY": [1, 2, 3, 4, 10, 52],
    "MONTHLY": [1, 2, 3, 5, 12, 18],
    "YEARLY": [1, 2, 3, 4],
}
# So many more than that of DTSTART: dateutil walks there, step by step.
YEARS = {"SECONDLY": 0, "MINUTELY": 2, "HOURLY": 3, "DAILY": 8, "WEEKLY": 8, "MONTHLY": 12, "YEARLY": 30}


def random_rule(frequency, seed):
    chance = random.Random(f"{frequency} {seed}")
    often = chance.choice([0.1, 0.2, 0.4])

    def numbers(low, high, most=4, signed=False):
        signs = [1, 1, -1] if signed else [1]
        return [chance.randint(low, high) * chance.choice(signs) for _ in range(chance.randint(1, most))]

    parts = {"INTERVAL": [chance.choice(INTERVALS[frequency])]}

    def maybe(name, values, likelihood=1.0):
        if chance.random() < often * likelihood:
            parts[name] = values()

    maybe("BYMONTH", lambda: numbers(1, 12))
    if frequency == "YEARLY":
        # Not 52 and 53: see test_a_week_number_is_the_one_of_iso_8601.
        maybe("BYWEEKNO", lambda: numbers(1, 51, signed=True))
    if frequency not in ["DAILY", "WEEKLY", "MONTHLY"]:
        maybe("BYYEARDAY", lambda: numbers(1, 366, most=60, signed=True), 0.5)
    if frequency != "WEEKLY":
        maybe("BYMONTHDAY", lambda: numbers(1, 31, most=6, signed=True))
    maybe("BYDAY", lambda: random_weekdays(chance, frequency, parts), 1.5)
    maybe("BYHOUR", lambda: numbers(0, 23))
    maybe("BYMINUTE", lambda: numbers(0, 59))
    maybe("BYSECOND", lambda: numbers(0, 59))
    # Not in weeks: see test_the_first_week_is_counted_from_its_beginning.
    if len(parts) > 1 and frequency != "WEEKLY":
        # A second holds one time only, and dateutil takes long to find out that there is no other.
        highest = 1 if frequency == "SECONDLY" else chance.choice([1, 3, 12])
        maybe("BYSETPOS", lambda: numbers(1, highest, signed=True), 1.5)
    if chance.random() < 0.3:
        parts["WKST"] = [chance.choice(WEEKDAYS)]

    day = date(chance.randint(1970, 2060), 1, 1) + timedelta(days=chance.randrange(365))
    start = midnight(day) + timedelta(seconds=chance.choice([0, 9 * 3600, chance.randrange(86400)]))
    rule = Rule("", start, YEARS[frequency])
    utc = chance.choice(["", "Z"])
    if chance.random() < 0.15:
        parts["COUNT"] = [chance.randint(1, 40)]
    elif chance.random() < 0.15:
        until = start + timedelta(seconds=chance.randrange(10 ** chance.randint(4, 8)))
        parts["UNTIL"] = [f"{until:%Y%m%dT%H%M%S}{utc}"]

    written = [f"{name}={','.join(map(str, values))}" for name, values in parts.items()]
    written.append(f"FREQ={frequency}")
    chance.shuffle(written)
    rule.text = f"DTSTART:{start:%Y%m%dT%H%M%S}{utc} RRULE:{';'.join(written)}"
    return rule


def random_weekdays(chance, frequency, parts):
    days = chance.sample(WEEKDAYS, chance.randint(1, 5))
    counted = frequency in ["MONTHLY", "YEARLY"] and "BYWEEKNO" not in parts and chance.random() < 0.5
    if not counted:
        return days
    in_year = frequency == "YEARLY" and "BYMONTH" not in parts
    most = 53 if in_year else 5
    return [f"{chance.choice(['', '+', '-'])}{chance.randint(1, most)}{day}" for day in days]
