//! A workflow worker: answers tasks with random commands, or late, or twice, or never.

use perennial_engine::Span;
use perennial_engine::run::{Command, CompleteWorkflowTask, FailWorkflowTask, TaskStamp};
use perennial_proto::store::{RunName, StickyQueue, WorkflowTaskKind};
use perennial_proto::temporal::enums::v1::{QueryResultType, WorkflowTaskFailedCause};
use perennial_proto::temporal::query::v1::WorkflowQueryResult;
use perennial_runtime::{Refusal, Sent, WorkflowTaskGrant};

use super::{Worker, activity_worker, is_unknown, wanted};
use crate::audit::Told;
use crate::sim::Actor;

/// Polls and works for ever.
pub(crate) async fn work(actor: Actor, worker: Worker, queue: String) {
    loop {
        let patience = Span::seconds(actor.chance.between(1, 60));
        let poller = worker.poller(queue.clone());
        let polled = actor
            .ask(patience, |runtime| async move { runtime.poll_workflow_task(poller).await })
            .await;
        match polled {
            Ok(grant) => {
                let busy = handle(actor.fork(), worker.clone(), grant);
                actor.sim.spawn(busy);
            }
            Err(Refusal::TimedOut) => {}
            Err(_) => actor.sleep(Span::millis(100)).await,
        }
    }
}

/// Handles a task, and the tasks that come with the replies.
async fn handle(actor: Actor, worker: Worker, grant: WorkflowTaskGrant) {
    let mut next = Some(grant);
    while let Some(grant) = next.take() {
        let run = grant.run.name();
        actor.told(Told::saw(&grant.run));
        match &grant.query {
            Some((id, _)) => answer_query(&actor, &run, id).await,
            None => next = handle_task(&actor, &worker, &run, &grant).await,
        }
    }
}

async fn answer_query(actor: &Actor, run: &RunName, id: &str) {
    let (run, id) = (run.clone(), id.to_owned());
    let _ = actor
        .ask(
            Span::seconds(5),
            |runtime| async move { runtime.answer_query(run, id, answered()).await },
        )
        .await;
}

fn answered() -> WorkflowQueryResult {
    let mut result = WorkflowQueryResult::default();
    result.set_result_type(QueryResultType::Answered);
    result
}

async fn handle_task(
    actor: &Actor,
    worker: &Worker,
    run: &RunName,
    grant: &WorkflowTaskGrant,
) -> Option<WorkflowTaskGrant> {
    let run_id = run.run_id.clone();
    let Some(task) = &grant.run.head.workflow_task else {
        actor.told(Told::Nonsense { run_id, what: "a grant without its task" });
        return None;
    };
    let stamp = TaskStamp::from(task);
    let is_speculative = task.kind() == WorkflowTaskKind::Speculative;
    actor.told(Told::WorkflowTask { run_id, stamp, is_speculative });
    if !actor.sim.is_quiescing() {
        match actor.chance.below(20) {
            0 => {
                actor.say(&format!("leaves the task of {} alone", run.run_id));
                return None;
            }
            1 => {
                fail(actor, worker, run, stamp).await;
                return None;
            }
            2..4 => actor.sleep(Span::millis(actor.chance.between(10, 15_000))).await,
            4..10 => actor.sleep(Span::millis(actor.chance.between(1, 200))).await,
            _ => {}
        }
    }
    let complete = completion(actor, worker, grant, stamp);
    let closes = wanted::closing_status(&complete.commands);
    let sent = send(actor, run, Command::CompleteWorkflowTask(Box::new(complete))).await.ok()?;
    let run_id = run.run_id.clone();
    actor.told(Told::TaskCompleted { run_id, stamp, is_speculative, closes });
    actor.told(Told::saw(&sent.run));
    for activity in sent.eager_activities {
        let identity = worker.identity.clone();
        actor.sim.spawn(activity_worker::handle(actor.fork(), identity, activity));
    }
    sent.next_task
}

async fn fail(actor: &Actor, worker: &Worker, run: &RunName, token: TaskStamp) {
    let fail = FailWorkflowTask {
        token,
        cause: WorkflowTaskFailedCause::WorkflowWorkerUnhandledFailure,
        failure: None,
        identity: worker.identity.clone(),
        binary_checksum: String::new(),
    };
    let _ = send(actor, run, Command::FailWorkflowTask(Box::new(fail))).await;
}

fn completion(
    actor: &Actor,
    worker: &Worker,
    grant: &WorkflowTaskGrant,
    token: TaskStamp,
) -> CompleteWorkflowTask {
    let (mut commands, messages) = wanted::update_answers(actor, grant);
    commands.extend(wanted::commands(actor, grant));
    let sticky = StickyQueue {
        name: worker.sticky_queue(),
        schedule_to_start_nanos: Span::seconds(actor.chance.between(1, 10)).0,
    };
    let is_wild = !actor.sim.is_quiescing();
    let more = is_wild && actor.chance.percent(10);
    CompleteWorkflowTask {
        token,
        commands,
        messages,
        sticky: actor.chance.percent(60).then_some(sticky),
        force_new_task: more,
        return_new_task: more || actor.chance.percent(30),
        identity: worker.identity.clone(),
        query_answers: grant.queries.keys().map(|id| (id.clone(), answered())).collect(),
        ..CompleteWorkflowTask::default()
    }
}

/// Sends a completion, retries while the outcome is unknown, and sometimes sends it once more.
async fn send(actor: &Actor, run: &RunName, command: Command) -> Result<Box<Sent>, Refusal> {
    let mut last = Err(Refusal::TimedOut);
    for _ in 0..5 {
        let (run, again) = (run.clone(), command.clone());
        let sent = actor
            .ask(Span::seconds(5), |runtime| async move { runtime.send(run, again).await })
            .await;
        let is_over = match &sent {
            Ok(_) => true,
            Err(refusal) => !is_unknown(refusal),
        };
        last = sent.map(Box::new);
        if is_over {
            break;
        }
        actor.sleep(Span::millis(actor.chance.between(1, 2_000))).await;
    }
    if last.is_ok() && !actor.sim.is_quiescing() && actor.chance.percent(10) {
        let run = run.clone();
        let twice = actor
            .ask(Span::seconds(5), |runtime| async move { runtime.send(run, command).await })
            .await;
        if let Ok(sent) = twice {
            let run_id = sent.run.head.run_id.clone();
            actor.told(Told::Nonsense { run_id, what: "a task that is done was done again" });
        }
    }
    last
}
