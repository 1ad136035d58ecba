//! How a history event changes a run's state. Applying an event never fails.

use std::collections::BTreeSet;
use std::sync::Arc;

use perennial_proto::store as stored;
use perennial_proto::temporal::enums::v1::{
    EventType, TaskQueueKind, UpdateWorkflowExecutionLifecycleStage, WorkflowExecutionStatus,
    WorkflowTaskFailedCause,
};
use perennial_proto::temporal::history::v1::{HistoryEvent, WorkflowTaskCompletedEventAttributes};
use perennial_proto::temporal::workflow::v1::ResetPointInfo;
use prost::Message;

use super::Run;
use super::decide::fail_workflow_task::{camel_case, cause_name};
use super::event::Attributes;
use crate::fields::merge;
use crate::{RunPart, SharedMap, Span, Time};

/// The most reset points that a run keeps; older ones are dropped.
const RESET_POINTS_MAX: usize = 20;

/// The rows of a run that have changed.
pub(crate) type Touched = BTreeSet<RunPart>;

impl Run {
    /// Applies an event that is now part of the history.
    pub(crate) fn apply(&mut self, event: &HistoryEvent, touched: &mut Touched) {
        let time = event_time(event);
        self.head.next_event_id = event.event_id + 1;
        self.head.history_bytes += event.encoded_len() as i64;
        self.head.last_event_at = self.head.last_event_at.max(time.0);
        let Some(attributes) = &event.attributes else { return };
        self.resolve_pending(attributes, time, touched);
        self.apply_workflow_task(event, attributes);
        self.apply_pending(event, attributes, touched);
        self.apply_rest(event, attributes, touched);
    }

    /// Applies the part of an event that takes effect even before the event has its place in the history: an outcome
    /// ends the pending activity, timer or child as soon as it is known. Idempotent.
    pub(crate) fn resolve_pending(
        &mut self,
        attributes: &Attributes,
        at: Time,
        touched: &mut Touched,
    ) {
        match attributes {
            Attributes::ActivityTaskCompletedEventAttributes(outcome) => {
                self.drop_activity(outcome.scheduled_event_id, touched);
            }
            Attributes::ActivityTaskFailedEventAttributes(outcome) => {
                self.drop_activity(outcome.scheduled_event_id, touched);
            }
            Attributes::ActivityTaskTimedOutEventAttributes(outcome) => {
                self.drop_activity(outcome.scheduled_event_id, touched);
            }
            Attributes::ActivityTaskCanceledEventAttributes(outcome) => {
                self.drop_activity(outcome.scheduled_event_id, touched);
            }
            Attributes::TimerFiredEventAttributes(fired) => {
                remove(&mut self.timers, fired.started_event_id, RunPart::Timer, touched);
            }
            Attributes::TimerCanceledEventAttributes(canceled) => {
                remove(&mut self.timers, canceled.started_event_id, RunPart::Timer, touched);
            }
            Attributes::StartChildWorkflowExecutionFailedEventAttributes(failed) => {
                remove(&mut self.children, failed.initiated_event_id, RunPart::Child, touched);
            }
            Attributes::ChildWorkflowExecutionCompletedEventAttributes(closed) => {
                remove(&mut self.children, closed.initiated_event_id, RunPart::Child, touched);
            }
            Attributes::ChildWorkflowExecutionFailedEventAttributes(closed) => {
                remove(&mut self.children, closed.initiated_event_id, RunPart::Child, touched);
            }
            Attributes::ChildWorkflowExecutionCanceledEventAttributes(closed) => {
                remove(&mut self.children, closed.initiated_event_id, RunPart::Child, touched);
            }
            Attributes::ChildWorkflowExecutionTimedOutEventAttributes(closed) => {
                remove(&mut self.children, closed.initiated_event_id, RunPart::Child, touched);
            }
            Attributes::ChildWorkflowExecutionTerminatedEventAttributes(closed) => {
                remove(&mut self.children, closed.initiated_event_id, RunPart::Child, touched);
            }
            Attributes::ExternalWorkflowExecutionSignaledEventAttributes(outcome) => {
                remove(&mut self.signals, outcome.initiated_event_id, RunPart::Signal, touched);
            }
            Attributes::SignalExternalWorkflowExecutionFailedEventAttributes(outcome) => {
                remove(&mut self.signals, outcome.initiated_event_id, RunPart::Signal, touched);
            }
            Attributes::ExternalWorkflowExecutionCancelRequestedEventAttributes(outcome) => {
                remove(&mut self.cancels, outcome.initiated_event_id, RunPart::Cancel, touched);
            }
            Attributes::RequestCancelExternalWorkflowExecutionFailedEventAttributes(outcome) => {
                remove(&mut self.cancels, outcome.initiated_event_id, RunPart::Cancel, touched);
            }
            Attributes::WorkflowExecutionCancelRequestedEventAttributes(_) => {
                self.head.cancel_requested = true;
            }
            Attributes::WorkflowExecutionOptionsUpdatedEventAttributes(updated)
                if updated.priority.is_some() =>
            {
                self.head.priority.clone_from(&updated.priority);
            }
            Attributes::WorkflowExecutionPausedEventAttributes(paused) => {
                self.head.paused = Some(stored::Paused {
                    identity: paused.identity.clone(),
                    reason: paused.reason.clone(),
                    request_id: paused.request_id.clone(),
                    paused_at: at.0,
                });
                self.head.set_status(WorkflowExecutionStatus::Paused);
            }
            Attributes::WorkflowExecutionUnpausedEventAttributes(_) => {
                self.head.paused = None;
                self.head.set_status(WorkflowExecutionStatus::Running);
            }
            Attributes::ChildWorkflowExecutionStartedEventAttributes(started) => {
                let run_id =
                    started.workflow_execution.as_ref().map_or("", |child| child.run_id.as_str());
                self.change_child(started.initiated_event_id, touched, |child| {
                    child.run_id = run_id.to_owned();
                });
            }
            _ => {}
        }
    }

    fn apply_workflow_task(&mut self, event: &HistoryEvent, attributes: &Attributes) {
        let time = event_time(event);
        match attributes {
            Attributes::WorkflowTaskScheduledEventAttributes(scheduled) => {
                let queue = scheduled.task_queue.clone().unwrap_or_default();
                let sticky = queue.kind() == TaskQueueKind::Sticky;
                let wait = self.head.sticky.as_ref().map_or(0, |to| to.schedule_to_start_nanos);
                self.head.workflow_task = Some(stored::WorkflowTask {
                    scheduled_event_id: event.event_id,
                    attempt: scheduled.attempt,
                    scheduled_at: time.0,
                    original_scheduled_at: time.0,
                    queue: queue.name,
                    sticky,
                    sticky_until: if sticky { time.after(Span(wait)).0 } else { 0 },
                    kind: stored::WorkflowTaskKind::Normal.into(),
                    start_to_close_nanos: Span::of(scheduled.start_to_close_timeout.as_ref()).0,
                    ..stored::WorkflowTask::default()
                });
                self.head.first_task_pending = false;
            }
            Attributes::WorkflowTaskStartedEventAttributes(started) => {
                if let Some(task) = &mut self.head.workflow_task {
                    task.started_event_id = event.event_id;
                    task.started_at = time.0;
                    task.identity.clone_from(&started.identity);
                    task.request_id.clone_from(&started.request_id);
                    task.suggest_continue_as_new = started.suggest_continue_as_new;
                    task.history_bytes = started.history_size_bytes;
                }
            }
            Attributes::WorkflowTaskCompletedEventAttributes(completed) => {
                self.head.workflow_task = None;
                self.head.previous_started_event_id = completed.started_event_id;
                self.head.last_completed_event_id = event.event_id;
                self.head.next_task_attempt = 1;
                self.head.last_workflow_task_failure = None;
                self.head.workflow_task_problem = None;
                if let Some(metadata) = &completed.sdk_metadata {
                    if !metadata.sdk_name.is_empty() {
                        self.head.sdk_name.clone_from(&metadata.sdk_name);
                    }
                    if !metadata.sdk_version.is_empty() {
                        self.head.sdk_version.clone_from(&metadata.sdk_version);
                    }
                }
                self.head.worker_version.clone_from(&completed.worker_version);
                self.note_build(completed.worker_version.as_ref());
                self.add_reset_point(event, completed);
            }
            Attributes::WorkflowTaskTimedOutEventAttributes(timed_out) => {
                // A task that no sticky worker fetched doesn't count as an attempt.
                let was_tried = timed_out.started_event_id != 0;
                if was_tried {
                    let timeout = timed_out.timeout_type().as_str_name();
                    let cause = camel_case(timeout.trim_start_matches("TIMEOUT_TYPE_"));
                    self.note_task_problem("WorkflowTaskTimedOut", cause);
                }
                self.end_failed_task(was_tried);
                self.head.sticky = None;
            }
            Attributes::WorkflowTaskFailedEventAttributes(failed) => {
                let cause = failed.cause();
                let is_workers = !matches!(
                    cause,
                    WorkflowTaskFailedCause::ResetWorkflow
                        | WorkflowTaskFailedCause::ForceCloseCommand
                        | WorkflowTaskFailedCause::WorkflowPauseRequestedBeforeTaskStarted
                );
                if is_workers {
                    self.note_task_problem("WorkflowTaskFailed", cause_name(cause));
                }
                self.end_failed_task(is_workers);
                self.head.last_workflow_task_failure.clone_from(&failed.failure);
                self.head.sticky = None;
            }
            _ => {}
        }
    }

    /// Adds a reset point: the first workflow task that a build completes.
    fn add_reset_point(
        &mut self,
        event: &HistoryEvent,
        completed: &WorkflowTaskCompletedEventAttributes,
    ) {
        let stamp = completed.worker_version.as_ref();
        let build_id = stamp.map_or("", |stamp| stamp.build_id.as_str());
        let points = self.head.reset_points.get_or_insert_default();
        let is_known = |point: &ResetPointInfo| {
            point.build_id == build_id && point.binary_checksum == completed.binary_checksum
        };
        if points.points.iter().any(is_known) {
            return;
        }
        if points.points.len() >= RESET_POINTS_MAX {
            points.points.remove(0);
        }
        points.points.push(ResetPointInfo {
            build_id: build_id.to_owned(),
            binary_checksum: completed.binary_checksum.clone(),
            run_id: self.head.run_id.clone(),
            first_workflow_task_completed_id: event.event_id,
            create_time: event.event_time,
            resettable: true,
            ..ResetPointInfo::default()
        });
    }

    /// Ends the workflow task without a result. If `counts`, the next task has a higher attempt number.
    pub(crate) fn end_failed_task(&mut self, counts: bool) {
        let attempt = self.head.workflow_task.take().map_or(1, |task| task.attempt.max(1));
        // The sticky worker had the workflow cached. The next worker replays from the first event, so this is a first
        // attempt.
        let counts = counts && self.head.sticky.is_none();
        self.head.next_task_attempt = if counts { attempt + 1 } else { 1 };
        if counts {
            self.head.workflow_task_problem.get_or_insert_default().failures += 1;
        }
    }

    fn note_task_problem(&mut self, category: &str, cause: String) {
        let problem = self.head.workflow_task_problem.get_or_insert_default();
        problem.category = category.to_owned();
        problem.cause = cause;
    }

    fn apply_pending(
        &mut self,
        event: &HistoryEvent,
        attributes: &Attributes,
        touched: &mut Touched,
    ) {
        let id = event.event_id;
        let time = event_time(event);
        match attributes {
            Attributes::ActivityTaskScheduledEventAttributes(scheduled) => {
                let activity = stored::PendingActivity {
                    scheduled: Some(scheduled.clone()),
                    scheduled_event_id: id,
                    first_scheduled_at: time.0,
                    attempt: 1,
                    attempt_scheduled_at: time.0,
                    ..stored::PendingActivity::default()
                };
                insert(&mut self.activities, id, activity, RunPart::Activity, touched);
            }
            Attributes::ActivityTaskCancelRequestedEventAttributes(requested) => {
                self.change_activity(requested.scheduled_event_id, touched, |activity| {
                    activity.cancel_requested_event_id = id;
                });
            }
            Attributes::TimerStartedEventAttributes(started) => {
                let wait = Span::of(started.start_to_fire_timeout.as_ref());
                let timer = stored::PendingTimer {
                    timer_id: started.timer_id.clone(),
                    started_event_id: id,
                    fires_at: time.after(wait).0,
                };
                insert(&mut self.timers, id, timer, RunPart::Timer, touched);
            }
            Attributes::StartChildWorkflowExecutionInitiatedEventAttributes(initiated) => {
                let child = stored::PendingChild {
                    initiated: Some(initiated.clone()),
                    initiated_event_id: id,
                    ..stored::PendingChild::default()
                };
                insert(&mut self.children, id, child, RunPart::Child, touched);
            }
            Attributes::ChildWorkflowExecutionStartedEventAttributes(started) => {
                self.change_child(started.initiated_event_id, touched, |child| {
                    child.started_event_id = id;
                });
            }
            Attributes::SignalExternalWorkflowExecutionInitiatedEventAttributes(initiated) => {
                let signal = stored::PendingSignal {
                    initiated: Some(initiated.clone()),
                    initiated_event_id: id,
                    request_id: format!("{}:{id}", self.head.run_id),
                };
                insert(&mut self.signals, id, signal, RunPart::Signal, touched);
            }
            Attributes::RequestCancelExternalWorkflowExecutionInitiatedEventAttributes(
                initiated,
            ) => {
                let cancel = stored::PendingCancel {
                    initiated: Some(initiated.clone()),
                    initiated_event_id: id,
                    request_id: format!("{}:{id}", self.head.run_id),
                };
                insert(&mut self.cancels, id, cancel, RunPart::Cancel, touched);
            }
            _ => {}
        }
    }

    fn apply_rest(&mut self, event: &HistoryEvent, attributes: &Attributes, touched: &mut Touched) {
        let id = event.event_id;
        match attributes {
            Attributes::WorkflowExecutionSignaledEventAttributes(signaled) => {
                self.head.signal_count += 1;
                self.remember(&signaled.request_id, event.event_type(), id, touched);
            }
            Attributes::UpsertWorkflowSearchAttributesEventAttributes(upserted) => {
                merge(&mut self.head.search_attributes, upserted.search_attributes.clone());
            }
            Attributes::WorkflowPropertiesModifiedEventAttributes(modified) => {
                merge(&mut self.head.memo, modified.upserted_memo.clone());
            }
            Attributes::WorkflowExecutionUpdateAcceptedEventAttributes(accepted) => {
                let update = stored::PendingUpdate {
                    update_id: accepted.protocol_instance_id.clone(),
                    stage: UpdateWorkflowExecutionLifecycleStage::Accepted.into(),
                    accepted_event_id: id,
                    ..stored::PendingUpdate::default()
                };
                self.put_update(update, touched);
            }
            Attributes::WorkflowExecutionUpdateAdmittedEventAttributes(admitted) => {
                let request = admitted.request.clone().unwrap_or_default();
                let update = stored::PendingUpdate {
                    update_id: request.meta.clone().unwrap_or_default().update_id,
                    stage: UpdateWorkflowExecutionLifecycleStage::Admitted.into(),
                    admitted_request: Some(request),
                    ..stored::PendingUpdate::default()
                };
                self.put_update(update, touched);
            }
            Attributes::WorkflowExecutionUpdateCompletedEventAttributes(completed) => {
                let update = stored::PendingUpdate {
                    update_id: completed.meta.clone().unwrap_or_default().update_id,
                    stage: UpdateWorkflowExecutionLifecycleStage::Completed.into(),
                    accepted_event_id: completed.accepted_event_id,
                    completed_event_id: id,
                    outcome: completed.outcome.clone(),
                    ..stored::PendingUpdate::default()
                };
                self.put_update(update, touched);
            }
            Attributes::WorkflowExecutionOptionsUpdatedEventAttributes(updated) => {
                self.remember(&updated.attached_request_id, event.event_type(), id, touched);
            }
            Attributes::WorkflowExecutionCompletedEventAttributes(closed) => {
                self.close(event, WorkflowExecutionStatus::Completed, &closed.new_execution_run_id);
            }
            Attributes::WorkflowExecutionFailedEventAttributes(closed) => {
                self.close(event, WorkflowExecutionStatus::Failed, &closed.new_execution_run_id);
            }
            Attributes::WorkflowExecutionTimedOutEventAttributes(closed) => {
                self.close(event, WorkflowExecutionStatus::TimedOut, &closed.new_execution_run_id);
            }
            Attributes::WorkflowExecutionContinuedAsNewEventAttributes(closed) => {
                let successor = &closed.new_execution_run_id;
                self.close(event, WorkflowExecutionStatus::ContinuedAsNew, successor);
            }
            Attributes::WorkflowExecutionCanceledEventAttributes(_) => {
                self.close(event, WorkflowExecutionStatus::Canceled, "");
            }
            Attributes::WorkflowExecutionTerminatedEventAttributes(_) => {
                self.close(event, WorkflowExecutionStatus::Terminated, "");
            }
            _ => {}
        }
    }

    fn close(&mut self, event: &HistoryEvent, status: WorkflowExecutionStatus, successor: &str) {
        self.head.set_status(status);
        self.head.closed_at = event_time(event).0;
        self.head.successor_run_id = successor.to_owned();
        self.head.workflow_task = None;
        self.head.first_task_pending = false;
        self.head.paused = None;
    }

    /// Remembers a request that took effect, to recognise its retries.
    pub(crate) fn remember(
        &mut self,
        request_id: &str,
        event_type: EventType,
        event_id: i64,
        touched: &mut Touched,
    ) {
        if request_id.is_empty() {
            return;
        }
        let seen = stored::SeenRequest { event_type: event_type.into(), event_id };
        self.requests.insert(request_id.to_owned(), Arc::new(seen));
        touched.insert(RunPart::Request(request_id.to_owned()));
    }

    /// Changes a pending activity; does nothing if there is no such activity.
    pub(crate) fn change_activity(
        &mut self,
        scheduled_event_id: i64,
        touched: &mut Touched,
        change: impl FnOnce(&mut stored::PendingActivity),
    ) {
        let activities = &mut self.activities;
        if let Some(activity) = activities.get_mut(&scheduled_event_id) {
            change(Arc::make_mut(activity));
            touched.insert(RunPart::Activity(scheduled_event_id));
        }
    }

    fn drop_activity(&mut self, scheduled_event_id: i64, touched: &mut Touched) {
        remove(&mut self.activities, scheduled_event_id, RunPart::Activity, touched);
    }

    pub(crate) fn change_child(
        &mut self,
        initiated_event_id: i64,
        touched: &mut Touched,
        change: impl FnOnce(&mut stored::PendingChild),
    ) {
        let children = &mut self.children;
        if let Some(child) = children.get_mut(&initiated_event_id) {
            change(Arc::make_mut(child));
            touched.insert(RunPart::Child(initiated_event_id));
        }
    }

    fn put_update(&mut self, update: stored::PendingUpdate, touched: &mut Touched) {
        touched.insert(RunPart::Update(update.update_id.clone()));
        self.updates.insert(update.update_id.clone(), Arc::new(update));
    }
}

/// The time of an event.
pub(crate) fn event_time(event: &HistoryEvent) -> Time {
    event.event_time.map_or(Time::NONE, Time::from)
}

fn insert<T: Clone>(
    map: &mut SharedMap<i64, Arc<T>>,
    id: i64,
    value: T,
    key: fn(i64) -> RunPart,
    touched: &mut Touched,
) {
    map.insert(id, Arc::new(value));
    touched.insert(key(id));
}

fn remove<T: Clone>(
    map: &mut SharedMap<i64, Arc<T>>,
    id: i64,
    key: fn(i64) -> RunPart,
    touched: &mut Touched,
) {
    if map.contains_key(&id) {
        map.remove(&id);
        touched.insert(key(id));
    }
}
