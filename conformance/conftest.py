"""Fixtures of every conformance test: the binary, a seed, a running server and a unique name."""

import os
import random
import re
import uuid

import pytest
import pytest_asyncio
from binary import Perennial
from dev_server import DevServer, is_temporal, nodes_of_a_server
from ports import free_port
from temporalio.client import Client


def pytest_collection_modifyitems(items):
    exceptions = []
    if is_temporal():
        exceptions.append("differs_from_temporal")
    elif nodes_of_a_server() > 1:
        exceptions.append("differs_in_a_cluster")
    for item in items:
        for marker in (marker for name in exceptions for marker in item.iter_markers(name)):
            item.add_marker(pytest.mark.skip(reason=marker.args[0]))


@pytest.fixture(scope="session")
def perennial() -> Perennial:
    binary = os.environ.get("PERENNIAL_BIN")
    assert binary, "PERENNIAL_BIN must name the binary to test"
    return Perennial(os.path.abspath(binary))


@pytest.fixture
def rng(request) -> random.Random:
    """Seeded by the test's name: every run sees the same cases."""
    return random.Random(request.node.name)


@pytest_asyncio.fixture(scope="session")
async def running(tmp_path_factory):
    """The session's server and a client of it."""
    database = str(tmp_path_factory.mktemp("server") / "conformance.db")
    server = DevServer(free_port(), database, http_port=free_port())
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
