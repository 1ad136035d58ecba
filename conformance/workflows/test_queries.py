"""W7: queries."""

import asyncio
import datetime as dt

import pytest
from temporalio.api.common.v1 import Header
from temporalio.api.enums.v1 import QueryRejectCondition, QueryResultType, WorkflowExecutionStatus
from temporalio.api.query.v1 import WorkflowQuery, WorkflowQueryResult
from temporalio.api.workflowservice import v1 as api

from commands import complete_workflow, fail_workflow, failure, start_timer
from histories import event_type, event_types
from payloads import payload, payloads, seconds, value, values
from refusals import refused
from scene import CALL
from sticky import sticky_poller_is_known

ANSWERED = QueryResultType.QUERY_RESULT_TYPE_ANSWERED
FAILED = QueryResultType.QUERY_RESULT_TYPE_FAILED


def ask(scene, kind="state", *arguments, **fields) -> asyncio.Task:
    """In the background: the answer waits for the worker."""
    return asyncio.create_task(scene.query(kind, *arguments, **fields))


async def answer_query(scene, task, result_type=ANSWERED, **fields):
    request = api.RespondQueryTaskCompletedRequest(
        namespace=scene.namespace, task_token=task.task_token, completed_type=result_type, **fields
    )
    await scene.service.respond_query_task_completed(request, timeout=CALL)


async def test_a_query_of_an_idle_run_is_a_task_of_its_own(scene):
    await scene.start()
    await scene.answer()
    asking = ask(scene, "state", 1, "two")
    task = await scene.workflow_task()
    assert task.query.query_type == "state"
    assert values(task.query.query_args) == [1, "two"]
    assert not task.queries
    assert event_types(task.history.events)[-1] == "WorkflowTaskCompleted"
    await answer_query(scene, task, query_result=payloads("ok"))
    assert values((await asking).query_result) == ["ok"]
    # A query leaves nothing in the history.
    assert len(await scene.history()) == 4


async def test_a_query_carries_its_header(scene):
    await scene.start()
    await scene.answer()
    request = api.QueryWorkflowRequest(
        namespace=scene.namespace,
        execution=scene.execution(),
        query=WorkflowQuery(query_type="state", header=Header(fields={"h": payload("x")})),
    )
    asking = asyncio.create_task(scene.service.query_workflow(request, timeout=CALL))
    task = await scene.workflow_task()
    assert value(task.query.header.fields["h"]) == "x"
    await answer_query(scene, task, query_result=payloads(1))
    await asking


async def test_a_failed_query_is_told_to_the_caller(scene):
    await scene.start()
    await scene.answer()
    asking = ask(scene)
    await answer_query(
        scene, await scene.workflow_task(), FAILED, error_message="no such thing", failure=failure("no such thing")
    )
    answer = await refused(asking)
    assert (answer.code, answer.message) == ("INVALID_ARGUMENT", "no such thing")
    assert answer.detail_names == ["QueryFailedFailure"]
    assert answer.detail.failure.message == "no such thing"


async def test_a_query_before_the_first_workflow_task_completed_waits_for_it(scene):
    await scene.start()
    task = await scene.workflow_task()
    asking = ask(scene)
    # The worker hasn't answered yet: the query comes after the commands of this task.
    await scene.complete_task(task)
    query = await scene.workflow_task()
    assert query.query.query_type == "state"
    await answer_query(scene, query, query_result=payloads("after"))
    assert values((await asking).query_result) == ["after"]


async def test_a_query_sees_every_signal_acknowledged_before_it(scene):
    await scene.start()
    await scene.answer()
    await scene.signal("s", 1)
    asking = ask(scene)
    while True:
        task = await scene.workflow_task()
        if task.HasField("query"):
            await answer_query(scene, task, query_result=payloads("direct"))
            break
        answers = {
            key: WorkflowQueryResult(result_type=ANSWERED, answer=payloads("with the task"))
            for key in task.queries
        }
        await scene.complete_task(task, query_results=answers)
        if answers:
            break
    assert "WorkflowExecutionSignaled" in event_types(task.history.events)
    await asking


@pytest.mark.parametrize("good", [True, False], ids=["answered", "failed"])
async def test_a_query_while_a_workflow_task_waits_travels_with_it(scene, good):
    await scene.start()
    await scene.answer()
    await scene.signal("first")
    task = await scene.workflow_task()
    asking = ask(scene)
    # It is kept for the task after this one, which exists because of the second signal.
    await scene.signal("second")
    task = (await scene.complete_task(task, return_new_workflow_task=True)).workflow_task
    [(key, query)] = task.queries.items()
    assert query.query_type == "state"
    result = WorkflowQueryResult(result_type=ANSWERED, answer=payloads("yes"))
    if not good:
        result = WorkflowQueryResult(result_type=FAILED, error_message="no", failure=failure("no"))
    await scene.complete_task(task, query_results={key: result})
    if good:
        assert values((await asking).query_result) == ["yes"]
        return
    answer = await refused(asking)
    assert (answer.code, answer.message, answer.detail_names) == ("INVALID_ARGUMENT", "no", ["QueryFailedFailure"])


async def test_a_query_travels_with_the_next_task_when_its_first_one_fails(scene):
    await scene.start()
    asking = ask(scene)
    failing = await scene.workflow_task()
    await scene.fail_task(failing, failure=failure("not this time"))
    task = await scene.workflow_task()
    [(query_id, query)] = task.queries.items()
    assert query.query_type == "state"
    result = WorkflowQueryResult(result_type=ANSWERED, answer=payloads("after all"))
    await scene.complete_task(task, complete_workflow(), query_results={query_id: result})
    assert values((await asking).query_result) == ["after all"]


async def test_an_answer_with_a_task_that_has_timed_out_reaches_nobody(scene):
    def answer(query_id: str, what: str):
        return {query_id: WorkflowQueryResult(result_type=ANSWERED, answer=payloads(what))}

    await scene.start(workflow_task_timeout=seconds(1))
    asking = ask(scene)
    late = await scene.workflow_task()
    # The next one is there when the first has timed out.
    task = await scene.workflow_task()
    [query_id] = task.queries
    assert [*late.queries] in ([], [query_id])
    refusal = await refused(scene.complete_task(late, query_results=answer(query_id, "never happened")))
    assert refusal.code == "NOT_FOUND"
    await scene.complete_task(task, complete_workflow(), query_results=answer(query_id, "happened"))
    assert values((await asking).query_result) == ["happened"]


async def asked_with_a_task(scene):
    """A query, and the workflow task with which a worker has it."""
    await scene.start()
    task = await scene.workflow_task()
    asking = ask(scene)
    await scene.signal("s")
    task = (await scene.complete_task(task, return_new_workflow_task=True)).workflow_task
    assert len(task.queries) == 1
    return asking, task


async def test_an_answer_with_a_completion_that_is_refused_reaches_nobody(scene):
    def answers(task, what: str):
        result = WorkflowQueryResult(result_type=ANSWERED, answer=payloads(what))
        return {query_id: result for query_id in task.queries}

    asking, task = await asked_with_a_task(scene)
    await refused(scene.complete_task(task, start_timer("", 1), query_results=answers(task, "never happened")))
    # It comes again, with a task or by itself.
    while not ((task := await scene.workflow_task()).queries or task.HasField("query")):
        await scene.complete_task(task)
    if task.HasField("query"):
        await answer_query(scene, task, query_result=payloads("happened"))
    else:
        await scene.complete_task(task, query_results=answers(task, "happened"))
    assert values((await asking).query_result) == ["happened"]


@pytest.mark.differs_from_temporal("there it waits until it times out")
async def test_a_query_is_asked_again_when_its_run_is_terminated(scene):
    asking, _ = await asked_with_a_task(scene)
    await scene.terminate()
    task = await scene.workflow_task()
    assert task.query.query_type == "state"
    assert event_type(task.history.events[-1]) == "WorkflowExecutionTerminated"
    await answer_query(scene, task, query_result=payloads("the last there was"))
    assert values((await asking).query_result) == ["the last there was"]


async def test_whoever_asks_a_run_is_told_when_it_is_deleted(scene):
    asking, _ = await asked_with_a_task(scene)
    await scene.delete()
    assert (await refused(asking)).code == "NOT_FOUND"


async def test_a_run_that_closed_before_its_first_task_cannot_be_asked(scene):
    await scene.start()
    asking = ask(scene)
    await scene.terminate()
    refusals = {(it.code, it.message) for it in (await refused(scene.query("state")), await refused(asking))}
    assert refusals == {("FAILED_PRECONDITION", "Workflow execution closed before WorkflowTaskStarted event")}


async def test_a_task_completes_though_whoever_asked_has_gone(scene):
    request = api.QueryWorkflowRequest(
        namespace=scene.namespace, execution=scene.execution(), query=WorkflowQuery(query_type="state")
    )

    def ask_briefly():
        return refused(scene.service.query_workflow(request, timeout=dt.timedelta(seconds=1)))

    await scene.start()
    asking = asyncio.create_task(ask_briefly())
    await scene.fail_task(await scene.workflow_task(), failure=failure("not this time"))
    task = await scene.workflow_task()
    [query_id] = task.queries
    # Its own clock or the server's tells the caller first.
    assert {(await asking).code, (await ask_briefly()).code} <= {"DEADLINE_EXCEEDED", "CANCELLED"}
    result = WorkflowQueryResult(result_type=ANSWERED, answer=payloads("too late"))
    await scene.complete_task(task, complete_workflow(), query_results={query_id: result})
    assert await scene.status() == "COMPLETED"


async def test_a_closed_run_can_be_queried(scene):
    await scene.start()
    await scene.answer(complete_workflow())
    asking = ask(scene)
    task = await scene.workflow_task()
    assert event_type(task.history.events[-1]) == "WorkflowExecutionCompleted"
    await answer_query(scene, task, query_result=payloads("final"))
    assert values((await asking).query_result) == ["final"]


async def test_a_query_names_an_earlier_run(scene):
    first = await scene.start()
    await scene.answer(complete_workflow())
    await scene.start()
    await scene.answer()
    asking = ask(scene, run_id=first.run_id)
    task = await scene.workflow_task()
    assert task.workflow_execution.run_id == first.run_id
    await answer_query(scene, task, query_result=payloads(1))
    await asking


REJECTED = [
    # condition, how the run closed, the status it answers with (None: it isn't rejected)
    ("NOT_OPEN", complete_workflow, "COMPLETED"),
    ("NOT_COMPLETED_CLEANLY", complete_workflow, None),
    ("NOT_COMPLETED_CLEANLY", fail_workflow, "FAILED"),
    ("NONE", fail_workflow, None),
]


@pytest.mark.parametrize("condition, close, status", REJECTED)
async def test_a_query_can_be_rejected_by_status(scene, condition, close, status):
    await scene.start()
    await scene.answer(close())
    asking = ask(scene, query_reject_condition=QueryRejectCondition.Value(f"QUERY_REJECT_CONDITION_{condition}"))
    if status is None:
        await answer_query(scene, await scene.workflow_task(), query_result=payloads(1))
        assert not (await asking).HasField("query_rejected")
        return
    rejected = (await asking).query_rejected
    assert WorkflowExecutionStatus.Name(rejected.status) == f"WORKFLOW_EXECUTION_STATUS_{status}"


async def test_a_query_of_a_run_whose_first_task_failed_is_not_ready(scene):
    await scene.start()
    await scene.fail_task(await scene.workflow_task(), failure=failure("bug"))
    await scene.fail_task(await scene.workflow_task(), failure=failure("bug"))
    await scene.fail_task(await scene.workflow_task(), failure=failure("bug"))
    answer = await refused(scene.query("state"))
    assert (answer.code, answer.message) == (
        "FAILED_PRECONDITION",
        "Unable to query workflow due to Workflow Task in failed state.",
    )
    assert answer.detail_names == ["WorkflowNotReadyFailure"]


async def test_a_second_answer_to_a_query_is_not_found(scene):
    await scene.start()
    await scene.answer()
    asking = ask(scene)
    task = await scene.workflow_task()
    await answer_query(scene, task, query_result=payloads(1))
    await asking
    answer = await refused(answer_query(scene, task, query_result=payloads(2)))
    assert (answer.code, answer.message) == ("NOT_FOUND", "query task not found, or already expired")


async def test_a_sticky_worker_answers_a_query_without_the_history(scene):
    sticky = scene.task_queue + "-sticky"
    await scene.start()
    await scene.complete_task(await scene.workflow_task(), sticky=sticky)
    polling = asyncio.create_task(scene.workflow_task(sticky=sticky))
    await sticky_poller_is_known(scene, sticky)
    asking = ask(scene)
    task = await polling
    assert task.history.events == []
    assert task.query.query_type == "state"
    await answer_query(scene, task, query_result=payloads("cached"))
    assert values((await asking).query_result) == ["cached"]
