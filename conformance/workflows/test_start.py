"""W1: starting workflows."""

import asyncio
import uuid

import pytest
from temporalio.api.common.v1 import Header, Priority
from temporalio.api.enums.v1 import WorkflowIdConflictPolicy as Conflict
from temporalio.api.enums.v1 import WorkflowIdReusePolicy as Reuse
from temporalio.api.errordetails.v1 import WorkflowExecutionAlreadyStartedFailure
from temporalio.api.sdk.v1 import UserMetadata

from commands import complete_workflow, fail_workflow
from histories import attributes, event_types
from payloads import memo, payload, payloads, search_attributes, seconds, value, values
from refusals import as_temporal_says, refused


async def close_completed(scene):
    await scene.answer(complete_workflow())


async def close_failed(scene):
    await scene.answer(fail_workflow())


async def close_terminated(scene):
    await scene.terminate()


async def test_a_start_answers_a_new_run_that_is_running(scene):
    started = await scene.start()
    assert started.started
    assert uuid.UUID(started.run_id)
    described = (await scene.describe()).workflow_execution_info
    assert described.execution.run_id == described.first_run_id == started.run_id
    assert await scene.status() == "RUNNING"
    assert event_types(await scene.history()) == ["WorkflowExecutionStarted", "WorkflowTaskScheduled"]


async def test_the_first_event_carries_every_start_option(scene):
    started = await scene.start(
        input=payloads("a", 2),
        workflow_execution_timeout=seconds(300),
        workflow_run_timeout=seconds(200),
        workflow_task_timeout=seconds(7),
        memo=memo(why="because"),
        search_attributes=search_attributes(CustomKeywordField="blue", CustomIntField=5),
        header=Header(fields={"trace": payload("t")}),
        user_metadata=UserMetadata(summary=payload("short"), details=payload("long")),
        priority=Priority(priority_key=2),
    )
    [first, second] = await scene.history()
    told = attributes(first)
    assert told.workflow_type.name == "Flow"
    assert told.workflow_id == scene.workflow_id
    assert told.task_queue.name == scene.task_queue
    assert values(told.input) == ["a", 2]
    assert told.workflow_execution_timeout.seconds == 300
    assert told.workflow_run_timeout.seconds == 200
    assert told.workflow_task_timeout.seconds == 7
    assert told.identity == "conformance"
    assert told.attempt == 1
    assert told.original_execution_run_id == told.first_execution_run_id == started.run_id
    assert told.continued_execution_run_id == ""
    assert value(told.memo.fields["why"]) == "because"
    assert value(told.search_attributes.indexed_fields["CustomKeywordField"]) == "blue"
    assert value(told.search_attributes.indexed_fields["CustomIntField"]) == 5
    assert value(told.header.fields["trace"]) == "t"
    assert told.priority.priority_key == 2
    expires = told.workflow_execution_expiration_time.seconds - first.event_time.seconds
    assert 299 <= expires <= 301
    assert value(first.user_metadata.summary) == "short"
    assert value(first.user_metadata.details) == "long"
    scheduled = attributes(second)
    assert scheduled.task_queue.name == scene.task_queue
    assert scheduled.start_to_close_timeout.seconds == 7
    assert scheduled.attempt == 1


async def test_a_start_says_nothing_of_empty_fields(scene):
    """Where nothing is yet, there is nothing to remove."""
    await scene.start(
        memo=memo(a=None, b=[], c=1), search_attributes=search_attributes(CustomKeywordField=None, CustomIntField=[])
    )
    first = attributes((await scene.history())[0])
    info = (await scene.describe()).workflow_execution_info
    assert list(first.memo.fields) == list(info.memo.fields) == ["c"]
    assert not first.HasField("search_attributes")
    assert not info.search_attributes.indexed_fields


async def test_without_timeouts_only_the_workflow_task_has_one_of_ten_seconds(scene):
    await scene.start()
    told = attributes((await scene.history())[0])
    assert not told.HasField("workflow_execution_timeout")
    assert not told.HasField("workflow_run_timeout")
    assert told.workflow_task_timeout.seconds == 10
    config = (await scene.describe()).execution_config
    assert config.default_workflow_task_timeout.seconds == 10


async def test_the_run_timeout_is_never_longer_than_the_execution_timeout(scene):
    await scene.start(workflow_execution_timeout=seconds(60), workflow_run_timeout=seconds(600))
    assert attributes((await scene.history())[0]).workflow_run_timeout.seconds == 60


async def test_a_second_start_while_open_is_refused_and_names_the_run(scene):
    first = await scene.start(request_id="one")
    answer = await refused(scene.start())
    assert answer.code == "ALREADY_EXISTS"
    assert answer.message.startswith("Workflow execution is already running.")
    assert isinstance(answer.detail, WorkflowExecutionAlreadyStartedFailure)
    assert answer.detail.run_id == first.run_id
    assert answer.detail.first_execution_run_id == first.run_id
    assert answer.detail.start_request_id == "one"


async def test_a_repeated_request_id_answers_the_same_run(scene):
    first = await scene.start(request_id="same")
    again = await scene.start(request_id="same")
    assert again.run_id == first.run_id
    assert again.started
    assert len(await scene.history()) == 2


async def test_a_repeated_request_id_answers_the_same_run_after_it_progressed(scene):
    first = await scene.start(request_id="same")
    await scene.answer()
    again = await scene.start(request_id="same")
    assert again.run_id == first.run_id


async def test_starts_at_the_same_time_make_one_run(scene):
    answers = await asyncio.gather(*(scene.start() for _ in range(8)), return_exceptions=True)
    runs = [answer.run_id for answer in answers if not isinstance(answer, Exception)]
    assert runs == [(await scene.describe()).workflow_execution_info.execution.run_id]


REUSE = [
    # policy, how the last run closed, may start again
    ("ALLOW_DUPLICATE", close_completed, True),
    ("ALLOW_DUPLICATE", close_failed, True),
    ("ALLOW_DUPLICATE_FAILED_ONLY", close_completed, False),
    ("ALLOW_DUPLICATE_FAILED_ONLY", close_failed, True),
    ("ALLOW_DUPLICATE_FAILED_ONLY", close_terminated, True),
    ("REJECT_DUPLICATE", close_completed, False),
    ("REJECT_DUPLICATE", close_failed, False),
    ("REJECT_DUPLICATE", close_terminated, False),
]


@pytest.mark.parametrize("policy, close, allowed", REUSE)
async def test_the_reuse_policy_decides_after_a_close(scene, policy, close, allowed):
    first = await scene.start()
    await close(scene)
    again = scene.start(workflow_id_reuse_policy=Reuse.Value(f"WORKFLOW_ID_REUSE_POLICY_{policy}"))
    if allowed:
        assert (await again).run_id != first.run_id
        return
    answer = await refused(again)
    assert answer.code == "ALREADY_EXISTS"
    assert answer.detail.run_id == first.run_id
    why = {
        "REJECT_DUPLICATE": ("finished", "reject duplicate workflow Id"),
        "ALLOW_DUPLICATE_FAILED_ONLY": (
            "finished successfully",
            "allow duplicate workflow Id if last run failed",
        ),
    }
    how, rule = why[policy]
    run = f"WorkflowId: {scene.workflow_id}, RunId: {first.run_id}."
    assert answer.message == f"Workflow execution already {how}. {run} Workflow Id reuse policy: {rule}."


async def test_a_closed_run_with_the_same_request_id_is_answered_again(scene):
    first = await scene.start(request_id="same")
    await close_completed(scene)
    again = await scene.start(request_id="same")
    assert again.run_id == first.run_id


async def test_use_existing_answers_the_open_run(scene):
    first = await scene.start()
    again = await scene.start(workflow_id_conflict_policy=Conflict.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING)
    assert again.run_id == first.run_id
    assert not again.started


async def test_terminate_existing_ends_the_open_run_and_starts_another(scene):
    first = await scene.start()
    again = await scene.start(workflow_id_conflict_policy=Conflict.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING)
    assert again.started and again.run_id != first.run_id
    assert await scene.status(first.run_id) == "TERMINATED"
    closed = attributes(await scene.close_event(first.run_id))
    assert closed.reason == "TerminateIfRunning WorkflowIdReusePolicy"
    assert values(closed.details) == [f"terminated by new runID: {again.run_id}"]
    assert await scene.status() == "RUNNING"


async def test_terminate_if_running_ends_the_open_run_and_starts_another(scene):
    first = await scene.start()
    again = await scene.start(workflow_id_reuse_policy=Reuse.WORKFLOW_ID_REUSE_POLICY_TERMINATE_IF_RUNNING)
    assert again.run_id != first.run_id
    assert await scene.status(first.run_id) == "TERMINATED"
    assert await scene.status(again.run_id) == "RUNNING"


async def test_an_eager_start_answers_with_the_first_workflow_task(scene):
    started = await scene.start(request_eager_execution=True)
    task = started.eager_workflow_task
    assert task.task_token
    assert task.attempt == 1
    assert event_types(task.history.events) == [
        "WorkflowExecutionStarted",
        "WorkflowTaskScheduled",
        "WorkflowTaskStarted",
    ]
    await scene.complete_task(task, complete_workflow("eager"))
    assert await scene.status() == "COMPLETED"


INVALID = {
    "no workflow id": (dict(workflow_id=""), "WorkflowId is not set on request."),
    "long workflow id": (dict(workflow_id="x" * 1001), "WorkflowId exceeds maximum allowed length (1001/1000)"),
    "no workflow type": (dict(workflow_type=None), "WorkflowType is not set on request."),
    "no task queue": (dict(task_queue=None), "taskQueue is not set"),
    "negative timeout": (
        dict(workflow_run_timeout=seconds(-1)),
        "An invalid WorkflowRunTimeoutSeconds is set on request. cause: negative duration",
    ),
    "long request id": (dict(request_id="r" * 1001), "RequestId length exceeds limit."),
    "unreadable cron": (dict(cron_schedule="not a cron"), "invalid CronSchedule."),
    "two policies for an open run": (
        dict(
            workflow_id_reuse_policy=Reuse.WORKFLOW_ID_REUSE_POLICY_TERMINATE_IF_RUNNING,
            workflow_id_conflict_policy=Conflict.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
        ),
        "Invalid WorkflowIDReusePolicy: WORKFLOW_ID_REUSE_POLICY_TERMINATE_IF_RUNNING"
        " cannot be used together with a WorkflowIDConflictPolicy",
    ),
}


@pytest.mark.parametrize("fields, message", INVALID.values(), ids=INVALID.keys())
async def test_an_invalid_start_is_refused_with_a_reason(scene, fields, message):
    answer = await refused(scene.start(**fields))
    assert (answer.code, as_temporal_says(answer.message)) == ("INVALID_ARGUMENT", message)


@pytest.mark.differs_from_temporal("it doesn't say where")
async def test_an_unreadable_cron_is_refused_with_the_place(scene):
    answer = await refused(scene.start(cron_schedule="0 24 * * *"))
    assert answer.message == "\n".join(
        ["invalid CronSchedule. hour 24 is out of range 0–23; midnight is 0", "  0 24 * * *", "    ^^"]
    )


async def test_thousands_of_calls_at_once_on_one_connection_are_all_answered(scene):
    """None is tried again: each is answered the first time."""
    ids = [f"{scene.workflow_id}-{n}" for n in range(3_000)]
    started = await asyncio.gather(*(scene.start(workflow_id=workflow_id) for workflow_id in ids))
    assert len({run.run_id for run in started}) == len(ids)
