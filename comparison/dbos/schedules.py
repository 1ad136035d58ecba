"""Schedules of DBOS on SQLite, measured as `cargo xtask bench schedules` measures servers.

    schedules.py <folder> fire <schedules> <seconds>
    schedules.py <folder> create <schedules> <seconds at most>

Prints what it measured as one line of JSON. DBOS is a library: its scheduler, the workflows and this
program are one process.
"""

import json
import os
import sys
import time

from dbos import DBOS

# What is heard so long after the last time still counts.
PATIENCE_SECONDS = 10
received: dict[tuple[int, float], float] = {}


@DBOS.workflow()
def scheduled(at, number):
    received.setdefault((number, at.timestamp()), time.time())


def schedule(number: int, cron: str) -> dict:
    return {
        "schedule_name": f"schedule-{number}",
        "workflow_fn": scheduled,
        "schedule": cron,
        "context": number,
    }


def fire(schedules: int, seconds: int) -> dict:
    """They act from the moment the scheduler finds them: counting begins with the first that is heard of.

    With a later beginning, what it can't keep up with would wait before the first that counts.
    """
    DBOS.apply_schedules([schedule(number, "* * * * * *") for number in range(schedules)])
    ends = time.time() + seconds + PATIENCE_SECONDS
    expected = schedules * seconds

    def lags() -> list[float]:
        heard_of = list(received.items())
        first = min((due for (_, due), _ in heard_of), default=0)
        return sorted(
            1000 * (heard - due) for (_, due), heard in heard_of if due < first + seconds
        )

    while time.time() < ends and len(lags()) < expected:
        time.sleep(0.5)
    sorted_lags = lags()

    def at(share: float):
        index = min(int(len(sorted_lags) * share), len(sorted_lags) - 1)
        return sorted_lags[index] if sorted_lags else None

    return {
        "expected": expected,
        "fired": len(sorted_lags),
        "created_late": False,
        "p50_ms": at(0.5),
        "p99_ms": at(0.99),
        "max_ms": at(1),
    }


def create(schedules: int, seconds_max: int) -> dict:
    """One after the other: SQLite has one writer, and the library locks."""
    before = rss_mb()
    began = time.monotonic()
    created = 0
    while created < schedules and time.monotonic() < began + seconds_max:
        one = schedule(created, "0 9 1 1 *")
        DBOS.create_schedule(**one)
        created += 1
    seconds = time.monotonic() - began
    # Each gets a thread within a second or two.
    time.sleep(3)
    return {
        "created": created,
        "a_second": created / seconds,
        "rss_mb_before": before,
        "rss_mb_after": rss_mb(),
    }


def rss_mb() -> float:
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024 / 1e6


def main() -> None:
    folder, verb, *numbers = sys.argv[1:]
    DBOS(
        config={
            "name": "schedules",
            "system_database_url": f"sqlite:///{os.path.abspath(folder)}/dbos.db",
            "log_level": "CRITICAL",
        }
    )
    DBOS.launch()
    result = {"fire": fire, "create": create}[verb](*map(int, numbers))
    print(json.dumps(result), flush=True)
    # A thread for each schedule: they aren't waited for.
    os._exit(0)


if __name__ == "__main__":
    main()
