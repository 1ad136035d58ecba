"""Calls the binary under test."""

import datetime as dt
import json
import os
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

EXIT_UNREADABLE_SPEC = 2


class Refused(Exception):
    """The spec doesn't parse."""


@dataclass(frozen=True)
class Window:
    """Times after `start` (exclusive) up to `end` (inclusive), in Unix seconds."""

    start: int
    end: int


class Perennial:
    """Calls the binary's calendar."""

    def __init__(self, binary: str):
        self.binary = binary

    def between(self, specs: Sequence[str], window: Window, count: int, flags: Sequence[str] = ()) -> list[int]:
        """The first `count` times of the union of the specs, in Unix seconds."""
        command = [self.binary, "calendar", "between", *flags, "--output", "jsonl"]
        command += ["--from", rfc3339(window.start), "--to", rfc3339(window.end), "--count", str(count)]
        done = subprocess.run([*command, "--", *specs], capture_output=True, text=True, timeout=60)
        if done.returncode == EXIT_UNREADABLE_SPEC:
            raise Refused(done.stderr)
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return [unix_seconds(json.loads(line)["nominal"]) for line in done.stdout.splitlines()]

    def between_many(self, questions: Sequence[tuple]) -> list[list[int] | Refused]:
        """`between` for each tuple of its arguments, several at a time."""

        def ask(question):
            try:
                return self.between(*question)
            except Refused as refused:
                return refused

        with ThreadPoolExecutor(os.cpu_count()) as workers:
            return list(workers.map(ask, questions))


def rfc3339(second: int) -> str:
    return dt.datetime.fromtimestamp(second, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def unix_seconds(text: str) -> int:
    return int(dt.datetime.fromisoformat(text).timestamp())
