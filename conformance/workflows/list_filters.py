"""Generates list filters over the runs of `listed_runs`.

What differs from server to server stands in a filter as a place: `{StartTime[6]}` is the start of the fourth
run, `{StartTime[7]}` a time between that and the next one's. `Places` makes the text that a server is asked.
"""

import datetime as dt
import itertools
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from temporalio.api.workflow.v1 import WorkflowExecutionInfo

from listed_runs import CUSTOM_VALUES, FAMILY, QUEUES, TYPES, UPSERTED, name

NULLNESS = ["IS NULL", "IS NOT NULL"]
EQUALITY = ["=", "!="]
ORDER = ["<", "<=", ">", ">="]
SETS = ["IN", "NOT IN"]
RANGES = ["BETWEEN", "NOT BETWEEN"]
PREFIXES = ["STARTS_WITH", "NOT STARTS_WITH"]
COMPARING = EQUALITY + ORDER + SETS + RANGES + PREFIXES

# The grammar has them, and no attribute does.
UNSUPPORTED = ["LIKE", "NOT LIKE", "REGEXP", "<=>"]

SCALAR = EQUALITY + ORDER + SETS + RANGES + NULLNESS
SUPPORTED = {
    "Keyword": SCALAR + PREFIXES,
    "KeywordList": EQUALITY + SETS + NULLNESS,
    "Text": EQUALITY + NULLNESS,
    "Bool": EQUALITY + ORDER + SETS + NULLNESS,
    "Status": SCALAR,
    "Int": SCALAR,
    "Double": SCALAR,
    "Datetime": SCALAR,
}


@dataclass(frozen=True)
class Attribute:
    """Something to ask about, and what it can be compared with."""

    name: str
    kind: str
    values: Sequence[str]
    # Instead of the values, where those come in another order in every server.
    bounds: Sequence[str] = ()


def quoted(*values: str) -> list[str]:
    return [f"'{value}'" for value in values]


def times(attribute: str) -> list[str]:
    places = [f"{{{attribute}[{n}]}}" for n in (6, 13, 24, 31, 40)]
    return quoted(*places, "1970-01-01T00:00:00Z", "2099-01-01T02:00:00+02:00")


RUN_IDS = quoted("{RunId[0]}", "{RunId[1]}", "{RunId[12]}", "nobody")
RUN_ID_BOUNDS = quoted("0", "g")
STATUSES = ["Running", "Completed", "Failed", "Canceled", "Terminated", "ContinuedAsNew", "TimedOut", "Paused"]

SYSTEM = [
    Attribute(
        "WorkflowId",
        "Keyword",
        quoted("run-1", "run-12", "run-2", "delayed-running", FAMILY[0], "family-", "nobody"),
    ),
    Attribute("RunId", "Keyword", RUN_IDS, RUN_ID_BOUNDS),
    Attribute("WorkflowType", "Keyword", quoted(*TYPES, "Inv", "Child")),
    Attribute("TaskQueue", "Keyword", quoted(*QUEUES, FAMILY[1], "f")),
    Attribute("ExecutionStatus", "Status", [*quoted(*STATUSES), "1", "'WORKFLOW_EXECUTION_STATUS_FAILED'"]),
    Attribute("StartTime", "Datetime", times("StartTime")),
    Attribute("ExecutionTime", "Datetime", times("ExecutionTime")),
    Attribute("CloseTime", "Datetime", times("CloseTime")),
    Attribute(
        "ExecutionDuration",
        "Int",
        ["{ExecutionDuration[8]}", "'{ExecutionDuration[21]}ns'", *quoted("1h", "01:00:00", "-5m", "1d"), "0"],
    ),
    Attribute("HistoryLength", "Int", ["3", "4", "5", "6", "0", "5.5"]),
    # Both count in their own way: how many bytes an event has, in how many steps a child is started.
    Attribute("HistorySizeBytes", "Int", ["0", "1000000", "-1.5"]),
    Attribute("StateTransitionCount", "Int", ["0", "2", "1000"]),
    Attribute("ParentWorkflowId", "Keyword", quoted(*FAMILY, "family")),
    Attribute("ParentRunId", "Keyword", RUN_IDS, RUN_ID_BOUNDS),
    Attribute("RootWorkflowId", "Keyword", quoted(*FAMILY, "family", "run-1")),
    Attribute("RootRunId", "Keyword", RUN_IDS, RUN_ID_BOUNDS),
    # A schedule's id is the workflow's.
    Attribute("ScheduleId", "Keyword", quoted("run-1", FAMILY[0])),
]

# No run has a value.
PREDEFINED = [
    Attribute("TemporalScheduledById", "Keyword", quoted("x")),
    Attribute("TemporalScheduledStartTime", "Datetime", quoted("2026-11-01T12:00:00.251Z")),
    Attribute("TemporalSchedulePaused", "Bool", ["true"]),
    Attribute("TemporalChangeVersion", "KeywordList", quoted("x", "y")),
]

CUSTOM = [
    Attribute(
        "CustomKeywordField", "Keyword", quoted(*CUSTOM_VALUES["CustomKeywordField"], "re", "5", "%", "ét")
    ),
    Attribute(
        "CustomKeywordListField",
        "KeywordList",
        quoted("x", "y", "long word", "long", "red", "été", "50%", UPSERTED, "no"),
    ),
    Attribute(
        "CustomTextField",
        "Text",
        quoted("quick", "QUICK", "fox brown", "quick-silver", "silver quick", "cafe", "Café", "qui", "fox_trot")
        + quoted("trot", "lazy dog", "times!", "42", "-"),
    ),
    Attribute(
        "CustomIntField",
        "Int",
        ["-7", "0", "1", "5", "5.0", "4.5", "42", "9007199254740992", "9007199254740993", "1e30"]
        + ["-9223372036854775808", "9223372036854775807"],
    ),
    Attribute("`CustomIntField`", "Int", ["5", "-7"]),
    Attribute("CustomDoubleField", "Double", ["-1.5", "0", "0.1", "5", "2.25", "2.2500001", "1e20", "1e-7", "-2"]),
    Attribute("CustomBoolField", "Bool", ["true", "false", "TRUE"]),
    Attribute(
        "CustomDatetimeField",
        "Datetime",
        [*quoted(*CUSTOM_VALUES["CustomDatetimeField"], "2026-11-01T12:00:00.249Z"), "1793534400251000000"],
    ),
]

ATTRIBUTES = SYSTEM + PREDEFINED + CUSTOM

# Each reads its values in a way of its own.
READERS = [*CUSTOM, *(known for known in SYSTEM if known.name in ("ExecutionStatus", "ExecutionDuration"))]

# Of every sort that can be written.
LITERALS = [
    *quoted("word", "", " ", "5", "true", "Running", "5h", "2026-11-01", "2026-11-01T12:00:00.251Z"),
    *['"word"', "5", "-5", "1.5", "-1.5", "1e3", "99", "99999999999999999999", "0x1F"],
    *["true", "FALSE", "NULL", "StartTime", "word", "(5)", "lower('x')", "5 + 5", "~5"],
]

# Where they don't belong.
STRAY = [
    *["AND", "OR", "NOT", "IS", "NULL", "IN", "BETWEEN", "STARTS_WITH", "EXISTS", "Key", "true", "desc"],
    *["(", ")", ",", ";", "*", ".", "-", "--", "/*", "?", ":x", "@", "!", "=", "==", "<>", ">", "'", '"', "`"],
    *["é", "'word'", "5", "Nobody", "ORDER BY StartTime", "GROUP BY ExecutionStatus", "LIMIT 5"],
]

TOKEN = re.compile(r"'[^']*'|`\w+`|-?\d[\w.-]*|\w+|[<>=!]+|\S")


def every_operator_on_every_attribute(rng: random.Random) -> list[str]:
    asked = [*itertools.product(ATTRIBUTES, COMPARING + NULLNESS), *itertools.product(READERS, UNSUPPORTED)]
    return [condition(rng, attribute, operator) for attribute, operator in asked]


def every_literal_for_every_type(rng: random.Random) -> list[str]:
    asked = itertools.product(READERS, LITERALS)
    return [condition(rng, attribute, rng.choice(COMPARING), [literal]) for attribute, literal in asked]


def every_order() -> list[str]:
    """No attribute has one that can be asked for, but the refusals differ."""
    return [f"ORDER BY {attribute.name} DESC" for attribute in ATTRIBUTES]


def combined(rng: random.Random, depth: int = 2) -> str:
    """Conditions that fit, under AND, OR, NOT and brackets."""
    if depth == 0 or rng.random() < 0.2:
        attribute = rng.choice(SYSTEM + CUSTOM)
        made = condition(rng, attribute, rng.choice(SUPPORTED[attribute.kind]))
    else:
        join = rng.choice([" AND ", " OR ", " and ", " Or "])
        made = join.join(combined(rng, depth - 1) for _ in range(rng.randint(1, 3)))
        if rng.random() < 0.5:
            made = f"({made})"
    return f"NOT {made}" if rng.random() < 0.2 else made


def malformed(rng: random.Random) -> str:
    """A filter with a word or two out of place. Its places are filled with nothing: messages quote it."""
    tokens = TOKEN.findall(re.sub(r"\{.*?\}", "7", combined(rng)))
    for _ in range(rng.randint(1, 2)):
        at = rng.randrange(len(tokens) + 1)
        match rng.choice(["insert", "replace", "leave out", "swap"]):
            case "insert":
                tokens.insert(at, rng.choice(STRAY))
            case "replace":
                tokens[at : at + 1] = [rng.choice(STRAY)]
            case "leave out":
                del tokens[at : at + 1]
            case "swap":
                tokens[at : at + 2] = reversed(tokens[at : at + 2])
    return " ".join(tokens)


def condition(rng: random.Random, attribute: Attribute, operator: str, values: Sequence[str] = ()) -> str:
    """With values of the attribute's own, unless others are given."""
    if operator in NULLNESS:
        return f"{attribute.name} {operator}"
    if not values:
        ordered = operator in ORDER + RANGES and attribute.bounds
        values = attribute.bounds if ordered else attribute.values
    value = rng.choice(values)
    if operator in RANGES:
        value += f" AND {rng.choice(values)}"
    elif operator in SETS:
        value = "(" + ", ".join(rng.choices(values, k=rng.randint(1, 4))) + ")"
    return f"{attribute.name} {operator} {value}"


class Places:
    """What stands for the places of a filter in one server."""

    def __init__(self, runs: Sequence[WorkflowExecutionInfo]):
        closed = [run for run in runs if run.HasField("close_time")]
        self._places = {
            "RunId": [run.execution.run_id for run in sorted(runs, key=name)],
            "StartTime": [rfc3339(time) for time in at_and_between(run.start_time for run in runs)],
            "ExecutionTime": [rfc3339(time) for time in at_and_between(run.execution_time for run in runs)],
            "CloseTime": [rfc3339(time) for time in at_and_between(run.close_time for run in closed)],
            "ExecutionDuration": at_and_between(run.execution_duration for run in closed),
        }

    def fill(self, query: str) -> str:
        return query.format_map(self._places)


def at_and_between(values: Iterable[Timestamp | Duration]) -> list[int]:
    """In nanoseconds, in order: the values, and the middle of each two neighbours."""
    ordered = sorted(value.ToNanoseconds() for value in values)
    return sorted(ordered + [(low + high) // 2 for low, high in itertools.pairwise(ordered)])


def rfc3339(nanoseconds: int) -> str:
    time = dt.datetime.fromtimestamp(0, dt.UTC) + dt.timedelta(microseconds=nanoseconds // 1_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
