//! The end of a run: its successor, and its messages to children, parent and schedule.

use std::sync::Arc;

use perennial_proto::store as stored;
use perennial_proto::store::entity_message::Body;
use perennial_proto::temporal::common::v1::{Payloads, WorkflowType};
use perennial_proto::temporal::enums::v1::{
    ContinueAsNewInitiator, ParentClosePolicy, RetryState, TimeoutType,
    UpdateWorkflowExecutionLifecycleStage,
};
use perennial_proto::temporal::failure::v1::failure::FailureInfo;
use perennial_proto::temporal::failure::v1::{ApplicationFailureInfo, Failure, TimeoutFailureInfo};
use perennial_proto::temporal::history::v1::{
    WorkflowExecutionStartedEventAttributes, WorkflowExecutionTimedOutEventAttributes,
};
use perennial_proto::temporal::update::v1::{Outcome, outcome};

use super::fail_workflow_task::abandon_task;
use super::retry::{self, Ending};
use super::start::NewRun;
use super::{cron, pending_at_close};
use crate::run::Identity;
use crate::run::draft::{Draft, Effect};
use crate::run::event::Attributes;
use crate::{EntityKey, NamespaceKey, RunPart, Span, Time};

/// Closes the run because of its timeout, or its chain's.
pub(super) fn time_out(draft: &mut Draft<'_>) {
    let chain_is_over = draft.run.head.execution_expires_at != 0
        && draft.run.head.execution_expires_at <= draft.cx.now.0;
    abandon_task(draft);
    let failure = timeout_failure();
    let (retry_state, next) =
        if chain_is_over { (RetryState::Timeout, None) } else { after_failure(draft, &failure) };
    let new_execution_run_id = next.map(|next| continue_chain(draft, next)).unwrap_or_default();
    draft.record(Attributes::WorkflowExecutionTimedOutEventAttributes(
        WorkflowExecutionTimedOutEventAttributes {
            retry_state: retry_state.into(),
            new_execution_run_id,
        },
    ));
    after_close(draft);
}

/// The failure of a run that timed out.
pub fn timeout_failure() -> Failure {
    Failure {
        message: "workflow timeout".to_owned(),
        source: "Server".to_owned(),
        failure_info: Some(FailureInfo::TimeoutFailureInfo(TimeoutFailureInfo {
            timeout_type: TimeoutType::StartToClose.into(),
            last_heartbeat_details: None,
        })),
        ..Failure::default()
    }
}

/// The start of a chain's next run.
pub(super) struct Continuation {
    pub(super) initiator: ContinueAsNewInitiator,
    pub(super) delay: Span,
    pub(super) attempt: i32,
    pub(super) failure: Option<Failure>,
    pub(super) last_result: Option<Payloads>,
    /// Further changes to the attributes of the first event.
    pub(super) change: Option<Box<Change>>,
}

/// Changes the attributes of the next run's first event.
type Change = dyn FnOnce(&mut WorkflowExecutionStartedEventAttributes);

/// What follows after a failure: a retry, the next cron run, or nothing; with the reason.
pub(super) fn after_failure(
    draft: &Draft<'_>,
    failure: &Failure,
) -> (RetryState, Option<Continuation>) {
    let started = &draft.run.started;
    let expires_at = Time(draft.run.head.execution_expires_at).get();
    let ending = retry::ending(
        started.retry_policy.as_ref(),
        started.attempt,
        Some(failure),
        draft.now(),
        expires_at,
    );
    match ending {
        Ending::Retry { interval, .. } => {
            let next = Continuation {
                initiator: ContinueAsNewInitiator::Retry,
                delay: interval,
                attempt: started.attempt + 1,
                failure: Some(failure.clone()),
                last_result: started.last_completion_result.clone(),
                change: None,
            };
            (RetryState::InProgress, Some(next))
        }
        Ending::Final(state) => {
            let last_result = started.last_completion_result.clone();
            (state, next_cron(draft, Some(failure.clone()), last_result))
        }
    }
}

/// The next run of a cron chain, if there is one.
pub(super) fn next_cron(
    draft: &Draft<'_>,
    failure: Option<Failure>,
    last_result: Option<Payloads>,
) -> Option<Continuation> {
    let cron = &draft.run.started.cron_schedule;
    let first_task_at = Time(draft.run.head.first_task_at);
    let delay = cron::delay(cron, first_task_at, draft.now(), draft.cx.zones)?;
    Some(Continuation {
        initiator: ContinueAsNewInitiator::CronSchedule,
        delay,
        attempt: 1,
        failure,
        last_result,
        change: None,
    })
}

/// Creates the next run of the chain. Returns its run id.
pub(super) fn continue_chain(draft: &mut Draft<'_>, next: Continuation) -> String {
    let run_id = draft.cx.ids.next(draft.cx.now);
    let before = &draft.run;
    let mut started = WorkflowExecutionStartedEventAttributes::clone(&before.started);
    started.continued_execution_run_id.clone_from(&before.head.run_id);
    started.original_execution_run_id.clone_from(&run_id);
    started.initiator = next.initiator.into();
    started.attempt = next.attempt;
    started.continued_failure = next.failure;
    started.last_completion_result = next.last_result;
    started.prev_auto_reset_points.clone_from(&before.head.reset_points);
    started.eager_execution_accepted = false;
    // No client started the next run, so it has no identity.
    started.identity.clear();
    if let Some(change) = next.change {
        change(&mut started);
    }
    let identity = Identity {
        key: EntityKey(draft.cx.keys.next()),
        namespace: NamespaceKey(before.head.namespace),
        origin: before.origin(),
        run_id: run_id.clone(),
        request_id: draft.cx.ids.next(draft.cx.now),
    };
    let new_run = NewRun { identity, delay: with_min_interval(draft, next.delay), started };
    let mut successor = new_run.draft(draft.cx, |_| {});
    successor.ensure_workflow_task();
    draft.successor = Some(Box::new(successor.into_transition()));
    run_id
}

/// `delay`, extended to keep the least time between the first tasks of two runs in a chain.
fn with_min_interval(draft: &Draft<'_>, delay: Span) -> Span {
    let lifetime = draft.now().since(Time(draft.run.head.first_task_at));
    let least = draft.cx.limits.chain_interval_min;
    if lifetime.0.saturating_add(delay.0) < least.0 { Span(least.0 - lifetime.0) } else { delay }
}

/// Sends the messages that follow from the end of a run: to its children, and to its parent or schedule if the chain
/// has ended.
pub(super) fn after_close(draft: &mut Draft<'_>) {
    draft.is_visible = true;
    let mut messages = Vec::new();
    for child in draft.run.children.values() {
        let Some(initiated) = &child.initiated else { continue };
        let policy = initiated.parent_close_policy();
        if policy == ParentClosePolicy::Abandon {
            continue;
        }
        messages.push(stored::EntityMessage {
            sender: Some(draft.run.address()),
            target: Some(
                stored::RunName {
                    namespace: child.namespace,
                    workflow_id: initiated.workflow_id.clone(),
                    run_id: String::new(),
                    // The parent close policy applies to the child's whole chain: the child may have continued as new.
                    first_run_id: child.run_id.clone(),
                }
                .into(),
            ),
            request_id: format!("{}:close:{}", draft.run.head.run_id, child.initiated_event_id),
            body: Some(Body::ParentClosed(stored::ParentClosed { policy: policy.into() })),
            ..stored::EntityMessage::default()
        });
    }
    if draft.successor.is_none() {
        messages.extend(to_parent(draft));
        messages.extend(to_schedule(draft));
    }
    draft.effects.extend(messages.into_iter().map(Effect::Send));
    drop_pending(draft);
}

fn to_parent(draft: &Draft<'_>) -> Option<stored::EntityMessage> {
    let started = &draft.run.started;
    let parent = started.parent_workflow_execution.as_ref()?;
    let close_event = draft.events.last().cloned();
    Some(stored::EntityMessage {
        sender: Some(draft.run.address()),
        target: Some(
            stored::RunName {
                namespace: draft.run.head.parent_namespace,
                workflow_id: parent.workflow_id.clone(),
                run_id: parent.run_id.clone(),
                first_run_id: String::new(),
            }
            .into(),
        ),
        request_id: format!("{}:closed", draft.run.head.run_id),
        body: Some(Body::ChildClosed(stored::ChildClosed {
            initiated_event_id: started.parent_initiated_event_id,
            child: Some(stored::RunName {
                first_run_id: draft.run.first_run_id().to_owned(),
                ..draft.run.name()
            }),
            workflow_type: Some(WorkflowType {
                name: started.workflow_type.clone().unwrap_or_default().name,
            }),
            close_event,
        })),
        ..stored::EntityMessage::default()
    })
}

fn to_schedule(draft: &Draft<'_>) -> Option<stored::EntityMessage> {
    let schedule = draft.run.head.schedule.clone()?;
    Some(stored::EntityMessage {
        sender: Some(draft.run.address()),
        target: Some(schedule.into()),
        request_id: format!("{}:closed", draft.run.head.run_id),
        body: Some(Body::ScheduledRunClosed(stored::ScheduledRunClosed {
            run: Some(stored::RunName {
                first_run_id: draft.run.first_run_id().to_owned(),
                ..draft.run.name()
            }),
            close_event: draft.events.last().cloned(),
        })),
        ..stored::EntityMessage::default()
    })
}

/// Clears everything pending. Describe still shows it, from a copy.
pub(super) fn drop_pending(draft: &mut Draft<'_>) {
    fail_accepted_updates(draft);
    pending_at_close::note(&mut draft.run);
    let run = &mut draft.run;
    let is_pending = |key: &RunPart| !matches!(key, RunPart::Request(_) | RunPart::Update(_));
    draft.touched.extend(run.part_keys().filter(is_pending));
    run.activities = Default::default();
    run.timers = Default::default();
    run.children = Default::default();
    run.signals = Default::default();
    run.cancels = Default::default();
    run.buffered = Default::default();
}

/// Fails the accepted updates, because the workflow closed before they completed.
fn fail_accepted_updates(draft: &mut Draft<'_>) {
    let waiting = |update: &stored::PendingUpdate| {
        update.accepted_event_id != 0 && update.completed_event_id == 0
    };
    let ids: Vec<_> = draft.run.updates.values().filter(|update| waiting(update)).collect();
    let ids: Vec<_> = ids.into_iter().map(|update| update.update_id.clone()).collect();
    for id in ids {
        let updates = &mut draft.run.updates;
        let Some(update) = updates.get_mut(&id).map(Arc::make_mut) else { continue };
        update.set_stage(UpdateWorkflowExecutionLifecycleStage::Completed);
        update.outcome =
            Some(Outcome { value: Some(outcome::Value::Failure(unfinished_update())) });
        draft.touched.insert(RunPart::Update(id));
    }
}

fn unfinished_update() -> Failure {
    Failure {
        message:
            "Workflow Update failed because the Workflow completed before the Update completed."
                .to_owned(),
        source: "Server".to_owned(),
        failure_info: Some(FailureInfo::ApplicationFailureInfo(ApplicationFailureInfo {
            r#type: "AcceptedUpdateCompletedWorkflow".to_owned(),
            non_retryable: true,
            ..ApplicationFailureInfo::default()
        })),
        ..Failure::default()
    }
}
