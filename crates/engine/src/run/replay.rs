//! Rebuilding a run from its history alone.

use std::sync::Arc;

use perennial_proto::store as stored;
use perennial_proto::temporal::enums::v1::WorkflowExecutionStatus;
use perennial_proto::temporal::history::v1::{
    HistoryEvent, WorkflowExecutionStartedEventAttributes,
};

use super::Run;
use super::apply::{Touched, event_time};
use super::event::Attributes;
use crate::{EntityKey, NamespaceKey, SharedMap, Span, Time};

/// The identity of a run, beside what its first event says.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The run's key.
    pub key: EntityKey,
    /// The run's namespace.
    pub namespace: NamespaceKey,
    /// Who started the chain of runs.
    pub origin: Origin,
    /// The run id.
    pub run_id: String,
    /// The id of the request that started the run.
    pub request_id: String,
}

/// Who started a chain of runs, and is notified of its end.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// The parent's namespace, if there is a parent.
    pub parent_namespace: Option<NamespaceKey>,
    /// The schedule, if a schedule started the chain.
    pub schedule: Option<stored::ScheduleName>,
    /// The trace of the call that started the chain. Empty if there is none.
    pub traceparent: String,
}

impl Run {
    /// Who started the chain of runs.
    pub(crate) fn origin(&self) -> Origin {
        let parent = Some(self.head.parent_namespace).filter(|key| *key != 0);
        Origin {
            parent_namespace: parent.map(NamespaceKey),
            schedule: self.head.schedule.clone(),
            traceparent: self.head.traceparent.clone(),
        }
    }

    /// Rebuilds the state from a complete history. `None` if `events` doesn't begin with the first event.
    ///
    /// The result is the history-derived part of a run's state: attempts, heartbeats, buffered events and everything
    /// else that leaves no event are missing.
    pub fn replay(identity: Identity, events: &[HistoryEvent]) -> Option<Self> {
        let first = events.first()?;
        let Some(Attributes::WorkflowExecutionStartedEventAttributes(started)) = &first.attributes
        else {
            return None;
        };
        let mut run = Self::unstarted(identity, started.clone(), event_time(first));
        let mut touched = Touched::new();
        for event in events {
            run.apply(event, &mut touched);
        }
        Some(run)
    }

    /// The history-derived part of this run's state: equal to a [`Run::replay`] of the whole history, as long as no
    /// event is buffered.
    pub fn history_derived(&self) -> Self {
        let head = stored::RunHead {
            workflow_task: self.head.workflow_task.as_ref().and_then(history_derived_task),
            sticky: None,
            cancel_request_id: String::new(),
            parent_namespace: 0,
            schedule: None,
            traceparent: String::new(),
            last_workflow_task_failure: None,
            workflow_task_problem: None,
            // A transient task isn't in the history until it is completed.
            next_task_attempt: 0,
            first_task_pending: false,
            state_transitions: 0,
            next_buffered_sequence: 0,
            last_event_at: 0,
            stored_wake_at: 0,
            ..self.head.clone()
        };
        let activities = self.activities.keys().map(|&scheduled_event_id| {
            let activity = stored::PendingActivity {
                scheduled_event_id,
                ..stored::PendingActivity::default()
            };
            (scheduled_event_id, Arc::new(activity))
        });
        let children = self.children.iter().map(|(id, child)| {
            let &stored::PendingChild { initiated_event_id, started_event_id, .. } = &**child;
            let child = stored::PendingChild {
                initiated_event_id,
                started_event_id,
                ..stored::PendingChild::default()
            };
            (*id, Arc::new(child))
        });
        Self {
            head,
            activities: activities.collect(),
            children: children.collect(),
            buffered: SharedMap::default(),
            ..self.clone()
        }
    }

    /// A run whose first event isn't recorded yet.
    pub(crate) fn unstarted(
        identity: Identity,
        started: WorkflowExecutionStartedEventAttributes,
        at: Time,
    ) -> Self {
        let delay = Span::of(started.first_workflow_task_backoff.as_ref());
        let first_task_at = at.after(delay);
        let run_timeout = Span::of(started.workflow_run_timeout.as_ref()).get();
        let mut head = stored::RunHead {
            namespace: identity.namespace.0,
            workflow_id: started.workflow_id.clone(),
            run_id: identity.run_id,
            start_request_id: identity.request_id,
            started_at: at.0,
            first_task_at: first_task_at.0,
            execution_expires_at: started
                .workflow_execution_expiration_time
                .map_or(0, |at| Time::from(at).0),
            run_expires_at: run_timeout.map_or(0, |timeout| first_task_at.after(timeout).0),
            next_event_id: 1,
            next_task_attempt: 1,
            first_task_pending: delay > Span::ZERO,
            memo: started.memo.clone(),
            search_attributes: started.search_attributes.clone(),
            reset_points: started.prev_auto_reset_points.clone(),
            parent_namespace: identity.origin.parent_namespace.map_or(0, |parent| parent.0),
            schedule: identity.origin.schedule,
            traceparent: identity.origin.traceparent,
            ..stored::RunHead::default()
        };
        head.set_status(WorkflowExecutionStatus::Running);
        Self::empty(identity.key, head, started)
    }
}

fn history_derived_task(task: &stored::WorkflowTask) -> Option<stored::WorkflowTask> {
    let is_told = task.kind() == stored::WorkflowTaskKind::Normal;
    is_told.then(|| stored::WorkflowTask {
        stamp: 0,
        // The task may have moved to the normal queue since, when the sticky queue had no poller.
        queue: String::new(),
        sticky: false,
        sticky_until: 0,
        original_scheduled_at: 0,
        ..task.clone()
    })
}
