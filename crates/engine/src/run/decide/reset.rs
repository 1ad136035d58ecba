//! A run begins anew from a point of another one's history.

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

/// Where and how a run is reset.
#[derive(Debug, Clone)]
pub struct ResetRun {
    /// Tells a repetition.
    pub request_id: String,
    /// Why.
    pub reason: String,
    /// Everything before this event is kept. It comes right after a workflow task was scheduled or started.
    pub event_id: i64,
    /// Signals after the point aren't given to the new run.
    pub exclude_signals: bool,
    /// Updates after the point aren't given to the new run.
    pub exclude_updates: bool,
    /// The run's own namespace and those its events name, by id: what is pending there is asked for again.
    pub namespaces: BTreeMap<String, NamespaceRef>,
}

/// What a reset led to.
#[derive(Debug)]
pub struct Reset {
    /// The run that goes on.
    pub run_id: String,
    /// What it changed in the run whose history is used, unless that is the current one.
    pub base: Option<Transition>,
    /// What it changed in the current run: it is terminated if it was open.
    pub current: Option<Transition>,
    /// The new run; `None` if an earlier delivery of the request made it.
    pub created: Option<Transition>,
}

/// Makes a run whose history begins with that of `base` before the event of the request.
///
/// `kept` are those events; `later` are the ones after them, in `base` and in the runs that followed it,
/// from which signals, updates and children's outcomes are given to the new run. `current` is the run
/// that has the workflow id, which may be `base` itself.
///
/// # Errors
/// If the event isn't one at which a run can be reset.
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
    revive(&mut draft, &request);
    let reapply = Reapply { signals: !request.exclude_signals, updates: !request.exclude_updates };
    for event in later.iter().chain(flushed) {
        reapply.event(&mut draft, event);
    }
    start_unstarted(&mut draft, &request);
    let kind = perennial_proto::temporal::enums::v1::EventType::WorkflowTaskFailed;
    let failed_event_id = draft.events.first().map_or(0, |event| event.event_id);
    draft.run.remember(&request.request_id, kind, failed_event_id, &mut draft.touched);
    draft.want_workflow_task();
    draft.is_visible = true;
    let is_current = current.is_some_and(|current| current.key == base.key);
    let base_step = (!is_current).then(|| point_to(base, &run_id, cx));
    Ok(Reset { run_id, base: base_step, current: current_step, created: Some(all_rows(draft)) })
}

/// The new run as the kept events tell it. Its timeouts begin anew.
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

/// Whose branches hold the events up to this one.
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

/// The task at the reset point comes to nothing: this is where the histories part.
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

/// What is pending in the kept history is asked for again: nobody works on it for this run.
fn revive(draft: &mut Draft<'_>, request: &ResetRun) {
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

/// Children that were asked for before the point, and never started, are asked for again.
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

/// The current run gives way. If it goes on as the new run, its children and its parent aren't told.
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
            // It only had the same workflow id: its parent and its children hear of its end.
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

fn point_to(base: &Run, run_id: &str, cx: &Context<'_>) -> Transition {
    let mut draft = base.draft(cx);
    draft.run.head.reset_run_id = run_id.to_owned();
    draft.into_transition()
}

/// Every row of the new run is new, whether a step touched it or not.
fn all_rows(mut draft: Draft<'_>) -> Transition {
    draft.touched.extend(draft.run.part_keys());
    draft.into_transition()
}
