"""Fixtures of the command lines' tests: a worker for all of them, and both tools for each."""

import asyncio
import os
import uuid

import pytest
import pytest_asyncio
from dev_server import NAMESPACE, TEMPORAL
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

import subjects
from tools import Both, Tool


@pytest_asyncio.fixture(scope="session")
async def task_queue(client) -> str:
    """A worker polls it for as long as the tests run."""
    name = f"cli-{uuid.uuid4().hex[:8]}"
    # The sandbox guards workflow code, and these tests are about the command lines.
    worker = Worker(client, task_queue=name, workflows=subjects.ALL, workflow_runner=UnsandboxedWorkflowRunner())
    polling = asyncio.create_task(worker.run())
    yield name
    await worker.shutdown()
    await polling


@pytest.fixture
def both(server, perennial, name) -> Both:
    if not os.path.exists(TEMPORAL):
        pytest.skip("there is no Temporal CLI: pip install -r conformance/requirements.txt")

    def tool(which: str, executable: str) -> Tool:
        flags = ("--address", server.address, "--namespace", NAMESPACE, "--disable-config-file")
        return Tool(which, executable, flags, f"{name}-{which}")

    # Ids of the same length: a history's size is compared with what it holds.
    return Both(tool("theirs", TEMPORAL), tool("ours--", perennial.binary))
