//! Checks of each history by itself.

use std::collections::{BTreeMap, BTreeSet};

use perennial_engine::{EntityKey, NamespaceKey, Span, Time};
use perennial_engine::{EntityRef, Rows, run::Run};
use perennial_proto::store::BranchRange;
use perennial_proto::temporal::history::v1::history_event::Attributes;
use perennial_proto::temporal::history::v1::{History, HistoryEvent};
use perennial_store::{HistoryRange, MemoryStore, Store};
use prost::Message;

use super::{RunSeen, Violation};

/// A run as it is stored, with its whole history.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) run: Run,
    pub(super) events: Vec<HistoryEvent>,
    /// Events before this one belong to another run.
    pub(super) first_own_event_id: i64,
}

impl Recorded {
    pub(super) fn read(
        store: &MemoryStore,
        key: EntityKey,
        seen: &RunSeen,
    ) -> Result<Self, Violation> {
        let unreadable = |what: String| seen.violation("what was committed can be read", what);
        let wanted = EntityRef::run(seen.namespace, &seen.workflow_id, &seen.run_id);
        let stored = store
            .load(&[wanted])
            .pop()
            .unwrap_or(Ok(None))
            .map_err(|error| unreadable(error.to_string()))?
            .ok_or_else(|| unreadable("the run isn't there".to_owned()))?;
        let first_fragment = stored.first_fragment.as_ref().map_or(&[][..], |it| &it.bytes);
        let (head, parts) = (&stored.head, &stored.parts);
        let run = Run::from_rows(Rows { key, head, parts, first_fragment })
            .map_err(|error| unreadable(error.to_string()))?;
        let mut events = Vec::new();
        let own = BranchRange { branch: key.0, last_event_id: i64::MAX };
        let mut first_event_id = 1;
        for part in run.head.ancestors.iter().copied().chain([own]) {
            let last_event_id = part.last_event_id;
            let branch = EntityKey(part.branch);
            let range = HistoryRange { branch, first_event_id, last_event_id };
            let fragments = store
                .history(range, usize::MAX, false)
                .map_err(|error| unreadable(error.to_string()))?;
            for fragment in fragments {
                let history = History::decode(&*fragment.bytes)
                    .map_err(|error| unreadable(error.to_string()))?;
                let wanted = first_event_id..=last_event_id;
                let found = history.events.into_iter();
                events.extend(found.filter(|event| wanted.contains(&event.event_id)));
            }
            first_event_id = last_event_id.saturating_add(1);
        }
        let first_own_event_id = run.head.ancestors.last().map_or(1, |it| it.last_event_id + 1);
        Ok(Self { run, events, first_own_event_id })
    }

    pub(super) fn violation(&self, promise: &'static str, what: String) -> Violation {
        let (workflow_id, run_id) =
            (self.run.head.workflow_id.clone(), self.run.head.run_id.clone());
        Violation { promise, workflow_id, run_id, what }
    }

    pub(super) fn is_of(&self, namespace: NamespaceKey, workflow_id: &str) -> bool {
        self.run.head.namespace == namespace.0 && self.run.head.workflow_id == workflow_id
    }

    pub(super) fn has(&self, is_it: impl Fn(&Attributes) -> bool) -> bool {
        self.events.iter().filter_map(|event| event.attributes.as_ref()).any(is_it)
    }

    /// How often the history has the signal of this request.
    pub(super) fn signals(&self, request_id: &str) -> usize {
        let is_it = |event: &&HistoryEvent| match &event.attributes {
            Some(Attributes::WorkflowExecutionSignaledEventAttributes(signaled)) => {
                signaled.request_id == request_id
            }
            _ => false,
        };
        self.events.iter().filter(is_it).count()
    }
}

pub(super) fn check(recorded: &Recorded) -> Option<Violation> {
    (gaps(recorded))
        .or_else(|| signals_taken_twice(recorded))
        .or_else(|| timers(recorded))
        .or_else(|| told_twice(recorded))
        .or_else(|| end(recorded))
}

fn gaps(recorded: &Recorded) -> Option<Violation> {
    let promise = "events have no gaps";
    for (event, expected) in recorded.events.iter().zip(1..) {
        if event.event_id != expected {
            let what = format!("event {} is at the place of event {expected}", event.event_id);
            return Some(recorded.violation(promise, what));
        }
    }
    let (last, next) = (recorded.events.len() as i64, recorded.run.head.next_event_id);
    (last + 1 != next).then(|| {
        recorded.violation(promise, format!("it has {last} events, and says {next} is the next"))
    })
}

fn signals_taken_twice(recorded: &Recorded) -> Option<Violation> {
    let mut seen = BTreeSet::new();
    recorded.events.iter().find_map(|event| match &event.attributes {
        Some(Attributes::WorkflowExecutionSignaledEventAttributes(signaled)) => {
            let id = &signaled.request_id;
            let is_first = id.is_empty() || seen.insert(id);
            let what = || format!("signal {id} was taken twice");
            (!is_first).then(|| recorded.violation("a request takes effect once", what()))
        }
        _ => None,
    })
}

fn timers(recorded: &Recorded) -> Option<Violation> {
    let mut due = BTreeMap::new();
    for event in &recorded.events {
        let at = time_of(event);
        match &event.attributes {
            Some(Attributes::TimerStartedEventAttributes(started)) => {
                let wait = Span::of(started.start_to_fire_timeout.as_ref());
                due.insert(event.event_id, at.after(wait));
            }
            Some(Attributes::TimerCanceledEventAttributes(canceled)) => {
                due.remove(&canceled.started_event_id);
            }
            Some(Attributes::TimerFiredEventAttributes(fired)) => {
                let promise = "timers fire once and not early";
                let id = fired.started_event_id;
                let Some(due) = due.remove(&id) else {
                    let what = format!("timer {id} fired, and wasn't running");
                    return Some(recorded.violation(promise, what));
                };
                if at < due {
                    let early = due.since(at).0;
                    let what = format!("timer {id} fired {early} ns early");
                    return Some(recorded.violation(promise, what));
                }
            }
            _ => {}
        }
    }
    None
}

/// Checks that each item a workflow asked for has one start and one end.
fn told_twice(recorded: &Recorded) -> Option<Violation> {
    let mut begun = BTreeSet::new();
    let mut ended = BTreeSet::new();
    for event in &recorded.events {
        let Some(attributes) = &event.attributes else { continue };
        let again = match attributes {
            Attributes::ActivityTaskStartedEventAttributes(it) => {
                !begun.insert(it.scheduled_event_id)
            }
            Attributes::WorkflowTaskStartedEventAttributes(it) => {
                !begun.insert(it.scheduled_event_id)
            }
            Attributes::ChildWorkflowExecutionStartedEventAttributes(it) => {
                !begun.insert(it.initiated_event_id)
            }
            other => ends(other).is_some_and(|id| !ended.insert(id)),
        };
        if again {
            let what = format!("{:?} comes for the second time", event.event_type());
            return Some(recorded.violation("what a workflow asks for happens once", what));
        }
    }
    None
}

/// The initiating event of the item that this event ends.
fn ends(attributes: &Attributes) -> Option<i64> {
    Some(match attributes {
        Attributes::ActivityTaskCompletedEventAttributes(it) => it.scheduled_event_id,
        Attributes::ActivityTaskFailedEventAttributes(it) => it.scheduled_event_id,
        Attributes::ActivityTaskTimedOutEventAttributes(it) => it.scheduled_event_id,
        Attributes::ActivityTaskCanceledEventAttributes(it) => it.scheduled_event_id,
        Attributes::WorkflowTaskCompletedEventAttributes(it) => it.scheduled_event_id,
        Attributes::WorkflowTaskFailedEventAttributes(it) => it.scheduled_event_id,
        Attributes::WorkflowTaskTimedOutEventAttributes(it) => it.scheduled_event_id,
        Attributes::StartChildWorkflowExecutionFailedEventAttributes(it) => it.initiated_event_id,
        Attributes::ChildWorkflowExecutionCompletedEventAttributes(it) => it.initiated_event_id,
        Attributes::ChildWorkflowExecutionFailedEventAttributes(it) => it.initiated_event_id,
        Attributes::ChildWorkflowExecutionCanceledEventAttributes(it) => it.initiated_event_id,
        Attributes::ChildWorkflowExecutionTimedOutEventAttributes(it) => it.initiated_event_id,
        Attributes::ChildWorkflowExecutionTerminatedEventAttributes(it) => it.initiated_event_id,
        Attributes::ExternalWorkflowExecutionSignaledEventAttributes(it) => it.initiated_event_id,
        Attributes::SignalExternalWorkflowExecutionFailedEventAttributes(it) => {
            it.initiated_event_id
        }
        Attributes::ExternalWorkflowExecutionCancelRequestedEventAttributes(it) => {
            it.initiated_event_id
        }
        Attributes::RequestCancelExternalWorkflowExecutionFailedEventAttributes(it) => {
            it.initiated_event_id
        }
        _ => return None,
    })
}

/// Checks that a closed run has one closing event, at the end.
fn end(recorded: &Recorded) -> Option<Violation> {
    let closes = |event: &HistoryEvent| {
        use perennial_proto::temporal::enums::v1::EventType as T;
        matches!(
            event.event_type(),
            T::WorkflowExecutionCompleted
                | T::WorkflowExecutionFailed
                | T::WorkflowExecutionTimedOut
                | T::WorkflowExecutionCanceled
                | T::WorkflowExecutionTerminated
                | T::WorkflowExecutionContinuedAsNew
        )
    };
    let count = recorded.events.iter().filter(|event| closes(event)).count();
    let is_last = recorded.events.last().is_some_and(closes);
    let is_right = if recorded.run.is_open() { count == 0 } else { count == 1 && is_last };
    let status = recorded.run.head.status();
    (!is_right).then(|| {
        let what = format!("it is {status:?} with {count} closing events, last: {is_last}");
        recorded.violation("a run closes once, and nothing happens after", what)
    })
}

pub(super) fn time_of(event: &HistoryEvent) -> Time {
    event.event_time.map_or(Time::NONE, Time::from)
}
