//! A run: what is known about it now.

use std::collections::BTreeMap;
use std::sync::Arc;

use perennial_proto::store as stored;
use perennial_proto::temporal::enums::v1::WorkflowExecutionStatus;
use perennial_proto::temporal::history::v1::{
    HistoryEvent, WorkflowExecutionStartedEventAttributes,
};

use crate::RunKey;

/// The state of a run. Cheap to clone: what hangs on it is shared until it changes.
///
/// It is the fold of the run's history events and internal events; nothing else changes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its key, and the branch of its own history.
    pub key: RunKey,
    /// How it was started: the attributes of its first event.
    pub started: Arc<WorkflowExecutionStartedEventAttributes>,
    /// What changes with almost every step.
    pub head: stored::RunHead,
    /// Activities that have no outcome yet, by the events that scheduled them.
    pub activities: Arc<BTreeMap<i64, Arc<stored::PendingActivity>>>,
    /// Timers that haven't fired, by the events that started them.
    pub timers: Arc<BTreeMap<i64, Arc<stored::PendingTimer>>>,
    /// Children that haven't closed, by the events that initiated them.
    pub children: Arc<BTreeMap<i64, Arc<stored::PendingChild>>>,
    /// Signals to other workflows that aren't delivered yet.
    pub signals: Arc<BTreeMap<i64, Arc<stored::PendingSignal>>>,
    /// Cancel requests to other workflows that aren't delivered yet.
    pub cancels: Arc<BTreeMap<i64, Arc<stored::PendingCancel>>>,
    /// Requests that took effect.
    pub requests: Arc<BTreeMap<String, Arc<stored::SeenRequest>>>,
    /// Updates that were accepted, and their outcomes.
    pub updates: Arc<BTreeMap<String, Arc<stored::PendingUpdate>>>,
    /// Events that wait for the workflow task to end, in order.
    pub buffered: Arc<BTreeMap<i64, Arc<HistoryEvent>>>,
}

impl Run {
    /// Whether it hasn't closed.
    pub fn is_open(&self) -> bool {
        self.head.status() == WorkflowExecutionStatus::Running
            || self.head.status() == WorkflowExecutionStatus::Paused
    }

    /// Its id of the last event.
    pub fn last_event_id(&self) -> i64 {
        self.head.next_event_id - 1
    }
}
