//! Handles requests to runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use perennial_engine::run::{
    self, Command, Context, Decision, Effect, Rejection, Reply, Run, StartRun, TaskStamp,
    Transition,
};
use perennial_engine::{Entity, EntityId, EntityKey, EntityRef, Kind, NamespaceKey, RunPart, Time};
use perennial_proto::store::RunName;
use perennial_proto::temporal::update::v1 as update;
use perennial_store::{Fragment, Listed, NewEntity, NewRun};

use super::cache::WaitFor;
use super::entity::CachedEntity;
use super::fragments::fragments_of;
use super::request::{Release, ReplyTo, Response, RunRequest, WorkflowRequest};
use super::retention::is_expired;
use super::updates::limit_reached;
use super::{Cell, Rules, StepContext};
use crate::api::{Refusal, Sent, Started, Watched};
use crate::listing::{close_of, pauses_differ, row_of};
use crate::namespaces::reference;

impl Cell {
    /// Handles a request to a workflow id. `current` is its current run, if it has one.
    pub(super) fn handle_workflow(
        &mut self,
        current: Option<EntityKey>,
        id: &EntityId,
        ask: WorkflowRequest,
        reply: ReplyTo,
        world: &StepContext<'_>,
    ) {
        match ask {
            WorkflowRequest::Start(start) => {
                let started = self.start(current, id, *start, None, world);
                let seen = started.as_ref().ok().map(|started| started.run.key).or(current);
                let response = started.map(|it| Response::Started(Box::new(it)));
                self.answer(seen, reply, response.map_err(Refusal::from));
            }
            WorkflowRequest::StartWithUpdate { start, update, wait } => {
                if let Some(started) = self.already_updated(current, &update) {
                    return self.update_started(started, *update, wait, reply, world);
                }
                // A new run gets the update with its first task, so check the limit before the start.
                if let Err(rejection) = self.rules.limits.admit_update(0, 0) {
                    return self.answer(current, reply, Err(limit_reached(rejection)));
                }
                let first_update = Some((*update).clone());
                match self.start(current, id, *start, first_update, world) {
                    Ok(started) => self.update_started(started, *update, wait, reply, world),
                    Err(rejection) => self.answer(current, reply, Err(rejection.into())),
                }
            }
        }
    }

    /// Handles a request to a run, which is in memory if it exists.
    pub(super) fn handle_run(
        &mut self,
        key: Option<EntityKey>,
        target: &RunName,
        ask: RunRequest,
        reply: ReplyTo,
        world: &StepContext<'_>,
    ) {
        let Some(key) = key else {
            let why = Rejection::RunNotFound(target.workflow_id.clone());
            return self.answer(None, reply, Err(why.into()));
        };
        // A closed run rejects commands as closed, whatever chain the request names.
        let is_refused_as_closed = matches!(ask, RunRequest::Command(_)) && self.is_closed(key);
        if !self.is_of_chain(key, &target.first_run_id) && !is_refused_as_closed {
            let why = Rejection::NotFound("workflow execution not found".to_owned());
            return self.answer(None, reply, Err(why.into()));
        }
        match ask {
            RunRequest::Command(command) => self.command(key, command, reply, world),
            RunRequest::KeepPage(page) => self.keep_page(key, *page, reply, world),
            RunRequest::TakePages { task, count } => self.take_pages(key, task, count, reply),
            RunRequest::Read => self.answer_run(key, reply),
            RunRequest::Watch { event_id } => self.watch(key, event_id, reply),
            RunRequest::Reset(reset) => self.reset(key, *reset, reply, world),
            RunRequest::Delete => self.delete(key, reply, world),
            RunRequest::Query { query, reject } => self.query(key, query, reject, reply, world),
            RunRequest::AnswerQuery { query_id, result } => {
                self.answer_query(key, query_id, result, reply);
            }
            RunRequest::Update { request, wait } => {
                self.update(key, *request, wait, reply, world);
            }
            RunRequest::PollUpdate { update_id, wait } => {
                self.poll_update(key, update_id, wait, reply);
            }
        }
    }

    /// Whether the run is one of the chain that begins with this run; an empty id means any chain.
    pub(super) fn is_of_chain(&self, key: EntityKey, first_run_id: &str) -> bool {
        let is_first = |run: &Run| run.first_run_id() == first_run_id;
        first_run_id.is_empty() || self.cache.run(key).is_some_and(|cached| is_first(&cached.run))
    }

    fn is_closed(&self, key: EntityKey) -> bool {
        self.cache.run(key).is_some_and(|cached| !cached.run.is_open())
    }

    /// Starts a run, or finds the current one. A new run's first workflow task carries `first_update`.
    fn start(
        &mut self,
        current: Option<EntityKey>,
        id: &EntityId,
        start: StartRun,
        first_update: Option<update::Request>,
        world: &StepContext<'_>,
    ) -> Result<Started, Rejection> {
        let present = current.and_then(|key| self.run(key));
        let decided = {
            let cx = self.context(world);
            run::start(present.as_deref(), id.namespace, &id.id, start, &cx)?
        };
        if let Some(existing) = decided.existing {
            self.take(existing, false, world);
        }
        let key = match decided.created {
            Some(created) => {
                let key = created.run.key;
                self.take_new(created, first_update, world);
                key
            }
            None => current.ok_or_else(|| Rejection::RunNotFound(id.id.clone()))?,
        };
        let eager_task = if decided.is_eager { self.grant_for(key, false) } else { None };
        let run = self.run(key).ok_or_else(|| Rejection::RunNotFound(id.id.clone()))?;
        Ok(Started { run, is_new: decided.is_new, eager_task })
    }

    fn command(
        &mut self,
        key: EntityKey,
        command: Command,
        reply: ReplyTo,
        world: &StepContext<'_>,
    ) {
        let mut command = self.add_cell_context(key, command, world);
        let query_answers = match &mut command {
            Command::CompleteWorkflowTask(complete) => std::mem::take(&mut complete.query_answers),
            _ => BTreeMap::new(),
        };
        // Updates sent with the next task, which may start in this step, aren't answered by this completion.
        let given_updates = match &command {
            Command::CompleteWorkflowTask(complete) if !complete.force_new_task => {
                complete.admitted_updates.keys().cloned().collect()
            }
            _ => Vec::new(),
        };
        let answered = self.take_answered(key, query_answers);
        let decided = self.decide(key, command, world);
        // Query answers are valid only if the completion was accepted.
        match &decided {
            Ok(_) => answered.into_iter().for_each(|it| self.forward_answer(key, it)),
            Err(_) => self.requeue_answers(key, answered, world),
        }
        let response = decided.map_err(Refusal::from).and_then(|answer| {
            let run = self.run(key).ok_or_else(gone)?;
            let mut sent =
                Sent { reply: answer, run, next_task: None, eager_activities: Vec::new() };
            if let Reply::WorkflowTaskCompleted(completed) = &sent.reply {
                let completed = completed.clone();
                self.after_completion(key, &completed, given_updates);
                if completed.new_task_started {
                    sent.next_task = self.grant_for(key, true);
                }
                sent.eager_activities = completed
                    .eager_activities
                    .iter()
                    .map(|id| crate::api::ActivityGrant {
                        run: Arc::clone(&sent.run),
                        scheduled_event_id: *id,
                        demand: crate::api::Demand::default(),
                    })
                    .collect();
            }
            Ok(Response::Sent(Box::new(sent)))
        });
        self.answer(Some(key), reply, response);
    }

    fn add_cell_context(
        &self,
        key: EntityKey,
        command: Command,
        world: &StepContext<'_>,
    ) -> Command {
        match command {
            Command::CompleteWorkflowTask(mut complete) => {
                if let Some(cached) = self.cache.run(key) {
                    complete.admitted_updates = cached.updates.sent();
                    complete.more_updates_wait = cached.updates.has_unsent();
                }
                let own = self.run(key).map(|run| NamespaceKey(run.head.namespace));
                let own = own.and_then(|key| world.namespaces.by_key(key));
                // Those that it may not reach into are unknown to it.
                let reached = own.into_iter().flat_map(|own| {
                    let named = complete.namespaces_named();
                    named.filter_map(|name| world.namespaces.reachable(name, own)).chain([own])
                });
                complete.namespaces =
                    reached.map(|record| (record.name.clone(), reference(record))).collect();
                Command::CompleteWorkflowTask(complete)
            }
            other => other,
        }
    }

    /// The run's stored wake-up time has come.
    pub(super) fn wake_run(&mut self, key: EntityKey, world: &StepContext<'_>) {
        let Some(run) = self.run(key) else { return };
        if is_expired(&run, world) {
            return self.delete_now(key, world);
        }
        let decision = {
            let cx = self.context(world);
            run.decide(Command::Wake, &cx)
        };
        match decision.transition {
            Some(transition) => self.take(transition, true, world),
            None => self.move_wake(key, world),
        }
    }

    /// Moves the stored wake-up, because nothing was due at its time.
    fn move_wake(&mut self, key: EntityKey, world: &StepContext<'_>) {
        let Some(run) = self.run(key) else { return };
        let mut run = Run::clone(&run);
        let wake = self.next_stored_wake(&run, true, world);
        run.head.stored_wake_at = wake.map_or(0, |at| at.0);
        let run = Arc::new(run);
        let write = self.output.open.entity(Kind::Run, key);
        write.wake_at = Some(wake.unwrap_or(Time::NONE));
        write.state = Some(Entity::Run(Arc::clone(&run)));
        self.wakes.set(Kind::Run, key, wake, world.now, || run_ref(&run));
        self.step_run(run, &BTreeSet::new(), Vec::new());
    }

    /// Updates the cached run after a step.
    fn step_run(&mut self, run: Arc<Run>, touched: &BTreeSet<RunPart>, fragments: Vec<Fragment>) {
        self.cache.change(run.key, |cached| match cached {
            CachedEntity::Run(cached) => cached.replace(run, touched.iter(), fragments),
            CachedEntity::Schedule(_) => {}
        });
    }

    /// Lets a run decide a command, and applies the transition.
    pub(super) fn decide(
        &mut self,
        key: EntityKey,
        command: Command,
        world: &StepContext<'_>,
    ) -> Result<Reply, Rejection> {
        let run = self.run(key).ok_or_else(|| Rejection::RunNotFound(String::new()))?;
        let Decision { transition, reply } = {
            let cx = self.context(world);
            run.decide(command, &cx)
        };
        if let (Ok(Reply::WorkflowTaskCompleted(completed)), Some(cached)) =
            (&reply, self.cache.run_mut(key))
        {
            cached.updates.note_rejections(completed);
        }
        if let Some(transition) = transition {
            self.take(transition, false, world);
        }
        reply
    }

    pub(super) fn context<'a>(&'a self, world: &StepContext<'a>) -> Context<'a> {
        let Rules { ids, limits, zones } = &self.rules;
        let StepContext { now, evaluated, principal, .. } = *world;
        Context { now, ids, keys: self.lease.keys(), limits, zones, evaluated, principal }
    }

    pub(super) fn run(&self, key: EntityKey) -> Option<Arc<Run>> {
        self.cache.run(key).map(|cached| Arc::clone(&cached.run))
    }

    /// Applies the first transition of a new run. Its first workflow task carries `first_update`.
    pub(super) fn take_new(
        &mut self,
        transition: Transition,
        first_update: Option<update::Request>,
        world: &StepContext<'_>,
    ) {
        let run = &transition.run;
        let ancestors: Vec<_> =
            run.head.ancestors.iter().map(|range| EntityKey(range.branch)).collect();
        let write = self.output.open.entity(Kind::Run, run.key);
        let new_run = NewRun {
            run_id: run.head.run_id.clone(),
            first_branch: ancestors.first().copied().unwrap_or(run.key),
            ancestors,
        };
        write.created = Some(NewEntity { id: run.id(), run: Some(new_run) });
        write.becomes_current = true;
        self.cache.insert(Entity::Run(Arc::new(run.clone())).into(), true);
        if let (Some(request), Some(cached)) = (first_update, self.cache.run_mut(run.key)) {
            cached.updates.stage(request);
        }
        self.take(transition, false, world);
    }

    /// Applies a transition of a run: updates cache and open batch, and starts its effects.
    pub(super) fn take(&mut self, transition: Transition, woken: bool, world: &StepContext<'_>) {
        let Transition { mut run, events, touched, effects, is_visible, successor } = transition;
        let key = run.key;
        let before = self.run(key);
        let had_task = before.as_deref().and_then(started_task);
        let growth = before.as_deref().and_then(|it| run.growth_warning(it, &self.rules.limits));
        if let Some(warning) = growth {
            tracing::warn!("{warning}");
        }
        let wake = self.next_stored_wake(&run, woken, world);
        let write = self.output.open.entity(Kind::Run, key);
        if wake.map_or(0, |at| at.0) != run.head.stored_wake_at {
            run.head.stored_wake_at = wake.map_or(0, |at| at.0);
            write.wake_at = Some(wake.unwrap_or(Time::NONE));
        }
        let is_visible = is_visible
            || before.as_deref().is_some_and(|before| pauses_differ(&run, before, touched.iter()));
        write.touched.extend(touched.iter().map(RunPart::row_id));
        if is_visible {
            let is_listed = write.created.is_none() && write.visibility.is_none();
            let listed = before.as_deref().filter(|_| is_listed);
            write.visibility = Some(match listed.and_then(|before| close_of(&run, before)) {
                Some(closed) => Listed::Closed { status: run.head.status, closed },
                None => {
                    let namespace = world.namespaces.by_key(NamespaceKey(run.head.namespace));
                    let row = row_of(&run, namespace.map(|record| record.as_ref()));
                    Listed::Row(Box::new(row))
                }
            });
        }
        let fragments = fragments_of(events);
        write.history.extend(fragments.iter().cloned());
        let run = Arc::new(run);
        write.state = Some(Entity::Run(Arc::clone(&run)));
        self.wakes.set(Kind::Run, key, wake, world.now, || run_ref(&run));
        let task_ended = had_task.is_some() && started_task(&run) != had_task;
        self.step_run(Arc::clone(&run), &touched, fragments);
        if task_ended {
            if let Some(cached) = self.cache.run_mut(key) {
                cached.updates.mark_unsent();
            }
            self.drop_pages(key);
        }
        if let Some(successor) = successor {
            self.take_new(*successor, None, world);
        }
        for effect in effects {
            match effect {
                Effect::Offer(offer) => self.offers.push_back((key, offer)),
                Effect::Send(message) => self.send(message),
            }
        }
        self.notify_watchers(key);
        if !run.is_open() {
            if world.is_traced && before.is_none_or(|before| before.is_open()) {
                self.output.open.release(Release::Trace(Arc::clone(&run)));
            }
            self.abort_updates(key);
        }
        self.send_stranded_queries(key, world);
    }

    /// Answers a caller when the state of the entity it saw is durable.
    pub(super) fn answer(
        &mut self,
        seen: Option<EntityKey>,
        reply: ReplyTo,
        response: Result<Response, Refusal>,
    ) {
        let release = Release::Reply(reply, Box::new(response));
        let wait_for = seen.map_or(WaitFor::Nothing, |key| self.cache.wait_for(key));
        self.output.release_after(wait_for, release);
    }

    fn answer_run(&mut self, key: EntityKey, reply: ReplyTo) {
        let response = self.run(key).map(Response::Run).ok_or_else(gone);
        self.answer(Some(key), reply, response);
    }

    fn watch(&mut self, key: EntityKey, event_id: i64, reply: ReplyTo) {
        let Some(cached) = self.cache.run_mut(key) else { return };
        cached.watchers.retain(|(_, waiting)| !waiting.is_gone());
        cached.watchers.push((event_id, reply));
        self.notify_watchers(key);
    }

    fn notify_watchers(&mut self, key: EntityKey) {
        let Some(cached) = self.cache.run_mut(key) else { return };
        if cached.watchers.is_empty() {
            return;
        }
        let run = Arc::clone(&cached.run);
        let is_there = |event_id: i64| event_id <= run.last_event_id() || !run.is_open();
        let ready: Vec<_> =
            cached.watchers.extract_if(.., |(event_id, _)| is_there(*event_id)).collect();
        for (event_id, reply) in ready {
            let Some(cached) = self.cache.run(key) else { return };
            let recent = cached.recent_from(event_id.min(run.last_event_id()));
            let watched = Watched { run: Arc::clone(&run), recent };
            self.answer(Some(key), reply, Ok(Response::Watched(watched)));
        }
    }

    fn delete(&mut self, key: EntityKey, reply: ReplyTo, world: &StepContext<'_>) {
        if self.run(key).is_some_and(|run| run.is_open()) {
            let terminate = run::Terminate {
                reason: "Delete workflow execution".to_owned(),
                identity: "history-service".to_owned(),
                ..run::Terminate::default()
            };
            let ended = self.decide(key, Command::Terminate(terminate), world);
            if let Err(rejection) = ended {
                return self.answer(Some(key), reply, Err(rejection.into()));
            }
        }
        self.delete_now(key, world);
        self.output.open.release(Release::Reply(reply, Box::new(Ok(Response::Done))));
    }

    fn delete_now(&mut self, key: EntityKey, world: &StepContext<'_>) {
        self.output.open.entity(Kind::Run, key).deleted = true;
        self.wakes.remove(key);
        let Some(CachedEntity::Run(removed)) = self.cache.remove(key) else { return };
        self.deleted_runs.add(removed.run.head.run_id.clone(), world.monotonic);
        // Watchers and updates were answered when the run closed.
        for reply in removed.queries.into_callers() {
            let why = Rejection::RunNotFound(removed.run.head.workflow_id.clone());
            self.output.open.release(Release::Reply(reply, Box::new(Err(why.into()))));
        }
    }
}

fn run_ref(run: &Run) -> EntityRef {
    EntityRef { id: run.id(), run_id: Some(run.head.run_id.clone()) }
}

/// The run was deleted or evicted in this step.
pub(super) fn gone() -> Refusal {
    Refusal::Unavailable("the run is gone".to_owned())
}

/// The started workflow task, if there is one.
fn started_task(run: &Run) -> Option<TaskStamp> {
    run.started_task().map(TaskStamp::from)
}
