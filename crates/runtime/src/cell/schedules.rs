//! Requests to schedules, and the steps they lead to.

use std::sync::Arc;

use perennial_engine::run::Answer;
use perennial_engine::schedule::{
    self, Command, CreateSchedule, Reply, Schedule, Transition, refused_start,
};
use perennial_engine::{NamespaceKey, ScheduleKey, Slot, Time};
use perennial_proto::encoded;
use perennial_proto::store::ScheduleName;
use perennial_proto::store::run_message::Body;
use perennial_store::{Log, NewSchedule};

use super::request::{Incoming, Release, ReplyTo, Request, Response};
use super::schedule_cache::ScheduleId;
use super::wakes::Sleeper;
use super::{Cell, Effects, Wanted, World};
use crate::api::Refusal;
use crate::listing::schedule_row;

impl Cell {
    /// Handles a request about a schedule, as soon as that is in memory.
    pub(super) fn ask_schedule(
        &mut self,
        target: ScheduleName,
        incoming: Incoming,
        world: &World<'_>,
        effects: &mut Effects,
    ) {
        let id = (target.namespace, target.schedule_id.clone());
        let Some(found) = self.schedules.find(&id) else {
            return self.park(Wanted::Schedule(id), incoming, effects);
        };
        // An earlier schedule of the same id is over.
        let meant = found.clone().filter(|found| target.key == 0 || found.key.0 == target.key);
        let Incoming { request, reply } = incoming;
        match request {
            Request::CreateSchedule { create, .. } => {
                let created = self.create_schedule(found.as_deref(), &id, *create, world);
                self.answer_schedule(&id, reply, created);
            }
            Request::Schedule { command, .. } => {
                let done = self.command_schedule(meant, &id, command, world);
                match AwaitedStarts::of(done) {
                    Ok(outcome) => {
                        let awaited = AwaitedStarts { outcome, reply };
                        self.awaited_starts.entry(id).or_default().push(awaited);
                    }
                    Err(done) => self.answer_schedule(&id, reply, *done),
                }
            }
            Request::ReadSchedule { .. } => {
                let read = meant.map(|it| Response::Schedule(it, Reply::Done));
                self.answer_schedule(&id, reply, read.ok_or_else(not_found));
            }
            Request::PurgeSchedule { .. } => {
                // It may be one that a later schedule of the same id has followed.
                self.open.schedule(ScheduleKey(target.key)).deleted = true;
                if meant.is_some() {
                    self.schedules.remove(&id);
                }
                self.wakes.set(target.key, Sleeper::Schedule(target), None, Time::NONE);
                self.open.release(Release::Reply(reply, Box::new(Ok(Response::Done))));
            }
            Request::Deliver { message } => {
                if self.unanswered.awaits_start_of(&message) {
                    return self.put_off(reply);
                }
                if let (Some(Body::ScheduledRunClosed(closed)), Some(schedule)) =
                    (&message.body, meant)
                {
                    let command = Command::RunClosed(Box::new(closed.clone()));
                    let _ = self.command_schedule(Some(schedule), &id, command, world);
                    self.answer_awaited(&id, None);
                }
                let wait_for = self.schedules.wait_for(&id);
                self.answer_message(wait_for, reply, Answer::Taken);
            }
            Request::Settle { message, answer } => {
                self.forget_message(&message);
                if let Some(schedule) = meant {
                    let refused = refused_start(&message, &answer).map(str::to_owned);
                    let command = Command::Settle { message, answer };
                    let _ = self.command_schedule(Some(schedule), &id, command, world);
                    self.answer_awaited(&id, refused.as_deref());
                }
                self.open.release(Release::Reply(reply, Box::new(Ok(Response::Done))));
            }
            // Nothing else is about a schedule.
            _ => {}
        }
    }

    fn create_schedule(
        &mut self,
        existing: Option<&Schedule>,
        (namespace, schedule_id): &ScheduleId,
        create: CreateSchedule,
        world: &World<'_>,
    ) -> Result<Response, Refusal> {
        let namespace = NamespaceKey(*namespace);
        let created = {
            let cx = self.context(world);
            schedule::create(existing, namespace, schedule_id, create, &cx)?
        };
        if let Some(transition) = created {
            let slot = Slot::of(namespace, schedule_id);
            let schedule_id = schedule_id.clone();
            let write = self.open.schedule(transition.schedule.key);
            write.created = Some(NewSchedule { namespace, schedule_id, slot });
            self.take_schedule(transition, world);
        }
        let id = (namespace.0, schedule_id.clone());
        let schedule = self.schedules.find(&id).flatten().ok_or_else(not_found)?;
        Ok(Response::Schedule(schedule, Reply::Done))
    }

    fn command_schedule(
        &mut self,
        schedule: Option<Arc<Schedule>>,
        id: &ScheduleId,
        command: Command,
        world: &World<'_>,
    ) -> Result<Response, Refusal> {
        let schedule = schedule.ok_or_else(not_found)?;
        let decision = {
            let cx = self.context(world);
            schedule.decide(command, &cx)
        };
        if let Some(transition) = decision.transition {
            self.take_schedule(transition, world);
        }
        let reply = decision.reply?;
        let after = self.schedules.find(id).flatten().ok_or_else(not_found)?;
        Ok(Response::Schedule(after, reply))
    }

    /// Takes a step of a schedule: into memory, into the batch, and its messages on their way.
    fn take_schedule(&mut self, transition: Transition, world: &World<'_>) {
        let Transition { mut schedule, touched, audit, ledger, messages, is_visible, wake_at } =
            transition;
        let write = self.open.schedule(schedule.key);
        let wake = wake_at.unwrap_or(Time::NONE);
        if wake.0 != schedule.head.stored_wake_at {
            schedule.head.stored_wake_at = wake.0;
            write.wake_at = Some(wake);
        }
        write.touched.extend(touched);
        for event in audit {
            write.log.insert((Log::Audit, event.sequence), encoded(&event));
        }
        for line in ledger {
            let log = if line.is_manual { Log::ManualLedger } else { Log::Ledger };
            write.log.insert((log, line.position()), encoded(&line.occurrence));
        }
        if is_visible {
            let namespace = world.namespaces.by_key(NamespaceKey(schedule.head.namespace));
            write.visibility = Some(schedule_row(&schedule, namespace.map(|it| it.as_ref())));
        }
        let schedule = Arc::new(schedule);
        write.schedule = Some(Arc::clone(&schedule));
        self.wakes.set(schedule.key.0, Sleeper::Schedule(schedule.name()), wake_at, world.now);
        self.schedules.put(schedule);
        for message in messages {
            self.send(message);
        }
    }

    /// Answers those who triggered or evaluated the schedule and whose starts have all been answered by now. A start
    /// that was refused is told as what it is.
    fn answer_awaited(&mut self, id: &ScheduleId, refused: Option<&str>) {
        let Some(awaited) = self.awaited_starts.remove(id) else { return };
        let Some(schedule) = self.schedules.find(id).flatten() else { return };
        let mut waiting = Vec::new();
        for AwaitedStarts { mut outcome, reply } in awaited {
            if let Some(run_id) = refused {
                outcome.refuse_start(run_id);
            }
            if outcome.awaits_starts(&schedule) {
                waiting.push(AwaitedStarts { outcome, reply });
                continue;
            }
            let response = Response::Schedule(Arc::clone(&schedule), outcome);
            self.answer_schedule(id, reply, Ok(response));
        }
        if !waiting.is_empty() {
            self.awaited_starts.insert(id.clone(), waiting);
        }
    }

    fn answer_schedule(
        &mut self,
        id: &ScheduleId,
        reply: ReplyTo,
        response: Result<Response, Refusal>,
    ) {
        let wait_for = self.schedules.wait_for(id);
        self.answer_after(wait_for, Release::Reply(reply, Box::new(response)));
    }
}

/// The answer to a trigger or an evaluation whose runs are being started, and who is told when they are there.
pub(super) struct AwaitedStarts {
    outcome: Reply,
    pub(super) reply: ReplyTo,
}

impl AwaitedStarts {
    /// The answer that names runs which aren't there yet; or the answer as it is.
    fn of(answer: Result<Response, Refusal>) -> Result<Reply, Box<Result<Response, Refusal>>> {
        match answer {
            Ok(Response::Schedule(schedule, reply)) if reply.awaits_starts(&schedule) => Ok(reply),
            other => Err(Box::new(other)),
        }
    }
}

fn not_found() -> Refusal {
    perennial_engine::run::Rejection::NotFound("schedule not found".to_owned()).into()
}
