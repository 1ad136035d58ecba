//! Requests to runs, and the steps they lead to.

use std::collections::BTreeMap;
use std::sync::Arc;

use perennial_engine::run::{
    self, Command, Context, Decision, Effect, Rejection, Reply, Run, StartRun, TaskStamp,
    Transition,
};
use perennial_engine::{NamespaceKey, RunKey, Slot, Time};
use perennial_proto::store::RunName;
use perennial_store::{Listed, NewRun};

use super::cache::WaitFor;
use super::fragments::fragments_of;
use super::request::{Incoming, Release, ReplyTo, Request, Response};
use super::updates::limit_reached;
use super::wakes::Sleeper;
use super::{Cell, World};
use crate::api::{Refusal, Sent, Started, Watched};
use crate::listing::{close_of, pauses_differ, row_of};
use crate::namespaces::reference;

impl Cell {
    /// Handles a request whose run is in memory, or isn't there at all.
    pub(super) fn handle(&mut self, key: Option<RunKey>, incoming: Incoming, world: &World<'_>) {
        let Incoming { request, reply } = incoming;
        if let Some(target) = request.target()
            && let Some(key) = key
            && !self.is_of_chain(key, &target)
            && !(matches!(request, Request::Command { .. }) && self.is_closed(key))
        {
            let why = Rejection::NotFound("workflow execution not found".to_owned());
            return self.refuse_absent(request, reply, why, world);
        }
        match request {
            Request::Start { namespace, workflow_id, start } => {
                let started = self.start(key, namespace, &workflow_id, *start, world);
                let seen = started.as_ref().ok().map(|started| started.run.key).or(key);
                let response = started.map(|it| Response::Started(Box::new(it)));
                self.answer(seen, reply, response.map_err(Refusal::from));
            }
            Request::StartWithUpdate { namespace, workflow_id, start, request, wait } => {
                if let Some(started) = self.already_updated(key, &request) {
                    return self.update_started(started, *request, wait, reply, world);
                }
                // A run that this starts takes the update with it, past everything else that asks.
                if let Err(rejection) = self.limits.admit_update(0, 0) {
                    return self.answer(key, reply, Err(limit_reached(rejection)));
                }
                self.staged_update = Some((*request).clone());
                let started = self.start(key, namespace, &workflow_id, *start, world);
                self.staged_update = None;
                match started {
                    Ok(started) => self.update_started(started, *request, wait, reply, world),
                    Err(rejection) => self.answer(key, reply, Err(rejection.into())),
                }
            }
            Request::Put { record } => {
                self.open.put_record(record);
                self.open.release(Release::Reply(reply, Box::new(Ok(Response::Done))));
            }
            Request::Deliver { message } => self.receive(key, &message, reply, world),
            Request::Settle { message, answer } => {
                self.settle(key, message, answer, reply, world);
            }
            Request::StartTask { task, poller } => self.start_waiting(key, task, poller, world),
            Request::TakeQuery { task, poller } => self.take_query(key, task, poller),
            other => match key {
                Some(key) => self.handle_present(key, other, reply, world),
                None => {
                    let id = other.target().map(|target| target.workflow_id).unwrap_or_default();
                    self.answer(None, reply, Err(Rejection::RunNotFound(id).into()));
                }
            },
        }
    }

    fn handle_present(&mut self, key: RunKey, request: Request, reply: ReplyTo, world: &World<'_>) {
        match request {
            Request::Command { command: Command::Wake, .. } => self.wake(key, world),
            Request::Command { command, .. } => self.command(key, command, reply, world),
            Request::KeepPage { page, .. } => self.keep_page(key, *page, reply, world),
            Request::TakePages { task, count, .. } => self.take_pages(key, task, count, reply),
            Request::Read { .. } => self.answer_run(key, reply),
            Request::Watch { event_id, .. } => self.watch(key, event_id, reply),
            Request::Reset { reset, .. } => self.reset(key, *reset, reply, world),
            Request::Delete { .. } => self.delete(key, reply, world),
            Request::Query { query, reject, .. } => self.query(key, query, reject, reply, world),
            Request::AnswerQuery { query_id, result, .. } => {
                self.answer_query(key, query_id, result, reply);
            }
            Request::Update { request, wait, .. } => {
                self.update(key, *request, wait, reply, world);
            }
            Request::PollUpdate { update_id, wait, .. } => {
                self.poll_update(key, update_id, wait, reply);
            }
            Request::Start { .. }
            | Request::StartWithUpdate { .. }
            | Request::Put { .. }
            | Request::Deliver { .. }
            | Request::Settle { .. }
            | Request::StartTask { .. }
            | Request::TakeQuery { .. }
            | Request::CreateSchedule { .. }
            | Request::Schedule { .. }
            | Request::ReadSchedule { .. }
            | Request::PurgeSchedule { .. } => {}
        }
    }

    /// Whether the run is one of the chain that the caller means.
    fn is_of_chain(&self, key: RunKey, target: &RunName) -> bool {
        let is_first = |run: &Run| run.first_run_id() == target.first_run_id;
        target.first_run_id.is_empty()
            || self.cache.get(key).is_some_and(|cached| is_first(&cached.run))
    }

    /// A closed run answers commands by saying so, whichever chain was meant.
    fn is_closed(&self, key: RunKey) -> bool {
        self.cache.get(key).is_some_and(|cached| !cached.run.is_open())
    }

    fn refuse_absent(
        &mut self,
        request: Request,
        reply: ReplyTo,
        why: Rejection,
        world: &World<'_>,
    ) {
        match request {
            Request::Deliver { message } => self.receive(None, &message, reply, world),
            _ => self.answer(None, reply, Err(why.into())),
        }
    }

    pub(super) fn start(
        &mut self,
        current: Option<RunKey>,
        namespace: NamespaceKey,
        workflow_id: &str,
        start: StartRun,
        world: &World<'_>,
    ) -> Result<Started, Rejection> {
        let present = current.and_then(|key| self.run(key));
        let decided = {
            let cx = self.context(world);
            run::start(present.as_deref(), namespace, workflow_id, start, &cx)?
        };
        if let Some(existing) = decided.existing {
            self.take(existing, false, world);
        }
        let key = match decided.created {
            Some(created) => {
                let key = created.run.key;
                self.take_new(created, world);
                key
            }
            None => current.ok_or_else(|| Rejection::RunNotFound(workflow_id.to_owned()))?,
        };
        let eager_task = if decided.is_eager { self.grant_for(key, false) } else { None };
        let run = self.run(key).ok_or_else(|| Rejection::RunNotFound(workflow_id.to_owned()))?;
        Ok(Started { run, is_new: decided.is_new, eager_task })
    }

    fn command(&mut self, key: RunKey, command: Command, reply: ReplyTo, world: &World<'_>) {
        let mut command = self.with_what_the_cell_knows(key, command, world);
        let query_answers = match &mut command {
            Command::CompleteWorkflowTask(complete) => std::mem::take(&mut complete.query_answers),
            _ => BTreeMap::new(),
        };
        // What goes with the next task, which may start in this very step, isn't this one's to answer.
        let given_updates = match &command {
            Command::CompleteWorkflowTask(complete) if !complete.force_new_task => {
                complete.admitted_updates.keys().cloned().collect()
            }
            _ => Vec::new(),
        };
        let answered = self.take_answered(key, query_answers);
        let decided = self.decide(key, command, world);
        // What the queries saw has happened only if the completion was taken.
        match &decided {
            Ok(_) => answered.into_iter().for_each(|it| self.hand_on_answer(key, it)),
            Err(_) => self.ask_again(key, answered, world),
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

    fn with_what_the_cell_knows(
        &self,
        key: RunKey,
        command: Command,
        world: &World<'_>,
    ) -> Command {
        match command {
            Command::CompleteWorkflowTask(mut complete) => {
                if let Some(cached) = self.cache.get(key) {
                    complete.admitted_updates = cached.updates.sent();
                    complete.more_updates_wait = cached.updates.has_unsent();
                }
                let own = self.run(key).map(|run| NamespaceKey(run.head.namespace));
                let own = own.and_then(|key| world.namespaces.by_key(key));
                let named = complete.namespaces_named();
                let known = named.filter_map(|name| world.namespaces.by_name(name)).chain(own);
                complete.namespaces =
                    known.map(|record| (record.name.clone(), reference(record))).collect();
                Command::CompleteWorkflowTask(complete)
            }
            other => other,
        }
    }

    fn wake(&mut self, key: RunKey, world: &World<'_>) {
        let Some(run) = self.run(key) else { return };
        if !run.is_open() {
            let is_over = super::wakes::retention_end(&run, world)
                .is_some_and(|retention_end| retention_end <= world.now);
            if is_over {
                self.delete_now(key);
                return;
            }
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

    /// The stored wake-up came before anything was due: it is moved on.
    fn move_wake(&mut self, key: RunKey, world: &World<'_>) {
        let Some(run) = self.run(key) else { return };
        let mut run = Run::clone(&run);
        let wake = self.next_stored_wake(&run, true, world);
        run.head.stored_wake_at = wake.map_or(0, |at| at.0);
        let run = Arc::new(run);
        let write = self.open.run(key);
        write.wake_at = Some(wake.unwrap_or(Time::NONE));
        write.run = Some(Arc::clone(&run));
        self.wakes.set(key.0, Sleeper::Run(run.name()), wake, world.now);
        if let Some(cached) = self.cache.get_mut(key) {
            cached.run = run;
        }
        self.cache.changed(key);
    }

    /// Asks a run, and takes what follows.
    pub(super) fn decide(
        &mut self,
        key: RunKey,
        command: Command,
        world: &World<'_>,
    ) -> Result<Reply, Rejection> {
        let run = self.run(key).ok_or_else(|| Rejection::RunNotFound(String::new()))?;
        let Decision { transition, reply } = {
            let cx = self.context(world);
            run.decide(command, &cx)
        };
        if let (Ok(Reply::WorkflowTaskCompleted(completed)), Some(cached)) =
            (&reply, self.cache.get_mut(key))
        {
            cached.updates.note_rejections(completed);
        }
        if let Some(transition) = transition {
            self.take(transition, false, world);
        }
        reply
    }

    pub(super) fn context(&self, world: &World<'_>) -> Context<'_> {
        let Self { ids, keys, limits, zones, .. } = self;
        let World { now, evaluated, .. } = *world;
        Context { now, ids, keys, limits, zones, evaluated }
    }

    pub(super) fn run(&self, key: RunKey) -> Option<Arc<Run>> {
        self.cache.get(key).map(|cached| Arc::clone(&cached.run))
    }

    /// Takes the first step of a new run.
    pub(super) fn take_new(&mut self, transition: Transition, world: &World<'_>) {
        let run = &transition.run;
        let namespace = NamespaceKey(run.head.namespace);
        let ancestors: Vec<_> =
            run.head.ancestors.iter().map(|range| RunKey(range.branch)).collect();
        let write = self.open.run(run.key);
        write.created = Some(NewRun {
            namespace,
            workflow_id: run.head.workflow_id.clone(),
            run_id: run.head.run_id.clone(),
            slot: Slot::of(namespace, &run.head.workflow_id),
            first_branch: ancestors.first().copied().unwrap_or(run.key),
            ancestors,
        });
        write.becomes_current = true;
        self.cache.insert(Arc::new(run.clone()), true);
        if let (Some(request), Some(cached)) =
            (self.staged_update.take(), self.cache.get_mut(run.key))
        {
            cached.updates.stage(request);
        }
        self.take(transition, false, world);
    }

    /// Takes a step of a run: into memory, into the batch, and its effects on their way.
    pub(super) fn take(&mut self, transition: Transition, woken: bool, world: &World<'_>) {
        let Transition { mut run, events, touched, effects, is_visible, successor } = transition;
        let key = run.key;
        let before = self.run(key);
        let had_task = before.as_deref().and_then(started_task);
        let growth = before.as_deref().and_then(|it| run.growth_warning(it, &self.limits));
        if let Some(warning) = growth {
            tracing::warn!("{warning}");
        }
        let wake = self.next_stored_wake(&run, woken, world);
        let write = self.open.run(key);
        if wake.map_or(0, |at| at.0) != run.head.stored_wake_at {
            run.head.stored_wake_at = wake.map_or(0, |at| at.0);
            write.wake_at = Some(wake.unwrap_or(Time::NONE));
        }
        let is_visible = is_visible
            || before.as_deref().is_some_and(|before| pauses_differ(&run, before, touched.iter()));
        write.touched.extend(touched.iter().cloned());
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
        write.run = Some(Arc::clone(&run));
        self.wakes.set(key.0, Sleeper::Run(run.name()), wake, world.now);
        let task_ended = had_task.is_some() && started_task(&run) != had_task;
        self.cache.stepped(Arc::clone(&run), touched.iter(), fragments);
        if task_ended {
            if let Some(cached) = self.cache.get_mut(key) {
                cached.updates.take_back();
            }
            self.drop_pages(key);
        }
        self.cache.changed(key);
        if let Some(successor) = successor {
            self.take_new(*successor, world);
        }
        for effect in effects {
            match effect {
                Effect::Offer(offer) => self.offers.push_back((key, offer)),
                Effect::Send(message) => self.send(message),
            }
        }
        self.tell_watchers(key);
        if !run.is_open() {
            self.abort_updates(key);
        }
        self.free_queries(key, world);
    }

    /// Answers a caller who saw the run: as soon as what it saw is durable.
    pub(super) fn answer(
        &mut self,
        seen: Option<RunKey>,
        reply: ReplyTo,
        response: Result<Response, Refusal>,
    ) {
        let release = Release::Reply(reply, Box::new(response));
        let wait_for = seen.map_or(WaitFor::Nothing, |key| self.cache.wait_for(key));
        self.answer_after(wait_for, release);
    }

    fn answer_run(&mut self, key: RunKey, reply: ReplyTo) {
        let response = self.run(key).map(Response::Run).ok_or_else(gone);
        self.answer(Some(key), reply, response);
    }

    fn watch(&mut self, key: RunKey, event_id: i64, reply: ReplyTo) {
        let Some(cached) = self.cache.get_mut(key) else { return };
        cached.watchers.retain(|(_, waiting)| !waiting.is_gone());
        cached.watchers.push((event_id, reply));
        self.tell_watchers(key);
    }

    fn tell_watchers(&mut self, key: RunKey) {
        let Some(cached) = self.cache.get_mut(key) else { return };
        if cached.watchers.is_empty() {
            return;
        }
        let run = Arc::clone(&cached.run);
        let is_there = |event_id: i64| event_id <= run.last_event_id() || !run.is_open();
        let ready: Vec<_> =
            cached.watchers.extract_if(.., |(event_id, _)| is_there(*event_id)).collect();
        for (event_id, reply) in ready {
            let Some(cached) = self.cache.get(key) else { return };
            let recent = cached.recent_from(event_id.min(run.last_event_id()));
            let watched = Watched { run: Arc::clone(&run), recent };
            self.answer(Some(key), reply, Ok(Response::Watched(watched)));
        }
    }

    fn delete(&mut self, key: RunKey, reply: ReplyTo, world: &World<'_>) {
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
        self.delete_now(key);
        self.open.release(Release::Reply(reply, Box::new(Ok(Response::Done))));
    }

    fn delete_now(&mut self, key: RunKey) {
        self.open.run(key).deleted = true;
        self.wakes.set(key.0, Sleeper::Run(RunName::default()), None, Time::NONE);
        let Some(removed) = self.cache.remove(key) else { return };
        // Watchers heard of its close, and updates too.
        for reply in removed.queries.into_callers() {
            let why = Rejection::RunNotFound(removed.run.head.workflow_id.clone());
            self.open.release(Release::Reply(reply, Box::new(Err(why.into()))));
        }
    }
}

/// A run that was there a moment ago.
pub(super) fn gone() -> Refusal {
    Refusal::Unavailable("the run is gone".to_owned())
}

/// Which task a worker has, if one has.
fn started_task(run: &Run) -> Option<TaskStamp> {
    run.started_task().map(TaskStamp::from)
}
