"""Schedule commands of Temporal's CLI against the server under test."""

import asyncio
import json
import os

import pytest
from dev_server import TEMPORAL
from waiting import until

from scheduled import Scheduled

START, END = "2025-01-01T00:00:00Z", "2025-01-01T02:00:00Z"
ACTION = ["--workflow-id", "never-started", "--type", "Waits", "--task-queue", "never-polled"]


class Cli:
    def __init__(self, address: str, scheduled: Scheduled):
        self._address = address
        self._scheduled = scheduled

    async def __call__(self, command: str, *flags: str, of_one: bool = True):
        """The command's JSON, if it prints any."""
        code, out, err = await self.run(command, *flags, of_one=of_one)
        assert code == 0, f"schedule {command} {flags}: {err}"
        return json.loads(out) if out.strip() else None

    async def run(self, command: str, *flags: str, of_one: bool = True) -> tuple[int, str, str]:
        arguments = ["schedule", command, "--address", self._address, "--namespace", self._scheduled.namespace]
        arguments += ["--output", "json", *(["--schedule-id", self._scheduled.id] if of_one else []), *flags]
        process = await asyncio.create_subprocess_exec(
            TEMPORAL, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        out, err = await asyncio.wait_for(process.communicate(), 30)
        return process.returncode, out.decode(), err.decode()

    async def create(self, *flags: str, workflow: str = "Waits"):
        action = ["--workflow-id", self._scheduled.id, "--type", workflow, "--task-queue", self._scheduled.task_queue]
        return await self("create", *action, *flags)


@pytest.fixture
def cli(server, scheduled) -> Cli:
    if not os.path.exists(TEMPORAL):
        pytest.skip("there is no Temporal CLI: pip install -r conformance/requirements.txt")
    return Cli(server.address, scheduled)


async def test_create_and_describe(cli):
    await cli.create(
        "--cron", "0 9 * * MON-FRI # workdays",
        "--interval", "6h/5h",
        "--calendar", '{"dayOfWeek":"Fri","hour":"17","minute":"5"}',
        "--time-zone", "Europe/Oslo",
        "--jitter", "30s",
        "--overlap-policy", "BufferOne",
        "--catchup-window", "1h",
        "--pause-on-failure",
        "--paused",
        "--notes", "from the command line",
        "--remaining-actions", "7",
        "--input", '{"some": "input"}',
        "--run-timeout", "5m",
        "--memo", 'of="the run"',
        "--schedule-memo", 'of="the schedule"',
        "--search-attribute", 'CustomKeywordField="run"',
        "--schedule-search-attribute", 'CustomKeywordField="schedule"',
    )  # fmt: skip
    told = await cli("describe")
    schedule = told["schedule"]
    spec = schedule["spec"]
    assert spec["interval"] == [{"interval": "21600s", "phase": "18000s"}]
    assert [calendar.get("comment") for calendar in spec["structuredCalendar"]] == ["workdays", None]
    assert (spec["timezoneName"], spec["jitter"]) == ("Europe/Oslo", "30s")
    action = schedule["action"]["startWorkflow"]
    assert action["workflowType"]["name"] == "Waits"
    assert action["workflowRunTimeout"] == "300s"
    assert schedule["policies"]["overlapPolicy"] in ("BufferOne", "SCHEDULE_OVERLAP_POLICY_BUFFER_ONE")
    assert schedule["policies"]["catchupWindow"] == "3600s"
    assert schedule["policies"]["pauseOnFailure"]
    assert schedule["state"]["paused"]
    assert schedule["state"]["notes"] == "from the command line"
    assert schedule["state"]["limitedActions"]
    assert int(schedule["state"]["remainingActions"]) == 7
    assert len(told["info"]["futureActionTimes"]) == 7
    assert told["memo"]["fields"].keys() == {"of"}
    assert told["searchAttributes"]["indexedFields"].keys() >= {"CustomKeywordField"}


async def test_create_refuses_a_second_one(cli):
    await cli.create("--interval", "1h")
    code, _, err = await cli.run("create", *ACTION, "--interval", "1h")
    assert code != 0
    assert "already" in err.lower()


async def test_create_says_what_is_wrong_with_a_cron(cli):
    code, _, err = await cli.run("create", *ACTION, "--cron", "61 * * * *")
    assert code != 0
    assert "minute" in err.lower()
    assert (await cli.run("describe"))[0] != 0


async def test_list(cli, scheduled):
    attribute = f'CustomKeywordField="{scheduled.id}"'
    await cli.create("--interval", "1h", "--paused", "--notes", "why", "--schedule-search-attribute", attribute)

    async def mine():
        return await cli("list", "--query", f"CustomKeywordField = '{scheduled.id}'", of_one=False)

    [entry] = await until(mine)
    assert entry["scheduleId"] == scheduled.id
    assert entry["info"]["paused"]
    assert entry["info"]["notes"] == "why"
    assert entry["info"]["workflowType"]["name"] == "Waits"


async def test_update_replaces_the_schedule(cli, scheduled):
    await cli.create("--interval", "1h", "--notes", "old", "--schedule-search-attribute", 'CustomKeywordField="kept"')
    action = ["--workflow-id", scheduled.id, "--type", "Returns", "--task-queue", scheduled.task_queue]
    await cli("update", *action, "--interval", "2h", "--overlap-policy", "AllowAll")
    told = await cli("describe")
    assert told["schedule"]["spec"]["interval"][0]["interval"] == "7200s"
    assert told["schedule"]["action"]["startWorkflow"]["workflowType"]["name"] == "Returns"
    assert not told["schedule"]["state"].get("notes")
    assert "CustomKeywordField" in told["searchAttributes"]["indexedFields"]


async def test_toggle_pauses_and_unpauses(cli, scheduled):
    await cli.create("--interval", "1h")
    await cli("toggle", "--pause", "--reason", "lunch")
    state = await scheduled.until_state(lambda state: state.paused)
    assert state.notes == "lunch"
    await cli("toggle", "--unpause", "--reason", "back")
    state = await scheduled.until_state(lambda state: not state.paused)
    assert state.notes == "back"


async def test_trigger_starts_a_run(cli, scheduled):
    await cli.create("--interval", "1h")
    await cli("trigger")
    await scheduled.until_runs(1)
    await cli("trigger", "--overlap-policy", "Skip")
    await scheduled.until_info(lambda info: info.overlap_skipped == 1)


async def test_backfill_starts_a_run_for_each_time(cli, scheduled):
    await cli.create("--interval", "1h", workflow="Returns")
    await cli("backfill", "--start-time", START, "--end-time", END, "--overlap-policy", "BufferAll")
    await scheduled.until_runs(3)
    assert sorted(await scheduled.run_ids()) == [f"{scheduled.id}-2025-01-01T0{hour}:00:00Z" for hour in range(3)]


async def test_delete_removes_it(cli):
    await cli.create("--interval", "1h")
    await cli("delete")
    code, _, err = await cli.run("describe")
    assert code != 0
    assert "not found" in err.lower()
