"""Runs the same course on two servers, and reports differences."""

import asyncio
import contextlib
import difflib
import pathlib
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from dev_server import TEMPORAL, DevServer
from ports import free_port
from scene import Scene
from temporalio.client import Client
from temporalio.service import RPCError

# A busy machine makes a server late. A difference that isn't there again is none.
TRIES = 3

Take = Callable[[Scene, object], Awaitable[list[str]]]


@contextlib.asynccontextmanager
async def both_servers(folder: pathlib.Path) -> AsyncIterator[tuple[Client, Client]]:
    """Clients of the server under test and of the real one."""
    ours = DevServer(free_port(), str(folder / "ours.db"))
    theirs = DevServer(free_port(), str(folder / "theirs.db"), TEMPORAL)
    try:
        yield await ours.start(), await theirs.start()
    finally:
        ours.stop()
        theirs.stop()


async def differences(clients: tuple[Client, Client], take: Take, courses: Sequence, at_once: int) -> list[str]:
    """Takes each course on both servers, and describes those that end differently every time."""
    left = list(courses)
    found: list[str] = []
    for tried in range(TRIES):
        limit = asyncio.Semaphore(at_once if tried == 0 else max(1, at_once // 4))

        async def compared(course) -> str:
            async with limit:
                ours, theirs = await asyncio.gather(*(taken(client, take, course) for client in clients))
            return difference(course, ours, theirs)

        answers = await asyncio.gather(*map(compared, left))
        left = [course for course, answer in zip(left, answers) if answer]
        found = [answer for answer in answers if answer]
    return found


async def taken(client: Client, take: Take, course) -> list[str]:
    try:
        return await take(Scene(client, f"course-{uuid.uuid4().hex}"), course)
    except (AssertionError, RPCError) as problem:
        return [f"the course broke off: {problem!r}"]


def difference(course, ours: list[str], theirs: list[str]) -> str:
    """How the course went up to where the servers differ first. Lines that begin a step aren't indented."""
    if ours == theirs:
        return ""
    same = next((n for n, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]), min(len(ours), len(theirs)))
    longer = max(ours, theirs, key=len)
    begin = max((n for n in range(same + 1) if not longer[n].startswith(" ")), default=0)
    before = [line for line in longer[: begin + 2] if not line.startswith("  ")]
    lines = difflib.unified_diff(step_at(theirs, begin), step_at(ours, begin), "theirs", "ours", lineterm="", n=1)
    return "\n  ".join([str(course), *before, *lines])


def step_at(log: list[str], begin: int) -> list[str]:
    end = next((n for n in range(begin + 1, len(log)) if not log[n].startswith(" ")), len(log))
    return log[begin:end] if any(line.startswith(" ") for line in log) else log
