//! A client: starts workflows and sends them every kind of request, and retries when the outcome is unknown.

use perennial_engine::run::{Command, RequestCancel, Signal, StartRun, Terminate};
use perennial_engine::{NamespaceKey, Span};
use perennial_proto::store::RunName;
use perennial_proto::temporal::common::v1::{RetryPolicy, WorkflowType};
use perennial_proto::temporal::enums::v1::{
    EventType, QueryRejectCondition, UpdateWorkflowExecutionLifecycleStage,
    WorkflowIdConflictPolicy, WorkflowIdReusePolicy,
};
use perennial_proto::temporal::history::v1::{
    History, WorkflowExecutionSignaledEventAttributes, WorkflowExecutionStartedEventAttributes,
};
use perennial_proto::temporal::query::v1::WorkflowQuery;
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use perennial_proto::temporal::update::v1 as update;
use perennial_runtime::{Refusal, ResetOptions, Runtime};
use prost::Message;

use super::{CHILDREN, NAMESPACES, QUEUE, WORKFLOWS, is_unknown};
use crate::audit::Told;
use crate::sim::Actor;

/// The most tries of a request.
const TRIES: usize = 6;
const PATIENCE: Span = Span::seconds(5);

/// Sends so many requests, or fewer if the world quiesces before.
pub(crate) async fn live(actor: Actor, deeds: usize) {
    for _ in 0..deeds {
        if actor.sim.is_quiescing() {
            return;
        }
        match actor.chance.below(40) {
            0..12 => start(&actor).await,
            12..22 => signal(&actor, any_target(&actor)).await,
            22..24 => cancel(&actor).await,
            24 => terminate(&actor).await,
            25..29 => update(&actor, any_target(&actor)).await,
            29..31 => query(&actor).await,
            31..34 => reset(&actor, any_target(&actor)).await,
            34..37 => read(&actor).await,
            37 => delete(&actor, any_target(&actor)).await,
            _ => watch(&actor).await,
        }
        actor.sleep(Span::millis(actor.chance.between(0, 3_000))).await;
    }
}

/// The requests that make an open run finish at the end of a simulation.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Nudge {
    Signal,
    Update,
}

/// Gives an open run a reason to continue: at the end of a simulation all runs have to finish.
pub(crate) async fn nudge(actor: Actor, run: RunName, nudge: Nudge) {
    match nudge {
        Nudge::Signal => signal(&actor, run).await,
        Nudge::Update => update(&actor, run).await,
    }
}

/// Retries until there is an answer, or the tries are used up.
pub(super) async fn insist<T, F>(
    actor: &Actor,
    patience: Span,
    ask: impl Fn(Runtime) -> F,
) -> Result<T, Refusal>
where
    F: Future<Output = Result<T, Refusal>>,
{
    let mut last = Err(Refusal::TimedOut);
    for _ in 0..TRIES {
        last = actor.ask(patience, &ask).await;
        match &last {
            Err(refusal) if is_unknown(refusal) => {
                actor.sleep(Span::millis(actor.chance.between(1, 3_000))).await;
            }
            _ => break,
        }
    }
    last
}

async fn start(actor: &Actor) {
    let chance = &actor.chance;
    let namespace = any_namespace(actor);
    let workflow_id = format!("workflow-{}", chance.below(WORKFLOWS));
    let request = start_request(actor);
    let signal_id = request.signal.as_ref().map(|signal| signal.attributes.request_id.clone());
    actor.say(&format!("starts {workflow_id} as {}", request.request_id));
    let times = 1 + chance.below(2);
    for _ in 0..times {
        let started = insist(actor, PATIENCE, |runtime| {
            let (id, request) = (workflow_id.clone(), request.clone());
            async move { runtime.start(namespace, id, request).await }
        })
        .await;
        let Ok(started) = started else { return };
        let run_id = started.run.head.run_id.clone();
        actor.told(Told::Started { run_id: run_id.clone() });
        actor.told(Told::saw(&started.run));
        if let Some(request_id) = signal_id.clone() {
            // A repeated start is answered like the first, and its signal may have gone to an earlier run.
            actor.told(Told::SignaledWithStart { run_id, request_id });
        }
    }
}

fn start_request(actor: &Actor) -> StartRun {
    let chance = &actor.chance;
    let seconds = |first, last| Some(Span::seconds(chance.between(first, last)).into());
    let retry_policy = RetryPolicy {
        initial_interval: seconds(1, 3),
        backoff_coefficient: 1.0,
        maximum_attempts: 2,
        ..RetryPolicy::default()
    };
    let with_signal = chance.percent(25);
    let signal = with_signal.then(|| Box::new(signal_attributes(actor.fresh_id("signal"))));
    let conflict_policy = if with_signal {
        WorkflowIdConflictPolicy::UseExisting
    } else {
        [
            WorkflowIdConflictPolicy::Fail,
            WorkflowIdConflictPolicy::UseExisting,
            WorkflowIdConflictPolicy::TerminateExisting,
            WorkflowIdConflictPolicy::Unspecified,
        ][chance.below(4)]
    };
    let attach_request_id = !with_signal && chance.percent(30);
    StartRun {
        request_id: actor.fresh_id("start"),
        run_id: None,
        started: Box::new(WorkflowExecutionStartedEventAttributes {
            workflow_type: Some(WorkflowType { name: "Work".to_owned() }),
            task_queue: Some(TaskQueue { name: QUEUE.to_owned(), ..TaskQueue::default() }),
            retry_policy: chance.percent(20).then_some(retry_policy),
            workflow_run_timeout: if chance.percent(15) { seconds(20, 200) } else { None },
            workflow_execution_timeout: if chance.percent(10) { seconds(60, 300) } else { None },
            ..WorkflowExecutionStartedEventAttributes::default()
        }),
        delay: if chance.percent(10) { Span::seconds(chance.between(1, 20)) } else { Span::ZERO },
        reuse_policy: [
            WorkflowIdReusePolicy::AllowDuplicate,
            WorkflowIdReusePolicy::AllowDuplicateFailedOnly,
            WorkflowIdReusePolicy::RejectDuplicate,
        ][chance.below(3)],
        conflict_policy,
        user_metadata: None,
        links: Vec::new(),
        eager: None,
        signal,
        attach_links: false,
        attach_request_id,
        traceparent: String::new(),
    }
}

fn signal_attributes(request_id: String) -> Signal {
    let attributes = WorkflowExecutionSignaledEventAttributes {
        signal_name: "hello".to_owned(),
        request_id,
        ..WorkflowExecutionSignaledEventAttributes::default()
    };
    Signal { attributes, links: Vec::new() }
}

async fn signal(actor: &Actor, mut target: RunName) {
    let request_id = actor.fresh_id("signal");
    actor.say(&format!("signals {} with {request_id}", target.workflow_id));
    let times = 1 + actor.chance.below(3);
    for _ in 0..times {
        let sent = insist(actor, PATIENCE, |runtime| {
            let signal = Command::Signal(Box::new(signal_attributes(request_id.clone())));
            let target = target.clone();
            async move { runtime.send(target, signal).await }
        })
        .await;
        let Ok(sent) = sent else { return };
        // The retry is for the run that took the first one: another run would rightly accept it as new.
        target = sent.run.name();
        let run_id = target.run_id.clone();
        actor.told(Told::Signaled { run_id, request_id: request_id.clone() });
        actor.sleep(Span::millis(actor.chance.between(0, 4_000))).await;
    }
}

async fn cancel(actor: &Actor) {
    let target = any_target(actor);
    let request_id = actor.fresh_id("cancel");
    let sent = insist(actor, PATIENCE, |runtime| {
        let cancel = RequestCancel { request_id: request_id.clone(), ..RequestCancel::default() };
        let target = target.clone();
        async move { runtime.send(target, Command::RequestCancel(cancel)).await }
    })
    .await;
    if let Ok(sent) = sent {
        actor.told(Told::CancelRequested { run_id: sent.run.head.run_id.clone() });
    }
}

async fn terminate(actor: &Actor) {
    let target = any_target(actor);
    let sent = insist(actor, PATIENCE, |runtime| {
        let target = target.clone();
        async move { runtime.send(target, Command::Terminate(Terminate::default())).await }
    })
    .await;
    if let Ok(sent) = sent {
        actor.told(Told::Terminated { run_id: sent.run.head.run_id.clone() });
    }
}

async fn update(actor: &Actor, target: RunName) {
    use perennial_engine::run::UpdateProgress;
    let update_id = actor.fresh_id("update");
    actor.say(&format!("updates {} with {update_id}", target.workflow_id));
    let wait = [
        UpdateWorkflowExecutionLifecycleStage::Accepted,
        UpdateWorkflowExecutionLifecycleStage::Completed,
    ][actor.chance.below(2)];
    let status = insist(actor, Span::seconds(20), |runtime| {
        let meta = update::Meta { update_id: update_id.clone(), identity: String::new() };
        let input = update::Input { name: "change".to_owned(), ..update::Input::default() };
        let request =
            update::Request { meta: Some(meta), input: Some(input), ..update::Request::default() };
        let target = target.clone();
        async move { runtime.update(target, request, wait).await }
    })
    .await;
    let Ok(status) = status else { return };
    let is_completed = match status.progress {
        Some(UpdateProgress::Accepted) => false,
        Some(UpdateProgress::Completed(_)) => true,
        Some(UpdateProgress::Rejected(_)) | None => return,
    };
    actor.told(Told::Updated { run_id: status.run.run_id, update_id, is_completed });
}

async fn query(actor: &Actor) {
    let target = any_target(actor);
    let _ = actor
        .ask(Span::seconds(10), |runtime| async move {
            let query = WorkflowQuery { query_type: "what".to_owned(), ..WorkflowQuery::default() };
            runtime.query(target, query, QueryRejectCondition::None).await
        })
        .await;
}

pub(super) async fn reset(actor: &Actor, target: RunName) {
    let history = actor
        .ask(PATIENCE, |runtime| async move {
            let run = runtime.read(target).await?;
            let last = run.last_event_id();
            let fragments = runtime.history(&run, 1, last, usize::MAX, false).await?;
            let bytes: Vec<u8> = fragments.into_iter().flat_map(|it| it.bytes).collect();
            Ok((run, History::decode(bytes.as_slice()).unwrap_or_default().events))
        })
        .await;
    let Ok((run, events)) = history else { return };
    let is_point =
        |kind| matches!(kind, EventType::WorkflowTaskCompleted | EventType::WorkflowTaskStarted);
    let points: Vec<_> =
        events.iter().filter(|it| is_point(it.event_type())).map(|it| it.event_id).collect();
    let Some(event_id) = actor.chance.pick(&points).copied() else { return };
    let request_id = actor.fresh_id("reset");
    actor.say(&format!("resets {} at {event_id} as {request_id}", run.head.run_id));
    let done = insist(actor, PATIENCE, |runtime| {
        let reset = ResetOptions {
            request_id: request_id.clone(),
            reason: "again".to_owned(),
            event_id,
            exclude_signals: false,
            exclude_updates: false,
        };
        let target = run.name();
        async move { runtime.reset(target, reset).await }
    })
    .await;
    if let Ok(run_id) = done {
        actor.told(Told::Reset { run_id });
    }
}

async fn read(actor: &Actor) {
    let target = any_target(actor);
    let read = actor.ask(PATIENCE, |runtime| async move { runtime.read(target).await }).await;
    if let Ok(run) = read {
        actor.told(Told::saw(&run));
    }
}

async fn watch(actor: &Actor) {
    let target = any_target(actor);
    let read = actor
        .ask(Span::seconds(20), |runtime| async move {
            let run = runtime.read(target).await?;
            runtime.watch(run.name(), run.head.next_event_id).await
        })
        .await;
    if let Ok(watched) = read {
        actor.told(Told::saw(&watched.run));
    }
}

pub(super) async fn delete(actor: &Actor, target: RunName) {
    let found = actor.ask(PATIENCE, |runtime| async move { runtime.read(target).await }).await;
    let Ok(run) = found else { return };
    let run_id = run.head.run_id.clone();
    // The start may be delivered a second time and create the run again: the promises don't cover that.
    if actor.may_be_started_again(&run_id) {
        return;
    }
    actor.told(Told::MayBeDeleted { run_id: run_id.clone() });
    let done = insist(actor, PATIENCE, |runtime| {
        let target = run.name();
        async move { runtime.delete(target).await }
    })
    .await;
    if done.is_ok() {
        actor.told(Told::Deleted { run_id });
    }
}

fn any_namespace(actor: &Actor) -> NamespaceKey {
    // Most requests are for one namespace, so that they interact.
    if actor.chance.percent(80) { NamespaceKey(1) } else { NamespaceKey(NAMESPACES.len() as i64) }
}

fn any_target(actor: &Actor) -> RunName {
    let workflow_id = match actor.chance.below(10) {
        0..7 => format!("workflow-{}", actor.chance.below(WORKFLOWS)),
        _ => format!("child-{}", actor.chance.below(CHILDREN)),
    };
    RunName { namespace: any_namespace(actor).0, workflow_id, ..RunName::default() }
}
