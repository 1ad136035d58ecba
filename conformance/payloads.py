"""Converts values to JSON payloads and durations."""

import datetime as dt
import json

from google.protobuf.duration_pb2 import Duration
from temporalio.api.common.v1 import Memo, Payload, Payloads, SearchAttributes


def payload(value) -> Payload:
    return Payload(metadata={"encoding": b"json/plain"}, data=json.dumps(value).encode())


def payloads(*values) -> Payloads:
    return Payloads(payloads=[payload(value) for value in values])


def values(carried: Payloads) -> list:
    return [value(one) for one in carried.payloads]


def value(carried: Payload):
    return json.loads(carried.data)


def memo(**fields) -> Memo:
    return Memo(fields={key: payload(field) for key, field in fields.items()})


def search_attributes(**fields) -> SearchAttributes:
    """Typed by the server: a client may leave the type out."""
    return SearchAttributes(indexed_fields={key: payload(field) for key, field in fields.items()})


def seconds(amount: float) -> Duration:
    duration = Duration()
    duration.FromTimedelta(dt.timedelta(seconds=amount))
    return duration
