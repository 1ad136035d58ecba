//! Matches tasks with pollers: before the commit if a poller waits, else after it.

use perennial_engine::run::{Command, Offer, StartActivity, StartWorkflowTask, TaskRef, TaskStamp};
use perennial_engine::{EntityKey, NamespaceKey, Slot};
use perennial_proto::encoded;
use perennial_proto::store::{TaskKind, WaitingTask};
use perennial_store::{TaskRow, TaskWrite};

use super::request::Release;
use super::{Cell, StepContext};
use crate::api::{ActivityGrant, Demand, WorkflowTaskGrant};
use crate::queues::{Grant, QueueKind, QueueName, WaitingPoll};

impl Cell {
    /// Matches the tasks that became ready in this step with pollers. Runs at the end of the step, so that workers that
    /// poll during the step get a task in the same commit.
    pub(super) fn match_tasks(&mut self, world: &StepContext<'_>) {
        while let Some((key, offer)) = self.offers.pop_front() {
            self.offer(key, offer, world);
        }
    }

    /// Starts a ready task for a waiting poller, or adds it to its queue.
    fn offer(&mut self, key: EntityKey, offer: Offer, world: &StepContext<'_>) {
        let Some(run) = self.run(key) else { return };
        let namespace = NamespaceKey(run.head.namespace);
        let (kind, stored_kind, stamp) = match offer.task {
            TaskRef::Workflow(stamp) => (QueueKind::Workflow, TaskKind::Workflow, stamp),
            TaskRef::Activity(stamp) => (QueueKind::Activity, TaskKind::Activity, stamp),
        };
        let queue = QueueName { namespace, name: offer.queue.clone(), kind };
        if offer.sticky && !world.queues.is_polled(&queue, world.monotonic) {
            // The worker with the cached run doesn't poll any more: use the normal queue.
            if self.decide(key, Command::PassOverSticky, world).is_ok() {
                return;
            }
        }
        if let Some(poller) = world.queues.claim(&queue, world.monotonic) {
            self.start_for(key, offer.task, poller, None, world);
            return;
        }
        let task_key = self.lease.keys().next();
        let task = WaitingTask {
            key: task_key,
            run: Some(run.name()),
            queue: offer.queue,
            kind: stored_kind.into(),
            scheduled_event_id: stamp.scheduled_event_id,
            attempt: stamp.attempt,
            stamp: stamp.stamp,
            priority: offer.priority,
            created_at: world.now.0,
            sticky: offer.sticky,
        };
        let is_stored = kind == QueueKind::Activity || !run.has_speculative_task();
        if is_stored {
            let slot = Slot::of(namespace, &run.head.workflow_id);
            let row = TaskRow { key: task_key, slot, value: encoded(&task) };
            self.output.open.put_task(task_key, TaskWrite::Put(row));
        }
        self.output.open.release(Release::Offer { task, is_stored });
    }

    /// Starts a waiting task for the poller it was matched with.
    pub(super) fn start_waiting(
        &mut self,
        key: Option<EntityKey>,
        task: WaitingTask,
        poller: WaitingPoll,
        world: &StepContext<'_>,
    ) {
        let stamp = TaskStamp::from(&task);
        let of = match task.kind() {
            TaskKind::Activity => TaskRef::Activity(stamp),
            TaskKind::Workflow | TaskKind::Unspecified => TaskRef::Workflow(stamp),
        };
        match key {
            Some(key) => self.start_for(key, of, poller, Some(task.key), world),
            None => {
                self.output.open.put_task(task.key, TaskWrite::Delete(task.key));
                self.output.open.release(Release::Repoll(poller));
            }
        }
    }

    /// Starts a task for a poller. If the task is obsolete, the poller waits again.
    fn start_for(
        &mut self,
        key: EntityKey,
        task: TaskRef,
        poller: WaitingPoll,
        waited_as: Option<i64>,
        world: &StepContext<'_>,
    ) {
        let request_id = self.rules.ids.next(world.now);
        let identity = poller.identity().to_owned();
        let command = match task {
            TaskRef::Workflow(task) => Command::StartWorkflowTask(StartWorkflowTask {
                task,
                identity,
                request_id,
                worker_version: poller.worker_version().cloned(),
            }),
            TaskRef::Activity(task) => {
                Command::StartActivity(StartActivity { task, identity, request_id })
            }
        };
        let for_poller = StepContext { principal: poller.principal(), ..*world };
        let started = self.decide(key, command, &for_poller);
        if let Some(task_key) = waited_as {
            self.output.open.put_task(task_key, TaskWrite::Delete(task_key));
        }
        let grant = started.ok().and_then(|_| match task {
            TaskRef::Workflow(_) => {
                self.grant_for(key, poller.is_sticky()).map(|it| Grant::Workflow(Box::new(it)))
            }
            TaskRef::Activity(stamp) => self.run(key).map(|run| {
                let scheduled_event_id = stamp.scheduled_event_id;
                Grant::Activity(ActivityGrant {
                    run,
                    scheduled_event_id,
                    demand: Demand::default(),
                })
            }),
        });
        self.output.open.release(match grant {
            Some(grant) => Release::Grant(poller, grant),
            None => Release::Repoll(poller),
        });
    }

    /// The started workflow task of a run, with its queries, updates and recent history.
    pub(super) fn grant_for(&mut self, key: EntityKey, sticky: bool) -> Option<WorkflowTaskGrant> {
        let cached = self.cache.run_mut(key)?;
        let task = cached.run.started_task()?;
        let started_event_id = task.started_event_id;
        let first = if sticky { cached.run.head.previous_started_event_id + 1 } else { 1 };
        Some(WorkflowTaskGrant {
            run: std::sync::Arc::clone(&cached.run),
            query: None,
            queries: cached.queries.send_with_task(),
            messages: cached.updates.send(started_event_id),
            sticky,
            demand: Demand::default(),
            recent: cached.recent_from(first),
        })
    }
}
