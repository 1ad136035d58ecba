"""Create, describe, update, patch and delete, as clients see them."""

import datetime as dt
import uuid

import pytest
from dev_server import is_temporal
from payloads import seconds
from refusals import refused
from temporalio.api.common.v1 import RetryPolicy
from temporalio.api.schedule import v1 as proto
from temporalio.api.workflowservice import v1 as api
from temporalio.client import (
    Client,
    ScheduleAlreadyRunningError,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleSpec,
    ScheduleUpdate,
)
from temporalio.service import RPCError
from waiting import until

import flows
from scheduled import CALL, EVERY_SECOND, IDENTITY, Scheduled, overlap_policy

HOURLY = ScheduleSpec(intervals=[ScheduleIntervalSpec(every=dt.timedelta(hours=1))])
A_DAY = (dt.datetime(2026, 1, 1, tzinfo=dt.UTC), dt.datetime(2026, 1, 2, tzinfo=dt.UTC))


async def test_describe_tells_what_create_was_told(scheduled):
    policy = SchedulePolicy(
        overlap=ScheduleOverlapPolicy.BUFFER_ONE, catchup_window=dt.timedelta(minutes=5), pause_on_failure=True
    )
    action = scheduled.action(flows.Returns.run, "input", run_timeout=dt.timedelta(minutes=1))
    state = {"note": "why", "paused": True, "limited_actions": True, "remaining_actions": 3}
    handle = await scheduled.create(HOURLY, action, policy=policy, **state)
    description = await handle.describe()
    schedule = description.schedule
    assert description.id == scheduled.id
    assert schedule.action.workflow == "Returns"
    assert schedule.action.id == scheduled.id
    assert schedule.action.task_queue == scheduled.task_queue
    assert schedule.action.run_timeout == dt.timedelta(minutes=1)
    assert [payload.data for payload in schedule.action.args] == [b'"input"']
    assert schedule.spec.intervals[0].every == dt.timedelta(hours=1)
    assert schedule.policy == policy
    assert (schedule.state.note, schedule.state.paused) == ("why", True)
    assert (schedule.state.limited_actions, schedule.state.remaining_actions) == (True, 3)
    assert description.info.num_actions == 0
    assert description.info.recent_actions == []
    assert description.info.created_at
    assert description.info.last_updated_at is None


async def test_what_is_left_out_has_a_default(scheduled):
    await scheduled.create_raw()
    schedule = (await scheduled.describe()).schedule
    assert schedule.policies.overlap_policy == overlap_policy("SKIP")
    assert schedule.policies.catchup_window == seconds(365 * 24 * 60 * 60)
    assert not schedule.state.paused


async def test_describe_shows_ten_future_times(scheduled):
    await scheduled.create(HOURLY)
    info = await scheduled.until_info(lambda info: info.future_action_times)
    assert len(info.future_action_times) == 10
    times = [time.ToSeconds() for time in info.future_action_times]
    assert times == [times[0] + 3600 * n for n in range(10)]
    assert times[0] % 3600 == 0


async def test_a_schedule_that_exists_is_not_created_again(scheduled):
    await scheduled.create()
    with pytest.raises(ScheduleAlreadyRunningError):
        await scheduled.create(HOURLY)
    assert (await scheduled.handle.describe()).schedule.spec.intervals == []


async def test_a_repeated_create_with_other_request_id_is_already_exists(scheduled):
    await scheduled.create_raw()
    answer = await refused(scheduled.create_raw())
    assert answer.code == "ALREADY_EXISTS"
    assert answer.detail_names == ["WorkflowExecutionAlreadyStartedFailure"]


async def test_a_repeated_create_with_the_same_request_id_gets_the_same_answer(scheduled):
    request_id = str(uuid.uuid4())
    first = await scheduled.create_raw(request_id=request_id)
    second = await scheduled.create_raw(request_id=request_id)
    assert first.conflict_token
    assert second == first


async def test_an_update_replaces_the_whole_schedule(scheduled):
    handle = await scheduled.create(HOURLY, note="first", overlap=ScheduleOverlapPolicy.BUFFER_ALL)
    other = scheduled.schedule(EVERY_SECOND, scheduled.action(flows.Returns.run), paused=True)
    await handle.update(lambda _: ScheduleUpdate(schedule=other))
    description = await handle.describe()
    assert description.schedule.spec.intervals[0].every == dt.timedelta(seconds=1)
    assert description.schedule.action.workflow == "Returns"
    assert description.schedule.policy.overlap == ScheduleOverlapPolicy.SKIP
    assert description.schedule.state.note is None
    assert description.schedule.state.paused
    assert description.info.last_updated_at


async def test_what_describe_tells_can_be_given_back_to_update(scheduled):
    handle = await scheduled.create(HOURLY, scheduled.action(flows.Returns.run, "kept", memo={"k": "v"}))
    before = await scheduled.describe()

    def change(given):
        given.description.schedule.state.note = "changed"
        return ScheduleUpdate(schedule=given.description.schedule)

    await handle.update(change)
    after = await scheduled.describe()
    assert after.schedule.action == before.schedule.action
    assert after.schedule.spec == before.schedule.spec
    assert after.schedule.state.notes == "changed"


@pytest.mark.parametrize("policy", [{}, {"maximum_attempts": 3}, {"initial_interval": seconds(2)}])
async def test_the_retry_policy_of_an_action_is_given_back_as_it_was_set(scheduled, policy):
    """Its runs have the rest of it too."""
    schedule = scheduled.raw_schedule()
    schedule.action.start_workflow.retry_policy.CopyFrom(RetryPolicy(**policy))
    await scheduled.create_raw(schedule)
    given_back = (await scheduled.describe()).schedule.action.start_workflow
    assert given_back.HasField("retry_policy")
    assert given_back.retry_policy == RetryPolicy(**policy)

    run = scheduled.client.get_workflow_handle(await scheduled.trigger())

    async def started():
        try:
            return (await run.fetch_history()).events[0].workflow_execution_started_event_attributes
        except RPCError:
            return None

    whole = (await until(started)).retry_policy
    assert whole.maximum_attempts == policy.get("maximum_attempts", 0)
    assert whole.initial_interval == policy.get("initial_interval", seconds(1))
    assert whole.backoff_coefficient == 2
    await run.terminate()


async def test_each_change_of_configuration_changes_the_conflict_token(scheduled):
    tokens = [(await scheduled.create_raw()).conflict_token]
    await scheduled.update_raw()
    tokens.append((await scheduled.describe()).conflict_token)
    await scheduled.patch(pause="for a while")
    tokens.append((await scheduled.describe()).conflict_token)
    await scheduled.patch(unpause="on we go")
    tokens.append((await scheduled.describe()).conflict_token)
    assert len(set(tokens)) == len(tokens)


async def test_a_trigger_does_not_change_the_conflict_token(scheduled):
    token = (await scheduled.create_raw()).conflict_token
    await scheduled.until_status(await scheduled.trigger(), "RUNNING")
    assert (await scheduled.describe()).conflict_token == token


async def test_an_update_with_the_current_conflict_token_succeeds(scheduled):
    token = (await scheduled.create_raw()).conflict_token
    await scheduled.update_raw(scheduled.raw_schedule(state=proto.ScheduleState(notes="new")), conflict_token=token)
    assert (await scheduled.state()).notes == "new"


@pytest.mark.differs_from_temporal("it drops such an update, and says that it succeeded")
async def test_an_update_with_an_old_conflict_token_is_refused(scheduled):
    token = (await scheduled.create_raw()).conflict_token
    await scheduled.update_raw(scheduled.raw_schedule(state=proto.ScheduleState(notes="new")))
    late = scheduled.raw_schedule(state=proto.ScheduleState(notes="late"))
    answer = await refused(scheduled.update_raw(late, conflict_token=token))
    assert answer.code == "FAILED_PRECONDITION"
    assert (await scheduled.state()).notes == "new"


async def test_an_update_without_a_conflict_token_is_unconditional(scheduled):
    await scheduled.create_raw()
    for notes in ["one", "two"]:
        await scheduled.update_raw(scheduled.raw_schedule(state=proto.ScheduleState(notes=notes)))
        assert (await scheduled.state()).notes == notes


async def test_an_update_makes_new_future_times(scheduled):
    await scheduled.create(HOURLY)
    before = await scheduled.until_info(lambda info: info.future_action_times)
    daily = proto.ScheduleSpec(interval=[proto.IntervalSpec(interval=seconds(86_400))])
    await scheduled.update_raw(scheduled.raw_schedule(daily))
    after = await scheduled.until_info(lambda info: info.future_action_times[1:] != before.future_action_times[1:])
    times = [time.ToSeconds() for time in after.future_action_times]
    assert times[1] - times[0] == 86_400


async def test_a_deleted_schedule_is_not_found(scheduled):
    handle = await scheduled.create()
    await handle.delete()
    calls = {
        "describe": scheduled.describe,
        "update": scheduled.update_raw,
        "patch": lambda: scheduled.patch(pause="no"),
        "trigger": scheduled.trigger,
        "delete": lambda: delete(scheduled),
    }
    if not is_temporal():
        # It says FAILED_PRECONDITION: there is a workflow with that id, but it has ended.
        calls["matching times"] = lambda: scheduled.matching_times(*A_DAY)
    answers = {call: (await refused(ask())).code for call, ask in calls.items()}
    assert answers == dict.fromkeys(calls, "NOT_FOUND")


async def test_a_schedule_that_never_was_is_not_found(scheduled):
    assert (await refused(scheduled.describe())).code == "NOT_FOUND"
    assert (await refused(scheduled.update_raw())).code == "NOT_FOUND"
    assert (await refused(scheduled.patch(pause="no"))).code == "NOT_FOUND"
    assert (await refused(delete(scheduled))).code == "NOT_FOUND"
    assert (await refused(scheduled.matching_times(*A_DAY))).code == "NOT_FOUND"


async def test_the_id_of_a_deleted_schedule_can_be_used_again(scheduled):
    handle = await scheduled.create(HOURLY, note="old", paused=True)
    await handle.delete()
    handle = await scheduled.create(note="new")
    description = await handle.describe()
    assert description.schedule.state.note == "new"
    assert not description.schedule.state.paused
    assert description.schedule.spec.intervals == []
    assert description.info.num_actions == 0


async def test_delete_leaves_the_runs_alone(scheduled):
    handle = await scheduled.create()
    run = await scheduled.trigger()
    await scheduled.until_status(run, "RUNNING")
    await handle.delete()
    await scheduled.finish(run)


async def test_schedules_of_two_namespaces_share_nothing(scheduled, client, name):
    """The same id exists in both."""
    other = f"other-{name[-8:]}"
    register = api.RegisterNamespaceRequest(
        namespace=other, workflow_execution_retention_period=seconds(86_400)
    )
    await client.workflow_service.register_namespace(register, timeout=CALL)
    there = Scheduled(await Client.connect(client.service_client.config.target_host, namespace=other), name, "none")

    async def known_there():
        try:
            await there.remove()
            return True
        except RPCError:
            return False

    await until(known_there)
    await scheduled.create(note="here")
    assert (await refused(there.describe())).code == "NOT_FOUND"
    await there.create(note="there")
    assert (await scheduled.state()).notes == "here"
    await there.remove()
    assert (await scheduled.state()).notes == "here"


async def delete(scheduled):
    request = api.DeleteScheduleRequest(
        namespace=scheduled.namespace, schedule_id=scheduled.id, identity=IDENTITY
    )
    await scheduled.service.delete_schedule(request, timeout=CALL)


