"""Cron strings that Temporal's server accepts, and those that ours accepts."""

import random
import re

import cron_expressions
import pytest
from binary import Refused, Window, unix_seconds
from schedule_specs import Spec
from temporal_server import LISTED_MAX

WINDOW = Window(unix_seconds("2026-01-01T00:00:00Z"), unix_seconds("2026-03-01T00:00:00Z"))

TAKEN_BY_BOTH = [
    "0 0 * * *", "0 0 * * * *", "0 0 0 * * * *", " 0\t0  *\n* * ", "*/5 * * * *", "5/10 * * * *",
    "*,5 * * * *", "005 * * * *", "*/100 0 * * *", "59/7 0 * * *", "5-5 0 * * *", "0-59/59 0 * * *",
    "0 0 * jan,FEB,March *", "0 0 * Janu-Apr/2 *", "0 0 * * mo,TUE,wednes", "0 0 * * SUN-SAT",
    "0 0 * * 0-7", "0 0 * * 7", "0 0 * * 07", "0 0 * * 7-7", "0 0 * * 7/2", "0 0 * * 6-7/2", "0 0 * * */7",
    "0 0 * * mon/2", "0 0 * * 1-FRI", "0 0 1 1-FEB *", "0 0 31 2 *", "0 0 29 2 MON", "0 0 * * * 2000-2100/50",
    "0 0 * * * # payroll", "0 0 * * *#", "0 0 * * * # one # two", f"0 0 * * * # {'x' * 200}",
    "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly", " @daily # nightly",
    "@every 5m", "@every 1h30m", "@every 30m1h", "@every 1h1h", "@every .5h", "@every 1.5h", "@every 90000ms",
    "@every 1d", "@every 1d2h", "@every +5m", "@every 5h/15m", "@every 14h/0s", "@every 1h # hourly",
    "TZ=UTC 0 0 * * *", "CRON_TZ=Asia/Tokyo  0 0 * * *", "CRON_TZ=Asia/Tokyo @daily", "TZ=EST @every 1h",
    "TZ=Nowhere/X @every 1h",
]

REFUSED_BY_BOTH = [
    "", "   ", "#", "# only a comment", "0", "0 0 * *", "0 0 * * * * * *", "a b c d e", "0 0 ? * *", "** 0 * * *",
    "60 0 * * *", "0 24 * * *", "0 0 0 * *", "0 0 32 * *", "0 0 * 0 *", "0 0 * 13 *", "0 0 * * 8",
    "0 0 * * * 1999", "0 0 * * * 2101", "60 0 0 * * * *", "99999999999999999999 0 * * *",
    "0 0 1,,2 * *", "0 0 1, * *", ",1 0 * * *", "*-5 0 * * *", "5-* 0 * * *", "5-1 0 * * *", "-5 0 * * *", "5- 0 * * *",
    "1-2-3 0 * * *", "1/2/3 0 * * *", "*/0 0 * * *", "*/ 0 * * *", "*/-5 0 * * *", "/5 0 * * *", "*/x 0 * * *",
    "0 0 * ja *", "0 0 * janx *", "0 0 * * m", "0 0 * * monk", "jan 0 * * *", "0 0 * MON *", "0 0 * * JAN",
    "\uff10 0 * * *", "0x5 0 * * *", "1_0 0 * * *", "1.5 0 * * *",
    "@", "@reboot", "@Daily", "@EVERY 5m", "@every", "@every ", "@every 5", "@every 0s", "@every -5m", "@every 0.5s",
    "@every 5m/5m", "@every 5m/-1m", "@every 1h/2m/3s", "@every 1y", "@every 1h foo",
    "TZ=UTC", "TZ=UTC ", "TZ=Nowhere/X 0 0 * * *", "CRON_TZ=local 0 0 * * *", "cron_tz=UTC 0 0 * * *",
    "CRON_TZ=+01:00 0 0 * * *", "TZ=UTC TZ=UTC 0 0 * * *", f"0 0 * * * # {'x' * 201}",
]

# Ours means more by these.
TAKEN_BY_OURS = [
    "0 0 L * *", "0 0 L-3 * *", "0 0 LW * *", "0 0 15W * *", "0 0 * * FRIL", "0 0 * * 5L",
    "0 0 * * FRI-SUN", "0 0 * * SAT-SUN/1", "DST=once 0 0 * * *", "CRON_TZ=Europe/Oslo DST=shift,last 0 0 * * *",
    "DIALECT=dbos 0 0 0 * * *", "30m", "5h/15m", "PT30M", "P1D", "R/2026-01-31T09:00/P1M", "@every PT30M",
    "@every 1w", "@every  5m", "@every5m", "CRON_TZ=europe/oslo 0 0 * * *", "CRON_TZ=Asia/Tokyo\t0 0 * * *",
    '{"hour":"11"}',
]

# Temporal takes these for something else than they look like, or by accident.
TAKEN_BY_TEMPORAL = {
    "@every 1.5s": "every second: it drops the fraction",
    "@every 5h/": "a phase of nothing",
    "TZ= 0 0 * * *": "no zone",
    "CRON_TZ=Local 0 0 * * *": "the zone of whichever server runs it",
    "+5 0 * * *": "5",
    "*/+5 0 * * *": "*/5",
    "*/4294967297 0 * * *": "*/1: it drops the upper bits",
    "0 0 * * 5#2 backup": "every Friday, with the comment `2 backup`",
}


@pytest.mark.parametrize("text", TAKEN_BY_BOTH)
def test_taken_by_both_with_the_same_times(perennial, temporal, text):
    assert ask_both(perennial, temporal, [text]) == []


@pytest.mark.parametrize("text", REFUSED_BY_BOTH)
def test_refused_by_both(perennial, temporal, text):
    [theirs] = temporal.matching_times([(Spec(crons=[text]).for_temporal(), WINDOW)])
    assert isinstance(theirs, Refused)
    with pytest.raises(Refused):
        perennial.between([text], WINDOW, 1)


@pytest.mark.parametrize("text", TAKEN_BY_OURS)
def test_taken_by_ours_alone(perennial, temporal, text):
    [theirs] = temporal.matching_times([(Spec(crons=[text]).for_temporal(), WINDOW)])
    assert isinstance(theirs, Refused)
    perennial.between([text], WINDOW, 1)


@pytest.mark.parametrize("text", TAKEN_BY_TEMPORAL)
def test_taken_by_temporal_alone(perennial, temporal, text):
    [theirs] = temporal.matching_times([(Spec(crons=[text]).for_temporal(), WINDOW)])
    assert not isinstance(theirs, Refused)
    with pytest.raises(Refused):
        perennial.between([text], WINDOW, 1)


@pytest.mark.parametrize(
    "texts",
    [
        ["CRON_TZ=Europe/Oslo @every 5h", "0 9 * * *"],
        ["0 9 * * *", "CRON_TZ=Europe/Oslo @every 5h"],
        ["CRON_TZ=Europe/Oslo @every 5h", "CRON_TZ=Asia/Tokyo @every 7h"],
    ],
)
def test_a_zone_before_an_interval_says_nothing(perennial, temporal, texts):
    [theirs] = temporal.matching_times([(Spec(crons=texts).for_temporal(), WINDOW)])
    assert perennial.between(texts, WINDOW, LISTED_MAX) == theirs


def test_crons_with_a_few_wrong_characters(perennial, temporal, rng):
    texts = [mangled(rng, cron_expressions.five_fields(rng)) for _ in range(400)]
    texts = [text for text in texts if not reads_otherwise(text)]
    assert ask_both(perennial, temporal, texts) == []


def ask_both(perennial, temporal, texts: list[str]) -> list[str]:
    """The texts that one of them refuses, or that have other times."""
    theirs = temporal.matching_times([(Spec(crons=[text]).for_temporal(), WINDOW) for text in texts])
    ours = perennial.between_many([([text], WINDOW, LISTED_MAX) for text in texts])
    same = [
        type(mine) is type(other) and (isinstance(mine, Refused) or mine == other)
        for mine, other in zip(ours, theirs)
    ]
    cases = zip(texts, ours, theirs, same)
    return [f"{text!r}: ours {mine}, Temporal {other}" for text, mine, other, agree in cases if not agree]


def mangled(rng: random.Random, text: str) -> str:
    """With one to three characters put in, taken out or changed."""
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(text) + 1)
        put_in = rng.choice(["", *"0123456789*/-,  @?=MONjan"])
        text = text[:at] + put_in + text[at + rng.randint(0, 1) :]
    return text


def reads_otherwise(text: str) -> bool:
    """Weekday ranges that end on a Sunday: `1-7` and `FRI-SUN`; and intervals, which have no blank."""
    return bool(re.search(r"1-7|-su", text, re.IGNORECASE)) or len(text.split()) < 2
