"""W14: generated list filters find what they find in the real Temporal server, or are refused in its words.

They keep clear of what that server answers by accident; `crates/store/src/visibility/mod.rs` has the list.
Two attributes aren't asked about: `BuildIds`, deprecated, which that server fills by itself, and `Keyword01`
and the like, as each server has its own way to choose columns.
"""

import asyncio
import os
import re

import pytest
import pytest_asyncio
from ports import free_port
from temporalio.api.workflowservice import v1 as api
from temporalio.client import Client
from temporalio.service import RPCError

import list_filters
from dev_server import TEMPORAL, DevServer, is_temporal
from list_filters import Places
from listed_runs import listed, name, populate
from payloads import value
from refusals import as_temporal_says, refusal
from scene import CALL

ASKED_AT_ONCE = 8
SHOWN_MAX = 10


class Answering:
    """A server with the runs that filters are asked of."""

    def __init__(self, client: Client, runs, is_ours: bool):
        self.is_ours = is_ours
        self.runs = [name(run) for run in runs]
        self._client = client
        self._places = Places(runs)

    async def list(self, query: str) -> list[str]:
        return [name(run) for run in await listed(self._client, self._places.fill(query))]

    async def count(self, query: str):
        request = api.CountWorkflowExecutionsRequest(
            namespace=self._client.namespace, query=self._places.fill(query)
        )
        counted = await self._client.workflow_service.count_workflow_executions(request, timeout=CALL)
        groups = [([value(one) for one in group.group_values], group.count) for group in counted.groups]
        return counted.count, groups


@pytest_asyncio.fixture(scope="module")
async def both(tmp_path_factory) -> tuple[Answering, Answering]:
    """The server under test and the real one."""
    if not os.path.exists(TEMPORAL):
        pytest.skip("there is no Temporal server to compare with: pip install -r conformance/requirements.txt")
    folder = tmp_path_factory.mktemp("filters")
    servers = [
        DevServer(free_port(), str(folder / "ours.db")),
        DevServer(free_port(), str(folder / "theirs.db"), TEMPORAL),
    ]

    async def answering(server):
        client = await server.start()
        is_ours = server is servers[0] and not is_temporal()
        return Answering(client, await populate(client), is_ours)

    try:
        yield tuple(await asyncio.gather(*map(answering, servers)))
    finally:
        for server in servers:
            server.stop()


async def test_without_a_filter_every_run_is_listed_in_the_same_order(both):
    ours, theirs = both
    assert ours.runs == theirs.runs


async def test_every_operator_on_every_attribute(both, rng):
    await agree(both, Answering.list, list_filters.every_operator_on_every_attribute(rng))


async def test_every_literal_for_every_type(both, rng):
    await agree(both, Answering.list, list_filters.every_literal_for_every_type(rng))


async def test_combined_conditions(both, rng):
    answers = await agree(both, Answering.list, [list_filters.combined(rng) for _ in range(150)])
    some_but_not_all = [found for found in answers if 0 < len(found) < len(both[0].runs)]
    assert len(some_but_not_all) > 75, "filters that find nothing or everything compare nothing"


async def test_counts_by_status(both, rng):
    filters = [f"{list_filters.combined(rng, depth=1)} GROUP BY ExecutionStatus" for _ in range(50)]
    await agree(both, Answering.count, ["", "GROUP BY ExecutionStatus", *filters])


async def test_no_order_can_be_asked_for(both):
    await agree(both, Answering.list, list_filters.every_order())


async def test_malformed_filters(both, rng):
    await agree(both, Answering.list, [list_filters.malformed(rng) for _ in range(200)])


def in_common(message: str, query: str, server: Answering) -> str:
    """Ours counts positions in what was typed; the real one in the statement it wraps around that."""
    if server.is_ours:
        return as_temporal_says(message)
    is_clause = query.strip().lower().startswith(("order by", "group by")) or not query.strip()
    wrapped = len("select * from table1 " if is_clause else "select * from table1 where ")
    blanks = len(query) - len(query.lstrip())
    return re.sub(r"(?<=at position )\d+", lambda found: str(int(found[0]) - wrapped + blanks), message)


async def agree(both: tuple[Answering, Answering], ask, filters: list[str]) -> list:
    """Asks both servers each filter. What they answered, if it is the same."""
    at_once = asyncio.Semaphore(ASKED_AT_ONCE)

    async def answer(server: Answering, query: str):
        async with at_once:
            try:
                return await ask(server, query)
            except RPCError as error:
                refused = refusal(error)
                return f"{refused.code}: {in_common(refused.message, query, server)}"

    answers = [await asyncio.gather(*(answer(server, query) for query in filters)) for server in both]
    differences = [
        f"{query}\n  ours   {ours}\n  theirs {theirs}"
        for query, ours, theirs in zip(filters, *answers)
        if ours != theirs
    ]
    shown = "\n".join(differences[:SHOWN_MAX])
    assert not differences, f"{len(differences)} of {len(filters)} filters are answered differently:\n{shown}"
    return answers[0]
