//! A decision in the making: a copy of the run that takes each event as it is emitted.

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

/// Events carry a number that ascends through a history, as clients of Temporal expect.
const FIRST_TASK_ID: i64 = 1 << 20;

/// What a command led to.
#[derive(Debug)]
pub struct Decision {
    /// What changed; `None` if nothing did.
    pub transition: Option<Transition>,
    /// What the caller hears once that is durable. A refusal may come with a change: a workflow task with
    /// commands that make no sense is failed, and the worker is told why.
    pub reply: Result<Reply, Rejection>,
}

/// A step of a run.
#[derive(Debug)]
pub struct Transition {
    /// The run after it.
    pub run: Run,
    /// What it added to the history.
    pub events: Vec<HistoryEvent>,
    /// Rows that changed: look them up in `run`; what isn't there is gone.
    pub touched: Touched,
    /// What is to be done once it is durable.
    pub effects: Vec<Effect>,
    /// Lists show something else now.
    pub is_visible: bool,
    /// A run that takes this one's place under the same workflow id.
    pub successor: Option<Box<Transition>>,
}

/// Something for others to do.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "few at a time, and gone with the step")]
pub enum Effect {
    /// A task for a worker.
    Offer(Offer),
    /// A message to another run. Its key is still to be given.
    Send(stored::EntityMessage),
}

/// A task for a worker.
#[derive(Debug, Clone)]
pub struct Offer {
    /// Which.
    pub task: TaskRef,
    /// The queue's name.
    pub queue: String,
    /// Whether that is the queue of one worker.
    pub sticky: bool,
    /// How urgent.
    pub priority: Option<Priority>,
}

/// See the module's documentation.
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

    /// Goes on where a finished step stopped.
    pub(crate) fn resume(step: Transition, cx: &'a Context<'a>) -> Self {
        let Transition { mut run, events, touched, effects, is_visible, successor } = step;
        run.head.state_transitions -= 1;
        Self { run, cx, events, touched, effects, is_visible, successor }
    }

    /// The run's time: never before its last event, whatever the clock says.
    pub(crate) fn now(&self) -> Time {
        self.cx.now.max(Time(self.run.head.last_event_at))
    }

    /// Writes an event into the history. Returns its id.
    pub(crate) fn record(&mut self, attributes: Attributes) -> i64 {
        self.record_event(event(attributes))
    }

    /// Writes an event, with its metadata, into the history. Returns its id.
    pub(crate) fn record_event(&mut self, mut event: HistoryEvent) -> i64 {
        if !is_of_workflow_task(event.event_type()) {
            self.write_down_speculative_task();
        }
        event.event_id = self.run.head.next_event_id;
        event.task_id = FIRST_TASK_ID + event.event_id;
        if event.event_time.is_none() {
            event.event_time = Some(self.now().into());
        }
        self.run.apply(&event, &mut self.touched);
        let id = event.event_id;
        self.events.push(event);
        id
    }

    /// Something happened outside the workflow: into the history, or into the buffer while a worker is at
    /// it, because the worker mustn't find events it wasn't given.
    pub(crate) fn happen(&mut self, attributes: Attributes) {
        self.happen_event(event(attributes));
    }

    /// As [`Draft::happen`], with the event's metadata.
    pub(crate) fn happen_event(&mut self, event: HistoryEvent) {
        if self.has_started_task() {
            self.buffer(event);
        } else {
            self.record_event(event);
        }
    }

    /// Puts an event into the buffer, to be written when the workflow task's completion has been carried out.
    pub(crate) fn buffer(&mut self, mut event: HistoryEvent) {
        event.event_time = Some(self.now().into());
        if let Some(attributes) = &event.attributes {
            self.run.settle(attributes, event_time(&event), &mut self.touched);
        }
        let sequence = self.run.head.next_buffered_sequence;
        self.run.head.next_buffered_sequence += 1;
        self.run.head.last_event_at = self.now().0;
        self.run.buffered.insert(sequence, Arc::new(event));
        self.touched.insert(RunPart::Buffered(sequence));
    }

    /// Writes the buffered events into the history: activity and child outcomes behind everything else,
    /// so that a signal that came before them is seen before them.
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
            let id = self.record_event(event);
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

    /// Makes sure a workflow task will look at what just happened.
    pub(crate) fn want_workflow_task(&mut self) {
        let waits_for_first = self.run.head.first_task_pending;
        if self.run.head.workflow_task.is_some() || waits_for_first || !self.run.is_open() {
            return;
        }
        if self.run.head.paused.is_some() {
            return;
        }
        self.schedule_workflow_task();
    }

    /// Schedules a workflow task: a normal one, or a transient one after failures, whose events are
    /// written only if it is completed.
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

    /// Schedules a workflow task that leaves no trace unless an update is accepted with it.
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
            start_to_close_nanos: self.patience(attempt).0,
            ..stored::WorkflowTask::default()
        }
    }

    /// How long a worker may take. A task that keeps failing gets longer and longer: workers answer the
    /// first failures only, so this is also the pause between attempts.
    fn patience(&self, attempt: i32) -> Span {
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

    /// Offers an activity that is due to workers.
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

    /// Writes the events of a transient or speculative task that is about to matter into the history.
    pub(crate) fn write_down_task(&mut self) {
        self.write_down_task_of(None);
    }

    /// The same, for a worker that told its build.
    pub(crate) fn write_down_task_of(&mut self, worker_version: Option<&WorkerVersionStamp>) {
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

    /// Makes a task that was made for updates alone one that stays.
    pub(crate) fn write_down_speculative_task(&mut self) {
        if !self.run.has_speculative_task() {
            return;
        }
        self.write_down_task();
        if !self.has_started_task() {
            // Its offer was never stored. Now that the task is, a crash mustn't lose the offer.
            self.offer_workflow_task();
        }
    }

    /// The finished decision.
    pub(crate) fn done(self, reply: Reply) -> Decision {
        self.end(Ok(reply))
    }

    /// The finished decision, with what the caller hears.
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

/// Events that tell of an outcome. The event of its start stays where it was.
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

/// An outcome that was buffered together with its start learns the start's id only now.
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
