"""Waits for a condition, with a deadline."""

import asyncio
import time

SECONDS_MAX = 10


async def until(ask, holds=bool, seconds=SECONDS_MAX):
    """Asks again and again until the answer holds, and returns it."""
    deadline = time.monotonic() + seconds
    while True:
        answer = await ask()
        if holds(answer):
            return answer
        assert time.monotonic() < deadline, f"still not so after {seconds} s: {answer}"
        await asyncio.sleep(0.02)
