"""Random cron fields with the same meaning in every dialect."""

import random

MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]

BOUNDS = {
    "second": (0, 59),
    "minute": (0, 59),
    "hour": (0, 23),
    "day_of_month": (1, 31),
    "month": (1, 12),
    "day_of_week": (0, 6),
    "year": (2000, 2100),
}


def five_fields(rng: random.Random) -> str:
    """Minute, hour, day of month, month and day of week."""
    names = ["minute", "hour", "day_of_month", "month", "day_of_week"]
    return " ".join(field(rng, name) for name in names)


def field(rng: random.Random, name: str) -> str:
    """`*`, or a list of values, ranges and steps. Days and months are `*` more often than not, so
    that most expressions have times."""
    low, high = BOUNDS[name]
    wide = name in ("day_of_month", "month", "day_of_week", "year")
    if rng.random() < (0.6 if wide else 0.3):
        return "*"
    if name == "month" and rng.random() < 0.4:
        return named(rng, MONTHS)
    if name == "day_of_week" and rng.random() < 0.5:
        return named(rng, WEEKDAYS)
    if rng.random() < 0.2:
        return f"*/{rng.randint(2, high - low)}"
    items = [item(rng, low, high) for _ in range(rng.choice([1, 1, 1, 2, 3]))]
    if name == "day_of_week":
        # Whether `4/3` reaches the Sunday that is 7 differs.
        items = [text for text in items if "/" not in text or "-" in text] or ["5"]
    return ",".join(items)


def item(rng: random.Random, low: int, high: int) -> str:
    """A value, or a range; either with a step or without. No range ends where it starts: some take
    that for the whole circle."""
    start = rng.randint(low, high - 1)
    end = rng.randint(start + 1, high)
    step = rng.randint(1, max(1, (high - low) // 2))
    value = f"{rng.randint(low, high)}"
    return rng.choice([value, value, f"{start}-{end}", f"{start}-{end}/{step}", f"{start}/{step}"])


def named(rng: random.Random, names: list[str]) -> str:
    """A name, or a range of two, in any case."""
    start = rng.randrange(len(names) - 1)
    end = rng.randrange(start + 1, len(names))
    text = rng.choice([rng.choice(names), f"{names[start]}-{names[end]}"])
    return rng.choice([text, text.lower(), text.title()])
