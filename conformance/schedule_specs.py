"""Random schedule specs, written for Temporal's API and for our command line."""

import json
import random
from dataclasses import dataclass, field

import cron_expressions
from binary import rfc3339
from cron_expressions import BOUNDS
from temporalio.api.schedule.v1 import CalendarSpec, Range, ScheduleSpec, StructuredCalendarSpec

# As the API names the fields, and as calendar JSON does.
FIELDS = {
    "second": "second",
    "minute": "minute",
    "hour": "hour",
    "day_of_month": "dayOfMonth",
    "month": "month",
    "day_of_week": "dayOfWeek",
    "year": "year",
}

PREDEFINED = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"]


@dataclass
class Spec:
    """The union of its parts, minus its exclusions, within its bounds. Calendars are texts by the
    API's field names; structured ones are lists of (start, end, step)."""

    crons: list[str] = field(default_factory=list)
    calendars: list[dict[str, str]] = field(default_factory=list)
    structured: list[dict[str, list[tuple]]] = field(default_factory=list)
    intervals: list[tuple[int, int]] = field(default_factory=list)
    excluded: list[dict[str, str]] = field(default_factory=list)
    excluded_structured: list[dict[str, list[tuple]]] = field(default_factory=list)
    start: int | None = None
    end: int | None = None
    zone: str = ""
    # Whether the zone is said inside the crons, and how.
    zone_prefix: str = ""

    def for_temporal(self) -> ScheduleSpec:
        spec = ScheduleSpec(
            cron_string=self.crons_with_zone(),
            calendar=[CalendarSpec(**calendar) for calendar in self.calendars],
            structured_calendar=[structured_proto(calendar) for calendar in self.structured],
            exclude_calendar=[CalendarSpec(**calendar) for calendar in self.excluded],
            exclude_structured_calendar=[structured_proto(calendar) for calendar in self.excluded_structured],
            timezone_name="" if self.zone_prefix else self.zone,
        )
        for every, phase in self.intervals:
            interval = spec.interval.add()
            interval.interval.FromSeconds(every)
            interval.phase.FromSeconds(phase)
        if self.start is not None:
            spec.start_time.FromSeconds(self.start)
        if self.end is not None:
            spec.end_time.FromSeconds(self.end)
        return spec

    def for_perennial(self) -> tuple[list[str], list[str]]:
        """The specs and the flags."""
        specs = [*self.crons_with_zone(), *map(calendar_json, self.calendars), *map(structured_json, self.structured)]
        specs += [f"{every}s/{phase}s" for every, phase in self.intervals]
        flags = []
        for excluded in [*map(calendar_json, self.excluded), *map(structured_json, self.excluded_structured)]:
            flags += ["--exclude", excluded]
        if self.start is not None:
            flags += ["--start", rfc3339(self.start)]
        if self.end is not None:
            flags += ["--end", rfc3339(self.end)]
        if self.zone and not self.zone_prefix:
            flags += ["--tz", self.zone]
        return specs, flags

    def crons_with_zone(self) -> list[str]:
        if not self.zone_prefix:
            return self.crons
        return [f"{self.zone_prefix}={self.zone} {cron}" for cron in self.crons]


def structured_proto(calendar: dict[str, list[tuple]]) -> StructuredCalendarSpec:
    ranges = {
        name: [Range(start=start, end=end, step=step) for start, end, step in ranges]
        for name, ranges in calendar.items()
    }
    return StructuredCalendarSpec(**ranges)


def calendar_json(calendar: dict[str, str]) -> str:
    return json.dumps({FIELDS.get(name, name): text for name, text in calendar.items()})


def structured_json(calendar: dict[str, list[tuple]]) -> str:
    return calendar_json(
        {
            name: ",".join(f"{start}-{end}/{step}" for start, end, step in ranges)
            for name, ranges in calendar.items()
        }
    )


def cron(rng: random.Random) -> str:
    """Everything that Temporal's documentation says a cron string may be, without its zone."""
    form = rng.random()
    if form < 0.05:
        return comment(rng, rng.choice(PREDEFINED))
    if form < 0.12:
        every = rng.randint(1, 40_000)
        phase = rng.choice(["", f"/{duration(rng, rng.randrange(every))}"])
        return f"@every {duration(rng, every)}{phase}"
    names = ["minute", "hour", "day_of_month", "month", "day_of_week"]
    if rng.random() < 0.4:
        names = [*names, "year"]
        if rng.random() < 0.5:
            names = ["second", *names]
    separator = rng.choice([" ", " ", " ", "  ", "\t"])
    return comment(rng, separator.join(text(rng, name) for name in names))


def comment(rng: random.Random, cron: str) -> str:
    return rng.choice([cron, cron, cron, f"{cron} # payroll", f"{cron}#"])


def duration(rng: random.Random, seconds: int) -> str:
    hours, minutes = seconds // 3600, seconds % 3600 // 60
    if rng.random() < 0.5:
        return f"{seconds}s"
    parts = [f"{hours}h" if hours else "", f"{minutes}m" if minutes else "", f"{seconds % 60}s"]
    return "".join(parts)


def calendar(rng: random.Random) -> dict[str, str]:
    """Some of the named fields."""
    return {name: text(rng, name) for name in FIELDS if rng.random() < 0.6}


def structured(rng: random.Random) -> dict[str, list[tuple]]:
    """All fields, since an empty one matches nothing; only the year may be left out."""
    calendar = {name: ranges(rng, name) for name in FIELDS}
    if rng.random() < 0.7:
        del calendar["year"]
    return calendar


def whole_days(rng: random.Random) -> dict[str, str]:
    """A calendar to exclude: some days of some months, never all."""
    name = rng.choice(["day_of_month", "month", "day_of_week"])
    low, high = BOUNDS[name]
    return {"second": "*", "minute": "*", "hour": "*", name: f"{rng.randint(low, high)}/{rng.randint(2, 4)}"}


def text(rng: random.Random, name: str) -> str:
    """A field, also in the forms that only Temporal reads like this."""
    low, high = BOUNDS[name]
    if name == "year":
        low, high = 2019, 2040
    form = rng.random()
    if form < 0.2 and name == "day_of_week":
        # Not 1: Temporal loses the Sunday of 1-7.
        start = rng.choice([0, 2, 3, 4, 5, 6, 7])
        step = rng.randint(1, 4)
        return rng.choice(["7", f"{start}-7", f"{start}/{step}", f"{start}-7/{step}", prefix(rng, "weekday")])
    if form < 0.1 and name == "month":
        return prefix(rng, "month")
    if form < 0.3:
        value = rng.randint(low, high)
        step = rng.randint(1, high)
        return rng.choice([f"{value}-{value}", f"{high}/{step}", f"*/{step}", f"{value}/{step},{low}"])
    if name == "year":
        return rng.choice(["*", "*", f"{rng.randint(low, high - 6)}-{high}"])
    return cron_expressions.field(rng, name)


def prefix(rng: random.Random, kind: str) -> str:
    """A name cut off somewhere, in any case."""
    months = ["january", "february", "march", "april", "june", "july", "august", "september"]
    weekdays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]
    name, shortest = (rng.choice(months), 3) if kind == "month" else (rng.choice(weekdays), 2)
    cut = name[: rng.randint(shortest, len(name))]
    return rng.choice([cut, cut.upper(), cut.title()])


def ranges(rng: random.Random, name: str) -> list[tuple]:
    low, high = BOUNDS[name]
    if name == "year":
        low, high = 2019, 2040
    if rng.random() < (0.6 if name in ("day_of_month", "month", "day_of_week") else 0.3):
        return [(low, high, 1)]
    found = []
    for _ in range(rng.choice([1, 1, 2, 3])):
        start = rng.randint(low, high)
        found.append((start, rng.randint(start, high), rng.randint(1, high - low)))
    return found
