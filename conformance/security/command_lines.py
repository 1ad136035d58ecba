"""Runs a command line with an environment of its own, and makes the first API key of a database."""

import asyncio
import json
import os
import subprocess

SECONDS_MAX = 30


async def output(executable: str, *arguments: str, **environment: str) -> tuple[int, str]:
    """The exit code, and all that was written."""
    process = await asyncio.create_subprocess_exec(
        *(executable, *arguments),
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **environment},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await asyncio.wait_for(process.communicate(), SECONDS_MAX)
    return process.returncode, said.decode()


def first_key(perennial: str, database: str) -> str:
    """Creates the key of the first admin in a database file that no server uses yet."""
    create = [perennial, "operator", "api-key", "create", "--db", database, "--output", "json"]
    admin = ["--name", "first", "--role", "admin", "--whole-server"]
    done = subprocess.run([*create, *admin], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["secret"]
