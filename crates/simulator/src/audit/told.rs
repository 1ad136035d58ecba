//! Replies that clients and workers received, and what must hold because of them.

use std::collections::BTreeMap;

use perennial_engine::run::{Run, TaskStamp};
use perennial_proto::temporal::enums::v1::WorkflowExecutionStatus;
use perennial_proto::temporal::history::v1::history_event::Attributes;

use super::histories::Recorded;
use super::{Auditor, Violation};

const NOTHING_LOST: &str = "nothing acknowledged is lost";

/// A reply that a client or worker received.
#[derive(Debug, Clone)]
pub(crate) enum Told {
    /// The run has made at least this progress.
    Saw {
        run_id: String,
        last_event_id: i64,
        is_open: bool,
    },
    /// The workflow was started.
    Started {
        run_id: String,
    },
    /// The run has the signal.
    Signaled {
        run_id: String,
        request_id: String,
    },
    /// The run has the signal, or an earlier run got it with its start.
    SignaledWithStart {
        run_id: String,
        request_id: String,
    },
    CancelRequested {
        run_id: String,
    },
    Terminated {
        run_id: String,
    },
    /// A worker has the workflow task.
    WorkflowTask {
        run_id: String,
        stamp: TaskStamp,
        is_speculative: bool,
    },
    /// A worker has the attempt of the activity.
    Activity {
        run_id: String,
        stamp: TaskStamp,
    },
    /// The workflow task is completed, and the run has closed if the commands say so.
    TaskCompleted {
        run_id: String,
        stamp: TaskStamp,
        is_speculative: bool,
        closes: Option<WorkflowExecutionStatus>,
    },
    ActivityEnded {
        run_id: String,
        stamp: TaskStamp,
        end: ActivityEnd,
    },
    /// The update is accepted, or has its outcome.
    Updated {
        run_id: String,
        update_id: String,
        is_completed: bool,
    },
    /// The run continues from another run's history.
    Reset {
        run_id: String,
    },
    /// A client is about to delete the run.
    MayBeDeleted {
        run_id: String,
    },
    Deleted {
        run_id: String,
    },
    /// A reply that no one should ever receive.
    Nonsense {
        run_id: String,
        what: &'static str,
    },
}

/// The outcome of an activity attempt that a worker reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ActivityEnd {
    Completed,
    Failed,
    Canceled,
}

/// A reply that may be given only once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grant {
    Task(String, TaskStamp),
    TaskDone(String, TaskStamp),
    /// An attempt of an activity, whichever offer it was.
    Activity(String, i64, i32),
    ActivityDone(String, i64, i32),
}

impl Told {
    pub(crate) fn saw(run: &Run) -> Self {
        Self::Saw {
            run_id: run.head.run_id.clone(),
            last_event_id: run.last_event_id(),
            is_open: run.is_open(),
        }
    }

    fn run_id(&self) -> &str {
        match self {
            Self::Saw { run_id, .. }
            | Self::Started { run_id }
            | Self::Signaled { run_id, .. }
            | Self::SignaledWithStart { run_id, .. }
            | Self::CancelRequested { run_id }
            | Self::Terminated { run_id }
            | Self::WorkflowTask { run_id, .. }
            | Self::Activity { run_id, .. }
            | Self::TaskCompleted { run_id, .. }
            | Self::ActivityEnded { run_id, .. }
            | Self::Updated { run_id, .. }
            | Self::Reset { run_id }
            | Self::MayBeDeleted { run_id }
            | Self::Deleted { run_id }
            | Self::Nonsense { run_id, .. } => run_id,
        }
    }
}

impl Auditor {
    /// Checks a reply as soon as it is received.
    pub(super) fn look_at_once(&mut self, told: &Told) -> Option<Violation> {
        let (grant, promise) = match told {
            Told::MayBeDeleted { run_id } => {
                self.may_be_deleted.insert(run_id.clone());
                return None;
            }
            Told::Nonsense { what, .. } => {
                return Some(self.broken(told, "tasks make sense", (*what).to_owned()));
            }
            Told::WorkflowTask { run_id, stamp, is_speculative: false } => {
                (Grant::Task(run_id.clone(), *stamp), "each workflow task is started once")
            }
            Told::TaskCompleted { run_id, stamp, is_speculative: false, .. } => {
                (Grant::TaskDone(run_id.clone(), *stamp), "each workflow task is completed once")
            }
            Told::Activity { run_id, stamp } => {
                let &TaskStamp { scheduled_event_id, attempt, .. } = stamp;
                let grant = Grant::Activity(run_id.clone(), scheduled_event_id, attempt);
                (grant, "each activity attempt is started once")
            }
            Told::ActivityEnded { run_id, stamp, .. } => {
                let &TaskStamp { scheduled_event_id, attempt, .. } = stamp;
                let grant = Grant::ActivityDone(run_id.clone(), scheduled_event_id, attempt);
                (grant, "each activity attempt ends once")
            }
            _ => return None,
        };
        let is_first = self.grants.insert(grant.clone());
        (!is_first).then(|| self.broken(told, promise, format!("{grant:?} for the second time")))
    }

    /// Compares the stored state with the replies.
    pub(super) fn hold_to(
        &self,
        told: &Told,
        all: &BTreeMap<String, Recorded>,
    ) -> Option<Violation> {
        if let Told::Deleted { run_id } = told {
            let what = || "it was deleted and is there".to_owned();
            return all.contains_key(run_id).then(|| self.broken(told, NOTHING_LOST, what()));
        }
        if self.may_be_deleted.contains(told.run_id()) {
            return None;
        }
        let Some(run) = all.get(told.run_id()) else {
            let what = format!("there is no such run, but someone was told {told:?}");
            return Some(self.broken(told, NOTHING_LOST, what));
        };
        let wrong = |what: String| Some(run.violation(NOTHING_LOST, what));
        let missing = |what: &str| wrong(format!("{what} is missing, but was told: {told:?}"));
        match told {
            Told::Saw { last_event_id, is_open, .. } => {
                let is_less = (run.events.len() as i64) < *last_event_id;
                let is_open_again = !is_open && run.run.is_open();
                if is_less {
                    missing("an event")
                } else if is_open_again {
                    missing("its end")
                } else {
                    None
                }
            }
            Told::Signaled { request_id, .. } => match run.signals(request_id) {
                1 => None,
                0 => missing("the signal"),
                times => {
                    let what = format!("signal {request_id} was taken {times} times");
                    Some(run.violation("a request takes effect once", what))
                }
            },
            Told::SignaledWithStart { request_id, .. } => {
                let namespace = perennial_engine::NamespaceKey(run.run.head.namespace);
                let workflow_id = &run.run.head.workflow_id;
                let mut runs = all.values().filter(|other| other.is_of(namespace, workflow_id));
                let is_there =
                    runs.any(|run| run.signals(request_id) > 0) || self.may_lack_runs(workflow_id);
                if is_there { None } else { missing("the signal") }
            }
            Told::CancelRequested { .. } => {
                let is_it = |it: &Attributes| {
                    matches!(it, Attributes::WorkflowExecutionCancelRequestedEventAttributes(_))
                };
                if run.has(is_it) { None } else { missing("the cancel request") }
            }
            Told::Terminated { .. } => {
                let status = run.run.head.status();
                let is_so = status == WorkflowExecutionStatus::Terminated;
                if is_so { None } else { wrong(format!("it was terminated and is {status:?}")) }
            }
            Told::TaskCompleted { stamp, is_speculative, closes, .. } => {
                let is_it = |it: &Attributes| match it {
                    Attributes::WorkflowTaskCompletedEventAttributes(it) => {
                        it.scheduled_event_id == stamp.scheduled_event_id
                    }
                    _ => false,
                };
                let status = run.run.head.status();
                match closes {
                    Some(wanted) if *wanted != status => {
                        wrong(format!("it was closed as {wanted:?} and is {status:?}"))
                    }
                    _ if *is_speculative || run.has(is_it) => None,
                    _ => missing("the completion"),
                }
            }
            Told::ActivityEnded { stamp, end, .. } => {
                let is_it = |it: &Attributes| match (end, it) {
                    (
                        ActivityEnd::Completed,
                        Attributes::ActivityTaskCompletedEventAttributes(it),
                    ) => it.scheduled_event_id == stamp.scheduled_event_id,
                    (
                        ActivityEnd::Canceled,
                        Attributes::ActivityTaskCanceledEventAttributes(it),
                    ) => it.scheduled_event_id == stamp.scheduled_event_id,
                    _ => false,
                };
                // After a failure there may have been another attempt.
                let is_there = *end == ActivityEnd::Failed || run.has(is_it);
                if is_there { None } else { missing("the activity's outcome") }
            }
            Told::Updated { update_id, is_completed, .. } => {
                let accepted = run.events.iter().find(|event| match &event.attributes {
                    Some(Attributes::WorkflowExecutionUpdateAcceptedEventAttributes(it)) => {
                        it.protocol_instance_id == *update_id
                    }
                    _ => false,
                });
                let Some(accepted) = accepted else { return missing("the update") };
                let is_it = |it: &Attributes| match it {
                    Attributes::WorkflowExecutionUpdateCompletedEventAttributes(it) => {
                        it.accepted_event_id == accepted.event_id
                    }
                    _ => false,
                };
                // A run that closes ends its updates without an event.
                let is_there = !is_completed || run.has(is_it) || !run.run.is_open();
                if is_there { None } else { missing("the update's outcome") }
            }
            Told::Started { .. }
            | Told::WorkflowTask { .. }
            | Told::Activity { .. }
            | Told::Reset { .. }
            | Told::MayBeDeleted { .. }
            | Told::Deleted { .. }
            | Told::Nonsense { .. } => None,
        }
    }

    fn broken(&self, told: &Told, promise: &'static str, what: String) -> Violation {
        let run_id = told.run_id().to_owned();
        let run = self.by_id.get(&run_id).and_then(|key| self.runs.get(key));
        let workflow_id = run.map_or_else(String::new, |run| run.workflow_id.clone());
        Violation { promise, workflow_id, run_id, what }
    }
}
