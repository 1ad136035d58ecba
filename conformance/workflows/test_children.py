"""W9: child workflows and what happens to them when their parent closes."""

import pytest
from temporalio.api.common.v1 import WorkflowType
from temporalio.api.enums.v1 import ParentClosePolicy, RetryState, WorkflowIdReusePolicy

from commands import (
    cancel_external,
    cancel_workflow,
    complete_workflow,
    continue_as_new,
    fail_workflow,
    retry,
    start_child,
)
from histories import attributes, event_type, expected, only, table
from payloads import memo, payloads, search_attributes, seconds, value, values
from waiting import until


class Family:
    """A parent that has started one child, each on a task queue of its own."""

    def __init__(self, scene):
        self.scene = scene
        self.child = scene.workflow_id + "-child"

    async def start(self, parent=None, **child):
        await self.scene.start(**(parent or {}))
        await self.scene.answer(start_child(self.child, self.child, **child))
        # The parent is told that the child has started.
        self.told = await self.scene.answer()

    async def child_answers(self, *commands):
        task = await self.scene.workflow_task(self.child)
        await self.scene.complete_task(task, *commands)
        return task

    async def child_status(self) -> str:
        return await self.scene.status(workflow_id=self.child)


@pytest.fixture
def family(scene) -> Family:
    return Family(scene)


async def test_a_child_gets_what_its_parent_said(family, scene):
    await family.start(
        workflow_type=WorkflowType(name="Kid"),
        input=payloads("in"),
        memo=memo(m=1),
        search_attributes=search_attributes(CustomKeywordField="k"),
        workflow_run_timeout=seconds(33),
        retry_policy=retry(attempts=2),
    )
    initiated = attributes(only(family.told.history.events, "StartChildWorkflowExecutionInitiated"))
    assert initiated.workflow_id == family.child
    assert initiated.parent_close_policy == ParentClosePolicy.PARENT_CLOSE_POLICY_TERMINATE
    first = attributes((await scene.history(workflow_id=family.child))[0])
    assert first.workflow_type.name == "Kid"
    assert values(first.input) == ["in"]
    assert value(first.memo.fields["m"]) == 1
    assert value(first.search_attributes.indexed_fields["CustomKeywordField"]) == "k"
    assert first.workflow_run_timeout.seconds == 33
    assert first.retry_policy.maximum_attempts == 2
    assert first.parent_workflow_namespace == "default"
    assert first.root_workflow_execution.workflow_id == scene.workflow_id
    info = (await scene.describe(workflow_id=family.child)).workflow_execution_info
    assert info.parent_execution.workflow_id == scene.workflow_id
    assert info.root_execution.workflow_id == scene.workflow_id
    [pending] = (await scene.describe()).pending_children
    assert pending.workflow_id == family.child
    assert pending.workflow_type_name == "Kid"
    assert pending.initiated_id == 5


async def test_a_child_hears_nothing_of_empty_fields(family, scene):
    await family.start(
        memo=memo(a=None, b=[], c=1), search_attributes=search_attributes(CustomKeywordField=None)
    )
    initiated = attributes(only(family.told.history.events, "StartChildWorkflowExecutionInitiated"))
    first = attributes((await scene.history(workflow_id=family.child))[0])
    assert list(initiated.memo.fields) == list(first.memo.fields) == ["c"]
    assert not initiated.HasField("search_attributes")
    assert not first.HasField("search_attributes")


async def test_the_result_of_a_child_reaches_its_parent(family, scene):
    await family.start()
    await family.child_answers(complete_workflow("grown"))
    events = (await scene.workflow_task()).history.events
    assert values(attributes(only(events, "ChildWorkflowExecutionCompleted")).result) == ["grown"]
    assert (await scene.describe()).pending_children == []


async def test_the_failure_of_a_child_reaches_its_parent(family, scene):
    await family.start()
    await family.child_answers(fail_workflow("broken"))
    told = attributes(only((await scene.workflow_task()).history.events, "ChildWorkflowExecutionFailed"))
    assert told.failure.message == "broken"
    assert told.retry_state == RetryState.RETRY_STATE_RETRY_POLICY_NOT_SET


async def test_a_child_is_retried_before_its_parent_hears_of_it(family, scene):
    await family.start(retry_policy=retry(attempts=2))
    await family.child_answers(fail_workflow("once"))
    again = await family.child_answers(complete_workflow("twice"))
    assert attributes(again.history.events[0]).attempt == 2
    events = (await scene.workflow_task()).history.events
    assert values(attributes(only(events, "ChildWorkflowExecutionCompleted")).result) == ["twice"]


async def test_a_parent_waits_through_the_continue_as_new_of_a_child(family, scene):
    await family.start()
    await family.child_answers(continue_as_new("Child", family.child))
    await family.child_answers(complete_workflow("second run"))
    events = (await scene.workflow_task()).history.events
    assert values(attributes(only(events, "ChildWorkflowExecutionCompleted")).result) == ["second run"]


@pytest.mark.parametrize("how", ["terminated", "timed out", "canceled"])
async def test_a_parent_hears_of_every_other_end(family, scene, how):
    await family.start(workflow_run_timeout=seconds(1 if how == "timed out" else 60))
    if how == "terminated":
        await scene.terminate(workflow_id=family.child)
        expected_event = "ChildWorkflowExecutionTerminated"
    elif how == "canceled":
        await scene.cancel(workflow_id=family.child)
        await family.child_answers(cancel_workflow("bye"))
        expected_event = "ChildWorkflowExecutionCanceled"
    else:
        expected_event = "ChildWorkflowExecutionTimedOut"
    told = attributes(only((await scene.workflow_task()).history.events, expected_event))
    assert told.workflow_execution.workflow_id == family.child
    assert (told.initiated_event_id, told.started_event_id) == (5, 6)


async def test_a_child_whose_id_is_taken_fails_to_start(family, scene):
    await scene.start(workflow_id=family.child)
    await scene.answer()
    await scene.start()
    await scene.answer(start_child(family.child, family.child))
    events = (await scene.workflow_task()).history.events
    assert table(events[4:6]) == expected("""
        5 StartChildWorkflowExecutionInitiated workflow_task_completed=4
        6 StartChildWorkflowExecutionFailed cause=WORKFLOW_ALREADY_EXISTS initiated=5
    """)


async def test_a_parent_cancels_its_child(family, scene):
    await family.start()
    await family.child_answers()
    await scene.signal("stop")
    await scene.answer(cancel_external(family.child, child_workflow_only=True))
    task = await family.child_answers(cancel_workflow())
    assert event_type(task.history.events[-3]) == "WorkflowExecutionCancelRequested"
    # One task for the acknowledged request, one for the end, or one for both.
    task = await scene.workflow_task()
    if "ChildWorkflowExecutionCanceled" not in [event_type(event) for event in task.history.events]:
        await scene.complete_task(task)
        task = await scene.workflow_task()
    assert only(task.history.events, "ExternalWorkflowExecutionCancelRequested")
    assert only(task.history.events, "ChildWorkflowExecutionCanceled")


POLICIES = [
    # policy, what becomes of the child
    ("UNSPECIFIED", "TERMINATED"),
    ("TERMINATE", "TERMINATED"),
    ("ABANDON", "RUNNING"),
    ("REQUEST_CANCEL", "asked to cancel"),
]


async def fate(family, scene) -> str:
    status = await family.child_status()
    if (await scene.describe(workflow_id=family.child)).workflow_extended_info.cancel_requested:
        return "asked to cancel"
    return status


@pytest.mark.parametrize("policy, becomes", POLICIES)
async def test_the_parent_close_policy_decides_what_becomes_of_a_child(family, scene, policy, becomes):
    await family.start(parent_close_policy=ParentClosePolicy.Value(f"PARENT_CLOSE_POLICY_{policy}"))
    await scene.signal("end")
    await scene.answer(complete_workflow())
    await until(lambda: fate(family, scene), lambda fate: fate == becomes)
    if becomes == "TERMINATED":
        closed = attributes((await scene.history(workflow_id=family.child))[-1])
        assert closed.reason == "by parent close policy"


@pytest.mark.parametrize("how", ["failed", "terminated", "timed out"])
async def test_the_parent_close_policy_holds_for_every_end_of_the_parent(family, scene, how):
    await family.start(parent={"workflow_run_timeout": seconds(3)} if how == "timed out" else {})
    if how == "failed":
        await scene.signal("end")
        await scene.answer(fail_workflow())
    elif how == "terminated":
        await scene.terminate()
    await until(family.child_status, lambda status: status == "TERMINATED")


async def test_a_parent_that_continues_as_new_leaves_its_child_to_the_policy(family, scene):
    await family.start()
    await scene.signal("go on")
    await scene.answer(continue_as_new("Flow", scene.task_queue))
    await until(family.child_status, lambda status: status == "TERMINATED")


async def test_an_abandoned_child_lives_on(family, scene):
    await family.start(parent_close_policy=ParentClosePolicy.PARENT_CLOSE_POLICY_ABANDON)
    await scene.terminate()
    await family.child_answers(complete_workflow("alone"))
    assert await family.child_status() == "COMPLETED"


async def test_a_child_obeys_the_reuse_policy(family, scene):
    await scene.start(workflow_id=family.child)
    await scene.answer(complete_workflow())
    await scene.start()
    reject = WorkflowIdReusePolicy.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE
    await scene.answer(start_child(family.child, family.child, workflow_id_reuse_policy=reject))
    events = (await scene.workflow_task()).history.events
    assert event_type(events[5]) == "StartChildWorkflowExecutionFailed"
