//! A decision under construction: a copy of the run, to which each event is applied as it is emitted.

use std::collections::BTreeMap;
use std::sync::Arc;

use perennial_proto::store as stored;
use perennial_proto::temporal::common::v1::{Priority, WorkerVersionStamp};
use perennial_proto::temporal::enums::v1::EventType;
use perennial_proto::temporal::history::v1::{HistoryEvent, WorkflowTaskScheduledEventAttributes};

use super::apply::{Touched, event_time};
use super::event::{Attributes, event};
use super::{Context, Rejection, Reply, Run, TaskRef, TaskStamp};
use crate::{RunPart, Span, Time};

/// Added to an event's id for its task id.
const TASK_ID_OFFSET: i64 = 1 << 20;

/// The result of a command.
#[derive(Debug)]
pub struct Decision {
    /// The new state; `None` if nothing changed.
    pub transition: Option<Transition>,
    /// The reply, to be sent once the transition is durable. A rejection may come with a transition: a workflow task
    /// with invalid commands is failed, and the worker receives the reason.
    pub reply: Result<Reply, Rejection>,
}

/// A state transition of a run.
#[derive(Debug)]
pub struct Transition {
    /// The run after the transition.
    pub run: Run,
    /// The events added to the history.
    pub events: Vec<HistoryEvent>,
    /// The changed rows. Their contents are in `run`; a row that isn't there was deleted.
    pub touched: Touched,
    /// Tasks and messages to be released once the transition is durable.
    pub effects: Vec<Effect>,
    /// Whether the run's entry in lists has changed.
    pub is_visible: bool,
    /// The next run of the chain, under the same workflow id.
    pub successor: Option<Box<Transition>>,
}

/// An effect of a transition outside of the run.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "few at a time, and gone with the step")]
pub enum Effect {
    /// A task offered to workers.
    Offer(Offer),
    /// A message to another entity. The cell assigns its key.
    Send(stored::EntityMessage),
}

/// An offer of a task to the workers of a queue.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The offered task.
    pub task: TaskRef,
    /// The name of the task queue.
    pub queue: String,
    /// Whether the queue is sticky, that is, of one worker.
    pub sticky: bool,
    /// The priority in the queue.
    pub priority: Option<Priority>,
}

/// A decision under construction; see the module's documentation.
pub(crate) struct Draft<'a> {
    pub(crate) run: Run,
    pub(crate) cx: &'a Context<'a>,
    pub(crate) events: Vec<HistoryEvent>,
    pub(crate) touched: Touched,
    pub(crate) effects: Vec<Effect>,
    pub(crate) is_visible: bool,
    pub(crate) successor: Option<Box<Transition>>,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(run: Run, cx: &'a Context<'a>) -> Self {
        Self {
            run,
            cx,
            events: Vec::new(),
            touched: Touched::new(),
            effects: Vec::new(),
            is_visible: false,
            successor: None,
        }
    }

    /// Continues a finished transition.
    pub(crate) fn resume(step: Transition, cx: &'a Context<'a>) -> Self {
        let Transition { mut run, events, touched, effects, is_visible, successor } = step;
        run.head.state_transitions -= 1;
        Self { run, cx, events, touched, effects, is_visible, successor }
    }

    /// The run's time: never earlier than its last event, even if the clock is.
    pub(crate) fn now(&self) -> Time {
        self.cx.now.max(Time(self.run.head.last_event_at))
    }

    /// Appends an event to the history. Returns its id.
    pub(crate) fn record(&mut self, attributes: Attributes) -> i64 {
        self.record_event(event(attributes))
    }

    /// Appends an event, with its metadata, to the history. Returns its id.
    pub(crate) fn record_event(&mut self, mut event: HistoryEvent) -> i64 {
        event.principal = self.cx.principal.cloned();
        self.append(event)
    }

    /// Appends an event whose principal is known.
    fn append(&mut self, mut event: HistoryEvent) -> i64 {
        if !is_of_workflow_task(event.event_type()) {
            self.make_speculative_task_durable();
        }
        event.event_id = self.run.head.next_event_id;
        event.task_id = TASK_ID_OFFSET + event.event_id;
        if event.event_time.is_none() {
            event.event_time = Some(self.now().into());
        }
        self.run.apply(&event, &mut self.touched);
        let id = event.event_id;
        self.events.push(event);
        id
    }

    /// Appends an external event to the history, or buffers it while a worker has the workflow task: the worker
    /// mustn't find events in the history that it wasn't given.
    pub(crate) fn record_or_buffer(&mut self, attributes: Attributes) {
        self.record_or_buffer_event(event(attributes));
    }

    /// As [`Draft::record_or_buffer`], with the event's metadata.
    pub(crate) fn record_or_buffer_event(&mut self, event: HistoryEvent) {
        if self.has_started_task() {
            self.buffer(event);
        } else {
            self.record_event(event);
        }
    }

    /// Buffers an event until the workflow task's completion has been carried out.
    pub(crate) fn buffer(&mut self, mut event: HistoryEvent) {
        event.event_time = Some(self.now().into());
        event.principal = self.cx.principal.cloned();
        if let Some(attributes) = &event.attributes {
            self.run.resolve_pending(attributes, event_time(&event), &mut self.touched);
        }
        let sequence = self.run.head.next_buffered_sequence;
        self.run.head.next_buffered_sequence += 1;
        self.run.head.last_event_at = self.now().0;
        self.run.buffered.insert(sequence, Arc::new(event));
        self.touched.insert(RunPart::Buffered(sequence));
    }

    /// Appends the buffered events to the history: outcomes of activities and children after everything else, so that
    /// a workflow sees an earlier signal before them.
    pub(crate) fn flush_buffer(&mut self) {
        if self.run.buffered.is_empty() {
            return;
        }
        let buffered = std::mem::take(&mut self.run.buffered);
        self.touched.extend(buffered.keys().map(|sequence| RunPart::Buffered(*sequence)));
        let (outcomes, others): (Vec<_>, Vec<_>) = buffered
            .values()
            .map(|event| HistoryEvent::clone(event))
            .partition(|event| is_outcome(event.event_type()));
        let mut started_ids = BTreeMap::new();
        for mut event in others.into_iter().chain(outcomes) {
            if let Some(attributes) = &mut event.attributes {
                point_to_start(attributes, &started_ids);
            }
            let attributes = event.attributes.clone();
            // It carries the principal that caused it, not the one that completes the task.
            let id = self.append(event);
            match attributes {
                Some(Attributes::ActivityTaskStartedEventAttributes(started)) => {
                    started_ids.insert(started.scheduled_event_id, id);
                }
                Some(Attributes::ChildWorkflowExecutionStartedEventAttributes(started)) => {
                    started_ids.insert(started.initiated_event_id, id);
                }
                _ => {}
            }
        }
    }

    /// Whether a worker has the workflow task.
    pub(crate) fn has_started_task(&self) -> bool {
        self.run.started_task().is_some()
    }

    /// Schedules a workflow task, unless one is scheduled already, so that the workflow sees the new events.
    pub(crate) fn ensure_workflow_task(&mut self) {
        let waits_for_first = self.run.head.first_task_pending;
        if self.run.head.workflow_task.is_some() || waits_for_first || !self.run.is_open() {
            return;
        }
        if self.run.head.paused.is_some() {
            return;
        }
        self.schedule_workflow_task();
    }

    /// Schedules a workflow task: a normal one, or after failures a transient one, whose events are recorded only when
    /// it is completed.
    pub(crate) fn schedule_workflow_task(&mut self) {
        let attempt = self.run.head.next_task_attempt.max(1);
        if attempt > 1 {
            let id = self.run.head.next_event_id;
            let task = self.new_task(id, attempt, stored::WorkflowTaskKind::Transient);
            self.run.head.workflow_task = Some(task);
        } else {
            let scheduled = self.scheduled_attributes(attempt);
            self.record(Attributes::WorkflowTaskScheduledEventAttributes(scheduled));
        }
        self.offer_workflow_task();
    }

    /// Schedules a workflow task that is dropped from the history unless an update is accepted with it.
    pub(crate) fn schedule_speculative_task(&mut self) {
        let id = self.run.head.next_event_id;
        let task = self.new_task(id, 1, stored::WorkflowTaskKind::Speculative);
        self.run.head.workflow_task = Some(task);
        self.offer_workflow_task();
    }

    fn new_task(
        &self,
        scheduled_event_id: i64,
        attempt: i32,
        kind: stored::WorkflowTaskKind,
    ) -> stored::WorkflowTask {
        let now = self.now();
        let sticky = self.run.head.sticky.as_ref();
        stored::WorkflowTask {
            scheduled_event_id,
            attempt,
            scheduled_at: now.0,
            original_scheduled_at: now.0,
            queue: sticky.map_or_else(|| self.run.task_queue().to_owned(), |to| to.name.clone()),
            sticky: sticky.is_some(),
            sticky_until: sticky.map_or(0, |to| now.after(Span(to.schedule_to_start_nanos)).0),
            kind: kind.into(),
            start_to_close_nanos: self.attempt_timeout(attempt).0,
            ..stored::WorkflowTask::default()
        }
    }

    /// The timeout of an attempt. It grows with the attempts of a task that keeps failing: workers report only the
    /// first failures, so the timeout is also the backoff between attempts.
    fn attempt_timeout(&self, attempt: i32) -> Span {
        const STEADY_ATTEMPTS: i32 = 3;
        const GROWTH: Span = Span::seconds(5);
        const GROWTH_MAX: Span = Span::seconds(600);
        let timeout = self.run.workflow_task_timeout(self.cx.limits);
        if attempt <= STEADY_ATTEMPTS {
            return timeout;
        }
        let doublings = u32::try_from(attempt - STEADY_ATTEMPTS - 1).unwrap_or(0).min(16);
        Span(timeout.0.saturating_add(GROWTH_MAX.0.min(GROWTH.0 << doublings)))
    }

    pub(crate) fn scheduled_attributes(
        &self,
        attempt: i32,
    ) -> WorkflowTaskScheduledEventAttributes {
        let sticky = self.run.head.sticky.as_ref().map(|to| to.name.as_str());
        let task_queue = self.run.shown_queue(sticky);
        WorkflowTaskScheduledEventAttributes {
            task_queue: Some(task_queue),
            start_to_close_timeout: Some(self.run.workflow_task_timeout(self.cx.limits).into()),
            attempt,
        }
    }

    /// Offers the scheduled workflow task to workers.
    pub(crate) fn offer_workflow_task(&mut self) {
        let priority = self.run.priority().cloned();
        let Some(task) = &mut self.run.head.workflow_task else { return };
        task.stamp += 1;
        let offer = Offer {
            task: TaskRef::Workflow(TaskStamp::from(&*task)),
            queue: task.queue.clone(),
            sticky: task.sticky,
            priority,
        };
        self.effects.push(Effect::Offer(offer));
    }

    /// Offers a due activity to workers.
    pub(crate) fn offer_activity(&mut self, scheduled_event_id: i64) {
        let now = self.now();
        let run_priority = self.run.priority().cloned();
        let mut offer = None;
        self.run.change_activity(scheduled_event_id, &mut self.touched, |activity| {
            activity.stamp += 1;
            activity.retry_at = 0;
            activity.attempt_scheduled_at = now.0;
            let scheduled = activity.scheduled.clone().unwrap_or_default();
            offer = Some(Offer {
                task: TaskRef::Activity(TaskStamp::from(&*activity)),
                queue: scheduled.task_queue.unwrap_or_default().name,
                sticky: false,
                priority: scheduled.priority.or(run_priority),
            });
        });
        self.effects.extend(offer.map(Effect::Offer));
    }

    /// Records the events of a transient or speculative task that is about to have an effect.
    pub(crate) fn record_unwritten_task(&mut self) {
        self.record_unwritten_task_of(None);
    }

    /// As [`Draft::record_unwritten_task`], for a worker that reported its build.
    pub(crate) fn record_unwritten_task_of(&mut self, worker_version: Option<&WorkerVersionStamp>) {
        let Some(task) = self.run.head.workflow_task.clone() else { return };
        if task.kind() == stored::WorkflowTaskKind::Normal {
            return;
        }
        for mut event in self.run.unwritten_task_events() {
            if let Some(Attributes::WorkflowTaskStartedEventAttributes(it)) = &mut event.attributes
            {
                it.worker_version = worker_version.cloned();
            }
            self.record_event(event);
        }
        if let Some(written) = &mut self.run.head.workflow_task {
            written.stamp = task.stamp;
            written.sticky_until = task.sticky_until;
            written.original_scheduled_at = task.original_scheduled_at;
        }
    }

    /// Turns a speculative task into a normal, durable one.
    pub(crate) fn make_speculative_task_durable(&mut self) {
        if !self.run.has_speculative_task() {
            return;
        }
        self.record_unwritten_task();
        if !self.has_started_task() {
            // The offer was never stored. The task now is, so a crash mustn't lose the offer.
            self.offer_workflow_task();
        }
    }

    /// Finishes the decision with a reply.
    pub(crate) fn done(self, reply: Reply) -> Decision {
        self.end(Ok(reply))
    }

    /// Finishes the decision with a reply or a rejection.
    pub(crate) fn end(self, reply: Result<Reply, Rejection>) -> Decision {
        Decision { transition: Some(self.into_transition()), reply }
    }

    pub(crate) fn into_transition(mut self) -> Transition {
        self.run.head.state_transitions += 1;
        Transition {
            run: self.run,
            events: self.events,
            touched: self.touched,
            effects: self.effects,
            is_visible: self.is_visible,
            successor: self.successor,
        }
    }
}

fn is_of_workflow_task(kind: EventType) -> bool {
    matches!(
        kind,
        EventType::WorkflowTaskScheduled
            | EventType::WorkflowTaskStarted
            | EventType::WorkflowTaskCompleted
            | EventType::WorkflowTaskFailed
            | EventType::WorkflowTaskTimedOut
    )
}

/// Whether events of this kind report an outcome, as opposed to a start.
fn is_outcome(kind: EventType) -> bool {
    matches!(
        kind,
        EventType::ActivityTaskCompleted
            | EventType::ActivityTaskFailed
            | EventType::ActivityTaskCanceled
            | EventType::ActivityTaskTimedOut
            | EventType::ChildWorkflowExecutionCompleted
            | EventType::ChildWorkflowExecutionFailed
            | EventType::ChildWorkflowExecutionCanceled
            | EventType::ChildWorkflowExecutionTimedOut
            | EventType::ChildWorkflowExecutionTerminated
    )
}

/// Sets the start's event id in an outcome that was buffered together with its start.
fn point_to_start(attributes: &mut Attributes, started_ids: &BTreeMap<i64, i64>) {
    let (of, started_event_id) = match attributes {
        Attributes::ActivityTaskCompletedEventAttributes(a) => {
            (a.scheduled_event_id, &mut a.started_event_id)
        }
        Attributes::ActivityTaskFailedEventAttributes(a) => {
            (a.scheduled_event_id, &mut a.started_event_id)
        }
        Attributes::ActivityTaskCanceledEventAttributes(a) => {
            (a.scheduled_event_id, &mut a.started_event_id)
        }
        Attributes::ActivityTaskTimedOutEventAttributes(a) => {
            (a.scheduled_event_id, &mut a.started_event_id)
        }
        Attributes::ChildWorkflowExecutionCompletedEventAttributes(c) => {
            (c.initiated_event_id, &mut c.started_event_id)
        }
        Attributes::ChildWorkflowExecutionFailedEventAttributes(c) => {
            (c.initiated_event_id, &mut c.started_event_id)
        }
        Attributes::ChildWorkflowExecutionCanceledEventAttributes(c) => {
            (c.initiated_event_id, &mut c.started_event_id)
        }
        Attributes::ChildWorkflowExecutionTimedOutEventAttributes(c) => {
            (c.initiated_event_id, &mut c.started_event_id)
        }
        Attributes::ChildWorkflowExecutionTerminatedEventAttributes(c) => {
            (c.initiated_event_id, &mut c.started_event_id)
        }
        _ => return,
    };
    if *started_event_id == 0
        && let Some(id) = started_ids.get(&of)
    {
        *started_event_id = *id;
    }
}
