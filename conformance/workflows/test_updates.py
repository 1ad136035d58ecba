"""W8: updates."""

import asyncio

import pytest
from temporalio.api.enums.v1 import EventType, ResourceExhaustedCause
from temporalio.api.enums.v1 import UpdateWorkflowExecutionLifecycleStage as Stage
from temporalio.api.enums.v1 import WorkflowIdConflictPolicy, WorkflowIdReusePolicy
from temporalio.api.workflowservice import v1 as api

from commands import complete_workflow, continue_as_new, start_timer
from histories import attributes, event_types, only
from payloads import values
from refusals import refused
from updates import (
    ACCEPTED,
    accept,
    accept_and_complete,
    acceptance,
    complete,
    failed_response,
    placed,
    poll_update,
    reject,
    rejection,
    request_of,
    send_update,
    send_update_with_start,
)


def stage(answer) -> str:
    return Stage.Name(answer.stage).removeprefix("UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_")


async def idle(scene):
    """An open run whose first workflow task is done."""
    run = await scene.start()
    await scene.answer()
    return run


async def test_an_update_reaches_the_worker_as_a_message(scene):
    await idle(scene)
    updating = send_update(scene, "u", "change", 1, "two")
    task = await scene.workflow_task()
    [message] = task.messages
    assert message.protocol_instance_id == "u"
    assert message.event_id == 5
    request = request_of(message)
    assert request.meta.update_id == "u"
    assert request.meta.identity == "conformance"
    assert request.input.name == "change"
    assert values(request.input.args) == [1, "two"]
    await accept_and_complete(scene, task, "done")
    await updating


async def test_an_update_answers_its_outcome_and_records_it(scene):
    run = await idle(scene)
    updating = send_update(scene, "u", "change", 1)
    await accept_and_complete(scene, await scene.workflow_task(), "changed")
    answer = await updating
    assert values(answer.outcome.success) == ["changed"]
    assert stage(answer) == "COMPLETED"
    assert answer.update_ref.update_id == "u"
    assert answer.update_ref.workflow_execution.run_id == run.run_id
    events = await scene.history()
    accepted = attributes(only(events, "WorkflowExecutionUpdateAccepted"))
    assert accepted.protocol_instance_id == "u"
    assert values(accepted.accepted_request.input.args) == [1]
    done = attributes(only(events, "WorkflowExecutionUpdateCompleted"))
    assert done.meta.update_id == "u"
    assert values(done.outcome.success) == ["changed"]


async def test_an_update_may_fail(scene):
    await idle(scene)
    updating = send_update(scene, "u", "change")
    task = await scene.workflow_task()
    messages = [acceptance(task.messages[0]), failed_response("u", "broken")]
    await scene.complete_task(task, *map(placed, messages), messages=messages)
    answer = await updating
    assert answer.outcome.failure.message == "broken"
    assert stage(answer) == "COMPLETED"


async def test_a_wait_for_acceptance_answers_before_the_outcome(scene):
    await idle(scene)
    updating = send_update(scene, "u", "change", wait_for=ACCEPTED)
    await accept(scene, await scene.workflow_task(), start_timer("t", 0.1))
    answer = await updating
    assert stage(answer) == "ACCEPTED"
    assert not answer.HasField("outcome")
    polling = asyncio.create_task(poll_update(scene, "u"))
    await complete(scene, await scene.workflow_task(), "u", "later")
    polled = await polling
    assert values(polled.outcome.success) == ["later"]
    assert stage(polled) == "COMPLETED"


async def test_the_same_update_id_is_the_same_update(scene):
    await idle(scene)
    first = send_update(scene, "u", "change", 1)
    await accept_and_complete(scene, await scene.workflow_task(), "once")
    assert values((await first).outcome.success) == ["once"]
    again = await send_update(scene, "u", "change", 1)
    assert values(again.outcome.success) == ["once"]
    assert event_types(await scene.history()).count("WorkflowExecutionUpdateAccepted") == 1


async def test_the_outcome_can_be_read_after_the_run_closed(scene):
    await idle(scene)
    updating = send_update(scene, "u", "change")
    await accept_and_complete(scene, await scene.workflow_task(), "kept", then=(complete_workflow(),))
    await updating
    assert values((await poll_update(scene, "u")).outcome.success) == ["kept"]
    assert values((await send_update(scene, "u", "change")).outcome.success) == ["kept"]


async def test_a_rejected_update_can_be_sent_again_under_the_same_id(scene):
    await idle(scene)
    updating = send_update(scene, "u", "change")
    await reject(scene, await scene.workflow_task(), "not now")
    assert (await updating).outcome.failure.message == "not now"
    again = send_update(scene, "u", "change")
    await accept_and_complete(scene, await scene.workflow_task(), "now")
    assert values((await again).outcome.success) == ["now"]


def forgetting(can_forget: bool):
    return api.RespondWorkflowTaskCompletedRequest.Capabilities(
        discard_speculative_workflow_task_with_events=can_forget
    )


async def test_after_a_rejected_update_the_worker_goes_back_to_the_start_of_its_last_task(scene):
    await scene.start()
    await scene.answer(start_timer("t", 100))
    updating = send_update(scene, "u", "change")
    task = await scene.workflow_task()
    refusal = rejection(task.messages[0], "not now")
    answer = await scene.complete_task(task, messages=[refusal], capabilities=forgetting(True))
    await updating
    last_task = only(await scene.history(), "WorkflowTaskStarted")
    assert answer.reset_history_event_id == last_task.event_id == 3


async def test_a_rejected_update_stays_in_the_history_if_the_worker_cannot_forget_what_came_with_it(scene):
    await scene.start()
    await scene.answer(start_timer("t", 100))
    updating = send_update(scene, "u", "change")
    task = await scene.workflow_task()
    refusal = rejection(task.messages[0], "not now")
    answer = await scene.complete_task(task, messages=[refusal], capabilities=forgetting(False))
    await updating
    assert answer.reset_history_event_id == 0
    assert event_types(await scene.history()).count("WorkflowTaskCompleted") == 2


async def test_an_update_that_a_worker_ignores_leaves_no_trace(scene):
    await idle(scene)
    updating = send_update(scene, "u", "change")
    answer = await scene.complete_task(await scene.workflow_task())
    assert "wasn't processed by worker" in (await updating).outcome.failure.message
    assert answer.reset_history_event_id == 3
    assert event_types(await scene.history())[-1] == "WorkflowTaskCompleted"
    assert len(await scene.history()) == 4


async def test_an_update_without_an_id_gets_one(scene):
    await idle(scene)
    updating = send_update(scene, "", "change")
    task = await scene.workflow_task()
    await accept_and_complete(scene, task, 1)
    assert (await updating).update_ref.update_id == task.messages[0].protocol_instance_id != ""


async def test_an_unknown_update_is_not_found(scene):
    await idle(scene)
    answer = await refused(poll_update(scene, "nobody"))
    assert (answer.code, answer.message) == ("NOT_FOUND", 'update "nobody" not found')


async def test_an_update_of_a_closed_run_is_not_found(scene):
    await scene.start()
    await scene.answer(complete_workflow())
    answer = await refused(send_update(scene, "u", "change"))
    assert (answer.code, answer.message) == ("NOT_FOUND", "workflow execution already completed")


async def test_an_update_without_a_name_is_refused(scene):
    await idle(scene)
    answer = await refused(send_update(scene, "u", ""))
    assert (answer.code, answer.message) == ("INVALID_ARGUMENT", "Update name is not set on request.")


async def test_an_update_of_another_first_run_is_not_found(scene):
    first = await scene.start()
    await scene.answer(complete_workflow())
    await idle(scene)
    answer = await refused(send_update(scene, "u", "change", first_execution_run_id=first.run_id))
    assert (answer.code, answer.message) == ("NOT_FOUND", "workflow execution not found")


async def test_an_accepted_update_fails_when_the_run_closes(scene):
    await idle(scene)
    updating = send_update(scene, "u", "change")
    await accept(scene, await scene.workflow_task(), complete_workflow())
    answer = await updating
    assert answer.outcome.failure.message == (
        "Workflow Update failed because the Workflow completed before the Update completed."
    )
    assert answer.outcome.failure.application_failure_info.type == "AcceptedUpdateCompletedWorkflow"


async def test_an_update_nobody_accepted_is_not_found_once_the_run_closes(scene):
    await idle(scene)
    updating = send_update(scene, "u", "change")
    await scene.workflow_task()
    await scene.terminate()
    answer = await refused(updating)
    assert (answer.code, answer.message) == ("NOT_FOUND", "workflow update was aborted by closing workflow")


async def test_an_update_with_start_starts_and_updates(scene):
    updating = send_update_with_start(scene, "u", "change", 1)
    await accept_and_complete(scene, await scene.workflow_task(), "both")
    started, updated = (await updating).responses
    assert started.start_workflow.started
    assert values(updated.update_workflow.outcome.success) == ["both"]
    assert event_types(await scene.history())[3:] == [
        "WorkflowTaskCompleted",
        "WorkflowExecutionUpdateAccepted",
        "WorkflowExecutionUpdateCompleted",
    ]


async def test_an_update_with_start_updates_the_open_run(scene):
    run = await idle(scene)
    updating = send_update_with_start(scene, "u", "change", 1)
    await accept_and_complete(scene, await scene.workflow_task(), "there")
    started, updated = (await updating).responses
    assert not started.start_workflow.started
    assert started.start_workflow.run_id == run.run_id
    assert values(updated.update_workflow.outcome.success) == ["there"]


STRICT_START = {
    "workflow_id_conflict_policy": WorkflowIdConflictPolicy.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
    "workflow_id_reuse_policy": WorkflowIdReusePolicy.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
}


async def test_an_update_with_start_finds_its_update_whatever_the_start_may_do(scene):
    run = await idle(scene)
    first = send_update(scene, "u", "change", wait_for=ACCEPTED)
    await accept(scene, await scene.workflow_task())
    await first
    started, updated = (
        await send_update_with_start(scene, "u", "change", start=STRICT_START, wait_for=ACCEPTED)
    ).responses
    assert not started.start_workflow.started
    assert started.start_workflow.run_id == run.run_id
    assert stage(updated.update_workflow) == "ACCEPTED"


async def test_an_update_with_start_finds_the_update_that_a_closed_run_completed(scene):
    run = await idle(scene)
    first = send_update(scene, "u", "change")
    await accept_and_complete(scene, await scene.workflow_task(), "done", then=(complete_workflow(),))
    await first
    for start in {}, STRICT_START:
        started, updated = (await send_update_with_start(scene, "u", "change", start=start)).responses
        assert not started.start_workflow.started
        assert started.start_workflow.run_id == run.run_id
        assert values(updated.update_workflow.outcome.success) == ["done"]


async def test_an_update_with_start_begins_anew_if_a_closed_run_left_the_update_unfinished(scene):
    run = await idle(scene)
    first = send_update(scene, "u", "change", wait_for=ACCEPTED)
    await accept(scene, await scene.workflow_task(), complete_workflow())
    await first
    updating = send_update_with_start(scene, "u", "change")
    await accept_and_complete(scene, await scene.workflow_task(), "anew")
    started, updated = (await updating).responses
    assert started.start_workflow.started
    assert started.start_workflow.run_id != run.run_id
    assert values(updated.update_workflow.outcome.success) == ["anew"]


async def test_an_update_with_start_that_may_not_use_the_open_run_fails_as_a_whole(scene):
    await idle(scene)
    fail = WorkflowIdConflictPolicy.WORKFLOW_ID_CONFLICT_POLICY_FAIL
    updating = send_update_with_start(scene, "u", "change", start={"workflow_id_conflict_policy": fail})
    answer = await refused(updating)
    assert answer.code == "ALREADY_EXISTS"
    assert answer.detail_names == ["MultiOperationExecutionFailure"]
    assert answer.message == "Update-with-Start could not be executed."
    started, updated = answer.detail.statuses
    assert (started.code, updated.code) == (6, 10)
    assert started.message.startswith("Workflow execution is already running.")
    assert started.details[0].type_url.endswith("WorkflowExecutionAlreadyStartedFailure")
    assert updated.message == "Operation was aborted."
    assert updated.details[0].type_url.endswith("temporal.api.failure.v1.MultiOperationExecutionAborted")


async def test_an_update_accepted_and_completed_at_once_is_told_of_as_completed(scene):
    await idle(scene)
    updating = send_update(scene, "u", "change", wait_for=ACCEPTED)
    await accept_and_complete(scene, await scene.workflow_task(), "done")
    answer = await updating
    assert (stage(answer), values(answer.outcome.success)) == ("COMPLETED", ["done"])


async def test_a_workflow_whose_task_keeps_failing_takes_no_updates(scene):
    await scene.start()
    for _ in range(2):
        await scene.fail_task(await scene.workflow_task())
    answer = await refused(send_update(scene, "u", "change"))
    assert (answer.code, answer.detail_names) == ("FAILED_PRECONDITION", ["WorkflowNotReadyFailure"])
    assert answer.message == "Unable to perform workflow execution update due to Workflow Task in failed state."


async def test_a_workflow_may_reject_an_update_and_close(scene):
    await idle(scene)
    updating = send_update(scene, "u", "change")
    task = await scene.workflow_task()
    await scene.complete_task(task, complete_workflow(), messages=[rejection(task.messages[0], "too late")])
    assert (await updating).outcome.failure.message == "too late"


async def test_an_update_that_a_worker_ignores_fails_for_good(scene):
    await idle(scene)
    updating = send_update(scene, "u", "change")
    await scene.complete_task(await scene.workflow_task())
    info = (await updating).outcome.failure.application_failure_info
    assert (info.type, info.non_retryable) == ("UnprocessedUpdate", True)


async def test_an_update_that_the_next_run_of_a_chain_could_take_may_be_sent_again(scene):
    await idle(scene)
    updating = send_update(scene, "u", "change")
    await scene.answer(continue_as_new("Flow", scene.task_queue))
    answer = await refused(updating)
    assert answer.code == "RESOURCE_EXHAUSTED"
    assert answer.detail.cause == ResourceExhaustedCause.RESOURCE_EXHAUSTED_CAUSE_BUSY_WORKFLOW


@pytest.mark.parametrize("end", ["completed", "terminated", "reset"])
async def test_an_update_with_start_starts_after_all_if_the_run_closes_before_it_accepts(scene, end):
    first = await idle(scene)
    updating = send_update_with_start(scene, "u", "change")
    task = await scene.workflow_task()
    if end == "completed":
        await scene.complete_task(task, complete_workflow())
    elif end == "terminated":
        await scene.terminate()
    else:
        await scene.reset(4)
    task = await scene.workflow_task()
    assert task.workflow_execution.run_id != first.run_id
    await accept_and_complete(scene, task, "done")
    [started, updated] = (await updating).responses
    assert started.start_workflow.run_id == task.workflow_execution.run_id
    assert values(updated.update_workflow.outcome.success) == ["done"]


async def test_an_answer_to_an_update_links_to_what_became_of_it(scene):
    run = await idle(scene)
    accepting = send_update(scene, "u", "change")
    await accept_and_complete(scene, await scene.workflow_task())
    link = (await accepting).link.workflow_event
    assert (link.workflow_id, link.run_id) == (scene.workflow_id, run.run_id)
    assert link.request_id_ref.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED
    rejecting = send_update(scene, "v", "change")
    await reject(scene, await scene.workflow_task(), "no")
    link = (await rejecting).link.workflow
    assert (link.workflow_id, link.run_id, link.reason) == (scene.workflow_id, run.run_id, "Update rejected")
