"""Fixtures of the schedule tests: one worker for all of them, a schedule for each."""

import asyncio
import uuid

import pytest_asyncio
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

import flows
from scheduled import Scheduled


@pytest_asyncio.fixture(scope="session")
async def task_queue(client) -> str:
    """A worker polls it for as long as the tests run."""
    name = f"schedules-{uuid.uuid4().hex[:8]}"
    # The sandbox guards workflow code, and these tests are about the server.
    worker = Worker(client, task_queue=name, workflows=flows.ALL, workflow_runner=UnsandboxedWorkflowRunner())
    polling = asyncio.create_task(worker.run())
    yield name
    await worker.shutdown()
    await polling


@pytest_asyncio.fixture
async def scheduled(client, name, task_queue):
    """The test's own schedule, not yet created. It is gone afterwards, and starts nothing more."""
    made = Scheduled(client, name, task_queue)
    yield made
    await made.remove()
