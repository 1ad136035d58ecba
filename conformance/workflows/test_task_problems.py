"""W3: a workflow task that keeps failing is reported in describe, lists and search attributes."""

import asyncio
import json

from temporalio.api.enums.v1 import WorkflowTaskFailedCause as Cause
from temporalio.api.workflowservice import v1 as api

from commands import complete_workflow, failure
from payloads import seconds
from scene import CALL
from sticky import sticky_poller_is_known
from waiting import until

# So many failures in a row are reported.
ENOUGH = 5
PROBLEMS = ["category=WorkflowTaskFailed", "cause=WorkflowTaskFailedCauseNonDeterministicError"]


async def fail(scene, message: str = "the code has changed"):
    task = await scene.workflow_task()
    cause = Cause.WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR
    await scene.fail_task(task, cause=cause, failure=failure(message))


async def reported(scene) -> list[str]:
    attributes = (await scene.describe()).workflow_execution_info.search_attributes.indexed_fields
    if "TemporalReportedProblems" not in attributes:
        return []
    payload = attributes["TemporalReportedProblems"]
    assert payload.metadata["type"] == b"KeywordList"
    return json.loads(payload.data)


async def listed(scene, condition: str) -> list[str]:
    query = f"WorkflowId = '{scene.workflow_id}' AND {condition}"
    request = api.ListWorkflowExecutionsRequest(namespace=scene.namespace, query=query)
    answer = await scene.service.list_workflow_executions(request, timeout=CALL)
    return [execution.execution.workflow_id for execution in answer.executions]


async def test_the_fifth_failure_in_a_row_is_reported_until_a_task_is_completed(scene):
    await scene.start()
    for _ in range(ENOUGH - 1):
        await fail(scene)
    assert await reported(scene) == []
    await fail(scene)
    assert await reported(scene) == PROBLEMS
    assert (await scene.describe()).pending_workflow_task.attempt == ENOUGH + 1
    await scene.complete_task(await scene.workflow_task())
    assert await reported(scene) == []


async def test_lists_find_runs_whose_task_keeps_failing(scene):
    await scene.start()
    for _ in range(ENOUGH):
        await fail(scene)
    for condition in (
        "TemporalReportedProblems IS NOT NULL",
        "TemporalReportedProblems = 'category=WorkflowTaskFailed'",
        "TemporalReportedProblems IN ('cause=WorkflowTaskFailedCauseNonDeterministicError')",
    ):
        await until(lambda: listed(scene, condition))
    await scene.complete_task(await scene.workflow_task(), complete_workflow())
    await until(lambda: listed(scene, "TemporalReportedProblems IS NULL AND ExecutionStatus = 'Completed'"))


async def test_signals_between_failures_do_not_hide_them(scene):
    await scene.start()
    for _ in range(ENOUGH):
        task = await scene.workflow_task()
        assert task.attempt == 1
        await scene.signal("s")
        cause = Cause.WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR
        await scene.fail_task(task, cause=cause)
    assert await reported(scene) == PROBLEMS


async def test_a_terminated_run_still_tells_of_its_problem(scene):
    await scene.start()
    for _ in range(ENOUGH):
        await fail(scene)
    await scene.terminate()
    assert await reported(scene) == PROBLEMS


async def test_a_failure_of_the_worker_that_remembers_the_run_is_no_attempt(scene):
    sticky = f"{scene.task_queue}-sticky"
    await scene.start()
    await scene.complete_task(await scene.workflow_task(), sticky=sticky)
    polling = asyncio.create_task(scene.workflow_task(sticky=sticky))
    await sticky_poller_is_known(scene, sticky)
    await scene.signal("s")
    await scene.fail_task(await polling)
    task = await scene.workflow_task()
    assert task.attempt == 1
    await scene.fail_task(task)
    assert (await scene.workflow_task()).attempt == 2


async def test_a_timeout_of_the_worker_that_remembers_the_run_is_no_attempt(scene):
    sticky = f"{scene.task_queue}-sticky"
    await scene.start(workflow_task_timeout=seconds(1))
    await scene.complete_task(await scene.workflow_task(), sticky=sticky)
    polling = asyncio.create_task(scene.workflow_task(sticky=sticky))
    await sticky_poller_is_known(scene, sticky)
    await scene.signal("s")
    assert (await polling).attempt == 1
    # Nobody answers.
    assert (await scene.workflow_task()).attempt == 1
    assert (await scene.workflow_task()).attempt == 2
