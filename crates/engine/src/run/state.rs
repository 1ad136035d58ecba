//! The state of a run.

use std::collections::BTreeSet;
use std::sync::Arc;

use perennial_proto::store as stored;
use perennial_proto::temporal::common::v1::{Priority, SearchAttributes};
use perennial_proto::temporal::enums::v1::{
    IndexedValueType as Kind, TaskQueueKind, WorkflowExecutionStatus,
};
use perennial_proto::temporal::history::v1::{
    HistoryEvent, WorkflowExecutionStartedEventAttributes, WorkflowTaskScheduledEventAttributes,
    WorkflowTaskStartedEventAttributes,
};
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use serde_json::json;

use super::event::{Attributes, event};
use super::{Limits, Rejection, TaskStamp};
use crate::fields::json_payload;
use crate::{EntityId, EntityKey, NamespaceKey, SharedMap, Span, Time};

/// The state of a run. Cheap to clone: copies share their parts.
///
/// It is the fold of the run's history, plus volatile state that leaves no event: attempts, heartbeats, buffered
/// events. Both change only through [`Run::decide`].
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The run's key, which also names the branch of its own history.
    pub key: EntityKey,
    /// The attributes of the first event.
    pub started: Arc<WorkflowExecutionStartedEventAttributes>,
    /// The fields that change with almost every step.
    pub head: stored::RunHead,
    /// Activities without an outcome, by the ids of the events that scheduled them.
    pub activities: SharedMap<i64, Arc<stored::PendingActivity>>,
    /// Timers that haven't fired, by the ids of the events that started them.
    pub timers: SharedMap<i64, Arc<stored::PendingTimer>>,
    /// Children that haven't closed, by the ids of the events that initiated them.
    pub children: SharedMap<i64, Arc<stored::PendingChild>>,
    /// Signals to other workflows that haven't been delivered.
    pub signals: SharedMap<i64, Arc<stored::PendingSignal>>,
    /// Cancel requests to other workflows that haven't been delivered.
    pub cancels: SharedMap<i64, Arc<stored::PendingCancel>>,
    /// Requests that took effect, by their request ids.
    pub requests: SharedMap<String, Arc<stored::SeenRequest>>,
    /// Accepted updates with their outcomes, by their update ids.
    pub updates: SharedMap<String, Arc<stored::PendingUpdate>>,
    /// Events that are recorded after the workflow task ends, in order.
    pub buffered: SharedMap<i64, Arc<HistoryEvent>>,
}

impl Run {
    /// Whether the run hasn't closed.
    pub fn is_open(&self) -> bool {
        self.head.status() == WorkflowExecutionStatus::Running
            || self.head.status() == WorkflowExecutionStatus::Paused
    }

    /// The id of the last event.
    pub fn last_event_id(&self) -> i64 {
        self.head.next_event_id - 1
    }
}

impl Run {
    /// The normal task queue of the workflow's tasks.
    pub fn task_queue(&self) -> &str {
        self.started.task_queue.as_ref().map_or("", |queue| queue.name.as_str())
    }

    /// The priority of the run's tasks.
    pub fn priority(&self) -> Option<&Priority> {
        self.head.priority.as_ref().or(self.started.priority.as_ref())
    }

    /// The workflow task timeout: the run's own, or the default.
    pub(crate) fn workflow_task_timeout(&self, limits: &Limits) -> Span {
        let given = Span::of(self.started.workflow_task_timeout.as_ref());
        given.get().unwrap_or(limits.workflow_task_timeout)
    }

    /// The task queue as events show it: the sticky one, or the normal one.
    pub(crate) fn shown_queue(&self, sticky: Option<&str>) -> TaskQueue {
        let normal = self.task_queue().to_owned();
        match sticky {
            Some(name) => TaskQueue {
                name: name.to_owned(),
                kind: TaskQueueKind::Sticky.into(),
                normal_name: normal,
            },
            None => TaskQueue {
                name: normal,
                kind: TaskQueueKind::Normal.into(),
                normal_name: String::new(),
            },
        }
    }

    /// A warning for operators if the history has passed a warning threshold since the state `before`.
    pub fn growth_warning(&self, before: &Self, limits: &Limits) -> Option<String> {
        let has_passed = |now: i64, before: i64, every: i64| {
            every > 0 && now.div_euclid(every) > before.div_euclid(every)
        };
        let (events, bytes) = (self.last_event_id(), self.head.history_bytes);
        let is_due = has_passed(events, before.last_event_id(), limits.warn_events)
            || has_passed(bytes, before.head.history_bytes, limits.warn_bytes);
        is_due.then(|| {
            format!(
                "the history of workflow {} run {} has {events} events and {bytes} bytes; at {} events \
                 or {} bytes the run is terminated: it should continue as new",
                self.head.workflow_id, self.head.run_id, limits.history_events, limits.history_bytes
            )
        })
    }

    /// The workflow task, if a worker has it.
    pub fn started_task(&self) -> Option<&stored::WorkflowTask> {
        self.head.workflow_task.as_ref().filter(|task| task.started_at != 0)
    }

    /// The workflow task of a worker's token, if the worker still has it.
    pub fn task_of(&self, token: TaskStamp) -> Result<&stored::WorkflowTask, Rejection> {
        let not_found = || Rejection::TaskNotFound("Workflow task not found.".to_owned());
        self.started_task().filter(|task| TaskStamp::from(*task) == token).ok_or_else(not_found)
    }

    /// The activity types of which an operator has paused an activity.
    pub fn paused_activity_types(&self) -> BTreeSet<&str> {
        let paused = self.activities.values().filter(|activity| activity.paused.is_some());
        let scheduled = paused.filter_map(|activity| activity.scheduled.as_ref());
        let types = scheduled.filter_map(|scheduled| scheduled.activity_type.as_ref());
        types.map(|kind| kind.name.as_str()).collect()
    }

    /// The problems of a workflow task that keeps failing, for lists and descriptions.
    pub fn reported_problems(&self) -> &[String] {
        self.head.workflow_task_problem.as_ref().map_or(&[], |problem| &problem.reported)
    }

    /// The search attributes as users see them: with those about paused activities, a failing workflow task and worker
    /// builds.
    pub fn shown_search_attributes(&self) -> SearchAttributes {
        let mut shown = self.head.search_attributes.clone().unwrap_or_default();
        let types = self.paused_activity_types();
        if !types.is_empty() {
            let paused: Vec<_> =
                types.into_iter().map(|name| format!("property:activityType={name}")).collect();
            let payload = json_payload(&json!(paused), Some(Kind::KeywordList));
            shown.indexed_fields.insert("TemporalPauseInfo".to_owned(), payload);
        }
        let problems = self.reported_problems();
        if !problems.is_empty() {
            let payload = json_payload(&json!(problems), Some(Kind::KeywordList));
            shown.indexed_fields.insert("TemporalReportedProblems".to_owned(), payload);
        }
        self.show_builds(&mut shown);
        shown
    }

    /// Whether the workflow task is speculative: scheduled for an update alone, and never stored.
    pub fn has_speculative_task(&self) -> bool {
        let task = self.head.workflow_task.as_ref();
        task.is_some_and(|task| task.kind() == stored::WorkflowTaskKind::Speculative)
    }

    /// The events of a transient or speculative workflow task, as they would be recorded now.
    pub fn unwritten_task_events(&self) -> Vec<HistoryEvent> {
        let Some(task) = &self.head.workflow_task else { return Vec::new() };
        if task.kind() == stored::WorkflowTaskKind::Normal {
            return Vec::new();
        }
        let at = |attributes, event_id, time: i64| HistoryEvent {
            event_id,
            event_time: Some(Time(time).into()),
            ..event(attributes)
        };
        let sticky = task.sticky.then_some(task.queue.as_str());
        let scheduled = Attributes::WorkflowTaskScheduledEventAttributes(
            WorkflowTaskScheduledEventAttributes {
                task_queue: Some(self.shown_queue(sticky)),
                start_to_close_timeout: Some(Span(task.start_to_close_nanos).into()),
                attempt: task.attempt,
            },
        );
        let mut events = vec![at(scheduled, task.scheduled_event_id, task.scheduled_at)];
        if task.started_at != 0 {
            let started = Attributes::WorkflowTaskStartedEventAttributes(
                WorkflowTaskStartedEventAttributes {
                    scheduled_event_id: task.scheduled_event_id,
                    identity: task.identity.clone(),
                    request_id: task.request_id.clone(),
                    suggest_continue_as_new: task.suggest_continue_as_new,
                    history_size_bytes: task.history_bytes,
                    ..WorkflowTaskStartedEventAttributes::default()
                },
            );
            events.push(at(started, task.started_event_id, task.started_at));
        }
        events
    }

    /// The first run of its chain.
    pub fn first_run_id(&self) -> &str {
        &self.started.first_execution_run_id
    }

    /// The entity id.
    pub fn id(&self) -> EntityId {
        EntityId::workflow(NamespaceKey(self.head.namespace), self.head.workflow_id.as_str())
    }

    /// The address for messages to the run.
    pub fn address(&self) -> stored::Address {
        self.name().into()
    }

    /// The name of the run in messages.
    pub fn name(&self) -> stored::RunName {
        stored::RunName {
            namespace: self.head.namespace,
            workflow_id: self.head.workflow_id.clone(),
            run_id: self.head.run_id.clone(),
            first_run_id: String::new(),
        }
    }

    /// The pending activity with this activity id.
    pub fn activity_by_id(&self, activity_id: &str) -> Option<&Arc<stored::PendingActivity>> {
        self.activities.values().find(|activity| {
            activity.scheduled.as_ref().is_some_and(|it| it.activity_id == activity_id)
        })
    }
}
