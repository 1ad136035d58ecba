"""W5: timers, markers, and changes of a workflow's own memo and search attributes."""

import pytest
from temporalio.api.common.v1 import Header

from commands import (
    cancel_activity,
    cancel_timer,
    command,
    complete_workflow,
    record_marker,
    schedule_activity,
    start_child,
    start_timer,
)
from histories import attributes, event_type, event_types, only
from payloads import memo, payload, payloads, search_attributes, value, values
from refusals import as_temporal_says, refused


async def test_a_timer_fires_no_earlier_than_asked(scene):
    await scene.start()
    await scene.answer(start_timer("t", 1))
    events = (await scene.workflow_task()).history.events
    started, fired = only(events, "TimerStarted"), only(events, "TimerFired")
    assert attributes(started).start_to_fire_timeout.seconds == 1
    assert fired.event_time.ToNanoseconds() - started.event_time.ToNanoseconds() >= 1_000_000_000


async def test_a_timer_of_no_time_fires_at_once(scene):
    await scene.start()
    await scene.answer(start_timer("t", 0))
    assert event_types((await scene.workflow_task()).history.events)[4:6] == ["TimerStarted", "TimerFired"]


async def test_timers_fire_in_the_order_they_are_due(scene):
    await scene.start()
    await scene.answer(start_timer("late", 0.9), start_timer("early", 0.3))
    fired = []
    while len(fired) < 2:
        task = await scene.workflow_task()
        await scene.complete_task(task)
        fired = [attributes(e).timer_id for e in task.history.events if event_type(e) == "TimerFired"]
    assert fired == ["early", "late"]


async def test_a_canceled_timer_never_fires_and_its_id_is_free_again(scene):
    await scene.start()
    await scene.answer(start_timer("t", 500))
    await scene.signal("go")
    await scene.answer(cancel_timer("t"), start_timer("t", 0.1))
    events = (await scene.workflow_task()).history.events
    assert event_types(events)[9:12] == ["TimerCanceled", "TimerStarted", "TimerFired"]


async def test_a_timer_of_a_closed_run_wakes_nobody(scene):
    await scene.start()
    await scene.answer(start_timer("t", 0.1), complete_workflow())
    assert event_type((await scene.history())[-1]) == "WorkflowExecutionCompleted"


async def test_a_marker_keeps_everything_it_was_given(scene):
    await scene.start()
    await scene.answer(
        command(
            "record_marker",
            marker_name="core_local_activity",
            details={"data": payloads("meta"), "result": payloads(5)},
            header=Header(fields={"h": payload("x")}),
        )
    )
    told = attributes(only(await scene.history(), "MarkerRecorded"))
    assert told.marker_name == "core_local_activity"
    assert values(told.details["result"]) == [5]
    assert value(told.header.fields["h"]) == "x"
    assert told.workflow_task_completed_event_id == 4


async def test_markers_keep_the_order_of_their_commands(scene):
    await scene.start()
    await scene.answer(
        record_marker("Version", id=payloads(1)), start_timer("t", 500), record_marker("SideEffect")
    )
    assert event_types(await scene.history())[4:] == ["MarkerRecorded", "TimerStarted", "MarkerRecorded"]


async def test_upserted_search_attributes_are_recorded_and_described(scene):
    await scene.start(search_attributes=search_attributes(CustomKeywordField="before", CustomIntField=1))
    await scene.answer(
        command(
            "upsert_workflow_search_attributes",
            search_attributes=search_attributes(CustomKeywordField="after"),
        )
    )
    told = attributes(only(await scene.history(), "UpsertWorkflowSearchAttributes"))
    assert value(told.search_attributes.indexed_fields["CustomKeywordField"]) == "after"
    fields = (await scene.describe()).workflow_execution_info.search_attributes.indexed_fields
    assert value(fields["CustomKeywordField"]) == "after"
    assert value(fields["CustomIntField"]) == 1


async def test_upserted_search_attributes_say_their_type_unless_the_workflow_does(scene):
    given = search_attributes(CustomDatetimeField="2003-04-05T06:07:08+09:00", CustomIntField=[7])
    given.indexed_fields["CustomKeywordField"].CopyFrom(payload("k"))
    given.indexed_fields["CustomKeywordField"].metadata["type"] = b"Text"
    await scene.start()
    await scene.answer(command("upsert_workflow_search_attributes", search_attributes=given))
    told = attributes(only(await scene.history(), "UpsertWorkflowSearchAttributes")).search_attributes
    described = (await scene.describe()).workflow_execution_info.search_attributes
    for fields in (told.indexed_fields, described.indexed_fields):
        custom = {key: field for key, field in fields.items() if key.startswith("Custom")}
        assert {key: field.metadata["type"] for key, field in custom.items()} == {
            "CustomDatetimeField": b"Datetime",
            "CustomIntField": b"Int",
            "CustomKeywordField": b"Text",
        }


async def test_an_upserted_memo_is_merged(scene):
    await scene.start(memo=memo(kept=1, changed="before"))
    await scene.answer(command("modify_workflow_properties", upserted_memo=memo(changed="after", new=True)))
    told = attributes(only(await scene.history(), "WorkflowPropertiesModified"))
    assert set(told.upserted_memo.fields) == {"changed", "new"}
    fields = (await scene.describe()).workflow_execution_info.memo.fields
    assert {key: value(field) for key, field in fields.items()} == {"kept": 1, "changed": "after", "new": True}


BAD = {
    "timer without an id": (
        lambda scene: [start_timer("", 1)],
        "BadStartTimerAttributes: TimerId is not set on StartTimerCommand.",
    ),
    "two timers with one id": (
        lambda scene: [start_timer("t", 9), start_timer("t", 9)],
        "StartTimerDuplicateId: invalid history builder state for action: add-timer-started-event, TimerID: t",
    ),
    "cancel of an unknown timer": (
        lambda scene: [cancel_timer("nobody")],
        "BadCancelTimerAttributes: invalid history builder state for action: add-timer-canceled-event,"
        " TimerID: nobody",
    ),
    "marker without a name": (
        lambda scene: [record_marker("")],
        "BadRecordMarkerAttributes: MarkerName is not set on RecordMarkerCommand.",
    ),
    "unknown search attribute": (
        lambda scene: [
            command("upsert_workflow_search_attributes", search_attributes=search_attributes(Nobody=1))
        ],
        "BadSearchAttributes: Namespace default has no mapping defined for search attribute Nobody",
    ),
    "search attribute that nobody sets": (
        lambda scene: [
            command("upsert_workflow_search_attributes", search_attributes=search_attributes(WorkflowType="x"))
        ],
        "BadSearchAttributes: WorkflowType attribute can't be set in SearchAttributes",
    ),
    "search attribute of another type": (
        lambda scene: [
            command("upsert_workflow_search_attributes", search_attributes=search_attributes(CustomIntField="five"))
        ],
        "BadSearchAttributes: invalid value for search attribute CustomIntField of type Int: five",
    ),
    "two values for a search attribute that has one": (
        lambda scene: [
            command("upsert_workflow_search_attributes", search_attributes=search_attributes(CustomIntField=[7, 8]))
        ],
        "BadSearchAttributes: invalid value for search attribute CustomIntField of type Int: [7 8]",
    ),
    "child with a search attribute of another type": (
        lambda scene: [
            start_child("child", scene.task_queue, search_attributes=search_attributes(CustomIntField="five"))
        ],
        "BadSearchAttributes: invalid SearchAttributes on StartChildWorkflowCommand: invalid value for search"
        " attribute CustomIntField of type Int: five. WorkflowId=child WorkflowType=Child Namespace=default",
    ),
    "two activities with one id": (
        lambda scene: [schedule_activity("a", scene.task_queue), schedule_activity("a", scene.task_queue)],
        "ScheduleActivityDuplicateId: invalid history builder state for action:"
        " add-activitytask-scheduled-event, ActivityID: a",
    ),
    "cancel of an unknown activity": (
        lambda scene: [cancel_activity(77)],
        "BadRequestCancelActivityAttributes: invalid history builder state for action:"
        " add-activitytask-cancel-requested-event, ScheduledEventID: 77",
    ),
    "a good command before a bad one": (
        lambda scene: [start_timer("ok", 9), start_timer("", 9)],
        "BadStartTimerAttributes: TimerId is not set on StartTimerCommand.",
    ),
}


@pytest.mark.parametrize("commands, message", BAD.values(), ids=BAD.keys())
async def test_a_bad_command_fails_the_workflow_task_and_changes_nothing(scene, commands, message):
    await scene.start()
    task = await scene.workflow_task()
    answer = await refused(scene.complete_task(task, *commands(scene)))
    assert (answer.code, as_temporal_says(answer.message)) == ("INVALID_ARGUMENT", message)
    events = await scene.history()
    failed = attributes(events[3])
    assert event_type(events[3]) == "WorkflowTaskFailed"
    assert as_temporal_says(failed.failure.message) == message
    again = await scene.workflow_task()
    assert again.attempt == 2


async def test_a_command_after_the_close_is_refused(scene):
    await scene.start()
    task = await scene.workflow_task()
    answer = await refused(scene.complete_task(task, complete_workflow(), start_timer("t", 1)))
    assert (answer.code, answer.message) == (
        "INVALID_ARGUMENT",
        "invalid command sequence: [CompleteWorkflowExecution, StartTimer],"
        " command CompleteWorkflowExecution must be the last command.",
    )
    # This one doesn't fail the workflow task: the worker may still answer it.
    await scene.complete_task(task, complete_workflow())
    assert await scene.status() == "COMPLETED"
