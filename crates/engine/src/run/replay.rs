//! A run as its history alone tells it.

use perennial_proto::store as stored;
use perennial_proto::temporal::enums::v1::WorkflowExecutionStatus;
use perennial_proto::temporal::history::v1::{
    HistoryEvent, WorkflowExecutionStartedEventAttributes,
};

use super::Run;
use super::apply::{Touched, event_time};
use super::event::Attributes;
use crate::{NamespaceKey, RunKey, Span, Time};

/// Which run, beside what its first event says.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Its key.
    pub key: RunKey,
    /// Whose it is.
    pub namespace: NamespaceKey,
    /// Whose its parent is, if it has one.
    pub parent_namespace: Option<NamespaceKey>,
    /// Its id.
    pub run_id: String,
    /// Of the request that started it.
    pub request_id: String,
}

impl Run {
    /// The state that follows from these events, which begin with the first. `None` if they don't.
    ///
    /// It is the history-derived part of a run's state: attempts, heartbeats, buffered events and
    /// everything else that leaves no event is as if it hadn't been.
    pub fn replay(identity: Identity, events: &[HistoryEvent]) -> Option<Self> {
        let first = events.first()?;
        let Some(Attributes::WorkflowExecutionStartedEventAttributes(started)) = &first.attributes
        else {
            return None;
        };
        let mut run = Self::newborn(identity, started.clone(), event_time(first));
        let mut touched = Touched::new();
        for event in events {
            run.apply(event, &mut touched);
        }
        Some(run)
    }

    /// A run before its first event is recorded.
    pub(crate) fn newborn(
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
            parent_namespace: identity.parent_namespace.map_or(0, |namespace| namespace.0),
            ..stored::RunHead::default()
        };
        head.set_status(WorkflowExecutionStatus::Running);
        Self::empty(identity.key, head, started)
    }
}
