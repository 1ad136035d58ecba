//! An activity worker: completes or fails activities, takes too long, or reports a result twice.

use perennial_engine::Span;
use perennial_engine::run::{
    ActivityOutcome, ActivityTarget, Command, HeartbeatActivity, ReportActivity, TaskStamp,
};
use perennial_proto::temporal::failure::v1::Failure;
use perennial_runtime::{ActivityGrant, Refusal};

use super::{QUEUE, Worker, is_unknown};
use crate::audit::{ActivityEnd, Told};
use crate::sim::Actor;

/// Polls and works for ever.
pub(crate) async fn work(actor: Actor, worker: Worker) {
    loop {
        let patience = Span::seconds(actor.chance.between(1, 60));
        let poller = worker.poller(QUEUE.to_owned());
        let polled =
            actor.ask(patience, |runtime| async move { runtime.poll_activity(poller).await }).await;
        match polled {
            Ok(grant) => {
                let busy = handle(actor.fork(), worker.identity.clone(), grant);
                actor.sim.spawn(busy);
            }
            Err(Refusal::TimedOut) => {}
            Err(_) => actor.sleep(Span::millis(100)).await,
        }
    }
}

/// Runs an activity, from a poll or from the reply to a workflow task.
pub(super) async fn handle(actor: Actor, identity: String, grant: ActivityGrant) {
    let run = grant.run.name();
    let id = grant.scheduled_event_id;
    let Some(activity) = grant.run.activities.get(&id) else {
        actor.told(Told::Nonsense { run_id: run.run_id, what: "a task without its activity" });
        return;
    };
    let stamp = TaskStamp::from(&**activity);
    actor.told(Told::Activity { run_id: run.run_id.clone(), stamp });
    actor.told(Told::saw(&grant.run));
    let is_wild = !actor.sim.is_quiescing();
    if is_wild && actor.chance.percent(5) {
        actor.say(&format!("leaves activity {id} of {} alone", run.run_id));
        return;
    }
    while is_wild && actor.chance.percent(25) {
        actor.sleep(Span::millis(actor.chance.between(10, 8_000))).await;
        let target = ActivityTarget::Token(stamp);
        let beat = HeartbeatActivity { target, details: None, identity: identity.clone() };
        let (run, beat) = (run.clone(), Command::HeartbeatActivity(beat));
        let _ = actor
            .ask(Span::seconds(5), |runtime| async move { runtime.send(run, beat).await })
            .await;
    }
    let end = match actor.chance.below(10) {
        0..3 if is_wild => ActivityEnd::Failed,
        3 if is_wild && activity.cancel_requested_event_id != 0 => ActivityEnd::Canceled,
        _ => ActivityEnd::Completed,
    };
    let outcome = match end {
        ActivityEnd::Completed => ActivityOutcome::Completed(None),
        ActivityEnd::Failed => {
            let failure = Failure { message: "no".to_owned(), ..Failure::default() };
            ActivityOutcome::Failed(Some(failure), None)
        }
        ActivityEnd::Canceled => ActivityOutcome::Canceled(None),
    };
    let report = ReportActivity {
        target: ActivityTarget::Token(stamp),
        outcome,
        identity,
        worker_version: None,
    };
    let mut times = 1 + u32::from(is_wild && actor.chance.percent(15));
    for _ in 0..6 {
        let (target, report) = (run.clone(), Command::ReportActivity(Box::new(report.clone())));
        let answer = actor
            .ask(Span::seconds(5), |runtime| async move { runtime.send(target, report).await })
            .await;
        match answer {
            Ok(sent) => {
                let run_id = run.run_id.clone();
                actor.told(Told::ActivityEnded { run_id, stamp, end });
                actor.told(Told::saw(&sent.run));
            }
            Err(refusal) if is_unknown(&refusal) => {
                actor.sleep(Span::millis(actor.chance.between(1, 2_000))).await;
                continue;
            }
            Err(_) => {}
        }
        times -= 1;
        if times == 0 {
            return;
        }
    }
}
