//! A client of schedules: creates them and sends them every kind of request, and retries when the outcome is unknown.

use perennial_engine::run::{self, RequestCancel, Terminate};
use perennial_engine::schedule::{Command, Reply, Schedule, Status};
use perennial_engine::{NamespaceKey, Span};
use perennial_proto::store::{RunName, ScheduleName};
use perennial_runtime::Refusal;

use super::client::{delete as delete_run, insist, reset};
use super::schedule_wanted as wanted;
use super::{NAMESPACES, SCHEDULES};
use crate::audit::ToldOfSchedule as Told;
use crate::sim::Actor;

const PATIENCE: Span = Span::seconds(5);

/// Sends so many requests, or fewer if the world quiesces before.
pub(crate) async fn live(actor: Actor, deeds: usize) {
    for _ in 0..deeds {
        if actor.sim.is_quiescing() {
            return;
        }
        match actor.chance.below(40) {
            0..9 => create(&actor).await,
            9..13 => update(&actor).await,
            13..16 => set_paused(&actor, true).await,
            16..21 => set_paused(&actor, false).await,
            21..28 => trigger(&actor).await,
            28..32 => backfill(&actor).await,
            32 => cancel_backfill(&actor).await,
            33..35 => delete(&actor).await,
            35..38 => end_run(&actor).await,
            _ => {
                read(&actor, any_schedule(&actor)).await;
            }
        }
        actor.sleep(Span::millis(actor.chance.between(0, 9_000))).await;
    }
}

/// Evaluates schedules again and again, concurrently with other clients, until the world quiesces.
pub(crate) async fn evaluate(actor: Actor) {
    while !actor.sim.is_quiescing() {
        let only = actor.chance.percent(30).then_some(NamespaceKey(1));
        let limit = 1 + actor.chance.below(8);
        let passed = actor
            .ask(PATIENCE, |runtime| async move { runtime.evaluate_schedules(only, limit).await });
        if let Ok(pass) = passed.await {
            for evaluated in &pass.schedules {
                let key = evaluated.schedule.key;
                saw(&actor, &evaluated.schedule);
                for time in evaluated.times.iter().cloned() {
                    actor.told_of_schedule(Told::Evaluated { key, time });
                }
            }
        }
        actor.sleep(Span::millis(actor.chance.between(0, 6_000))).await;
    }
}

/// Pauses a schedule at the end of a simulation, so that it starts nothing more.
pub(crate) async fn pause_for_good(actor: Actor, target: ScheduleName) {
    let notes = "the world ends".to_owned();
    tell(&actor, target, Command::Pause { notes, context: None }).await;
}

async fn create(actor: &Actor) {
    let target = any_schedule(actor);
    let request = wanted::create(actor, &target.schedule_id);
    actor.say(&format!("creates {} as {}", target.schedule_id, request.request_id));
    let times = 1 + actor.chance.below(2);
    for _ in 0..times {
        let created = insist(actor, PATIENCE, |runtime| {
            let (target, request) = (target.clone(), request.clone());
            let namespace = NamespaceKey(target.namespace);
            async move { runtime.create_schedule(namespace, target.schedule_id, request).await }
        })
        .await;
        if let Ok(schedule) = created {
            saw(actor, &schedule);
        }
    }
}

async fn update(actor: &Actor) {
    let target = any_schedule(actor);
    let Some(schedule) = read(actor, target.clone()).await else { return };
    let mut update = wanted::update(actor, &target.schedule_id, &schedule.config);
    let with_token = actor.chance.percent(50);
    update.conflict_token = with_token.then_some(schedule.head.conflict_token);
    tell(actor, schedule.name(), Command::Update(Box::new(update))).await;
}

async fn set_paused(actor: &Actor, is_paused: bool) {
    let (notes, context) = ("because".to_owned(), None);
    let command = if is_paused {
        Command::Pause { notes, context }
    } else {
        Command::Unpause { notes, context }
    };
    if let Some((schedule, _)) = tell(actor, any_schedule(actor), command).await {
        actor.told_of_schedule(Told::Paused {
            key: schedule.key,
            audit_sequence: schedule.head.audit_sequence,
            is_paused,
        });
    }
}

async fn trigger(actor: &Actor) {
    let target = any_schedule(actor);
    // The retry is for the schedule that took the first one: another one would rightly accept it as new.
    let Some(schedule) = read(actor, target).await else { return };
    let trigger = wanted::trigger(actor);
    let times = 1 + actor.chance.below(2);
    for _ in 0..times {
        let command = Command::Trigger(trigger.clone());
        let told = tell(actor, schedule.name(), command).await;
        let Some((_, Reply::Triggered(outcome))) = told else { return };
        actor.told_of_schedule(Told::Triggered {
            key: schedule.key,
            request_id: trigger.request_id.clone(),
            scheduled_at: trigger.scheduled_at,
            outcome,
        });
        actor.sleep(Span::millis(actor.chance.between(0, 8_000))).await;
    }
}

async fn backfill(actor: &Actor) {
    let Some(schedule) = read(actor, any_schedule(actor)).await else { return };
    let wanted = wanted::backfill(actor);
    let times = 1 + actor.chance.below(2);
    for _ in 0..times {
        let command = Command::Backfill(wanted.clone());
        let told = tell(actor, schedule.name(), command).await;
        let Some((_, Reply::Backfill(sequence))) = told else { return };
        actor.told_of_schedule(Told::Backfilled {
            key: schedule.key,
            sequence,
            from: wanted.from,
            to: wanted.to,
        });
        actor.sleep(Span::millis(actor.chance.between(0, 8_000))).await;
    }
}

async fn cancel_backfill(actor: &Actor) {
    let Some(schedule) = read(actor, any_schedule(actor)).await else { return };
    let numbers: Vec<_> = schedule.backfills.keys().copied().collect();
    if let Some(sequence) = actor.chance.pick(&numbers).copied() {
        tell(actor, schedule.name(), Command::CancelBackfill { sequence }).await;
    }
}

async fn delete(actor: &Actor) {
    // A retry isn't meant for the next schedule of the same id.
    let Some(schedule) = read(actor, any_schedule(actor)).await else { return };
    let command = Command::Delete { reason: "because".to_owned(), context: None };
    if tell(actor, schedule.name(), command).await.is_some() {
        actor.told_of_schedule(Told::Deleted { key: schedule.key });
    }
}

/// A client, not the schedule, ends or resets a run.
async fn end_run(actor: &Actor) {
    let Some(schedule) = read(actor, any_schedule(actor)).await else { return };
    let running: Vec<_> = schedule.running.values().cloned().collect();
    let Some(run) = actor.chance.pick(&running) else { return };
    let target = RunName {
        namespace: schedule.head.namespace,
        workflow_id: run.workflow_id.clone(),
        ..RunName::default()
    };
    match actor.chance.below(10) {
        0..4 => {
            let request_id = actor.fresh_id("cancel");
            let cancel = RequestCancel { request_id, ..RequestCancel::default() };
            send(actor, target, run::Command::RequestCancel(cancel)).await;
        }
        4..8 => send(actor, target, run::Command::Terminate(Terminate::default())).await,
        8 => delete_run(actor, target).await,
        _ => reset(actor, target).await,
    }
}

async fn send(actor: &Actor, target: RunName, command: run::Command) {
    let _ = actor.ask(PATIENCE, |runtime| async move { runtime.send(target, command).await }).await;
}

/// Reads a schedule, if it exists.
async fn read(actor: &Actor, target: ScheduleName) -> Option<std::sync::Arc<Schedule>> {
    let read =
        actor.ask(PATIENCE, |runtime| async move { runtime.read_schedule(target).await }).await;
    let schedule = read.ok()?;
    saw(actor, &schedule);
    (schedule.status() != Status::Deleted).then_some(schedule)
}

/// Sends a command until there is an answer, or the tries are used up.
async fn tell(
    actor: &Actor,
    target: ScheduleName,
    command: Command,
) -> Option<(std::sync::Arc<Schedule>, Reply)> {
    actor.say(&format!("tells {}: {command:?}", target.schedule_id));
    let answered: Result<_, Refusal> = insist(actor, PATIENCE, |runtime| {
        let (target, command) = (target.clone(), command.clone());
        async move { runtime.send_to_schedule(target, command).await }
    })
    .await;
    match answered {
        Ok((schedule, reply)) => {
            saw(actor, &schedule);
            Some((schedule, reply))
        }
        Err(refusal) => {
            actor.say(&format!("is refused by {}: {refusal}", target.schedule_id));
            None
        }
    }
}

fn saw(actor: &Actor, schedule: &Schedule) {
    actor.told_of_schedule(Told::Saw {
        key: schedule.key,
        audit_sequence: schedule.head.audit_sequence,
        settled_up_to: schedule.head.settled_up_to,
    });
}

fn any_schedule(actor: &Actor) -> ScheduleName {
    let namespace = if actor.chance.percent(80) { 1 } else { NAMESPACES.len() as i64 };
    let schedule_id = format!("schedule-{}", actor.chance.below(SCHEDULES));
    ScheduleName { namespace, schedule_id, key: 0 }
}
