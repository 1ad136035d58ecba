"""The client's steps in a course."""

import asyncio

from commands import retry
from driver import Driver
from histories import event_type
from payloads import seconds
from scene import CALL, IDENTITY
from temporalio.api.activity.v1 import ActivityOptions
from temporalio.api.enums.v1 import ResetReapplyType, WorkflowIdConflictPolicy, WorkflowIdReusePolicy
from temporalio.api.workflowservice import v1 as api
from temporalio.service import RPCError
from updates import ACCEPTED, COMPLETED, poll_update, send_update, send_update_with_start
from waiting import until


class ClientSteps:
    def __init__(self, driver: Driver):
        self.driver = driver
        self.scene = driver.scene
        self.rng = driver.rng

    def possible(self) -> list:
        steps = [self.signal, self.signal_with_start, self.update, self.update_with_start, self.reset]
        steps += [self.cancel, self.start_again, self.poll_some_update]
        if self.rng.random() < 0.2:
            steps += [self.terminate]
        if self.driver.may_touch_activities and self.driver.described.pending_activities:
            steps += [self.pause_activity, self.unpause_activity, self.reset_activity, self.change_activity] * 2
        if not self.driver.is_open:
            steps += [self.start_again] * 3
        return steps

    async def begin(self):
        options = {}
        if self.rng.random() < 0.15:
            options["workflow_start_delay"] = seconds(300)
        elif self.rng.random() < 0.3:
            options["retry_policy"] = retry(attempts=2, interval=0.05)
        self.driver.log.append(f"begin {sorted(options)}:")
        await self.driver.ask("start", self.scene.start(**options))
        await self.driver.look()

    async def start_again(self):
        conflict = self.rng.choice(list(WorkflowIdConflictPolicy.values()))
        reuse = self.rng.choice(list(WorkflowIdReusePolicy.values())[:4])
        if conflict == WorkflowIdConflictPolicy.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING:
            conflict = 0
        fields = dict(workflow_id_conflict_policy=conflict, workflow_id_reuse_policy=reuse)
        answer = await self.driver.ask(f"start {conflict} {reuse}", self.scene.start(**fields))
        self.driver.render.name_run(answer.run_id if answer else "")

    async def signal(self):
        await self.driver.ask("signal", self.scene.signal(f"s{self.driver.number()}"))

    async def signal_with_start(self):
        await self.driver.ask("signal with start", self.scene.signal_with_start(f"s{self.driver.number()}"))

    async def cancel(self):
        await self.driver.ask("cancel", self.scene.cancel(reason="why not"))

    async def terminate(self):
        await self.driver.ask("terminate", self.scene.terminate(reason="enough"))

    async def update(self):
        await self.admitted(lambda name, wait: send_update(self.scene, name, "change", 1, wait_for=wait))

    async def update_with_start(self):
        await self.admitted(lambda name, wait: send_update_with_start(self.scene, name, "change", wait_for=wait))

    async def admitted(self, send):
        known = [*self.driver.accepted, *self.driver.updates]
        name = self.rng.choice(known) if known and self.rng.random() < 0.15 else f"u{self.driver.number()}"
        if name in self.driver.updates:
            return
        wait = self.rng.choice([ACCEPTED, COMPLETED, COMPLETED])
        self.driver.updates[name] = sent = send(name, wait)
        if wait == ACCEPTED:
            self.driver.heard_when_accepted.add(name)

        async def is_known():
            if sent.done():
                return True
            try:
                await poll_update(self.scene, name, wait_for=1)
                return True
            except RPCError:
                return False

        await until(is_known)
        # The answer may be on its way already.
        await asyncio.wait([sent], timeout=0.1)

    async def poll_some_update(self):
        if not self.driver.accepted:
            return
        name = self.rng.choice(self.driver.accepted)
        await self.driver.ask(f"poll {name}", poll_update(self.scene, name, wait_for=ACCEPTED))

    async def reset(self):
        kinds = ("WorkflowTaskCompleted", "WorkflowTaskFailed")
        points = [event.event_id for event in self.driver.events if event_type(event) in kinds]
        if not points or self.rng.random() < 0.5:
            return
        point = self.rng.choice(points)
        kinds = [0, ResetReapplyType.RESET_REAPPLY_TYPE_SIGNAL, ResetReapplyType.RESET_REAPPLY_TYPE_NONE]
        kind = self.rng.choice(kinds)
        reset = self.scene.reset(point, reason="again", reset_reapply_type=kind)
        await self.driver.ask(f"reset to {point} {kind}", reset)

    # Operators and activities.

    def one(self, kind, **fields):
        pending = sorted(it.activity_id for it in self.driver.described.pending_activities)
        fields |= {"id": self.rng.choice(pending), "execution": self.scene.execution(), "identity": IDENTITY}
        return kind(namespace=self.scene.namespace, **fields)

    async def pause_activity(self):
        request = self.one(api.PauseActivityRequest, reason="wait")
        await self.driver.ask("pause " + request.id, self.scene.service.pause_activity(request, timeout=CALL))

    async def unpause_activity(self):
        request = self.one(
            api.UnpauseActivityRequest,
            reset_attempts=self.rng.random() < 0.3,
            reset_heartbeat=self.rng.random() < 0.3,
        )
        await self.driver.ask("unpause " + request.id, self.scene.service.unpause_activity(request, timeout=CALL))

    async def reset_activity(self):
        request = self.one(
            api.ResetActivityRequest,
            keep_paused=self.rng.random() < 0.5,
            restore_original_options=self.rng.random() < 0.2,
        )
        request.reset_heartbeat = not request.keep_paused and self.rng.random() < 0.3
        if request.id in self.driver.activities:
            # On the real server a later attempt that is reset can't answer any more.
            return
        await self.driver.ask("reset " + request.id, self.scene.service.reset_activity(request, timeout=CALL))

    async def change_activity(self):
        options = ActivityOptions(start_to_close_timeout=seconds(77), heartbeat_timeout=seconds(55))
        options.retry_policy.CopyFrom(retry(attempts=5, interval=0.05, maximum_interval=seconds(5)))
        request = self.one(api.UpdateActivityOptionsRequest, activity_options=options)
        paths = ["start_to_close_timeout", "heartbeat_timeout", "retry_policy.maximum_attempts", "retry_policy"]
        request.update_mask.paths.extend(self.rng.sample(paths[:3], 2) if self.rng.random() < 0.8 else paths[3:])
        failed = {it.activity_id for it in self.driver.described.pending_activities if it.HasField("last_failure")}
        if request.id in failed:
            # The real server forgets the failure.
            return
        changing = self.scene.service.update_activity_options(request, timeout=CALL)
        await self.driver.ask(f"change {request.id} {list(request.update_mask.paths)}", changing)
