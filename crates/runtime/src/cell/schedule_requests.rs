//! Handles requests to schedules.

use std::sync::Arc;

use perennial_engine::run::Answer;
use perennial_engine::schedule::{
    self, Command, CreateSchedule, Reply, Schedule, Transition, refused_start,
};
use perennial_engine::{
    Entity, EntityId, EntityKey, EntityRef, Kind, NamespaceKey, SchedulePart, Time,
};
use perennial_proto::encoded;
use perennial_proto::store::entity_message::Body;
use perennial_proto::store::{Address, EntityMessage, ScheduleName};
use perennial_store::{Listed, Log, NewEntity};

use super::cache::WaitFor;
use super::entity::CachedEntity;
use super::request::{Release, ReplyTo, Response, ScheduleRequest};
use super::verdicts::Verdicts;
use super::{Cell, StepContext};
use crate::api::Refusal;
use crate::listing::schedule_row;

impl Cell {
    /// Handles a request to a schedule. `latest` is the schedule that has the id now; it is in memory if it exists.
    pub(super) fn handle_schedule(
        &mut self,
        latest: Option<EntityKey>,
        target: &ScheduleName,
        ask: ScheduleRequest,
        reply: ReplyTo,
        world: &StepContext<'_>,
    ) {
        // A request to an earlier schedule of the same id finds nothing.
        let meant = latest.filter(|latest| target.key == 0 || latest.0 == target.key);
        match ask {
            ScheduleRequest::Create(create) => {
                let id = EntityId::schedule(NamespaceKey(target.namespace), &*target.schedule_id);
                let created = self.create_schedule(latest, &id, *create, world);
                let seen = created.as_ref().ok().map(|created| created.key).or(latest);
                let response = created.map(|created| Response::Schedule(created, Reply::Done));
                self.answer(seen, reply, response);
            }
            ScheduleRequest::Command(command) => {
                let Some(key) = meant else {
                    return self.answer(latest, reply, Err(not_found()));
                };
                match self.command_schedule(key, command, world) {
                    Ok((schedule, outcome)) if outcome.awaits_starts(&schedule) => {
                        if let Some(cached) = self.cache.schedule_mut(key) {
                            cached.awaited_starts.push(AwaitedStarts { outcome, reply });
                        }
                    }
                    done => {
                        let response = done.map(|(it, reply)| Response::Schedule(it, reply));
                        self.answer(Some(key), reply, response);
                    }
                }
            }
            ScheduleRequest::Read => {
                let read = meant.and_then(|key| self.schedule(key)).ok_or_else(not_found);
                let response = read.map(|it| Response::Schedule(it, Reply::Done));
                self.answer(latest, reply, response);
            }
            ScheduleRequest::Purge => {
                // The target may be an earlier schedule of the same id.
                let key = EntityKey(target.key);
                self.output.open.entity(Kind::Schedule, key).deleted = true;
                self.cache.remove(key);
                self.wakes.remove(key);
                self.output.open.release(Release::Reply(reply, Box::new(Ok(Response::Done))));
            }
        }
    }

    /// The schedule's stored wake-up time has come.
    pub(super) fn wake_schedule(&mut self, key: EntityKey, world: &StepContext<'_>) {
        // Rejected if it is deleted: then there is nothing to do.
        let _ = self.command_schedule(key, Command::Wake, world);
    }

    /// Delivers a message to a schedule of this cell.
    pub(super) fn receive_at_schedule(
        &mut self,
        latest: Option<EntityKey>,
        message: &EntityMessage,
        reply: ReplyTo,
        world: &StepContext<'_>,
    ) {
        if self.local_messages.awaits_start_of(message) {
            return self.redeliver_later(reply);
        }
        if let (Some(Body::ScheduledRunClosed(closed)), Some(key)) =
            (&message.body, resolve_address(latest, message.target.as_ref()))
        {
            let command = Command::RunClosed(Box::new(closed.clone()));
            // Rejected if the schedule is deleted: then it doesn't need the outcome.
            let _ = self.command_schedule(key, command, world);
            self.answer_awaited(key, None);
        }
        let wait_for = latest.map_or(WaitFor::Nothing, |key| self.cache.wait_for(key));
        self.answer_message(wait_for, reply, Answer::Taken);
    }

    /// Passes an answer to the schedule that sent the message, and deletes the message in the same commit.
    pub(super) fn take_answer_at_schedule(
        &mut self,
        latest: Option<EntityKey>,
        message: Arc<EntityMessage>,
        answer: Answer,
        reply: ReplyTo,
        world: &StepContext<'_>,
    ) {
        self.forget_message(&message);
        if let Some(key) = resolve_address(latest, message.sender.as_ref()) {
            let refused = refused_start(&message, &answer).map(str::to_owned);
            let command = Command::TakeAnswer { message, answer };
            // Rejected if the schedule is deleted: then it doesn't need the answer.
            let _ = self.command_schedule(key, command, world);
            self.answer_awaited(key, refused.as_deref());
        }
        self.output.open.release(Release::Reply(reply, Box::new(Ok(Response::Done))));
    }

    fn create_schedule(
        &mut self,
        latest: Option<EntityKey>,
        id: &EntityId,
        create: CreateSchedule,
        world: &StepContext<'_>,
    ) -> Result<Arc<Schedule>, Refusal> {
        let existing = latest.and_then(|key| self.schedule(key));
        let created = {
            let cx = self.context(world);
            schedule::create(existing.as_deref(), id.namespace, &id.id, create, &cx)?
        };
        let Some(transition) = created else { return existing.ok_or_else(not_found) };
        let key = transition.schedule.key;
        let write = self.output.open.entity(Kind::Schedule, key);
        write.created = Some(NewEntity { id: id.clone(), run: None });
        self.cache.insert(Entity::Schedule(Arc::new(transition.schedule.clone())).into(), true);
        self.take_schedule(transition, world);
        self.schedule(key).ok_or_else(not_found)
    }

    fn command_schedule(
        &mut self,
        key: EntityKey,
        command: Command,
        world: &StepContext<'_>,
    ) -> Result<(Arc<Schedule>, Reply), Refusal> {
        let schedule = self.schedule(key).ok_or_else(not_found)?;
        let decision = {
            let cx = self.context(world);
            schedule.decide(command, &cx)
        };
        if let Some(transition) = decision.transition {
            self.take_schedule(transition, world);
        }
        let reply = decision.reply?;
        let after = self.schedule(key).ok_or_else(not_found)?;
        Ok((after, reply))
    }

    fn schedule(&self, key: EntityKey) -> Option<Arc<Schedule>> {
        self.cache.schedule(key).map(|cached| Arc::clone(&cached.schedule))
    }

    /// Applies a transition of a schedule: updates cache and open batch, and sends its messages.
    fn take_schedule(&mut self, transition: Transition, world: &StepContext<'_>) {
        let before = self.schedule(transition.schedule.key);
        if let Some(verdicts) = Verdicts::of(before.as_deref(), &transition) {
            self.output.open.release(Release::Count(verdicts));
        }
        let Transition { mut schedule, touched, audit, ledger, messages, is_visible, wake_at } =
            transition;
        let key = schedule.key;
        let write = self.output.open.entity(Kind::Schedule, key);
        let wake = wake_at.unwrap_or(Time::NONE);
        if wake.0 != schedule.head.stored_wake_at {
            schedule.head.stored_wake_at = wake.0;
            write.wake_at = Some(wake);
        }
        write.touched.extend(touched.iter().map(SchedulePart::row_id));
        for event in audit {
            write.log.insert((Log::Audit, event.sequence), encoded(&event));
        }
        for line in ledger {
            let log = if line.is_manual { Log::ManualLedger } else { Log::Ledger };
            write.log.insert((log, line.position()), encoded(&line.occurrence));
        }
        if is_visible {
            let namespace = world.namespaces.by_key(NamespaceKey(schedule.head.namespace));
            let row = schedule_row(&schedule, namespace.map(|it| it.as_ref()));
            write.visibility = Some(Listed::Row(Box::new(row)));
        }
        let schedule = Arc::new(schedule);
        write.state = Some(Entity::Schedule(Arc::clone(&schedule)));
        let entity = || EntityRef::current(schedule.id());
        self.wakes.set(Kind::Schedule, key, wake_at, world.now, entity);
        self.cache.change(key, |cached| match cached {
            CachedEntity::Schedule(cached) => cached.replace(schedule),
            CachedEntity::Run(_) => {}
        });
        for message in messages {
            self.send(message);
        }
    }

    /// Answers callers of triggers and evaluations whose starts are all answered. `refused` is the run id of a start that
    /// was refused.
    fn answer_awaited(&mut self, key: EntityKey, refused: Option<&str>) {
        let Some(cached) = self.cache.schedule_mut(key) else { return };
        let schedule = Arc::clone(&cached.schedule);
        for awaited in std::mem::take(&mut cached.awaited_starts) {
            let AwaitedStarts { mut outcome, reply } = awaited;
            if let Some(run_id) = refused {
                outcome.refuse_start(run_id);
            }
            if !outcome.awaits_starts(&schedule) {
                let response = Response::Schedule(Arc::clone(&schedule), outcome);
                self.answer(Some(key), reply, Ok(response));
            } else if let Some(cached) = self.cache.schedule_mut(key) {
                cached.awaited_starts.push(AwaitedStarts { outcome, reply });
            }
        }
    }
}

/// The answer to a trigger or an evaluation, and the caller that gets it when the runs have started.
pub(super) struct AwaitedStarts {
    outcome: Reply,
    pub(super) reply: ReplyTo,
}

/// The schedule of an address: the latest of its id, unless the address names an earlier one.
fn resolve_address(latest: Option<EntityKey>, address: Option<&Address>) -> Option<EntityKey> {
    latest.filter(|latest| address.is_none_or(|it| it.key == 0 || it.key == latest.0))
}

fn not_found() -> Refusal {
    perennial_engine::run::Rejection::NotFound("schedule not found".to_owned()).into()
}
