"""The SDK's own test environment, with the server under test in place of the one it would download."""

import pytest
from temporalio import workflow
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes
from temporalio.testing import WorkflowEnvironment

from dev_server import under_test
from ports import free_port
from scene import Scene
from sdk_worker import worker

CITY = SearchAttributeKey.for_keyword("City")
SUGGEST_CONTINUE_AT = 4


@workflow.defn
class Greeting:
    @workflow.run
    async def run(self, name: str) -> str:
        await workflow.sleep(0.01)
        return f"hello {name}"


@workflow.defn
class SuggestedToContinue:
    @workflow.run
    async def run(self) -> bool:
        await workflow.sleep(0.01)
        return workflow.info().is_continue_as_new_suggested()


async def environment(**options) -> WorkflowEnvironment:
    return await WorkflowEnvironment.start_local(dev_server_existing_path=under_test(), **options)


async def test_it_starts_with_nothing_but_the_path(name):
    async with await environment() as env:
        async with worker(Scene(env.client, name), [Greeting]):
            assert await env.client.execute_workflow(Greeting.run, "you", id=name, task_queue=name) == "hello you"


async def test_it_starts_with_everything_that_can_be_asked_of_it(name, tmp_path):
    port = free_port()
    async with await environment(
        namespace="shop",
        ip="127.0.0.1",
        port=port,
        ui=True,
        ui_port=free_port(),
        search_attributes=[CITY],
        dev_server_database_filename=str(tmp_path / "shop.db"),
        dev_server_log_format="json",
        dev_server_log_level="error",
        dev_server_extra_args=[
            "--dynamic-config-value",
            f"limit.historyCount.suggestContinueAsNew={SUGGEST_CONTINUE_AT}",
            "--dynamic-config-value",
            "system.forceSearchAttributesCacheRefreshOnRead=true",
        ],
    ) as env:
        assert (env.client.namespace, env.client.service_client.config.target_host) == ("shop", f"127.0.0.1:{port}")
        city = TypedSearchAttributes([SearchAttributePair(CITY, "Oslo")])
        async with worker(Scene(env.client, name), [SuggestedToContinue]):
            handle = await env.client.start_workflow(
                SuggestedToContinue.run, id=name, task_queue=name, search_attributes=city
            )
            assert await handle.result()
        assert (await handle.describe()).typed_search_attributes[CITY] == "Oslo"


async def test_the_file_it_was_given_keeps_the_runs(name, tmp_path):
    file = str(tmp_path / "kept.db")
    async with await environment(dev_server_database_filename=file) as env:
        await env.client.start_workflow("Greeting", "you", id=name, task_queue=name)
    async with await environment(dev_server_database_filename=file) as env:
        async with worker(Scene(env.client, name), [Greeting]):
            assert await env.client.get_workflow_handle(name).result() == "hello you"


@pytest.mark.parametrize("log_level", ["debug", "info", "warn", "error", "never"])
async def test_it_takes_each_log_level(log_level):
    async with await environment(dev_server_log_level=log_level) as env:
        assert await env.client.count_workflows() is not None
