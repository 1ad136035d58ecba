"""The workflows that the commands are about."""

from typing import Any

from temporalio import workflow
from temporalio.exceptions import ApplicationError


@workflow.defn
class Echo:
    @workflow.run
    async def run(self, value: Any = None) -> Any:
        return value


@workflow.defn
class Breaks:
    @workflow.run
    async def run(self) -> None:
        raise ApplicationError("broken on purpose", {"code": 7}, type="OnPurpose", non_retryable=True)


@workflow.defn
class FailsOnce:
    @workflow.run
    async def run(self) -> int:
        attempt = workflow.info().attempt
        if attempt == 1:
            raise ApplicationError("not yet")
        return attempt


@workflow.defn
class Listens:
    """Until it is told to finish."""

    def __init__(self) -> None:
        self._heard: list[Any] = []
        self._done = False

    @workflow.run
    async def run(self) -> list[Any]:
        await workflow.wait_condition(lambda: self._done)
        return self._heard

    @workflow.signal
    def hear(self, value: Any) -> None:
        self._heard.append(value)

    @workflow.signal
    def finish(self) -> None:
        self._done = True

    @workflow.query
    def heard(self) -> list[Any]:
        return self._heard

    @workflow.update
    async def add(self, value: int) -> int:
        self._heard.append(value)
        return len(self._heard)

    @add.validator
    def refuse_negative(self, value: int) -> None:
        if value < 0:
            raise ApplicationError("no negative numbers")


ALL = [Echo, Breaks, FailsOnce, Listens]
