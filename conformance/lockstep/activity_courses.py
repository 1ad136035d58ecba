"""Generated courses of one activity: its timeouts, its retry policy, and what the worker does with each attempt."""

import asyncio
import datetime as dt
import random
from dataclasses import dataclass

from temporalio.api.command.v1 import Command
from temporalio.api.enums.v1 import RetryState, TimeoutType
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice import v1 as api

from commands import failure, retry, schedule_activity
from histories import attributes, event_type
from payloads import seconds, values
from scene import IDENTITY, Scene

# Servers may take a part of it to notice what is due.
UNIT = 1.0
POLL = dt.timedelta(seconds=70)

DEEDS = ["hang", "fail", "fail for good", "heartbeat and hang", "heartbeat and fail"]


@dataclass(frozen=True)
class Course:
    # Units; 0 isn't given.
    schedule_to_close: int
    schedule_to_start: int
    start_to_close: int
    heartbeat: int
    attempts: int
    interval: int
    not_retried: str
    # What the worker does with the first attempts.
    deeds: tuple[str, ...]

    def command(self, task_queue: str) -> Command:
        policy = retry(self.attempts, self.interval * UNIT)
        if self.not_retried:
            policy.non_retryable_error_types.append(self.not_retried)
        made = schedule_activity("a", task_queue, retry_policy=policy)
        wanted = made.schedule_activity_task_command_attributes
        wanted.ClearField("start_to_close_timeout")
        for timeout in ("schedule_to_close", "schedule_to_start", "start_to_close", "heartbeat"):
            if units := getattr(self, timeout):
                getattr(wanted, f"{timeout}_timeout").CopyFrom(seconds(units * UNIT))
        return made

    @property
    def ends_untaken(self) -> bool:
        """Whether an attempt that nobody takes times out."""
        return bool(self.schedule_to_close or self.schedule_to_start)


def course(rng: random.Random) -> Course:
    heartbeat = rng.choice([0, 0, 1])
    if heartbeat:
        # The real server may notice a missing heartbeat a whole unit late: neither the next attempt nor the
        # time for all of them may depend on that.
        close, start = rng.choice([(0, 3), (9, 0), (9, 3)])
        attempts, interval = rng.choice([1, 2]), rng.choice([1, 20])
    else:
        close, start = rng.choice([(0, 1), (0, 2), (4, 0), (4, 1), (4, 2), (4, 9), (7, 0), (7, 2)])
        attempts, interval = rng.choice([0, 1, 2, 3]), rng.choice([1, 2, 5])
    return Course(
        schedule_to_close=close,
        schedule_to_start=rng.choice([0, 0, 3, 9]),
        start_to_close=start,
        heartbeat=heartbeat,
        attempts=attempts,
        interval=interval,
        not_retried=rng.choice(["", "", "", "Oops", "TemporalTimeout:StartToClose", "TemporalTimeout:Heartbeat"]),
        deeds=tuple(rng.choices(DEEDS, k=rng.choice([0, 1, 2, 3]))),
    )


async def take(scene: Scene, course: Course) -> list[str]:
    """Takes the course and says what the workflow was told of its activity."""
    await scene.start()
    await scene.answer(course.command(scene.task_queue))
    working = asyncio.create_task(work(scene, course))
    try:
        task = await polled(scene.service.poll_workflow_task_queue, api.PollWorkflowTaskQueueRequest, scene)
        return [told(event) for event in task.history.events[4:-2]]
    finally:
        working.cancel()


async def work(scene: Scene, course: Course):
    """A worker that takes the attempts of the course and, if nothing else would end it, completes the next."""
    for deed in course.deeds:
        task = await polled(scene.service.poll_activity_task_queue, api.PollActivityTaskQueueRequest, scene)
        if deed.startswith("heartbeat"):
            await scene.heartbeat(task, f"beat {task.attempt}")
        if deed.endswith("fail"):
            await scene.fail_activity(task, failure(f"attempt {task.attempt}"))
        elif deed == "fail for good":
            await scene.fail_activity(task, failure(f"attempt {task.attempt}", non_retryable=True))
    if not course.ends_untaken:
        task = await polled(scene.service.poll_activity_task_queue, api.PollActivityTaskQueueRequest, scene)
        await scene.complete_activity(task, task.attempt)


async def polled(poll, kind, scene: Scene):
    request = kind(namespace=scene.namespace, task_queue=TaskQueue(name=scene.task_queue), identity=IDENTITY)
    while True:
        task = await poll(request, timeout=POLL)
        if task.task_token:
            return task


def told(event: HistoryEvent) -> str:
    words = [event_type(event)]
    of = attributes(event)
    for field in ("schedule_to_close", "schedule_to_start", "start_to_close", "heartbeat"):
        if hasattr(of, f"{field}_timeout"):
            words.append(f"{field}={getattr(of, f'{field}_timeout').ToMilliseconds()}ms")
    if event_type(event) == "ActivityTaskStarted":
        words.append(f"attempt={of.attempt} last={failed(of.last_failure)}")
    if hasattr(of, "failure"):
        words.append(f"failure={failed(of.failure)}")
    if hasattr(of, "retry_state"):
        words.append(RetryState.Name(of.retry_state).removeprefix("RETRY_STATE_"))
    return " ".join(words)


def failed(of: Failure) -> str:
    """A failure with its causes."""
    if of == Failure():
        return "none"
    text = repr(of.message)
    if of.HasField("timeout_failure_info"):
        info = of.timeout_failure_info
        kind = TimeoutType.Name(info.timeout_type).removeprefix("TIMEOUT_TYPE_")
        text += f" {kind} {values(info.last_heartbeat_details)}"
    because = f" because of {failed(of.cause)}" if of.HasField("cause") else ""
    return f"({text} by {of.source}{because})"
