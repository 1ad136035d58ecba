"""Fixtures of the workflow tests: one server for all of them, a scene for each."""

import re
import uuid

import pytest
import pytest_asyncio
from ports import free_port
from temporalio.client import Client

from dev_server import DevServer
from scene import Scene


@pytest_asyncio.fixture(scope="session")
async def running(tmp_path_factory):
    """The session's server and a client of it."""
    server = DevServer(free_port(), str(tmp_path_factory.mktemp("server") / "workflows.db"))
    client = await server.start()
    yield server, client
    server.stop()


@pytest.fixture(scope="session")
def server(running) -> DevServer:
    return running[0]


@pytest.fixture(scope="session")
def client(running) -> Client:
    return running[1]


@pytest.fixture
def name(request) -> str:
    """Unique for each run of each test, and says which test it belongs to."""
    fact = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())[:60]
    return f"{fact}-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def scene(client, name) -> Scene:
    return Scene(client, name)
