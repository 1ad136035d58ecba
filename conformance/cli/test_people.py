"""Text output of our command line, as opposed to JSON. Also against Temporal's server, where it has the feature."""

import asyncio
import os
import pwd
import re

import pytest
from dev_server import NAMESPACE, TEMPORAL
from temporalio.api.enums.v1 import WorkflowTaskFailedCause as Cause
from temporalio.api.failure.v1 import Failure
from temporalio.client import Schedule, ScheduleActionStartWorkflow, ScheduleSpec
from waiting import until

from scene import Scene

LINEAGE_KEYS = [
    "schedule_id",
    "schedule_ulid",
    "cron_expression",
    "timezone",
    "overlap_policy",
    "trigger_number",
    "occurrence_time",
]


class Ours:
    """Our command line, as a person uses it."""

    def __init__(self, executable: str, address: str):
        self._executable = executable
        self._server = ["--address", address, "--namespace", NAMESPACE, "--disable-config-file"]

    async def __call__(self, *arguments: str, code: int = 0, alone: bool = False, env: dict | None = None) -> str:
        """What it says: the answer, then the remarks."""
        command = [self._executable, *arguments, *([] if alone else self._server)]
        pipe = asyncio.subprocess.PIPE
        env = {key: value for key, value in (env or os.environ).items() if key != "COLUMNS"}
        process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe, env=env)
        out, err = await asyncio.wait_for(process.communicate(), 30)
        assert process.returncode == code, (arguments, out.decode(), err.decode())
        return out.decode() + err.decode()


@pytest.fixture
def ours(server, perennial) -> Ours:
    return Ours(perennial.binary, server.address)


@pytest.fixture
def scene(client, name) -> Scene:
    return Scene(client, name)


@pytest.mark.differs_from_temporal("its runs don't know their schedule")
async def test_a_run_says_first_which_schedule_started_it(ours, client, name):
    action = ScheduleActionStartWorkflow("Nobody", id=name, task_queue=name)
    handle = await client.create_schedule(name, Schedule(action, ScheduleSpec(cron_expressions=["0 12 * * *"])))
    await handle.trigger()
    description = await until(handle.describe, lambda it: it.info.recent_actions)
    run = description.info.recent_actions[0].action.workflow_id

    shown, traced = await ours("workflow", "show", "-w", run), await ours("workflow", "trace", "-w", run)
    for text in (shown, traced):
        first = text.splitlines()[0]
        assert first.startswith(f"ScheduleTriggered schedule_id={name} ")
        assert re.findall(r"(\w+)=", first)[: len(LINEAGE_KEYS)] == LINEAGE_KEYS
        assert 'cron_expression="0 12 * * *"' in first
    described = (await ours("workflow", "describe", "-w", run)).splitlines()
    assert described[0] == "ScheduleTriggered:"
    assert [line.split()[0] for line in described[1 : 1 + len(LINEAGE_KEYS)]] == LINEAGE_KEYS
    detailed = (await ours("workflow", "show", "-w", run, "--detailed")).splitlines()
    assert detailed[0] == "ScheduleTriggered:"

    # Both streams spell what they both say in the same way.
    [told] = re.findall(r"occurrence_time=(\S+)", shown.splitlines()[0])
    history = await ours("schedule", "history", name, "--output", "json")
    assert f'"occurrence_time": "{told}"' in history
    assert '"effective_overlap_policy": "skip"' in history and "overlap_policy=skip" in shown
    await handle.delete()


async def test_a_task_that_keeps_failing_is_told_wherever_one_looks(ours, scene):
    await scene.start()
    for _ in range(5):
        cause = Cause.WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR
        failure = Failure(message="the code has changed")
        await scene.fail_task(await scene.workflow_task(), cause=cause, failure=failure)
    words = "workflow task attempt 6: NonDeterministicError: the code has changed"
    assert words in await ours("workflow", "trace", scene.workflow_id)
    described = await ours("workflow", "describe", scene.workflow_id)
    told = re.sub(r" {2,}", "  ", described[described.index("Workflow Task Problem:") :])
    assert told.splitlines()[1:5] == [
        "  Attempt  6",
        "  Category  WorkflowTaskFailed",
        "  Cause  NonDeterministicError",
        "  Message  the code has changed",
    ]

    async def listed():
        return await ours("workflow", "list", "--query", "TemporalReportedProblems IS NOT NULL")

    found = await until(listed, lambda text: scene.workflow_id in text)
    [line] = [line for line in found.splitlines() if scene.workflow_id in line]
    assert line.startswith("Running (NonDeterministicError)")
    found = await ours("doctor", code=1)
    [line] = [line for line in found.splitlines() if line.startswith("workflow tasks")]
    assert "bad" in line and "keep failing: " in line and "(NonDeterministicError, attempt " in line

    await scene.complete_task(await scene.workflow_task())
    assert "Problem" not in await ours("workflow", "describe", scene.workflow_id)
    await scene.terminate()


async def test_search_attributes_are_values(ours, scene):
    created = ["workflow", "start", "--type", "Nobody", "-t", scene.task_queue, "-w", scene.workflow_id]
    await ours(*created, "--search-attribute", 'CustomKeywordField="Oslo"', "--search-attribute", "CustomIntField=7")
    assert '{"CustomIntField":7,"CustomKeywordField":"Oslo"}' in await ours("workflow", "describe", scene.workflow_id)
    detailed = await ours("workflow", "show", scene.workflow_id, "--detailed")
    assert re.search(r"searchAttributes\.indexedFields\.CustomKeywordField +Oslo\n", detailed)
    await scene.terminate()


@pytest.mark.differs_from_temporal("it counts positions in a statement of its own, and says no more")
async def test_filters_are_refused_by_what_was_typed(ours):
    refused = await ours("workflow", "list", "--query", "WorkflowType = = 1", code=2)
    assert "syntax error at position 17" in refused
    refused = await ours("workflow", "list", "--query", "Nobody = 1", code=2)
    assert "invalid search attribute: Nobody; create it with" in refused


@pytest.mark.differs_from_temporal("it doesn't say where")
async def test_a_cron_of_a_workflow_is_refused_with_the_place(ours, name):
    refused = await ours("workflow", "start", "--type", "X", "-t", name, "--cron", "0 24 * * *", code=2)
    assert "\n  0 24 * * *\n    ^^\n" in refused


@pytest.mark.differs_from_temporal("it has no history of schedules")
async def test_the_principal_is_the_user_as_temporals_tool_names_it(ours, server, name):
    without_user = {key: value for key, value in os.environ.items() if key not in ("USER", "USERNAME", "LOGNAME")}
    created = ["schedule", "create", "-s", name, "--cron", "0 12 * * *", "--type", "X", "-t", name]
    await ours(*created, env=without_user)
    history = await ours("schedule", "history", name, "--output", "json")
    assert f'"principal": "perennial-cli:{pwd.getpwuid(os.getuid()).pw_name}@' in history
    await ours("schedule", "delete", "-s", name)
    if os.path.exists(TEMPORAL):
        theirs = Ours(TEMPORAL, server.address)
        await theirs(*created, "-w", name, env=without_user)
        told = await ours("schedule", "history", name, "--output", "json")
        [said] = set(re.findall(r'"principal": "temporal-cli:([^"]+)"', told))
        assert f'"principal": "perennial-cli:{said}"' in history
        await ours("schedule", "delete", "-s", name)


SIXTH = "the sixth field is the year; for seconds use seven fields or DIALECT=dbos"


async def test_a_sixth_field_that_may_be_meant_as_seconds_is_warned_of(ours, name):
    for command in ("next", "explain", "between"):
        window = ["--count", "1"]
        assert SIXTH in await ours("calendar", command, "*/5 * * * * *", *window, alone=True)
        assert SIXTH not in await ours("calendar", command, "*/5 * * * *", *window, alone=True)
        assert SIXTH not in await ours("calendar", command, "0 9 * * * 2099", *window, alone=True)
    assert SIXTH in await ours("calendar", "next", "0 0 12 * * MON", alone=True, code=2)
    assert SIXTH in await ours("schedule", "preview", "--cron", "*/5 * * * * *", alone=True)
    created = ["schedule", "create", "-s", name, "--type", "X", "-t", name, "-w", name]
    assert f"warning: {SIXTH}" in await ours(*created, "--cron", "*/5 * * * * *", "--paused")
    await ours("schedule", "delete", "-s", name)


async def test_a_schedule_that_never_fires_is_warned_of(ours, name):
    created = ["schedule", "create", "-s", name, "--type", "X", "-t", name, "-w", name]
    assert "warning: it never fires" in await ours(*created, "--cron", "0 0 31 2 *")
    await ours("schedule", "delete", "-s", name)
    assert "warning" not in await ours(*created, "--cron", "0 0 31 12 *", "--paused")
    assert "warning: it never fires" in await ours("schedule", "update", "-s", name, "--cron", "0 0 31 2 *")
    await ours("schedule", "delete", "-s", name)


async def test_the_zones_of_the_server_count_when_a_schedule_is_created(ours, name):
    created = ["schedule", "create", "-s", name, "--type", "X", "-t", name, "-w", name, "--cron", "0 12 * * *"]
    # Whatever this machine makes of it, it is the server that refuses.
    refused = await ours(*created, "--time-zone", "Europe/Nowhere", code=2)
    assert "nvalid schedule spec" in refused


@pytest.mark.differs_from_temporal("it can't be asked why")
async def test_why_answers_for_every_instant(ours, name):
    created = ["schedule", "create", "-s", name, "--type", "X", "-t", name, "--cron", "0 12 * * *"]
    await ours(*created, "--remaining-actions", "2", "--pause-on-failure")

    async def why(time: str) -> str:
        return " ".join((await ours("schedule", "why", name, time)).split())

    to_come = await why("2099-03-01T12:00:00Z")
    assert to_come.startswith("It hasn't come yet: it will fire at 2099-03-01T12:00:00Z.")
    assert "But the limit of actions leaves 2 more, and so many times come before it" in to_come
    assert "Nothing is started if the schedule is paused, changed or deleted before" in to_come
    assert "another run is still going (overlap policy skip)" in to_come
    assert "a run fails before, which pauses the schedule" in to_come
    between = "It is none of the schedule's times: the one before is 2099-03-01T12:00:00Z, the one after 2099-03-02T12:00:00Z."
    assert await why("2099-03-01T13:00:00Z") == between
    assert "its first time after that is " in await why("2001-03-01T13:00:00Z")

    await ours("schedule", "pause", name, "--reason", "the office is closed")
    paused = '"the office is closed". It is paused until someone resumes it.'
    assert (await why("2099-03-01T12:00:00Z")).endswith(paused)
    assert (await why("2099-03-01T13:00:00Z")).endswith(paused)
    await ours("schedule", "unpause", name)
    await ours("schedule", "update", name, "--interval", "1s", "--remaining-actions", "1")
    exhausted = "It won't fire: the limited actions are used up."
    await until(lambda: why("2099-03-01T12:00:00Z"), lambda told: told == exhausted)
    await ours("schedule", "update", name, "--cron", "0 0 31 2 *")
    assert await why("2099-03-01T12:00:00Z") == "It is none of the schedule's times: no time matches its spec."
    await ours("schedule", "delete", name)
    assert "the schedule was deleted at " in await why("2099-03-01T12:00:00Z")


async def test_help_says_which_ends_of_a_window_count(ours, name):
    matching = " ".join((await ours("schedule", "list-matching-times", "--help", alone=True)).split())
    assert "the window excludes its start and includes its end" in matching
    preview = " ".join((await ours("schedule", "preview", "--help", alone=True)).split())
    assert "The window includes --from and --to" in preview
    backfill = " ".join((await ours("schedule", "backfill", "--help", alone=True)).split())
    assert "Start of the window (inclusive)" in backfill

    noon, end = "2099-03-01T12:00:00Z", "2099-03-02T12:00:00Z"
    previewed = await ours("schedule", "preview", "--cron", "0 12 * * *", "--from", noon, "--to", end, alone=True)
    assert "2099-03-01 12:00:00" in previewed and "2099-03-02 12:00:00" in previewed
    created = ["schedule", "create", "-s", name, "--type", "X", "-t", name, "-w", name, "--paused"]
    await ours(*created, "--cron", "0 12 * * *")
    matching = await ours("schedule", "list-matching-times", name, "--start-time", noon, "--end-time", end)
    assert "2099-03-01 12:00:00" not in matching and "2099-03-02 12:00:00" in matching
    await ours("schedule", "delete", "-s", name)


async def test_help_says_what_a_start_delay_does(ours):
    told = " ".join((await ours("workflow", "start", "--help", alone=True)).split())
    assert "An update or signal-with-start ends the delay, a signal doesn't" in told
