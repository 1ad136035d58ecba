"""Runs the same command with Temporal's CLI and with ours."""

import asyncio
import base64
import binascii
import json
import re
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any

SECONDS_MAX = 30

# What is never the same twice, or names the tool itself. That it is there, and under which name, is compared.
BLANKED = {
    "approximateBacklogAge",
    "backlogIncreaseRate",
    "batchJobId",
    "closeTime",
    "coreUsedFlags",
    "createTime",
    "durationMillis",
    "eventTime",
    "executionDuration",
    "executionExpirationTime",
    "executionTime",
    "firstExecutionRunId",
    "firstRunId",
    "futureActionTimes",
    "historySizeBytes",
    "id",
    "identity",
    "jobId",
    "langUsedFlags",
    "lastAccessTime",
    "lastResetTime",
    "lastStartedTime",
    "lastWorkerIdentity",
    "newExecutionRunId",
    "originalExecutionRunId",
    "originalScheduledTime",
    "originalStartTime",
    "requestId",
    "resetRunId",
    "runExpirationTime",
    "runId",
    "scheduledTime",
    "startTime",
    "startedTime",
    "stateTransitionCount",
    "taskId",
    "tasksAddRate",
    "tasksDispatchRate",
    "updateId",
    "updateTime",
    "workflowTaskCompletedEventId",
}


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out) if self.out.strip() else None


@dataclass(frozen=True)
class Tool:
    """One of the two, with a thing of its own: what one does must not be in the way of the other."""

    name: str
    executable: str
    server: tuple[str, ...]
    id: str

    async def __call__(self, *arguments: str) -> Answer:
        """Runs a command. `{id}` in an argument is the tool's own id."""
        given = [argument.replace("{id}", self.id) for argument in arguments]
        command = [self.executable, *given, *self.server, "--output", "json"]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)
        out, err = await asyncio.wait_for(process.communicate(), SECONDS_MAX)
        return Answer(process.returncode, out.decode(), err.decode())


@dataclass(frozen=True)
class Both:
    temporal: Tool
    ours: Tool

    async def __call__(self, *arguments: str) -> tuple[Answer, Answer]:
        return tuple(await asyncio.gather(self.temporal(*arguments), self.ours(*arguments)))

    async def same(self, *arguments: str, without: tuple[str, ...] = ()) -> Any:
        """Both succeed with the same JSON, which is returned. `without` names fields that differ on purpose."""
        theirs, ours = await self(*arguments)
        expected = strip(normal(theirs.json), without)
        answered = strip(normal(ours.json), without)
        difference = unified_diff(lines(expected), lines(answered), "temporal", "perennial", lineterm="")
        assert answered == expected, "\n".join([" ".join(arguments), *difference])
        return answered

    async def refused(self, *arguments: str) -> tuple[Answer, Answer]:
        """Both fail, and both say why."""
        theirs, ours = await self(*arguments)
        assert theirs.code != 0 and ours.code != 0, (arguments, theirs, ours)
        assert ours.err.startswith("error: "), ours.err
        return theirs, ours


def lines(value: Any) -> list[str]:
    return json.dumps(value, indent=2, sort_keys=True).splitlines()


UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
OWN_ID = re.compile("[a-z0-9-]+-(theirs|ours--)")


def normal(value: Any) -> Any:
    """The answer without what is never the same."""
    match value:
        case dict():
            return {normal(key): blank(key, inner) for key, inner in value.items() if not is_default(key, inner)}
        case list():
            return [normal(inner) for inner in value]
        case str():
            return OWN_ID.sub("<id>", UUID.sub("<uuid>", value))
        case _:
            return value


def is_default(key: str, value: Any) -> bool:
    """The real tool writes some defaults into what it starts; ours leaves them to the server."""
    if key in ("header", "input"):
        return value == {}
    return value == "0s" and (key.endswith("Timeout") or key in ("jitter", "phase"))


def blank(key: str, value: Any) -> Any:
    if key in BLANKED:
        return f"<{key}>"
    if key == "data" and isinstance(value, str):
        # A payload that isn't shortened may hold the id too.
        try:
            return normal(base64.b64decode(value, validate=True).decode())
        except (binascii.Error, UnicodeDecodeError):
            return value
    return normal(value)


def strip(value: Any, names: tuple[str, ...]) -> Any:
    """Without these fields, wherever they are."""
    match value:
        case dict():
            return {key: strip(inner, names) for key, inner in value.items() if key not in names}
        case list():
            return [strip(inner, names) for inner in value]
        case _:
            return value
