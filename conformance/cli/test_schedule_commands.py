"""Schedule commands: Temporal's CLI and ours print the same for the same server."""

import pytest
import pytest_asyncio
from dev_server import is_temporal
from waiting import until

ACTION = ["--workflow-id", "{id}", "--type", "Unattended", "--task-queue", "never-polled"]

# Only Perennial's service of schedules says it, and only our tool asks that.
OURS_ALONE = (
    "extensions",
    "internalId",
    "namespace",
    "nextFireAt",
    "revision",
    "settledUpTo",
    "status",
    "statusReason",
)

# The real tool writes its default into the action; ours leaves it to the server.
DESCRIBED = (*OURS_ALONE, "scheduleId", "workflowTaskTimeout")

# The real tool shows what schedules hold in full; ours shortens it as everywhere else, unless it is told not to.
IN_FULL = "--no-json-shorthand-payloads"


@pytest_asyncio.fixture
async def both(both):
    """Nothing fires after the test."""
    yield both
    await both("schedule", "delete", "--schedule-id", "{id}")


@pytest.fixture
def one():
    return ["--schedule-id", "{id}"]


async def test_create_and_describe(both, one):
    spec = ["--cron", "0 9 * * MON-FRI # workdays", "--interval", "6h/5h", "--time-zone", "Europe/Oslo"]
    spec += ["--jitter", "30s", "--end-time", "2099-01-01T00:00:00Z"]
    how = ["--overlap-policy", "BufferOne", "--catchup-window", "1h", "--pause-on-failure", "--notes", "why"]
    how += ["--remaining-actions", "7", "--paused", "--schedule-memo", 'of="it"', "--memo", 'of="the run"']
    await both("schedule", "create", *one, *spec, *how, *ACTION, "--input", '{"a": 1}')
    described = await both.same("schedule", "describe", *one, IN_FULL, without=DESCRIBED)
    assert described["schedule"]["state"]["notes"] == "why"
    assert described["memo"]["fields"]["of"]["data"] == '"it"'


async def test_list(both, one):
    attribute = ["--schedule-search-attribute", 'CustomKeywordField="{id}"']
    await both("schedule", "create", *one, "--interval", "1h", "--paused", *attribute, *ACTION)
    query = ["--query", "CustomKeywordField = '{id}'"]

    async def listed():
        return [answer.json for answer in await both("schedule", "list", *query)]

    await until(listed, lambda lists: all(len(entries) == 1 for entries in lists))
    [entry] = await both.same("schedule", "list", *query, IN_FULL, without=OURS_ALONE)
    assert entry["scheduleId"] == "<id>"


async def test_toggle_update_and_delete(both, one):
    await both("schedule", "create", *one, "--interval", "1h", *ACTION)
    await both("schedule", "toggle", *one, "--pause", "--reason", "closed")
    described = await both.same("schedule", "describe", *one, IN_FULL, without=DESCRIBED)
    assert described["schedule"]["state"] == {"paused": True, "notes": "closed"}
    await both("schedule", "toggle", *one, "--unpause", "--reason", "open")
    described = await both.same("schedule", "describe", *one, IN_FULL, without=DESCRIBED)
    assert described["schedule"]["state"] == {"notes": "open"}
    change = ["--interval", "2h", "--notes", "slower", *ACTION]
    for answer in await both("schedule", "update", *one, *change):
        assert answer.code == 0, answer
    described = await both.same("schedule", "describe", *one, IN_FULL, without=DESCRIBED)
    assert described["schedule"]["spec"]["interval"] == [{"interval": "7200s"}]
    for answer in await both("schedule", "delete", *one):
        assert answer.code == 0
    theirs, ours = await both("schedule", "describe", *one)
    assert theirs.code == 1
    # Perennial remembers it; another server has forgotten it.
    assert ours.code == (3 if is_temporal() else 0)
    assert is_temporal() or ours.json["status"] == "SCHEDULE_STATUS_DELETED"


async def test_trigger_and_backfill_start_workflows(both, one):
    await both("schedule", "create", *one, "--interval", "1h", "--paused", *ACTION)
    for answer in await both("schedule", "trigger", *one, "--overlap-policy", "AllowAll"):
        assert answer.code == 0, answer
    window = ["--start-time", "2025-01-01T00:00:00Z", "--end-time", "2025-01-01T02:00:00Z"]
    for answer in await both("schedule", "backfill", *one, *window, "--overlap-policy", "AllowAll"):
        assert answer.code == 0, answer

    async def counts():
        query = ["--query", "TemporalScheduledById = '{id}'"]
        return [answer.json["count"] for answer in await both("workflow", "count", *query)]

    assert await until(counts, lambda counts: len(set(counts)) == 1 and int(counts[0]) >= 3)
