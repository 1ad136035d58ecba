//! Pending updates: attached to a run, and not stored before the workflow accepts them.

use std::collections::BTreeMap;
use std::sync::Arc;

use perennial_engine::EntityKey;
use perennial_engine::run::{Command, Rejection, Run, TaskCompleted, UpdateProgress};
use perennial_proto::temporal::enums::v1::UpdateWorkflowExecutionLifecycleStage as Stage;
use perennial_proto::temporal::failure::v1::failure::FailureInfo;
use perennial_proto::temporal::failure::v1::{ApplicationFailureInfo, Failure};
use perennial_proto::temporal::protocol::v1::Message as ProtocolMessage;
use perennial_proto::temporal::protocol::v1::message::SequencingId;
use perennial_proto::temporal::update::v1 as update;
use perennial_proto::{Any, encoded};

use super::request::{ReplyTo, Response};
use super::{Cell, StepContext};
use crate::api::{Refusal, Started, UpdateStatus};

#[derive(Default)]
pub(super) struct Updates {
    admitted: BTreeMap<String, Admitted>,
    /// Updates rejected by the completion in progress. The run doesn't record them, and may close with it.
    rejected: BTreeMap<String, UpdateProgress>,
    /// Callers that wait for an accepted update to complete, by its id.
    waiting: BTreeMap<String, Vec<Waiter>>,
    /// Order number of the last admitted update.
    last_order: u64,
}

struct Admitted {
    request: update::Request,
    /// Sent to a worker with the started workflow task.
    is_sent: bool,
    order: u64,
}

/// A caller that waits for a stage of an update.
struct Waiter {
    wait: Stage,
    reply: ReplyTo,
    /// The start that came with the update.
    started: Option<Box<Started>>,
}

impl Waiter {
    fn notify(self, cell: &mut Cell, key: EntityKey, status: Result<UpdateStatus, Refusal>) {
        let response = match self.started {
            Some(started) => Ok(Response::StartedWithUpdate(started, status)),
            None => status.map(Response::Update),
        };
        cell.answer(Some(key), self.reply, response);
    }
}

impl Updates {
    pub(super) fn is_empty(&self) -> bool {
        self.admitted.is_empty() && self.waiting.is_empty()
    }

    /// Drops callers that have disconnected. Their updates stay: the workflow may have seen them.
    pub(super) fn forget_gone(&mut self) {
        for waiters in self.waiting.values_mut() {
            waiters.retain(|waiter| !waiter.reply.is_gone());
        }
        self.waiting.retain(|_, waiters| !waiters.is_empty());
    }

    /// Updates that were sent to a worker.
    pub(super) fn sent(&self) -> BTreeMap<String, update::Request> {
        let sent = self.admitted.iter().filter(|(_, it)| it.is_sent);
        sent.map(|(id, it)| (id.clone(), it.request.clone())).collect()
    }

    /// Adds an update before the run has its first task.
    pub(super) fn stage(&mut self, request: update::Request) {
        let id = request.meta.as_ref().map(|meta| meta.update_id.clone()).unwrap_or_default();
        self.admitted.insert(id, Admitted { request, is_sent: false, order: 0 });
    }

    pub(super) fn has_unsent(&self) -> bool {
        self.admitted.values().any(|it| !it.is_sent)
    }

    /// The updates to send with the workflow task started by this event.
    pub(super) fn send(&mut self, started_event_id: i64) -> Vec<ProtocolMessage> {
        let mut messages: Vec<_> = self
            .admitted
            .iter_mut()
            .map(|(id, update)| {
                update.is_sent = true;
                let body = Any {
                    type_url: "type.googleapis.com/temporal.api.update.v1.Request".to_owned(),
                    value: encoded(&update.request),
                };
                let message = ProtocolMessage {
                    id: format!("{id}/request"),
                    protocol_instance_id: id.clone(),
                    body: Some(body),
                    sequencing_id: Some(SequencingId::EventId(started_event_id - 1)),
                };
                (update.order, message)
            })
            .collect();
        messages.sort_by_key(|(order, _)| *order);
        messages.into_iter().map(|(_, message)| message).collect()
    }

    /// Keeps the rejections of a completion until it has been applied.
    pub(super) fn note_rejections(&mut self, completed: &TaskCompleted) {
        let rejected = completed.updates.iter().filter(|(_, it)| is_rejected(it)).cloned();
        self.rejected = rejected.collect();
    }

    /// The workflow task failed: its updates are sent with the next one.
    pub(super) fn mark_unsent(&mut self) {
        for update in self.admitted.values_mut() {
            update.is_sent = false;
        }
    }
}

impl Cell {
    pub(super) fn update(
        &mut self,
        key: EntityKey,
        request: update::Request,
        wait: Stage,
        reply: ReplyTo,
        world: &StepContext<'_>,
    ) {
        self.admit(key, request, Waiter { wait, reply, started: None }, world);
    }

    /// The current run, if it already has the update of this update-with-start. Then the request is a retry, and the
    /// start's policies don't apply. A closed run counts only if it completed the update.
    pub(super) fn already_updated(
        &self,
        current: Option<EntityKey>,
        request: &update::Request,
    ) -> Option<Started> {
        let cached = self.cache.run(current?)?;
        let id = &request.meta.as_ref()?.update_id;
        let recorded = cached.run.updates.get(id);
        let is_known = if cached.run.is_open() {
            recorded.is_some() || cached.updates.admitted.contains_key(id)
        } else {
            recorded.is_some_and(|update| update.completed_event_id != 0)
        };
        is_known.then(|| Started { run: Arc::clone(&cached.run), is_new: false, eager_task: None })
    }

    pub(super) fn update_started(
        &mut self,
        started: Started,
        request: update::Request,
        wait: Stage,
        reply: ReplyTo,
        world: &StepContext<'_>,
    ) {
        let key = started.run.key;
        let started = Some(Box::new(started));
        self.admit(key, request, Waiter { wait, reply, started }, world);
    }

    fn admit(
        &mut self,
        key: EntityKey,
        request: update::Request,
        waiter: Waiter,
        world: &StepContext<'_>,
    ) {
        let Some(run) = self.run(key) else { return };
        if let Err(rejection) = run.may_be_updated() {
            return waiter.notify(self, key, Err(rejection.into()));
        }
        let id = request.meta.as_ref().map(|meta| meta.update_id.clone()).unwrap_or_default();
        if let Some(progress) = known_progress(&run, &id) {
            return self.wait_for_progress(key, id, Some(progress), waiter);
        }
        let Some(cached) = self.cache.run_mut(key) else { return };
        // An update that is already admitted needs no admission: the caller only waits for it.
        if !cached.updates.admitted.contains_key(&id) {
            let waiting = cached.updates.admitted.len();
            if let Err(rejection) = run.may_admit_update(&id, waiting, &self.rules.limits) {
                return waiter.notify(self, key, Err(limit_reached(rejection)));
            }
            cached.updates.last_order += 1;
            let order = cached.updates.last_order;
            let admitted = Admitted { request, is_sent: false, order };
            cached.updates.admitted.insert(id.clone(), admitted);
        }
        self.wait_for_progress(key, id, None, waiter);
        let _ = self.decide(key, Command::WantTaskForUpdate, world);
    }

    pub(super) fn poll_update(&mut self, key: EntityKey, id: String, wait: Stage, reply: ReplyTo) {
        let Some(run) = self.run(key) else { return };
        let progress = known_progress(&run, &id);
        let is_admitted =
            self.cache.run(key).is_some_and(|cached| cached.updates.admitted.contains_key(&id));
        if progress.is_none() && !is_admitted {
            let why = Rejection::NotFound(format!("update \"{id}\" not found"));
            return self.answer(Some(key), reply, Err(why.into()));
        }
        self.wait_for_progress(key, id, progress, Waiter { wait, reply, started: None });
    }

    /// Answers when the update has reached the wanted stage, which may be now.
    fn wait_for_progress(
        &mut self,
        key: EntityKey,
        id: String,
        progress: Option<UpdateProgress>,
        waiter: Waiter,
    ) {
        let Some(run) = self.run(key) else { return };
        if is_enough(progress.as_ref(), waiter.wait) {
            let status = UpdateStatus { run: run.name(), update_id: id, progress };
            return waiter.notify(self, key, Ok(status));
        }
        if let Some(cached) = self.cache.run_mut(key) {
            cached.updates.waiting.entry(id).or_default().push(waiter);
        }
    }

    /// After a completed workflow task: advances the updates it mentions, and rejects sent updates that it ignored.
    pub(super) fn after_completion(
        &mut self,
        key: EntityKey,
        completed: &TaskCompleted,
        sent: Vec<String>,
    ) {
        // An update that was accepted and completed in one task is reported once, as completed.
        let latest: BTreeMap<_, _> = completed.updates.iter().map(|(id, it)| (id, it)).collect();
        for (id, progress) in latest {
            self.advance_update(key, id, progress);
        }
        if let Some(cached) = self.cache.run_mut(key) {
            cached.updates.rejected.clear();
        }
        for id in sent {
            let is_answered =
                self.cache.run(key).is_none_or(|cached| !cached.updates.admitted.contains_key(&id));
            if is_answered {
                continue;
            }
            let failure = Failure {
                message: "Workflow Update is rejected because it wasn't processed by worker. Probably, Workflow Update is not supported by the worker.".to_owned(),
                source: "Server".to_owned(),
                failure_info: Some(FailureInfo::ApplicationFailureInfo(ApplicationFailureInfo {
                    r#type: "UnprocessedUpdate".to_owned(),
                    non_retryable: true,
                    ..ApplicationFailureInfo::default()
                })),
                ..Failure::default()
            };
            self.advance_update(key, &id, &UpdateProgress::Rejected(failure));
        }
    }

    fn advance_update(&mut self, key: EntityKey, id: &str, progress: &UpdateProgress) {
        let Some(run) = self.run(key) else { return };
        let Some(cached) = self.cache.run_mut(key) else { return };
        cached.updates.admitted.remove(id);
        let waiting = cached.updates.waiting.remove(id).unwrap_or_default();
        for waiter in waiting {
            if is_enough(Some(progress), waiter.wait) {
                let status = UpdateStatus {
                    run: run.name(),
                    update_id: id.to_owned(),
                    progress: Some(progress.clone()),
                };
                waiter.notify(self, key, Ok(status));
            } else if let Some(cached) = self.cache.run_mut(key) {
                cached.updates.waiting.entry(id.to_owned()).or_default().push(waiter);
            }
        }
    }

    /// The run has closed: answers all callers that wait for an update.
    pub(super) fn abort_updates(&mut self, key: EntityKey) {
        let Some(run) = self.run(key) else { return };
        let Some(cached) = self.cache.run_mut(key) else { return };
        let updates = std::mem::take(&mut cached.updates);
        for (id, waiters) in updates.waiting {
            let progress = known_progress(&run, &id).or_else(|| updates.rejected.get(&id).cloned());
            for waiter in waiters {
                let status = match &progress {
                    Some(progress) => Ok(UpdateStatus {
                        run: run.name(),
                        update_id: id.clone(),
                        progress: Some(progress.clone()),
                    }),
                    None if !run.head.successor_run_id.is_empty() => {
                        Err(Rejection::UpdateOvertaken.into())
                    }
                    None => Err(Rejection::UpdateAborted.into()),
                };
                waiter.notify(self, key, status);
            }
        }
    }
}

/// The refusal for an update that isn't admitted.
pub(super) fn limit_reached(rejection: Rejection) -> Refusal {
    match rejection {
        // The limit frees up when other updates complete.
        Rejection::LimitExceeded(why) => Refusal::Overloaded(why),
        other => other.into(),
    }
}

fn is_rejected(progress: &UpdateProgress) -> bool {
    match progress {
        UpdateProgress::Rejected(_) => true,
        UpdateProgress::Accepted | UpdateProgress::Completed(_) => false,
    }
}

fn is_enough(progress: Option<&UpdateProgress>, wait: Stage) -> bool {
    match progress {
        None => matches!(wait, Stage::Admitted | Stage::Unspecified),
        Some(UpdateProgress::Accepted) => wait != Stage::Completed,
        Some(UpdateProgress::Completed(_) | UpdateProgress::Rejected(_)) => true,
    }
}

/// Progress of an update as recorded in the run's state.
fn known_progress(run: &Run, id: &str) -> Option<UpdateProgress> {
    let update = run.updates.get(id)?;
    if let Some(outcome) = &update.outcome {
        return Some(UpdateProgress::Completed(outcome.clone()));
    }
    if update.accepted_event_id == 0 {
        return None;
    }
    if run.is_open() {
        return Some(UpdateProgress::Accepted);
    }
    Some(UpdateProgress::Completed(closed_before_completion()))
}

/// The outcome of an update whose workflow closed before completing it.
fn closed_before_completion() -> update::Outcome {
    let failure = Failure {
        message:
            "Workflow Update failed because the Workflow completed before the Update completed."
                .to_owned(),
        source: "Server".to_owned(),
        failure_info: Some(FailureInfo::ApplicationFailureInfo(ApplicationFailureInfo {
            r#type: "AcceptedUpdateCompletedWorkflow".to_owned(),
            non_retryable: true,
            ..ApplicationFailureInfo::default()
        })),
        ..Failure::default()
    };
    update::Outcome { value: Some(update::outcome::Value::Failure(failure)) }
}
