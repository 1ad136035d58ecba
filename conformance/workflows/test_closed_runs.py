"""Describe of a closed run shows what was pending."""

import pytest
from temporalio.api.enums.v1 import PendingActivityState, PendingWorkflowTaskState

from commands import complete_workflow, continue_as_new, fail_workflow, failure, retry, schedule_activity, start_child
from waiting import until


async def complete(scene):
    await scene.answer(complete_workflow())


async def fail(scene):
    await scene.answer(fail_workflow())


async def go_on(scene):
    await scene.answer(continue_as_new("Flow", scene.task_queue + "-next"))


async def terminate(scene):
    await scene.terminate()


@pytest.mark.parametrize("close", [complete, fail, go_on, terminate])
async def test_describe_of_a_closed_run_lists_what_was_pending(scene, close):
    run = await scene.start()
    await scene.answer(
        schedule_activity("waits", scene.task_queue + "-nobody", input={"payloads": [{"data": b"x"}]}),
        schedule_activity("runs", scene.task_queue),
        schedule_activity("fails", scene.task_queue + "-fails", retry_policy=retry(interval=300)),
        start_child(scene.workflow_id + "-child", scene.task_queue + "-nobody", parent_close_policy=2),
    )
    await scene.heartbeat(await scene.activity_task(), "so far")
    await scene.fail_activity(await scene.activity_task(scene.task_queue + "-fails"), failure("once"))

    async def pending():
        described = await scene.describe(run.run_id)
        if not all(child.run_id for child in described.pending_children):
            return None
        activities = {one.activity_id: one for one in described.pending_activities}
        return activities, list(described.pending_children)

    await scene.signal("wake up")
    before = await until(pending, lambda got: got and got[0]["fails"].attempt == 2)
    await close(scene)
    assert await scene.status(run.run_id) != "RUNNING"
    activities, [child] = await pending()
    assert (activities, [child]) == before
    assert child.workflow_id == scene.workflow_id + "-child"
    states = {name: PendingActivityState.Name(one.state).rsplit("_", 1)[1] for name, one in activities.items()}
    assert states == {"waits": "SCHEDULED", "runs": "STARTED", "fails": "SCHEDULED"}
    assert activities["fails"].last_failure.message == "once"
    assert activities["runs"].heartbeat_details.payloads[0].data == b'"so far"'


async def test_describe_of_a_closed_run_shows_the_task_that_nobody_took(scene):
    await scene.start()
    await scene.terminate()
    task = (await scene.describe()).pending_workflow_task
    assert task.state == PendingWorkflowTaskState.PENDING_WORKFLOW_TASK_STATE_SCHEDULED


async def test_describe_of_a_run_that_left_nothing_is_empty(scene):
    await scene.start()
    await scene.answer(complete_workflow())
    described = await scene.describe()
    assert not described.pending_activities
    assert not described.pending_children
    assert not described.HasField("pending_workflow_task")
