"""Formats histories as tables that people can read and compare."""

from collections.abc import Sequence

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent

# Shown besides the ids of other events, where they aren't the default.
SHOWN = {
    "attempt",
    "activity_id",
    "timer_id",
    "marker_name",
    "signal_name",
    "cause",
    "retry_state",
    "timeout_type",
    "failure_cause",
    "initiator",
}


def event_type(event: HistoryEvent) -> str:
    """`WorkflowExecutionStarted`, …"""
    name = EventType.Name(event.event_type).removeprefix("EVENT_TYPE_")
    return "".join(word.capitalize() for word in name.split("_"))


def event_types(events: Sequence[HistoryEvent]) -> list[str]:
    return [event_type(event) for event in events]


def attributes(event: HistoryEvent) -> Message:
    return getattr(event, event.WhichOneof("attributes"))


def only(events: Sequence[HistoryEvent], kind: str) -> HistoryEvent:
    """The one event of that type."""
    [event] = [event for event in events if event_type(event) == kind]
    return event


def table(events: Sequence[HistoryEvent]) -> str:
    """A line for each event: its id, its type and what it refers to."""
    return "\n".join(line(event) for event in events)


def line(event: HistoryEvent) -> str:
    words = [str(event.event_id), event_type(event)]
    told = attributes(event)
    for field, value in told.ListFields():
        if field.name.endswith("_event_id"):
            words.append(f"{field.name.removesuffix('_event_id')}={value}")
        elif field.name in SHOWN:
            words.append(f"{field.name}={shown(field, value)}")
    failure = getattr(told, "failure", None)
    if failure is not None and failure.HasField("timeout_failure_info"):
        info = failure.timeout_failure_info
        kind = info.DESCRIPTOR.fields_by_name["timeout_type"]
        words.append(f"timeout_type={shown(kind, info.timeout_type)}")
    return " ".join(words)


def shown(field: FieldDescriptor, value) -> str:
    if field.enum_type is None:
        return str(value)
    prefix = "".join("_" + letter if letter.isupper() else letter for letter in field.enum_type.name)
    return field.enum_type.values_by_number[value].name.removeprefix(prefix.strip("_").upper() + "_")


def expected(text: str) -> str:
    """A table written in a test, without its indentation."""
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())
