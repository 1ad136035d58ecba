//! Starting a workflow: a command to a workflow id, which may have a run already.

use perennial_proto::temporal::common::v1::{Payloads, WorkflowExecution};
use perennial_proto::temporal::enums::v1::{
    ContinueAsNewInitiator, WorkflowExecutionStatus, WorkflowIdConflictPolicy,
    WorkflowIdReusePolicy,
};
use perennial_proto::temporal::history::v1::WorkflowExecutionStartedEventAttributes;
use serde_json::json;

use super::retry::{complete_policy, run_timeout};
use super::signal::{check_count, is_repeated};
use super::{SERVER_IDENTITY, terminate};
use crate::fields::json_payload;
use crate::run::draft::{Draft, Transition};
use crate::run::event::{Attributes, event};
use crate::run::{
    Context, Identity, Limits, Origin, Rejection, Run, Signal, StartRun, StartWorkflowTask, Taken,
    TaskStamp, Terminate,
};
use crate::{EntityKey, NamespaceKey, Span, Time, Zones, checked_duration, fields};

/// The result of a start.
#[derive(Debug)]
pub struct Start {
    /// The transition of the run that had the workflow id.
    pub existing: Option<Transition>,
    /// The transition of the new run.
    pub created: Option<Transition>,
    /// Whether the current run was created by this request, or by an earlier delivery of it.
    pub is_new: bool,
    /// Whether the first workflow task was started for the caller.
    pub is_eager: bool,
}

/// Starts a run under a workflow id, if the policies and the current run, if any, allow it.
pub fn start(
    current: Option<&Run>,
    namespace: NamespaceKey,
    workflow_id: &str,
    request: StartRun,
    cx: &Context<'_>,
) -> Result<Start, Rejection> {
    let origin = Origin { traceparent: request.traceparent.clone(), ..Origin::default() };
    start_from(current, namespace, workflow_id, request, origin, cx)
}

pub(super) fn start_from(
    current: Option<&Run>,
    namespace: NamespaceKey,
    workflow_id: &str,
    request: StartRun,
    origin: Origin,
    cx: &Context<'_>,
) -> Result<Start, Rejection> {
    request.check(cx.now, cx.zones)?;
    let id = NewRunId { namespace, workflow_id, origin };
    let Some(current) = current else {
        return Ok(create(None, id, request, cx));
    };
    if !request.request_id.is_empty()
        && (current.head.start_request_id == request.request_id
            || current.requests.contains_key(&request.request_id))
    {
        return Ok(Start { existing: None, created: None, is_new: true, is_eager: false });
    }
    if current.is_open() {
        return match request.conflict_policy {
            WorkflowIdConflictPolicy::UseExisting => use_existing(current, request, cx),
            WorkflowIdConflictPolicy::TerminateExisting => {
                Ok(create(Some(current), id, request, cx))
            }
            WorkflowIdConflictPolicy::Fail | WorkflowIdConflictPolicy::Unspecified => {
                Err(already_started(current, Taken::Running))
            }
        };
    }
    match request.reuse_policy {
        WorkflowIdReusePolicy::RejectDuplicate => Err(already_started(current, Taken::Finished)),
        WorkflowIdReusePolicy::AllowDuplicateFailedOnly
            if current.head.status() == WorkflowExecutionStatus::Completed =>
        {
            Err(already_started(current, Taken::Succeeded))
        }
        WorkflowIdReusePolicy::AllowDuplicate
        | WorkflowIdReusePolicy::AllowDuplicateFailedOnly
        | WorkflowIdReusePolicy::TerminateIfRunning
        | WorkflowIdReusePolicy::Unspecified => Ok(create(None, id, request, cx)),
    }
}

impl StartRun {
    /// Checks the cron string, the delay, the timeouts and the retry policy, whichever run has the workflow id. All
    /// kinds of starts use these rules. Servers call this before a start reaches the cell, which calls it again.
    ///
    /// # Errors
    /// The first error, by field.
    pub fn check(&self, now: Time, zones: &Zones) -> Result<(), Rejection> {
        let bad = |message: String| Err(Rejection::InvalidArgument(message));
        let started = &self.started;
        super::cron::check(&started.cron_schedule, now, zones)?;
        if !started.cron_schedule.is_empty() && self.delay > Span::ZERO {
            return bad("CronSchedule and WorkflowStartDelay may not be used together.".to_owned());
        }
        let timeouts = [
            (&started.workflow_execution_timeout, "WorkflowExecutionTimeoutSeconds"),
            (&started.workflow_run_timeout, "WorkflowRunTimeoutSeconds"),
            (&started.workflow_task_timeout, "WorkflowTaskTimeoutSeconds"),
        ];
        for (timeout, name) in timeouts {
            if let Err(cause) = checked_duration(timeout.as_ref()) {
                return bad(format!("An invalid {name} is set on request. cause: {cause}"));
            }
        }
        match started.retry_policy.as_ref().and_then(super::retry::policy_error) {
            Some(why) => bad(why),
            None => Ok(()),
        }
    }
}

fn already_started(current: &Run, taken: Taken) -> Rejection {
    Rejection::AlreadyStarted {
        workflow_id: current.head.workflow_id.clone(),
        run_id: current.head.run_id.clone(),
        start_request_id: current.head.start_request_id.clone(),
        first_run_id: current.first_run_id().to_owned(),
        taken,
    }
}

fn use_existing(current: &Run, request: StartRun, cx: &Context<'_>) -> Result<Start, Rejection> {
    let mut existing = None;
    if let Some(signal) = request.signal {
        if !is_repeated(current, &signal.attributes.request_id) {
            check_count(current, cx)?;
            let mut draft = current.draft(cx);
            // The caller wants the workflow to run, so a delayed first task is due now.
            draft.run.head.first_task_pending = false;
            super::signal::signal(&mut draft, *signal);
            existing = Some(draft.into_transition());
        }
    } else if request.attach_request_id || request.attach_links {
        let mut draft = current.draft(cx);
        let mut attached = event(Attributes::WorkflowExecutionOptionsUpdatedEventAttributes(
            perennial_proto::temporal::history::v1::WorkflowExecutionOptionsUpdatedEventAttributes {
                attached_request_id: if request.attach_request_id {
                    request.request_id
                } else {
                    String::new()
                },
                ..Default::default()
            },
        ));
        if request.attach_links {
            attached.links = request.links;
        }
        draft.record_or_buffer_event(attached);
        existing = Some(draft.into_transition());
    }
    Ok(Start { existing, created: None, is_new: false, is_eager: false })
}

fn terminate_existing(current: &Run, by: &str, cx: &Context<'_>) -> Transition {
    let mut draft = current.draft(cx);
    let details = format!("terminated by new runID: {by}");
    let terminate = Terminate {
        reason: "TerminateIfRunning WorkflowIdReusePolicy".to_owned(),
        details: Some(Payloads { payloads: vec![json_payload(&json!(details), None)] }),
        identity: SERVER_IDENTITY.to_owned(),
        ..Terminate::default()
    };
    terminate::terminate(&mut draft, terminate);
    draft.into_transition()
}

/// The namespace and ids of a new run.
struct NewRunId<'a> {
    namespace: NamespaceKey,
    workflow_id: &'a str,
    origin: Origin,
}

fn create(replaced: Option<&Run>, id: NewRunId<'_>, request: StartRun, cx: &Context<'_>) -> Start {
    let run_id = request.run_id.unwrap_or_else(|| cx.ids.next(cx.now));
    let existing = replaced.map(|replaced| terminate_existing(replaced, &run_id, cx));
    let mut started = *request.started;
    started.workflow_id = id.workflow_id.to_owned();
    started.original_execution_run_id.clone_from(&run_id);
    started.first_execution_run_id.clone_from(&run_id);
    started.attempt = 1;
    started.memo = fields::initial(started.memo);
    started.search_attributes = fields::initial(started.search_attributes);
    complete_timeouts(&mut started, cx.limits);
    started.retry_policy = started.retry_policy.map(complete_policy);
    let cron_delay = super::cron::delay(&started.cron_schedule, cx.now, cx.now, cx.zones);
    if cron_delay.is_some() {
        started.initiator = ContinueAsNewInitiator::CronSchedule.into();
    }
    let delay = cron_delay.unwrap_or(request.delay);
    if let Some(timeout) = Span::of(started.workflow_execution_timeout.as_ref()).get() {
        let expires_at = cx.now.after(timeout);
        started.workflow_execution_expiration_time = Some(expires_at.into());
    }
    let eager = request.eager.filter(|_| delay == Span::ZERO && request.signal.is_none());
    started.eager_execution_accepted = eager.is_some();

    let identity = Identity {
        key: EntityKey(cx.keys.next()),
        namespace: id.namespace,
        origin: id.origin,
        run_id,
        request_id: request.request_id,
    };
    let new_run = NewRun { identity, delay, started };
    let mut draft = new_run.draft(cx, |first| {
        first.user_metadata = request.user_metadata;
        first.links = request.links;
    });
    if let Some(signal) = request.signal {
        let Signal { attributes, links } = *signal;
        let mut signaled = event(Attributes::WorkflowExecutionSignaledEventAttributes(attributes));
        signaled.links = links;
        draft.record_event(signaled);
    }
    draft.ensure_workflow_task();
    let mut created = draft.into_transition();
    let mut is_eager = false;
    if let (Some(eager), Some(task)) = (eager, created.run.head.workflow_task.clone()) {
        let start = StartWorkflowTask {
            task: TaskStamp::from(&task),
            identity: eager.identity,
            request_id: cx.ids.next(cx.now),
            worker_version: None,
        };
        is_eager = start_first_task(&mut created, start, cx);
    }
    Start { existing, created: Some(created), is_new: true, is_eager }
}

/// Starts the first workflow task in the transition that created it.
fn start_first_task(created: &mut Transition, start: StartWorkflowTask, cx: &Context<'_>) -> bool {
    let Ok(decision) = super::start_workflow_task::in_step(&created.run, start, 0, cx) else {
        return false;
    };
    let Some(step) = decision.transition else { return false };
    created.run = step.run;
    created.events.extend(step.events);
    created.touched.extend(step.touched);
    created.effects = step.effects;
    true
}

/// The attributes of a new run, from a start or from the end of the run before it.
pub(crate) struct NewRun {
    pub(crate) identity: Identity,
    pub(crate) delay: Span,
    pub(crate) started: WorkflowExecutionStartedEventAttributes,
}

impl NewRun {
    /// A draft whose history has the first event, and no workflow task yet.
    pub(crate) fn draft<'a>(
        self,
        cx: &'a Context<'a>,
        with: impl FnOnce(&mut perennial_proto::temporal::history::v1::HistoryEvent),
    ) -> Draft<'a> {
        let Self { identity, delay, mut started } = self;
        started.first_workflow_task_backoff = Some(delay.into());
        let run = Run::unstarted(identity, started.clone(), cx.now);
        let mut draft = Draft::new(run, cx);
        let mut first = event(Attributes::WorkflowExecutionStartedEventAttributes(started));
        with(&mut first);
        draft.record_event(first);
        draft.is_visible = true;
        draft
    }
}

/// Fills in missing timeouts, and shortens those that exceed the run timeout.
fn complete_timeouts(started: &mut WorkflowExecutionStartedEventAttributes, limits: &Limits) {
    let of = |given: &Option<perennial_proto::Duration>| Span::of(given.as_ref());
    let execution = of(&started.workflow_execution_timeout);
    let run = run_timeout(of(&started.workflow_run_timeout), execution);
    let task = task_timeout(of(&started.workflow_task_timeout), run, limits);
    // A timeout that is neither given nor implied stays unset: SDKs tell unset from zero.
    if run > Span::ZERO {
        started.workflow_run_timeout = Some(run.into());
    }
    started.workflow_task_timeout = Some(task.into());
}

/// The workflow task timeout: as given or by default, and no longer than the run timeout.
pub(super) fn task_timeout(given: Span, run: Span, limits: &Limits) -> Span {
    let task = given.get().unwrap_or(limits.workflow_task_timeout);
    let task = task.min(limits.workflow_task_timeout_max);
    run.get().map_or(task, |run| task.min(run))
}

/// A workflow execution for events.
pub(crate) fn execution(workflow_id: &str, run_id: &str) -> WorkflowExecution {
    WorkflowExecution { workflow_id: workflow_id.to_owned(), run_id: run_id.to_owned() }
}
