"""Fixtures of the HTTP tests: the server under test, and Temporal's beside it."""

import pytest
import pytest_asyncio
from both_servers import BothServers
from dev_server import TEMPORAL, DevServer
from http_client import Http
from ports import free_port


@pytest.fixture(scope="session")
def ours(server) -> Http:
    return Http(server.http_port)


@pytest_asyncio.fixture(scope="session")
async def theirs(tmp_path_factory):
    database = str(tmp_path_factory.mktemp("temporal") / "temporal.db")
    temporal = DevServer(free_port(), database, TEMPORAL, http_port=free_port())
    await temporal.start()
    yield Http(temporal.http_port)
    temporal.stop()


@pytest.fixture
def both(ours, theirs) -> BothServers:
    return BothServers(ours, theirs)
