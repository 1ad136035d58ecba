//! A small world for tests: runs, a clock, an outbox; every step is held against the laws.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::tz::TimeZoneDatabase;
use perennial_calendar::Zones;
use perennial_engine::run::{
    ActivityOutcome, ActivityTarget, Answer, Command, CompleteWorkflowTask, Context, Effect,
    FailWorkflowTask, Limits, NamespaceRef, Offer, Rejection, Reply, ReportActivity, ResetRun, Run,
    Signal, StartActivity, StartRun, StartWorkflowTask, TakeAnswer, TaskRef, TaskStamp, Transition,
    reset, start, start_by_message,
};
use perennial_engine::schedule::Evaluated;
use perennial_engine::{FreshIds, FreshKeys, NamespaceKey, Span, Time};
use perennial_proto::store::EntityMessage;
use perennial_proto::store::entity_message::Body;
use perennial_proto::temporal::command::v1::Command as Wanted;
use perennial_proto::temporal::common::v1::{Payload, Payloads, Principal, WorkflowType};
use perennial_proto::temporal::enums::v1::{
    WorkflowIdConflictPolicy, WorkflowIdReusePolicy, WorkflowTaskFailedCause,
};
use perennial_proto::temporal::failure::v1::Failure;
use perennial_proto::temporal::history::v1::{
    HistoryEvent, WorkflowExecutionSignaledEventAttributes, WorkflowExecutionStartedEventAttributes,
};
use perennial_proto::temporal::taskqueue::v1::TaskQueue;

use crate::run::{laws, render};

/// The namespace of all runs here.
pub(crate) const NAMESPACE: NamespaceKey = NamespaceKey(7);

/// 2026-11-16T00:00:00Z: a Monday.
const BEGIN: Time = Time(1_794_787_200_000_000_000);

pub(crate) struct World {
    pub(crate) now: Time,
    pub(crate) limits: Limits,
    /// Who sends the next commands.
    pub(crate) principal: Option<Principal>,
    zones: Zones,
    ids: FreshIds,
    keys: FreshKeys,
    /// The runs there have been, in order of their beginnings, and their histories.
    pub(crate) runs: Vec<(Run, Vec<HistoryEvent>)>,
    /// Not delivered yet.
    pub(crate) outbox: Vec<EntityMessage>,
    /// Not taken yet: whose, and what.
    pub(crate) offers: Vec<(String, Offer)>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            now: BEGIN,
            limits: Limits::default(),
            principal: None,
            zones: Zones::new(TimeZoneDatabase::bundled()),
            ids: FreshIds::from_seed(1),
            keys: FreshKeys::above(1),
            runs: Vec::new(),
            outbox: Vec::new(),
            offers: Vec::new(),
        }
    }

    /// A world with the workflow `wf` just started.
    pub(crate) fn started() -> Self {
        let mut world = Self::new();
        world.start(start_request()).expect("nothing stands in the way of the first run");
        world
    }

    /// Starts the workflow `wf`.
    pub(crate) fn start(&mut self, request: StartRun) -> Result<(), Rejection> {
        let current = self.current("wf").cloned();
        let started =
            self.with_context(|cx| start(current.as_ref(), NAMESPACE, "wf", request, cx))?;
        if let (Some(current), Some(step)) = (&current, started.existing) {
            self.take(&current.head.run_id.clone(), step);
        }
        if let Some(step) = started.created {
            self.add(step);
        }
        Ok(())
    }

    /// The latest run of a workflow id.
    pub(crate) fn current(&self, workflow_id: &str) -> Option<&Run> {
        let mut runs = self.runs.iter().rev().map(|(run, _)| run);
        runs.find(|run| run.head.workflow_id == workflow_id)
    }

    pub(crate) fn run(&self) -> &Run {
        self.current("wf").expect("the workflow was started")
    }

    /// Gives the current run of `wf` a command.
    pub(crate) fn send(&mut self, command: Command) -> Result<Reply, Rejection> {
        let run_id = self.run().head.run_id.clone();
        self.send_to(&run_id, command)
    }

    pub(crate) fn send_to(&mut self, run_id: &str, command: Command) -> Result<Reply, Rejection> {
        let run = self.by_id(run_id).clone();
        let decision = self.with_context(|cx| run.decide(command, cx));
        if let Some(step) = decision.transition {
            self.take(run_id, step);
        }
        decision.reply
    }

    /// A worker takes the workflow task of `wf`.
    pub(crate) fn poll(&mut self) -> &mut Self {
        self.poll_of("wf")
    }

    pub(crate) fn poll_of(&mut self, workflow_id: &str) -> &mut Self {
        let run = self.current(workflow_id).expect("the workflow was started");
        let run_id = run.head.run_id.clone();
        let at = self.offers.iter().rposition(|(owner, offer)| {
            *owner == run_id && matches!(offer.task, TaskRef::Workflow(_))
        });
        let (_, offer) = self.offers.remove(at.expect("a workflow task is offered"));
        let TaskRef::Workflow(task) = offer.task else { unreachable!("it was looked for") };
        let start = StartWorkflowTask {
            task,
            identity: "worker".to_owned(),
            request_id: "poll".to_owned(),
            worker_version: None,
        };
        self.send_to(&run_id, Command::StartWorkflowTask(start)).expect("the offer is good");
        self
    }

    /// The worker finishes the workflow task of `wf` with these commands.
    pub(crate) fn complete(&mut self, commands: Vec<Wanted>) -> &mut Self {
        self.try_complete(commands).expect("the commands are good");
        self
    }

    pub(crate) fn try_complete(&mut self, commands: Vec<Wanted>) -> Result<Reply, Rejection> {
        self.complete_with("wf", |complete| complete.commands = commands)
    }

    /// Polls and completes the task of a workflow.
    pub(crate) fn work(&mut self, workflow_id: &str, commands: Vec<Wanted>) -> &mut Self {
        self.poll_of(workflow_id);
        self.complete_with(workflow_id, |complete| complete.commands = commands)
            .expect("the commands are good");
        self
    }

    pub(crate) fn complete_with(
        &mut self,
        workflow_id: &str,
        with: impl FnOnce(&mut CompleteWorkflowTask),
    ) -> Result<Reply, Rejection> {
        let run = self.current(workflow_id).expect("the workflow was started");
        let run_id = run.head.run_id.clone();
        let mut complete = CompleteWorkflowTask {
            token: token(run),
            identity: "worker".to_owned(),
            namespaces: BTreeMap::from([("default".to_owned(), namespace())]),
            search_attribute_types: BTreeMap::from([("CustomKeywordField".to_owned(), 2)]),
            ..CompleteWorkflowTask::default()
        };
        with(&mut complete);
        self.send_to(&run_id, Command::CompleteWorkflowTask(Box::new(complete)))
    }

    pub(crate) fn fail_task(&mut self) -> &mut Self {
        let fail = FailWorkflowTask {
            token: token(self.run()),
            cause: WorkflowTaskFailedCause::WorkflowWorkerUnhandledFailure,
            failure: Some(failure("boom")),
            identity: "worker".to_owned(),
            binary_checksum: String::new(),
        };
        self.send(Command::FailWorkflowTask(Box::new(fail))).expect("the worker has the task");
        self
    }

    pub(crate) fn signal(&mut self, name: &str) -> &mut Self {
        self.send(signal(name, "")).expect("the run is open");
        self
    }

    /// A worker takes the activity of this id.
    pub(crate) fn poll_activity(&mut self, activity_id: &str) -> &mut Self {
        let activity = self.run().activity_by_id(activity_id).expect("the activity is pending");
        let id = activity.scheduled_event_id;
        let at = self.offers.iter().rposition(|(_, offer)| {
            matches!(offer.task, TaskRef::Activity(task) if task.scheduled_event_id == id)
        });
        let (_, offer) = self.offers.remove(at.expect("the activity is offered"));
        let TaskRef::Activity(task) = offer.task else { unreachable!("it was looked for") };
        let start =
            StartActivity { task, identity: "worker".to_owned(), request_id: "poll".to_owned() };
        self.send(Command::StartActivity(start)).expect("the offer is good");
        self
    }

    pub(crate) fn report(&mut self, activity_id: &str, outcome: ActivityOutcome) -> &mut Self {
        self.try_report(activity_id, outcome).expect("the activity runs");
        self
    }

    pub(crate) fn try_report(
        &mut self,
        activity_id: &str,
        outcome: ActivityOutcome,
    ) -> Result<Reply, Rejection> {
        let target = ActivityTarget::Id(activity_id.to_owned());
        let report =
            ReportActivity { target, outcome, identity: "worker".to_owned(), worker_version: None };
        self.send(Command::ReportActivity(Box::new(report)))
    }

    /// Time passes; all runs wake when they want to.
    pub(crate) fn wait(&mut self, span: Span) -> &mut Self {
        let end = self.now.after(span);
        loop {
            let wakes = self
                .runs
                .iter()
                .filter_map(|(run, _)| run.wake_at().map(|at| (at, run.head.run_id.clone())));
            match wakes.min() {
                Some((at, run_id)) if at <= end => {
                    self.now = self.now.max(at);
                    self.send_to(&run_id, Command::Wake).expect("waking is never refused");
                }
                _ => break,
            }
        }
        self.now = end;
        self
    }

    pub(crate) fn seconds(&mut self, seconds: i64) -> &mut Self {
        self.wait(Span::seconds(seconds))
    }

    /// Delivers every message, and the answers, until there are none.
    pub(crate) fn deliver(&mut self) -> &mut Self {
        while !self.outbox.is_empty() {
            let message = self.outbox.remove(0);
            let answer = self.deliver_one(&message);
            let sender = message.sender.clone().unwrap_or_default().run_id;
            let namespace = namespace().name;
            let taken = TakeAnswer { message: Arc::new(message), answer, namespace };
            self.send_to(&sender, Command::TakeAnswer(Box::new(taken))).expect("answers are taken");
        }
        self
    }

    /// Delivers one message; what its receiver says.
    pub(crate) fn deliver_one(&mut self, message: &EntityMessage) -> Answer {
        let target = message.target.clone().unwrap_or_default();
        if let Some(Body::StartRun(_)) = &message.body {
            let current = self.current(&target.id).cloned();
            let (started, answer) = self
                .with_context(|cx| start_by_message(current.as_ref(), message, cx))
                .expect("the parent has checked it");
            if let Some(step) = started.and_then(|started| started.created) {
                self.add(step);
            }
            return answer;
        }
        let found = if target.run_id.is_empty() {
            self.current(&target.id).cloned()
        } else {
            self.runs
                .iter()
                .map(|(run, _)| run)
                .find(|run| run.head.run_id == target.run_id)
                .cloned()
        };
        let Some(run) = found else { return Answer::RunNotFound };
        let receive = Command::Receive(Arc::new(message.clone()));
        match self.send_to(&run.head.run_id, receive).expect("messages are answered") {
            Reply::Answered(answer) => answer,
            other => panic!("not an answer: {other:?}"),
        }
    }

    /// Begins `wf` anew from before the event of this id.
    pub(crate) fn reset(
        &mut self,
        event_id: i64,
        with: impl FnOnce(&mut ResetRun),
    ) -> Result<(), Rejection> {
        let base = self.run().clone();
        let events = self.events(&base.head.run_id).to_vec();
        let at = usize::try_from(event_id - 1).unwrap_or(0).min(events.len());
        let mut request = ResetRun {
            request_id: "reset".to_owned(),
            reason: "try again".to_owned(),
            event_id,
            exclude_signals: false,
            exclude_updates: false,
            namespaces: BTreeMap::from([(namespace().id, namespace())]),
        };
        with(&mut request);
        let (kept, later) = events.split_at(at);
        let done = self.with_context(|cx| reset(&base, kept, later, Some(&base), request, cx))?;
        if let Some(step) = done.current {
            self.take(&base.head.run_id, step);
        }
        if let Some(step) = done.created {
            let run_id = step.run.head.run_id.clone();
            let events = kept.iter().cloned().chain(step.events).collect();
            self.runs.push((step.run, events));
            self.spread(&run_id, step.effects);
        }
        Ok(())
    }

    /// The history of the current run of `wf`, as text.
    pub(crate) fn history(&self) -> String {
        self.history_of("wf")
    }

    pub(crate) fn history_of(&self, workflow_id: &str) -> String {
        let run = self.current(workflow_id).expect("the workflow was started");
        self.name_runs(render::events(self.events(&run.head.run_id)))
    }

    /// The last so many events of a workflow.
    pub(crate) fn tail_of(&self, workflow_id: &str, count: usize) -> String {
        let run = self.current(workflow_id).expect("the workflow was started");
        let events = self.events(&run.head.run_id);
        self.name_runs(render::events(&events[events.len().saturating_sub(count)..]))
    }

    pub(crate) fn tail(&self, count: usize) -> String {
        self.tail_of("wf", count)
    }

    /// The history of the run of this place in the order of beginnings.
    pub(crate) fn history_at(&self, index: usize) -> String {
        self.name_runs(render::events(&self.runs[index].1))
    }

    /// Tasks and messages that wait, as text.
    pub(crate) fn waiting(&self) -> String {
        let offers = self.offers.iter().map(|(run, offer)| render::offer(run, offer));
        let messages = self.outbox.iter().map(render::message);
        self.name_runs(offers.chain(messages).collect())
    }

    pub(crate) fn by_id(&self, run_id: &str) -> &Run {
        let mut runs = self.runs.iter().map(|(run, _)| run);
        runs.find(|run| run.head.run_id == run_id).expect("there is such a run")
    }

    pub(crate) fn events(&self, run_id: &str) -> &[HistoryEvent] {
        let mut runs = self.runs.iter().filter(|(run, _)| run.head.run_id == run_id);
        runs.next().map_or(&[], |(_, events)| events)
    }

    pub(crate) fn with_context<T>(&mut self, with: impl FnOnce(&Context<'_>) -> T) -> T {
        let cx = Context {
            now: self.now,
            ids: &self.ids,
            keys: &self.keys,
            limits: &self.limits,
            zones: &self.zones,
            evaluated: Evaluated::OnDemand,
            principal: self.principal.as_ref(),
        };
        with(&cx)
    }

    /// Makes a step of a run durable.
    pub(crate) fn take(&mut self, run_id: &str, step: Transition) {
        let at = self.runs.iter().position(|(run, _)| run.head.run_id == run_id);
        let (run, events) = &mut self.runs[at.expect("there is such a run")];
        laws::check_step(run, &step);
        *run = step.run;
        events.extend(step.events);
        laws::check_run(run, events);
        self.spread(run_id, step.effects);
        if let Some(successor) = step.successor {
            self.add(*successor);
        }
    }

    /// Makes the first step of a run durable.
    pub(crate) fn add(&mut self, step: Transition) {
        let run_id = step.run.head.run_id.clone();
        laws::check_run(&step.run, &step.events);
        self.runs.push((step.run, step.events));
        self.spread(&run_id, step.effects);
    }

    fn spread(&mut self, run_id: &str, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Offer(offer) => self.offers.push((run_id.to_owned(), offer)),
                Effect::Send(message) => self.outbox.push(message),
            }
        }
    }

    /// Run ids are chosen anew in each test; their order isn't.
    fn name_runs(&self, mut text: String) -> String {
        for (index, (run, _)) in self.runs.iter().enumerate() {
            text = text.replace(&run.head.run_id, &format!("run{}", index + 1));
        }
        text
    }
}

pub(crate) fn namespace() -> NamespaceRef {
    NamespaceRef {
        key: NAMESPACE,
        id: "11111111-2222-3333-4444-555555555555".to_owned(),
        name: "default".to_owned(),
    }
}

pub(crate) fn start_request() -> StartRun {
    StartRun {
        request_id: "start".to_owned(),
        run_id: None,
        started: Box::new(WorkflowExecutionStartedEventAttributes {
            workflow_type: Some(WorkflowType { name: "Work".to_owned() }),
            task_queue: Some(TaskQueue { name: "queue".to_owned(), ..TaskQueue::default() }),
            ..WorkflowExecutionStartedEventAttributes::default()
        }),
        delay: Span::ZERO,
        reuse_policy: WorkflowIdReusePolicy::AllowDuplicate,
        conflict_policy: WorkflowIdConflictPolicy::Fail,
        user_metadata: None,
        links: Vec::new(),
        eager: None,
        signal: None,
        attach_links: false,
        attach_request_id: false,
        traceparent: String::new(),
    }
}

pub(crate) fn token(run: &Run) -> TaskStamp {
    TaskStamp::from(&run.head.workflow_task.clone().unwrap_or_default())
}

pub(crate) fn signal(name: &str, request_id: &str) -> Command {
    Command::Signal(Box::new(signal_attributes(name, request_id)))
}

pub(crate) fn signal_attributes(name: &str, request_id: &str) -> Signal {
    let attributes = WorkflowExecutionSignaledEventAttributes {
        signal_name: name.to_owned(),
        request_id: request_id.to_owned(),
        ..WorkflowExecutionSignaledEventAttributes::default()
    };
    Signal { attributes, links: Vec::new() }
}

pub(crate) fn failure(message: &str) -> Failure {
    Failure { message: message.to_owned(), ..Failure::default() }
}

pub(crate) fn payloads(text: &str) -> Option<Payloads> {
    let payload = Payload { data: text.as_bytes().to_vec(), ..Payload::default() };
    Some(Payloads { payloads: vec![payload] })
}
