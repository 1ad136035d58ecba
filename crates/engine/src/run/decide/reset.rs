//! Reset: a new run continues from a point in another run's history.

use std::collections::BTreeMap;

use perennial_proto::store as stored;
use perennial_proto::temporal::enums::v1::WorkflowTaskFailedCause;
use perennial_proto::temporal::failure::v1::failure::FailureInfo;
use perennial_proto::temporal::failure::v1::{Failure, ResetWorkflowFailureInfo};
use perennial_proto::temporal::history::v1::{
    HistoryEvent, WorkflowExecutionTerminatedEventAttributes, WorkflowTaskFailedEventAttributes,
    WorkflowTaskStartedEventAttributes,
};

use super::SERVER_IDENTITY;
use super::close::{after_close, drop_pending};
use super::commands::children::send_start;
use super::commands::external::{send_cancel, send_signal};
use super::fail_workflow_task::abandon_task;
use super::reapply::Reapply;
use crate::run::draft::{Draft, Transition};
use crate::run::event::Attributes;
use crate::run::{Context, Identity, NamespaceRef, Rejection, Run};
use crate::{EntityKey, NamespaceKey, Span};

const RESETTER_IDENTITY: &str = "history-resetter";

/// Arguments of a reset.
#[derive(Debug, Clone)]
pub struct ResetRun {
    /// Identifies retries of the request.
    pub request_id: String,
    /// The reason, for the history.
    pub reason: String,
    /// All events before this one are kept. It follows a scheduled or started event of a workflow task.
    pub event_id: i64,
    /// Don't reapply signals after the reset point.
    pub exclude_signals: bool,
    /// Don't reapply updates after the reset point.
    pub exclude_updates: bool,
    /// The run's own namespace and those that its events name, by id: pending messages are sent there again.
    pub namespaces: BTreeMap<String, NamespaceRef>,
}

/// The result of a reset.
#[derive(Debug)]
pub struct Reset {
    /// The run id of the new run.
    pub run_id: String,
    /// The transition of the run whose history is used, unless that is the current run.
    pub base: Option<Transition>,
    /// The transition of the current run, which is terminated if it was open.
    pub current: Option<Transition>,
    /// The transition of the new run; `None` if an earlier delivery of the request created it.
    pub created: Option<Transition>,
}

/// Creates a run whose history begins with the events of `base` before the request's event.
///
/// `kept` are those events. `later` are the events after them, in `base` and in the runs that followed it: their
/// signals, updates and outcomes of children are reapplied. `current` is the current run of the workflow id, which may
/// be `base` itself.
///
/// # Errors
/// If a run can't be reset at that event.
pub fn reset(
    base: &Run,
    kept: &[HistoryEvent],
    later: &[HistoryEvent],
    current: Option<&Run>,
    request: ResetRun,
    cx: &Context<'_>,
) -> Result<Reset, Rejection> {
    if let Some(current) = current
        && !request.request_id.is_empty()
        && current.requests.contains_key(&request.request_id)
    {
        let run_id = current.head.run_id.clone();
        return Ok(Reset { run_id, base: None, current: None, created: None });
    }
    if request.event_id <= 1 || request.event_id >= base.head.next_event_id {
        return Err(Rejection::InvalidArgument(
            "Workflow task finish ID must be > 1 && <= workflow last event ID.".to_owned(),
        ));
    }
    let run_id = cx.ids.next(cx.now);
    let mut draft = Draft::new(rebuilt(base, kept, &run_id, &request, cx)?, cx);
    fail_task(&mut draft, base, &request)?;
    let is_of_chain = |run: &Run| run.key == base.key || run.first_run_id() == base.first_run_id();
    let current_step = current.and_then(|current| {
        let goes_on_as = is_of_chain(current).then_some(run_id.as_str());
        replace(current, goes_on_as, &request.reason, cx)
    });
    let flushed = current_step.as_ref().filter(|step| is_of_chain(&step.run));
    let flushed = flushed.map_or(&[][..], |step| step.events.as_slice());
    reissue_pending(&mut draft, &request);
    let reapply = Reapply { signals: !request.exclude_signals, updates: !request.exclude_updates };
    for event in later.iter().chain(flushed) {
        reapply.event(&mut draft, event);
    }
    start_unstarted(&mut draft, &request);
    let kind = perennial_proto::temporal::enums::v1::EventType::WorkflowTaskFailed;
    let failed_event_id = draft.events.first().map_or(0, |event| event.event_id);
    draft.run.remember(&request.request_id, kind, failed_event_id, &mut draft.touched);
    draft.ensure_workflow_task();
    draft.is_visible = true;
    let is_current = current.is_some_and(|current| current.key == base.key);
    let base_step = (!is_current).then(|| link_new_run(base, &run_id, cx));
    Ok(Reset { run_id, base: base_step, current: current_step, created: Some(all_rows(draft)) })
}

/// Rebuilds the new run from the kept events. Its timeouts count from now.
fn rebuilt(
    base: &Run,
    kept: &[HistoryEvent],
    run_id: &str,
    request: &ResetRun,
    cx: &Context<'_>,
) -> Result<Run, Rejection> {
    let identity = Identity {
        key: EntityKey(cx.keys.next()),
        namespace: NamespaceKey(base.head.namespace),
        origin: base.origin(),
        run_id: run_id.to_owned(),
        request_id: base.head.start_request_id.clone(),
    };
    let last_event_id = request.event_id - 1;
    let is_whole = kept.last().is_some_and(|event| event.event_id == last_event_id);
    let unreadable =
        || Rejection::InvalidArgument("the history before the reset point isn't whole".to_owned());
    let mut run = Run::replay(identity, kept).filter(|_| is_whole).ok_or_else(unreadable)?;
    run.head.ancestors = ancestors(base, last_event_id);
    let now = cx.now.max(crate::Time(run.head.last_event_at));
    run.head.started_at = now.0;
    run.head.first_task_at = now.0;
    run.head.first_task_pending = false;
    let until = |timeout: &Option<perennial_proto::Duration>| {
        Span::of(timeout.as_ref()).get().map_or(0, |timeout| now.after(timeout).0)
    };
    run.head.execution_expires_at = until(&run.started.workflow_execution_timeout);
    run.head.run_expires_at = until(&run.started.workflow_run_timeout);
    run.head.sticky = None;
    Ok(run)
}

/// The history branches that hold the events up to this one.
fn ancestors(base: &Run, last_event_id: i64) -> Vec<stored::BranchRange> {
    let own = stored::BranchRange { branch: base.key.0, last_event_id: i64::MAX };
    let mut ranges = Vec::new();
    for range in base.head.ancestors.iter().copied().chain([own]) {
        ranges.push(stored::BranchRange {
            last_event_id: range.last_event_id.min(last_event_id),
            ..range
        });
        if range.last_event_id >= last_event_id {
            break;
        }
    }
    ranges
}

/// Fails the workflow task at the reset point. From this event on, the histories differ.
fn fail_task(draft: &mut Draft<'_>, base: &Run, request: &ResetRun) -> Result<(), Rejection> {
    let Some(task) = draft.run.head.workflow_task.clone() else {
        return Err(Rejection::InvalidArgument(format!(
            "Can only reset workflow to event ID in range [WorkflowTaskScheduled +1, WorkflowTaskStarted + 1]: {}",
            request.event_id
        )));
    };
    let started_event_id = match task.started_event_id {
        0 => draft.record(Attributes::WorkflowTaskStartedEventAttributes(
            WorkflowTaskStartedEventAttributes {
                scheduled_event_id: task.scheduled_event_id,
                identity: SERVER_IDENTITY.to_owned(),
                ..WorkflowTaskStartedEventAttributes::default()
            },
        )),
        id => id,
    };
    draft.record(Attributes::WorkflowTaskFailedEventAttributes(
        WorkflowTaskFailedEventAttributes {
            scheduled_event_id: task.scheduled_event_id,
            started_event_id,
            cause: WorkflowTaskFailedCause::ResetWorkflow.into(),
            failure: Some(Failure {
                message: request.reason.clone(),
                failure_info: Some(FailureInfo::ResetWorkflowFailureInfo(
                    ResetWorkflowFailureInfo::default(),
                )),
                ..Failure::default()
            }),
            identity: SERVER_IDENTITY.to_owned(),
            base_run_id: base.head.run_id.clone(),
            new_run_id: draft.run.head.run_id.clone(),
            ..WorkflowTaskFailedEventAttributes::default()
        },
    ));
    draft.run.head.last_workflow_task_failure = None;
    Ok(())
}

/// Offers the pending activities and sends the pending messages of the kept history again: nobody processes them for
/// this run.
fn reissue_pending(draft: &mut Draft<'_>, request: &ResetRun) {
    let now = draft.now();
    let activities: Vec<_> = draft.run.activities.keys().copied().collect();
    for id in activities {
        draft.run.change_activity(id, &mut draft.touched, |activity| {
            activity.first_scheduled_at = now.0;
        });
        draft.offer_activity(id);
    }
    let children: Vec<_> = draft.run.children.values().cloned().collect();
    for child in children {
        let initiated = child.initiated.clone().unwrap_or_default();
        let namespace = namespace(draft, request, &initiated.namespace_id);
        draft.run.change_child(child.initiated_event_id, &mut draft.touched, |child| {
            child.namespace = namespace.key.0;
        });
    }
    let signals: Vec<_> = draft.run.signals.values().cloned().collect();
    for signal in signals {
        let initiated = signal.initiated.clone().unwrap_or_default();
        let namespace = namespace(draft, request, &initiated.namespace_id);
        send_signal(draft, signal.initiated_event_id, initiated, &namespace);
    }
    let cancels: Vec<_> = draft.run.cancels.values().cloned().collect();
    for cancel in cancels {
        let initiated = cancel.initiated.clone().unwrap_or_default();
        let namespace = namespace(draft, request, &initiated.namespace_id);
        send_cancel(draft, cancel.initiated_event_id, initiated, &namespace);
    }
}

/// Sends the start of children again that were initiated before the reset point, and never started.
fn start_unstarted(draft: &mut Draft<'_>, request: &ResetRun) {
    let unstarted: Vec<_> =
        draft.run.children.values().filter(|child| child.started_event_id == 0).cloned().collect();
    for child in unstarted {
        let initiated = child.initiated.clone().unwrap_or_default();
        let to = namespace(draft, request, &initiated.namespace_id);
        let own = own_namespace(draft, request);
        send_start(draft, child.initiated_event_id, &initiated, &to, &own, None);
    }
}

fn namespace(draft: &Draft<'_>, request: &ResetRun, id: &str) -> NamespaceRef {
    request.namespaces.get(id).cloned().unwrap_or_else(|| own_namespace(draft, request))
}

fn own_namespace(draft: &Draft<'_>, request: &ResetRun) -> NamespaceRef {
    NamespaceRef::of_run(&draft.run, request.namespaces.values())
}

/// Closes the current run. If the new run continues its chain, its children and its parent aren't notified.
fn replace(
    current: &Run,
    goes_on_as: Option<&str>,
    reason: &str,
    cx: &Context<'_>,
) -> Option<Transition> {
    let mut draft = current.draft(cx);
    if current.is_open() {
        abandon_task(&mut draft);
        draft.record(Attributes::WorkflowExecutionTerminatedEventAttributes(
            WorkflowExecutionTerminatedEventAttributes {
                reason: reason.to_owned(),
                identity: RESETTER_IDENTITY.to_owned(),
                ..WorkflowExecutionTerminatedEventAttributes::default()
            },
        ));
        match goes_on_as {
            Some(_) => drop_pending(&mut draft),
            // The current run belongs to another chain: its parent and its children are notified of its end.
            None => after_close(&mut draft),
        }
        draft.is_visible = true;
    } else if goes_on_as.is_none() {
        return None;
    }
    if let Some(run_id) = goes_on_as {
        draft.run.head.reset_run_id = run_id.to_owned();
    }
    Some(draft.into_transition())
}

fn link_new_run(base: &Run, run_id: &str, cx: &Context<'_>) -> Transition {
    let mut draft = base.draft(cx);
    draft.run.head.reset_run_id = run_id.to_owned();
    draft.into_transition()
}

/// Marks every row as changed, since all rows of the new run are new.
fn all_rows(mut draft: Draft<'_>) -> Transition {
    draft.touched.extend(draft.run.part_keys());
    draft.into_transition()
}
