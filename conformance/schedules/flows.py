"""Workflows that the schedules of these tests start."""

import asyncio
from typing import Any

from temporalio import workflow
from temporalio.common import SearchAttributeKey
from temporalio.exceptions import ApplicationError, FailureError

SCHEDULED_BY_ID = SearchAttributeKey.for_keyword("TemporalScheduledById")
SCHEDULED_START_TIME = SearchAttributeKey.for_datetime("TemporalScheduledStartTime")


@workflow.defn
class Returns:
    @workflow.run
    async def run(self, result: Any = None) -> Any:
        return result


@workflow.defn
class TellsWhenItWasDue:
    """And by which schedule: it can read the attributes that it was started with."""

    @workflow.run
    async def run(self) -> list[str]:
        told = workflow.info().typed_search_attributes
        return [told[SCHEDULED_BY_ID], told[SCHEDULED_START_TIME].isoformat()]


@workflow.defn
class Fails:
    """Each attempt fails."""

    @workflow.run
    async def run(self, message: str = "broken") -> None:
        raise ApplicationError(message)


@workflow.defn
class SucceedsTheSecondTime:
    @workflow.run
    async def run(self) -> int:
        if workflow.info().attempt < 2:
            raise ApplicationError("not yet")
        return workflow.info().attempt


@workflow.defn
class Waits:
    """Runs until it is told how to end: by the result to return, or by the message to fail with."""

    def __init__(self):
        self.end = None

    @workflow.run
    async def run(self, _: Any = None) -> Any:
        await workflow.wait_condition(lambda: self.end)
        how, value = self.end
        if how == "fail":
            raise ApplicationError(value, non_retryable=True)
        return value

    @workflow.signal
    def finish(self, result: Any = None):
        self.end = ("finish", result)

    @workflow.signal
    def fail(self, message: str):
        self.end = ("fail", message)

    @workflow.query
    def last_result(self) -> Any:
        return last_result()

    @workflow.query
    def last_failure(self) -> str:
        return last_failure()


@workflow.defn
class WaitsForPermissionToEnd:
    """A cancellation only asks it to end; the signal lets it."""

    def __init__(self):
        self.asked = False
        self.allowed = False

    @workflow.run
    async def run(self) -> None:
        try:
            await workflow.wait_condition(lambda: self.allowed)
        except asyncio.CancelledError:
            self.asked = True
            await workflow.wait_condition(lambda: self.allowed)
            raise

    @workflow.signal
    def finish(self):
        self.allowed = True

    @workflow.query
    def was_asked(self) -> bool:
        return self.asked


@workflow.defn
class WaitsInEachOfTwoRuns:
    """Continues as new once; each run ends by a signal."""

    def __init__(self):
        self.ended = False

    @workflow.run
    async def run(self, number: int = 1) -> Any:
        seen = last_result()
        await workflow.wait_condition(lambda: self.ended)
        if number == 1:
            workflow.continue_as_new(2)
        return {"run": number, "last_result": seen}

    @workflow.signal
    def finish(self):
        self.ended = True

    @workflow.query
    def last_result(self) -> Any:
        return last_result()


def last_result() -> Any:
    return workflow.get_last_completion_result() if workflow.has_last_completion_result() else None


def last_failure() -> str:
    """Its message."""
    failure = workflow.get_last_failure()
    return "" if failure is None else failure.message if isinstance(failure, FailureError) else str(failure)


ALL = [
    Returns,
    TellsWhenItWasDue,
    Fails,
    SucceedsTheSecondTime,
    Waits,
    WaitsForPermissionToEnd,
    WaitsInEachOfTwoRuns,
]
