"""The worker's steps in a course, as several SDKs make them."""

from commands import (
    cancel_activity,
    cancel_external,
    cancel_timer,
    cancel_workflow,
    complete_workflow,
    continue_as_new,
    fail_workflow,
    failure,
    record_marker,
    retry,
    schedule_activity,
    signal_external,
    start_child,
    start_timer,
)
from driver import Driver
from histories import attributes, event_type
from payloads import payloads
from temporalio.api.command.v1 import Command
from temporalio.api.enums.v1 import PendingActivityState
from temporalio.api.workflowservice import v1 as api
from updates import acceptance, failed_response, placed, rejection, response

SCHEDULED = PendingActivityState.PENDING_ACTIVITY_STATE_SCHEDULED
Capabilities = api.RespondWorkflowTaskCompletedRequest.Capabilities


class WorkerSteps:
    def __init__(self, driver: Driver):
        self.driver = driver
        self.scene = driver.scene
        self.rng = driver.rng

    def possible(self) -> list:
        steps = []
        if self.driver.task:
            steps += [self.complete_task] * 5 + [self.fail_task]
        elif self.driver.has_scheduled_task:
            steps += [self.take_task] * 4
        if self.driver.may_touch_activities and self.waiting_activities():
            steps += [self.take_activity] * 2
        if self.driver.may_touch_activities and self.driver.activities:
            steps += [self.complete_activity, self.fail_activity, self.cancel_activity, self.heartbeat] * 2
        if self.driver.stale and self.rng.random() < 0.1:
            steps += [self.answer_too_late]
        return steps

    async def take_task(self):
        task = await self.scene.workflow_task()
        self.driver.task = task
        messages = [(it.id, it.event_id) for it in task.messages]
        told = [task.attempt, task.previous_started_event_id, task.started_event_id, messages]
        self.driver.log.append(" task " + " ".join(map(str, told)))
        self.driver.log += [self.driver.render.event(event) for event in task.history.events]

    async def fail_task(self):
        if self.driver.task.attempt > 1:
            # The next attempt would be made to wait.
            return
        task, self.driver.task = self.driver.task, None
        await self.driver.ask("fail", self.scene.fail_task(task, failure=failure("broken")))

    async def complete_task(self):
        task, self.driver.task = self.driver.task, None
        commands = [one for one in (self.command() for _ in range(self.rng.choice([0, 1, 2, 4]))) if one]
        # Servers keep no order between what others answer and when timers are due.
        answered = [one for one in commands if is_answered(one)]
        commands = [one for one in commands if one not in answered[1:]]
        messages = self.answers(task, commands)
        if self.rng.random() < 0.15:
            commands.append(self.closing())
        fields = {
            "messages": messages,
            "capabilities": Capabilities(
                discard_speculative_workflow_task_with_events=self.rng.random() < 0.7
            ),
        }
        if self.rng.random() < 0.1:
            fields["force_create_new_workflow_task"] = True
        asks = [type_of(command) for command in commands]
        what = f"complete with {asks} {[it.id for it in messages]} {sorted(fields)}"
        answer = await self.driver.ask(what, self.scene.complete_task(task, *commands, **fields))
        if answer is None:
            # Updates go with the next task. The real server ends them with this one.
            self.driver.is_over = bool(task.messages or self.unfinished())
            return
        self.driver.stale.append(task)
        for eager in answer.activity_tasks:
            self.driver.activities[eager.activity_id] = eager
        for message in messages:
            name, verb = message.id.rsplit("/", 1)
            if verb == "accept":
                self.driver.accepted.append(name)
            if verb != "accept" or name in self.driver.heard_when_accepted:
                self.driver.due.add(name)
        if "force_create_new_workflow_task" not in fields:
            named = {message.protocol_instance_id for message in messages}
            self.driver.due |= {it.protocol_instance_id for it in task.messages} - named

    def answers(self, task: api.PollWorkflowTaskQueueResponse, commands: list[Command]) -> list:
        """Answers to updates; most SDKs say by commands where they take effect, older ones don't."""
        messages = []
        for request in task.messages:
            name = request.protocol_instance_id
            how = self.rng.choice(["accept", "complete", "complete", "fail", "reject", "reject", "ignore"])
            if how == "reject":
                messages.append(rejection(request, "no"))
            elif how != "ignore":
                accepted = [acceptance(request)]
                if how == "complete":
                    accepted.append(response(name, "done"))
                if how == "fail":
                    accepted.append(failed_response(name, "failed"))
                messages += accepted
                if self.rng.random() < 0.8:
                    commands += [placed(message) for message in accepted]
        for name in self.unfinished():
            if self.rng.random() < 0.3:
                messages.append(response(name, "later"))
                commands.append(placed(messages[-1]))
        return messages

    def unfinished(self) -> list[str]:
        """Updates that the history shows as accepted and not completed."""
        accepted = {
            event.event_id: attributes(event).protocol_instance_id
            for event in self.driver.events
            if event_type(event) == "WorkflowExecutionUpdateAccepted"
        }
        for event in self.driver.events:
            if event_type(event) == "WorkflowExecutionUpdateCompleted":
                accepted.pop(attributes(event).accepted_event_id, None)
        return sorted(accepted.values())

    def command(self) -> Command | None:
        name = self.rng.choice("abc")
        kind = self.rng.choice(
            ["activity", "activity", "activity", "cancel activity", "timer", "cancel timer", "short timer", "marker"]
            + ["child", "signal external", "cancel external", "nonsense"]
        )
        if kind == "activity":
            return schedule_activity(
                name,
                f"{self.scene.task_queue}-{name}",
                100,
                retry_policy=retry(attempts=self.rng.choice([0, 1, 2]), interval=0.05),
                request_eager_execution=self.rng.random() < 0.2,
            )
        if kind == "cancel activity":
            scheduled = [it.event_id for it in self.driver.events if event_type(it) == "ActivityTaskScheduled"]
            return cancel_activity(self.rng.choice(scheduled)) if scheduled else None
        if kind == "timer":
            return start_timer(name, 100)
        if kind == "cancel timer":
            return cancel_timer(name)
        if kind == "short timer":
            return start_timer(f"short-{self.driver.number()}", 0.05)
        if kind == "marker":
            return record_marker(name, value=payloads(1))
        if kind == "child":
            policy = self.rng.choice([0, 1, 2, 3])
            child, queue = f"{self.scene.workflow_id}-{name}", f"{self.scene.task_queue}-child"
            return start_child(child, queue, parent_close_policy=policy)
        if kind == "signal external":
            return signal_external(f"{self.scene.workflow_id}-{name}", "hello")
        if kind == "cancel external":
            return cancel_external(f"{self.scene.workflow_id}-{name}")
        return start_timer("", 5) if self.rng.random() < 0.2 else None

    def closing(self) -> Command:
        how = self.rng.choice(["complete", "fail", "cancel", "continue"])
        if how == "complete":
            return complete_workflow("result")
        if how == "fail":
            return fail_workflow("failed")
        if how == "cancel":
            return cancel_workflow("details")
        return continue_as_new("Flow", self.scene.task_queue, "again")

    # Activities.

    def waiting_activities(self) -> list[str]:
        pending = self.driver.described.pending_activities
        return sorted(it.activity_id for it in pending if it.state == SCHEDULED and not it.paused)

    async def take_activity(self):
        name = self.rng.choice(self.waiting_activities())
        task = await self.scene.activity_task(f"{self.scene.task_queue}-{name}")
        self.driver.activities[name] = task
        progress = self.driver.render.message(task.heartbeat_details)
        self.driver.log.append(f" activity {name} attempt {task.attempt} {progress}")

    def held(self, is_last: bool = True):
        name = self.rng.choice(sorted(self.driver.activities))
        task = self.driver.activities[name]
        if is_last:
            del self.driver.activities[name]
        return name, task

    async def complete_activity(self):
        name, task = self.held()
        await self.driver.ask(f"complete {name}", self.scene.complete_activity(task, "result"))

    async def fail_activity(self):
        name, task = self.held()
        problem = failure("failed", non_retryable=self.rng.random() < 0.2)
        await self.driver.ask(f"fail {name}", self.scene.fail_activity(task, problem))

    async def cancel_activity(self):
        name, task = self.held()
        if await self.driver.ask(f"cancel {name}", self.scene.cancel_activity(task, "bye")) is None:
            self.driver.activities[name] = task

    async def heartbeat(self):
        name, task = self.held(is_last=False)
        await self.driver.ask(f"heartbeat {name}", self.scene.heartbeat(task, self.driver.number()))

    async def answer_too_late(self):
        task = self.rng.choice(self.driver.stale)
        await self.driver.ask("complete too late", self.scene.complete_task(task))


def is_answered(command: Command) -> bool:
    """Whether something follows from the command by itself, soon."""
    return command.start_timer_command_attributes.timer_id.startswith("short") or type_of(command) in (
        "start_child_workflow_execution",
        "signal_external_workflow_execution",
        "request_cancel_external_workflow_execution",
    )


def type_of(command: Command) -> str:
    return command.WhichOneof("attributes").removesuffix("_command_attributes")
