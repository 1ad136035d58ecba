"""Assertions on the error of a refused call."""

from dataclasses import dataclass

import pytest
from google.protobuf.message import Message
from temporalio.api import errordetails
from temporalio.service import RPCError, RPCStatusCode


@dataclass
class Refusal:
    code: str
    message: str
    details: list[Message]

    @property
    def detail(self) -> Message:
        [detail] = self.details
        return detail

    @property
    def detail_names(self) -> list[str]:
        return [type(detail).__name__ for detail in self.details]


async def refused(call) -> Refusal:
    """Awaits a call that must fail, and returns how it failed."""
    with pytest.raises(RPCError) as caught:
        await call
    return refusal(caught.value)


def refusal(error: RPCError) -> Refusal:
    details = []
    for packed in error.grpc_status.details:
        kind = getattr(errordetails.v1, packed.TypeName().rsplit(".", 1)[1])
        unpacked = kind()
        assert packed.Unpack(unpacked), packed.type_url
        details.append(unpacked)
    return Refusal(RPCStatusCode(error.status).name, error.message, details)


def as_temporal_says(message: str) -> str:
    """The message without what ours adds to Temporal's sentence: the place, and the repair."""
    sentence, _, _ = message.partition("; create it with `perennial ")
    unreadable = "invalid CronSchedule."
    before, found, _ = sentence.partition(unreadable)
    return before + found
