"""Fixtures of the comparisons: both servers."""

import os

import pytest
import pytest_asyncio
from comparing import both_servers
from dev_server import TEMPORAL


@pytest_asyncio.fixture(scope="session")
async def clients(tmp_path_factory):
    if not os.path.exists(TEMPORAL):
        pytest.skip("there is no Temporal server to compare with: pip install -r conformance/requirements.txt")
    async with both_servers(tmp_path_factory.mktemp("lockstep")) as clients:
        yield clients
