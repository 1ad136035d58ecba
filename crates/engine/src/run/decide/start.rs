//! Starting a workflow: a command to a workflow id, which may have a run already.

use perennial_proto::store as stored;
use perennial_proto::temporal::common::v1::WorkflowExecution;
use perennial_proto::temporal::enums::v1::{
    ContinueAsNewInitiator, WorkflowExecutionStatus, WorkflowIdConflictPolicy,
    WorkflowIdReusePolicy,
};
use perennial_proto::temporal::history::v1::WorkflowExecutionStartedEventAttributes;

use super::terminate;
use crate::run::draft::{Draft, Transition};
use crate::run::event::{Attributes, event};
use crate::run::{
    Context, Rejection, Run, Signal, StartRun, StartWorkflowTask, TaskStamp, Terminate,
};
use crate::{NamespaceKey, RunKey, Span, Time};

/// What a start led to.
#[derive(Debug)]
pub struct Start {
    /// What it changed in the run that was there.
    pub existing: Option<Transition>,
    /// The new run.
    pub created: Option<Transition>,
    /// Whether the run that has the id now is from this request, or an earlier delivery of it.
    pub is_new: bool,
    /// Whether the first workflow task was started for the caller.
    pub is_eager: bool,
}

/// Starts a run under a workflow id, as far as the policies and the run that is there, if any, allow.
pub fn start(
    current: Option<&Run>,
    namespace: NamespaceKey,
    workflow_id: &str,
    request: StartRun,
    cx: &Context<'_>,
) -> Result<Start, Rejection> {
    let Some(current) = current else {
        return Ok(create(None, namespace, workflow_id, request, cx));
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
                let existing = terminate_existing(current, cx);
                Ok(create(Some(existing), namespace, workflow_id, request, cx))
            }
            WorkflowIdConflictPolicy::Fail | WorkflowIdConflictPolicy::Unspecified => {
                Err(already_started(current))
            }
        };
    }
    let is_allowed = match request.reuse_policy {
        WorkflowIdReusePolicy::AllowDuplicateFailedOnly => {
            current.head.status() != WorkflowExecutionStatus::Completed
        }
        WorkflowIdReusePolicy::RejectDuplicate => false,
        WorkflowIdReusePolicy::AllowDuplicate
        | WorkflowIdReusePolicy::TerminateIfRunning
        | WorkflowIdReusePolicy::Unspecified => true,
    };
    if !is_allowed {
        return Err(already_started(current));
    }
    Ok(create(None, namespace, workflow_id, request, cx))
}

fn already_started(current: &Run) -> Rejection {
    Rejection::AlreadyStarted {
        workflow_id: current.head.workflow_id.clone(),
        run_id: current.head.run_id.clone(),
        start_request_id: current.head.start_request_id.clone(),
        first_run_id: current.first_run_id().to_owned(),
        is_closed: !current.is_open(),
    }
}

fn use_existing(current: &Run, request: StartRun, cx: &Context<'_>) -> Result<Start, Rejection> {
    let mut existing = None;
    if let Some(signal) = request.signal {
        let decision = super::signal::decide(current, *signal, cx)?;
        decision.reply?;
        existing = decision.transition;
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
        draft.happen_event(attached);
        existing = Some(draft.into_transition());
    }
    Ok(Start { existing, created: None, is_new: false, is_eager: false })
}

fn terminate_existing(current: &Run, cx: &Context<'_>) -> Transition {
    let mut draft = current.draft(cx);
    let terminate = Terminate {
        reason: "TerminateIfRunning WorkflowIdReusePolicy".to_owned(),
        identity: "history-service".to_owned(),
        ..Terminate::default()
    };
    terminate::terminate(&mut draft, terminate);
    draft.into_transition()
}

fn create(
    existing: Option<Transition>,
    namespace: NamespaceKey,
    workflow_id: &str,
    request: StartRun,
    cx: &Context<'_>,
) -> Start {
    let run_id = request.run_id.unwrap_or_else(|| cx.ids.next(cx.now));
    let mut started = *request.started;
    started.workflow_id = workflow_id.to_owned();
    started.original_execution_run_id.clone_from(&run_id);
    started.first_execution_run_id.clone_from(&run_id);
    started.attempt = 1;
    let delay = match super::retry::cron_delay(&started.cron_schedule, cx.now, cx.now) {
        Some(delay) => {
            started.initiator = ContinueAsNewInitiator::CronSchedule.into();
            delay
        }
        None => request.delay,
    };
    if let Some(timeout) = Span::of(started.workflow_execution_timeout.as_ref()).get() {
        let expires_at = cx.now.after(request.delay).after(timeout);
        started.workflow_execution_expiration_time = Some(expires_at.into());
    }
    let eager = request.eager.filter(|_| delay == Span::ZERO && request.signal.is_none());
    started.eager_execution_accepted = eager.is_some();
    // A signal that comes with the start doesn't wait for the delay, unless cron made it.
    let bypasses_delay = request.signal.is_some() && started.cron_schedule.is_empty();
    let delay = if bypasses_delay { Span::ZERO } else { delay };

    let birth = Birth {
        key: cx.next_key,
        namespace,
        run_id,
        request_id: request.request_id,
        delay,
        started,
    };
    let mut draft = birth.draft(cx, |first| {
        first.user_metadata = request.user_metadata;
        first.links = request.links;
    });
    if let Some(signal) = request.signal {
        let Signal { attributes, links } = *signal;
        let mut signaled = event(Attributes::WorkflowExecutionSignaledEventAttributes(attributes));
        signaled.links = links;
        draft.record_event(signaled);
    }
    draft.want_workflow_task();
    let mut created = draft.into_transition();
    let mut is_eager = false;
    if let (Some(eager), Some(task)) = (eager, created.run.head.workflow_task.clone()) {
        let start = StartWorkflowTask {
            task: TaskStamp {
                scheduled_event_id: task.scheduled_event_id,
                attempt: task.attempt,
                stamp: task.stamp,
            },
            identity: eager.identity,
            request_id: cx.ids.next(cx.now),
            worker_version: eager.worker_version,
        };
        is_eager = start_with_it(&mut created, start, cx);
    }
    Start { existing, created: Some(created), is_new: true, is_eager }
}

/// Starts the first workflow task in the same step that made it.
fn start_with_it(created: &mut Transition, start: StartWorkflowTask, cx: &Context<'_>) -> bool {
    let Ok(decision) = super::start_workflow_task::decide(&created.run, start, cx) else {
        return false;
    };
    let Some(step) = decision.transition else { return false };
    created.run = step.run;
    created.events.extend(step.events);
    created.touched.extend(step.touched);
    created.effects = step.effects;
    true
}

/// What it takes to bring a run into the world: a start, or the end of the run before it.
pub(crate) struct Birth {
    pub(crate) key: RunKey,
    pub(crate) namespace: NamespaceKey,
    pub(crate) run_id: String,
    pub(crate) request_id: String,
    pub(crate) delay: Span,
    pub(crate) started: WorkflowExecutionStartedEventAttributes,
}

impl Birth {
    /// A draft whose history has its first event, and no workflow task yet.
    pub(crate) fn draft<'a>(
        self,
        cx: &'a Context<'a>,
        with: impl FnOnce(&mut perennial_proto::temporal::history::v1::HistoryEvent),
    ) -> Draft<'a> {
        let Self { key, namespace, run_id, request_id, delay, mut started } = self;
        started.first_workflow_task_backoff = Some(delay.into());
        let first_task_at = cx.now.after(delay);
        let run_timeout = Span::of(started.workflow_run_timeout.as_ref()).get();
        let execution_expires_at =
            started.workflow_execution_expiration_time.map_or(0, |at| Time::from(at).0);
        let mut head = stored::RunHead {
            namespace: namespace.0,
            workflow_id: started.workflow_id.clone(),
            run_id,
            start_request_id: request_id,
            started_at: cx.now.0,
            first_task_at: first_task_at.0,
            execution_expires_at,
            run_expires_at: run_timeout.map_or(0, |timeout| first_task_at.after(timeout).0),
            next_event_id: 1,
            next_task_attempt: 1,
            first_task_pending: delay > Span::ZERO,
            memo: started.memo.clone(),
            search_attributes: started.search_attributes.clone(),
            ..stored::RunHead::default()
        };
        head.set_status(WorkflowExecutionStatus::Running);
        let run = Run::empty(key, head, started.clone());
        let mut draft = Draft::new(run, cx);
        let mut first = event(Attributes::WorkflowExecutionStartedEventAttributes(started));
        with(&mut first);
        draft.record_event(first);
        draft.is_visible = true;
        draft
    }
}

/// A run's name as events have it.
pub(crate) fn execution(workflow_id: &str, run_id: &str) -> WorkflowExecution {
    WorkflowExecution { workflow_id: workflow_id.to_owned(), run_id: run_id.to_owned() }
}
