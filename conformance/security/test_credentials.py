"""API keys, tokens and certificates with the official SDK, Temporal's command line and ours."""

import asyncio
import datetime as dt
import json
import time

import pytest
from command_lines import SECONDS_MAX, first_key, output
from dev_server import NAMESPACE, TEMPORAL, DevServer
from ports import free_port
from scene import Scene
from sdk_worker import worker
from secured_server import SERVER_NAME, Guarded
from temporalio import activity, workflow
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice import v1 as api
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleIntervalSpec,
    ScheduleSpec,
)
from temporalio.service import RPCError, RPCStatusCode
from tokens import SigningKey

pytestmark = pytest.mark.differs_from_temporal("its development server asks for no credentials")

FORBIDDEN = RPCStatusCode.PERMISSION_DENIED
UNKNOWN = RPCStatusCode.UNAUTHENTICATED


@activity.defn
async def double(number: int) -> int:
    return 2 * number


@workflow.defn
class DoubledSum:
    """Adds what it is signaled, and doubles the sum in an activity."""

    def __init__(self):
        self.sum, self.is_complete = 0, False

    @workflow.run
    async def run(self) -> int:
        await workflow.wait_condition(lambda: self.is_complete)
        return await workflow.execute_activity(double, self.sum, start_to_close_timeout=dt.timedelta(seconds=10))

    @workflow.signal
    def add(self, number: int):
        self.sum += number

    @workflow.signal
    def complete(self):
        self.is_complete = True

    @workflow.query
    def so_far(self) -> int:
        return self.sum


@workflow.defn
class Doubled:
    @workflow.run
    async def run(self, number: int) -> int:
        return await workflow.execute_activity(double, number, start_to_close_timeout=dt.timedelta(seconds=10))


async def refusal(call) -> RPCStatusCode:
    with pytest.raises(RPCError) as refused:
        await call
    return refused.value.status


async def connected_as(guarded: Guarded, credential: str) -> Client:
    """A client with a credential that may be bad: connecting with it would fail before the first call does."""
    client = await guarded.connect(guarded.admin_key)
    client.service_client.update_api_key(credential)
    return client


async def run_to_the_end(client: Client, of_worker: Client, name: str):
    """`client` starts, signals and queries a workflow that a worker with another client runs."""
    async with worker(Scene(of_worker, name), [DoubledSum], [double]):
        handle = await client.start_workflow(DoubledSum.run, id=name, task_queue=name)
        await handle.signal(DoubledSum.add, 21)
        assert await handle.query(DoubledSum.so_far) == 21
        await handle.signal(DoubledSum.complete)
        assert await handle.result() == 42


async def test_key_of_a_worker_runs_workflows_and_starts_none(guarded, name):
    of_worker = await guarded.connect(await guarded.create_key(name, f"{NAMESPACE}:worker"))
    starter = await guarded.connect(await guarded.create_key(f"{name}-starter", f"{NAMESPACE}:write"))
    await run_to_the_end(starter, of_worker, name)

    assert await refusal(of_worker.start_workflow("Flow", id=f"{name}-2", task_queue=name)) == FORBIDDEN
    assert await refusal(of_worker.get_workflow_handle(name).signal("add", 1)) == FORBIDDEN
    assert await refusal(of_worker.get_workflow_handle(name).terminate()) == FORBIDDEN


async def test_key_of_another_namespace_is_of_no_use_here(guarded, name):
    elsewhere = await guarded.connect(await guarded.create_key(name, "elsewhere:admin"))
    assert await refusal(elsewhere.count_workflows()) == FORBIDDEN
    assert await refusal(elsewhere.start_workflow("Flow", id=name, task_queue=name)) == FORBIDDEN


async def test_callers_without_valid_credentials_are_refused(guarded):
    unknown = "perennial_" + "A" * 43
    for credential in [unknown, "a.b.c", guarded.admin_key[:-1]]:
        client = await connected_as(guarded, credential)
        assert await refusal(client.count_workflows()) == UNKNOWN
        with pytest.raises(RuntimeError, match="Unauthenticated"):
            await guarded.connect(credential)
    with pytest.raises(RuntimeError, match="Unauthenticated"):
        await guarded.connect(None)


async def test_revoked_key_ends_polls_and_is_refused_afterwards(guarded, name):
    of_worker = await guarded.connect(await guarded.create_key(name, f"{NAMESPACE}:worker"))
    async with worker(Scene(of_worker, name), [DoubledSum, Doubled], [double]):
        handle = await guarded.admin.start_workflow(DoubledSum.run, id=name, task_queue=name)
        assert await handle.query(DoubledSum.so_far) == 0
        # An empty queue: this poll would wait for a minute, and then end without an error.
        idle = Scene(of_worker, f"{name}-idle")
        poll = asyncio.create_task(idle.workflow_task())
        await until_polled(guarded.admin, idle.task_queue)

        await guarded.revoke_key(name)
        assert await refusal(poll) == UNKNOWN
        assert await refusal(of_worker.count_workflows()) == UNKNOWN
        # The worker itself gets no task any more, neither new ones nor of the workflow that it has in its cache.
        async with worker(Scene(guarded.admin, name), [DoubledSum], [double]):
            await handle.signal(DoubledSum.add, 21)
            await handle.signal(DoubledSum.complete)
            assert await handle.result() == 42
        # The SDK's worker retries until it has a valid key again, and only then can be shut down.
        of_worker.service_client.update_api_key(guarded.admin_key)
        result = await guarded.admin.execute_workflow(Doubled.run, 21, id=f"{name}-2", task_queue=name)
        assert result == 42


async def until_polled(client: Client, task_queue: str):
    """Waits until a worker polls for workflow tasks."""
    queue, kind = TaskQueue(name=task_queue), TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW
    request = api.DescribeTaskQueueRequest(namespace=NAMESPACE, task_queue=queue, task_queue_type=kind)
    deadline = time.monotonic() + SECONDS_MAX
    while not (await client.workflow_service.describe_task_queue(request)).pollers:
        assert time.monotonic() < deadline, "nobody polls"
        await asyncio.sleep(0.05)


async def test_keys_work_without_tls_on_this_machine(perennial, tmp_path, name):
    database = str(tmp_path / "plain.db")
    key = first_key(perennial.binary, database)
    server = DevServer(free_port(), database, flags=["--auth", "required"], api_key=key)
    admin = await server.start()
    try:
        await run_to_the_end(admin, admin, name)
        with pytest.raises((RPCError, RuntimeError)):
            client = await Client.connect(server.address, namespace=NAMESPACE)
            await client.count_workflows()
    finally:
        server.stop()


async def test_token_grants_what_its_permissions_say(guarded, name):
    of_worker = await guarded.connect(guarded.signing_key.token("worker", [f"{NAMESPACE}:worker"]))
    starter = await guarded.connect(guarded.signing_key.token("starter", [f"{NAMESPACE}:write"]))
    await run_to_the_end(starter, of_worker, name)
    assert await refusal(of_worker.start_workflow("Flow", id=f"{name}-2", task_queue=name)) == FORBIDDEN
    # Temporal's name for the whole server.
    everywhere = await guarded.connect(guarded.signing_key.token("auditor", ["temporal-system:read"]))
    await everywhere.count_workflows()
    assert await refusal(everywhere.get_workflow_handle(name).signal("add", 1)) == FORBIDDEN


async def test_tokens_of_others_are_refused(guarded, tmp_path):
    permissions, ours = ["temporal-system:admin"], guarded.signing_key
    bad = [
        SigningKey(tmp_path, "current").token("mallory", permissions),
        SigningKey(tmp_path, "unknown").token("mallory", permissions),
        ours.token("mallory", permissions, aud="another"),
        ours.token("mallory", permissions, iss="https://another.example"),
        ours.token("mallory", permissions, exp=int(time.time()) - 3600),
    ]
    for token in bad:
        client = await connected_as(guarded, token)
        assert await refusal(client.count_workflows()) == UNKNOWN


async def test_signing_keys_rotate_with_no_failed_call(guarded, tmp_path):
    permissions = [f"{NAMESPACE}:read"]
    new_key, old_key, other_key = SigningKey(tmp_path, "new"), guarded.retiring_key, guarded.signing_key
    old_token, new_token = old_key.token("reports", permissions), new_key.token("reports", permissions)
    caller = await guarded.connect(old_token)
    newcomer = await connected_as(guarded, new_token)
    retired = await guarded.connect(old_token)
    calls, is_over = 0, False

    async def call():
        nonlocal calls
        while not is_over:
            await caller.count_workflows()
            calls += 1

    async def until(client: Client, is_accepted: bool):
        deadline = time.monotonic() + SECONDS_MAX
        while True:
            assert time.monotonic() < deadline, "the server doesn't notice the new keys"
            try:
                await client.count_workflows()
                accepted = True
            except RPCError as refused:
                assert refused.status == UNKNOWN
                accepted = False
            if accepted == is_accepted:
                return
            await asyncio.sleep(0.1)

    calling = asyncio.create_task(call())
    # The new key is published before it signs, and the old one is removed after it does.
    guarded.keys.publish(other_key, old_key, new_key)
    await until(newcomer, is_accepted=True)
    caller.service_client.update_api_key(new_token)
    guarded.keys.publish(other_key, new_key)
    await until(retired, is_accepted=False)
    is_over = True
    await calling
    assert calls > 0


async def test_certificate_has_the_role_that_the_server_gives_it(guarded, name):
    reports = await guarded.connect(None, guarded.clients.issue("reports"))
    await reports.count_workflows()
    assert await refusal(reports.start_workflow("Flow", id=name, task_queue=name)) == FORBIDDEN
    # A certificate without a role proves who calls, and allows nothing.
    stranger = await guarded.connect(None, guarded.clients.issue("stranger"), lazy=True)
    assert await refusal(stranger.count_workflows()) in [FORBIDDEN, UNKNOWN]
    # With a key, the key decides.
    both = await guarded.connect(guarded.admin_key, guarded.clients.issue("reports"))
    handle = await both.start_workflow("Flow", id=name, task_queue=name)
    await handle.terminate()


@pytest.mark.parametrize("tool", ["temporal", "perennial"])
async def test_command_lines_send_keys_of_flags_variables_and_profiles(guarded, tmp_path, name, tool):
    executable = TEMPORAL if tool == "temporal" else guarded.binary
    key = await guarded.create_key(name, f"{NAMESPACE}:read")
    count = guarded.flags("workflow", "count", "--output", "json")
    code, said = await output(executable, *count)
    assert code != 0, said
    code, said = await output(executable, *count, "--api-key", key)
    assert code == 0, said
    code, said = await output(executable, *count, TEMPORAL_API_KEY=key)
    assert code == 0, said

    profile = tmp_path / "temporal.toml"
    profile.write_text(
        f"""
        [profile.guarded]
        address = "{guarded.server.address}"
        api_key = "{key}"
        [profile.guarded.tls]
        server_name = "{SERVER_NAME}"
        server_ca_cert_path = "{guarded.servers.certificate}"
        """
    )
    profile.chmod(0o600)
    by_profile = ["--config-file", str(profile), "--profile", "guarded"]
    code, said = await output(executable, "workflow", "count", *by_profile)
    assert code == 0, said
    # It may look, and no more.
    start = ["workflow", "start", "--type", "Flow", "--task-queue", name, "--workflow-id", name]
    code, said = await output(executable, *start, *by_profile)
    assert code != 0 and "role write" in said, said
    assert key not in said


async def test_audit_history_names_the_principal_whatever_the_client_claims(guarded, name):
    key = await guarded.create_key(name, f"{NAMESPACE}:write")
    client = await guarded.connect(key, identity="somebody-else")
    action = ScheduleActionStartWorkflow("Flow", id=name, task_queue=name)
    yearly = ScheduleSpec(intervals=[ScheduleIntervalSpec(every=dt.timedelta(days=365))])
    handle = await client.create_schedule(name, Schedule(action=action, spec=yearly))
    token = guarded.signing_key.token("alice", [f"{NAMESPACE}:write"])
    by_token = await guarded.connect(token, identity="bob")
    await by_token.get_schedule_handle(name).pause()

    history = guarded.flags("schedule", "history", name, "--output", "json", "--api-key", key)
    code, said = await output(guarded.binary, *history)
    assert code == 0, said
    authors = [json.dumps(event) for event in json.loads(said)["events"]]
    assert f"api-key:{name}" in authors[0], said
    assert any("alice" in author for author in authors), said
    await handle.delete()
