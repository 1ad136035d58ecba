//! A schedule in a world of its own: a clock, runs that start when they are asked to, and a story of what
//! happened, a line for each thing.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZoneDatabase;
use perennial_engine::run::{Answer, Context, Limits, Rejection};
use perennial_engine::schedule::{
    Command, CreateSchedule, Evaluated, NewBackfill, Reply, Schedule, State, Transition, Trigger,
    create, spec,
};
use perennial_engine::{FreshIds, FreshKeys, NamespaceKey, Rows, SchedulePart, Time, Zones};
use perennial_proto::perennial::schedule_event::Event;
use perennial_proto::perennial::{CatchupMode, ScheduleExtensions};
use perennial_proto::store::entity_message::Body;
use perennial_proto::store::{
    EntityMessage, Occurrence, RunName, ScheduleConfig, ScheduledRunClosed, StartReason,
};
use perennial_proto::temporal::common::v1::{Payload, Payloads, WorkflowType};
use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy as Overlap;
use perennial_proto::temporal::failure::v1::Failure;
use perennial_proto::temporal::history::v1::history_event::Attributes;
use perennial_proto::temporal::history::v1::{
    HistoryEvent, WorkflowExecutionCanceledEventAttributes,
    WorkflowExecutionCompletedEventAttributes, WorkflowExecutionFailedEventAttributes,
    WorkflowExecutionStartedEventAttributes, WorkflowExecutionTerminatedEventAttributes,
    WorkflowExecutionTimedOutEventAttributes,
};
use perennial_proto::temporal::schedule::v1::schedule_action::Action;
use perennial_proto::temporal::schedule::v1::{ScheduleAction, ScheduleSpec};
use perennial_proto::temporal::workflow::v1::NewWorkflowExecutionInfo;

/// Every story begins here.
const DAY: &str = "2026-01-01T00:00:00Z";
/// Steps that a schedule may take by itself at one time.
const STEPS_MAX: usize = 10_000;

/// How a run ends.
#[derive(Clone, Copy)]
pub(crate) enum End {
    Completes(&'static str),
    Fails,
    TimesOut,
    IsCanceled,
    IsTerminated,
}

pub(crate) struct World {
    pub(crate) now: Time,
    pub(crate) schedule: Schedule,
    /// Who evaluates the schedule; since the beginning, unless the server was down.
    pub(crate) evaluated: Evaluated,
    zones: Zones,
    ids: FreshIds,
    limits: Limits,
    wake_at: Option<Time>,
    /// Started, in order; the first is run 1.
    pub(crate) runs: Vec<EntityMessage>,
    outbox: VecDeque<EntityMessage>,
    is_delivering: bool,
    /// Messages that nobody answers until they are let go; `None` if all are answered at once.
    pub(crate) held: Option<Vec<EntityMessage>>,
    /// Workflow ids that some other run has.
    pub(crate) taken: Vec<String>,
    story: String,
    shows_audit: bool,
}

/// A configuration that fires at these crons or intervals and starts the workflow `w`.
pub(crate) fn config(texts: &[&str]) -> ScheduleConfig {
    let cron_string = texts.iter().map(|text| (*text).to_owned()).collect();
    let given = ScheduleSpec { cron_string, ..ScheduleSpec::default() };
    let workflow = NewWorkflowExecutionInfo {
        workflow_id: "w".to_owned(),
        workflow_type: Some(WorkflowType { name: "Work".to_owned() }),
        ..NewWorkflowExecutionInfo::default()
    };
    ScheduleConfig {
        spec: Some(spec::canonical(&spec::read(&given).expect("the spec is readable"))),
        action: Some(ScheduleAction { action: Some(Action::StartWorkflow(workflow)) }),
        overlap_policy: Overlap::Skip.into(),
        catchup_window_nanos: 365 * 24 * 3600 * 1_000_000_000,
        ..ScheduleConfig::default()
    }
}

/// The same with another overlap policy.
pub(crate) fn with_policy(overlap: Overlap, texts: &[&str]) -> ScheduleConfig {
    ScheduleConfig { overlap_policy: overlap.into(), ..config(texts) }
}

/// The same with a catch-up window in seconds, and a mode.
pub(crate) fn with_catchup(seconds: i64, mode: CatchupMode, texts: &[&str]) -> ScheduleConfig {
    ScheduleConfig {
        overlap_policy: Overlap::AllowAll.into(),
        catchup_window_nanos: seconds * 1_000_000_000,
        extensions: Some(ScheduleExtensions {
            catchup_mode: mode.into(),
            ..ScheduleExtensions::default()
        }),
        ..config(texts)
    }
}

impl World {
    /// A schedule that is created at 00:00:00.
    pub(crate) fn new(config: ScheduleConfig) -> Self {
        Self::with(config, State::default(), Vec::new())
    }

    pub(crate) fn with(config: ScheduleConfig, state: State, first: Vec<Command>) -> Self {
        let now = at("00:00:00");
        let zones = Zones::new(TimeZoneDatabase::bundled());
        let (ids, limits) = (FreshIds::from_seed(1), Limits::default());
        let request_id = "create".to_owned();
        let create_it = CreateSchedule { request_id, config, state, first, context: None };
        let step = {
            let keys = FreshKeys::above(0);
            let evaluated = Evaluated::Since(now);
            let cx = Context {
                now,
                ids: &ids,
                keys: &keys,
                limits: &limits,
                zones: &zones,
                evaluated,
                principal: None,
            };
            let created = create(None, NamespaceKey(1), "s", create_it, &cx);
            created.expect("the configuration is good").expect("it is new")
        };
        let schedule = step.schedule.clone();
        let mut world = Self {
            now,
            schedule,
            evaluated: Evaluated::Since(now),
            zones,
            ids,
            limits,
            wake_at: None,
            runs: Vec::new(),
            outbox: VecDeque::new(),
            is_delivering: false,
            held: None,
            taken: Vec::new(),
            story: String::new(),
            shows_audit: false,
        };
        world.take(step);
        world
    }

    /// Someone creates a schedule of the same id. False if the request made the one that is there.
    pub(crate) fn create_again(&mut self, request_id: &str) -> Result<bool, Rejection> {
        let config = ScheduleConfig::clone(&self.schedule.config);
        let (request_id, state) = (request_id.to_owned(), State::default());
        let again = CreateSchedule { request_id, config, state, first: Vec::new(), context: None };
        let cx = Context {
            now: self.now,
            ids: &self.ids,
            keys: &FreshKeys::above(1),
            limits: &self.limits,
            zones: &self.zones,
            evaluated: self.evaluated,
            principal: None,
        };
        let created = create(Some(&self.schedule), NamespaceKey(1), "s", again, &cx)?;
        Ok(created.is_some())
    }

    /// From now on the story tells of the audit stream too.
    pub(crate) fn with_audit(mut self) -> Self {
        self.shows_audit = true;
        self
    }

    /// Time passes, and the schedule does what it does by itself.
    pub(crate) fn until(&mut self, time: &str) -> &mut Self {
        let end = at(time);
        for _ in 0..STEPS_MAX {
            let Some(wake_at) = self.wake_at.filter(|wake_at| *wake_at <= end) else { break };
            self.now = self.now.max(wake_at);
            self.do_it(Command::Wake);
        }
        self.now = end;
        self
    }

    /// Time passes and nothing evaluates the schedule: the server is down. At its end it is up again.
    pub(crate) fn down_until(&mut self, time: &str) -> &mut Self {
        self.now = at(time);
        self.evaluated = Evaluated::Since(self.now);
        self.tell("up again");
        self.until(time)
    }

    /// A run ends now.
    pub(crate) fn end(&mut self, number: usize, end: End) -> &mut Self {
        let Some(Body::StartRun(start)) = self.runs[number - 1].body.clone() else { return self };
        let target = self.runs[number - 1].target.clone().unwrap_or_default();
        let attributes = match end {
            End::Completes(result) => Attributes::WorkflowExecutionCompletedEventAttributes(
                WorkflowExecutionCompletedEventAttributes {
                    result: Some(text(result)),
                    ..WorkflowExecutionCompletedEventAttributes::default()
                },
            ),
            End::Fails => Attributes::WorkflowExecutionFailedEventAttributes(
                WorkflowExecutionFailedEventAttributes {
                    failure: Some(Failure { message: "boom".to_owned(), ..Failure::default() }),
                    ..WorkflowExecutionFailedEventAttributes::default()
                },
            ),
            End::TimesOut => Attributes::WorkflowExecutionTimedOutEventAttributes(
                WorkflowExecutionTimedOutEventAttributes::default(),
            ),
            End::IsCanceled => Attributes::WorkflowExecutionCanceledEventAttributes(
                WorkflowExecutionCanceledEventAttributes::default(),
            ),
            End::IsTerminated => Attributes::WorkflowExecutionTerminatedEventAttributes(
                WorkflowExecutionTerminatedEventAttributes::default(),
            ),
        };
        self.tell(&format!("run {number} ends"));
        let target = target.run().expect("it starts a run");
        let run = RunName { run_id: start.run_id.clone(), first_run_id: start.run_id, ..target };
        let close_event =
            Some(HistoryEvent { attributes: Some(attributes), ..HistoryEvent::default() });
        let closed = ScheduledRunClosed { run: Some(run), close_event };
        self.do_it(Command::RunClosed(Box::new(closed)))
    }

    pub(crate) fn trigger(&mut self, policy: Overlap) -> &mut Self {
        let trigger = Trigger { overlap_policy: policy, ..Trigger::default() };
        match self.command(Command::Trigger(trigger)) {
            Ok(Reply::Triggered(outcome)) => self.tell(&format!("trigger: {outcome:?}")),
            other => self.tell(&format!("trigger: {other:?}")),
        }
        self
    }

    pub(crate) fn backfill(&mut self, from: &str, to: &str, policy: Overlap) -> &mut Self {
        let wanted = NewBackfill {
            request_id: String::new(),
            from: at(from),
            to: at(to),
            overlap_policy: policy,
            context: None,
        };
        self.do_it(Command::Backfill(wanted))
    }

    pub(crate) fn pause(&mut self, notes: &str) -> &mut Self {
        self.do_it(Command::Pause { notes: notes.to_owned(), context: None })
    }

    pub(crate) fn unpause(&mut self, notes: &str) -> &mut Self {
        self.do_it(Command::Unpause { notes: notes.to_owned(), context: None })
    }

    /// A command that is taken.
    pub(crate) fn do_it(&mut self, command: Command) -> &mut Self {
        self.command(command).expect("the command is taken");
        self
    }

    pub(crate) fn command(&mut self, command: Command) -> Result<Reply, Rejection> {
        let decision = {
            let cx = Context {
                now: self.now,
                ids: &self.ids,
                keys: &FreshKeys::above(0),
                limits: &self.limits,
                zones: &self.zones,
                evaluated: self.evaluated,
                principal: None,
            };
            self.schedule.decide(command, &cx)
        };
        if let Some(step) = decision.transition {
            self.take(step);
        }
        decision.reply
    }

    fn take(&mut self, step: Transition) {
        self.check_rows(&step);
        self.schedule = step.schedule;
        self.wake_at = step.wake_at;
        for line in &step.ledger {
            self.tell_of(line.is_manual, &line.occurrence);
        }
        if self.shows_audit {
            for event in &step.audit {
                let told = event.event.as_ref().map(audit).unwrap_or_default();
                self.tell(&format!("audit {}: {told}", event.sequence));
            }
        }
        self.outbox.extend(step.messages);
        self.deliver_all();
    }

    /// One after the other: an answer may lead to more.
    fn deliver_all(&mut self) {
        if std::mem::replace(&mut self.is_delivering, true) {
            return;
        }
        while let Some(message) = self.outbox.pop_front() {
            self.deliver(message);
        }
        self.is_delivering = false;
    }

    /// What was held is answered, and so is everything after it.
    pub(crate) fn let_go(&mut self) -> &mut Self {
        self.outbox.extend(self.held.take().unwrap_or_default());
        self.deliver_all();
        self
    }

    fn deliver(&mut self, message: EntityMessage) {
        if let Some(held) = &mut self.held {
            held.push(message);
            return;
        }
        let workflow_id = message.target.clone().unwrap_or_default().id;
        let answer = match &message.body {
            Some(Body::StartRun(_)) if self.taken.contains(&workflow_id) => Answer::IdTaken,
            Some(Body::StartRun(start)) => {
                let started = start.started.clone().unwrap_or_default();
                self.runs.push(message.clone());
                let number = self.runs.len();
                self.tell(&format!(
                    "start run {number}, {workflow_id}{}",
                    told_of_before(&started)
                ));
                Answer::Started(start.run_id.clone())
            }
            Some(Body::Cancel(_)) => {
                self.tell(&format!("cancel {workflow_id}"));
                Answer::Taken
            }
            Some(Body::Terminate(_)) => {
                self.tell(&format!("terminate {workflow_id}"));
                Answer::Taken
            }
            other => panic!("schedules don't send {other:?}"),
        };
        self.do_it(Command::TakeAnswer { message: Arc::new(message), answer });
    }

    /// Whatever a step changed is in the rows it says it touched: read again they make the same schedule.
    fn check_rows(&self, step: &Transition) {
        let after = &step.schedule;
        let before = &self.schedule;
        let parts = |schedule: &Schedule| {
            let running = schedule.running.keys().cloned().map(SchedulePart::Running);
            let buffer = schedule.buffer.keys().copied().map(SchedulePart::Buffered);
            let backfills = schedule.backfills.keys().copied().map(SchedulePart::Backfill);
            let ahead = schedule.ahead.iter().copied().map(SchedulePart::Ahead);
            let single = [SchedulePart::Config, SchedulePart::LastOutcome];
            let all = single.into_iter().chain(running).chain(buffer).chain(backfills).chain(ahead);
            all.collect::<Vec<_>>()
        };
        for part in parts(before).into_iter().chain(parts(after)) {
            if before.part_row(&part) != after.part_row(&part) {
                assert!(step.touched.contains(&part), "{part:?} changed and isn't written");
            }
        }
        let parts: Vec<_> = parts(after)
            .into_iter()
            .filter_map(|part| Some((part.row_id(), after.part_row(&part)?)))
            .collect();
        let rows =
            Rows { key: after.key, head: &after.head_row(), parts: &parts, first_fragment: &[] };
        let again = Schedule::from_rows(rows, &self.zones).expect("rows are readable");
        assert_eq!(again.head, after.head);
        assert_eq!(again.buffer, after.buffer);
        assert_eq!(again.running, after.running);
    }

    fn tell_of(&mut self, is_manual: bool, line: &Occurrence) {
        let verdict = format!("{:?}", line.verdict()).to_lowercase();
        let from = clock(line.nominal_at);
        let times = match (line.nominal_at == line.until, line.count) {
            (true, _) => from,
            (false, 0) => format!("{from} to {}", clock(line.until)),
            (false, count) => format!("{from} to {}, {count} times", clock(line.until)),
        };
        let by = match line.start_reason() {
            StartReason::Trigger => " by trigger",
            StartReason::Backfill => " by backfill",
            StartReason::Schedule | StartReason::Catchup => "",
        };
        assert_eq!(is_manual, !by.is_empty(), "the ledger of what people asked for is its own");
        let why =
            if line.reason.is_empty() { String::new() } else { format!(" ({})", line.reason) };
        self.tell(&format!("{times} {verdict}{by}{why}"));
    }

    pub(crate) fn tell(&mut self, what: &str) {
        let _ = writeln!(self.story, "{} | {what}", clock(self.now.0));
    }

    /// What happened since the story was last asked for.
    pub(crate) fn story(&mut self) -> String {
        std::mem::take(&mut self.story)
    }
}

/// An instant of the day: `01:02:03` or `01:02:03.5`, or with days before it, `2d 01:02:03`.
pub(crate) fn at(time: &str) -> Time {
    let (days, time) = match time.split_once("d ") {
        Some((days, time)) => (days.parse::<i64>().expect("days are a number"), time),
        None => (0, time),
    };
    let day: Timestamp = DAY.parse().expect("the day is one");
    let mut parts = time.split(':');
    let mut part = || parts.next().and_then(|it| it.parse::<f64>().ok()).unwrap_or_default();
    let seconds = part() * 3600.0 + part() * 60.0 + part();
    let nanos = (seconds * 1e9) as i64 + days * 86_400_000_000_000;
    Time(i64::try_from(day.as_nanosecond()).expect("it fits") + nanos)
}

pub(crate) fn clock(nanos: i64) -> String {
    let day: Timestamp = DAY.parse().expect("the day is one");
    let since = nanos - i64::try_from(day.as_nanosecond()).expect("it fits");
    let (days, rest) = (since.div_euclid(86_400_000_000_000), since.rem_euclid(86_400_000_000_000));
    let seconds = rest / 1_000_000_000;
    let fraction = (rest % 1_000_000_000) / 1_000_000;
    let mut text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if fraction > 0 {
        let _ = write!(text, ".{fraction:03}");
    }
    if days != 0 { format!("{days}d {text}") } else { text }
}

fn told_of_before(started: &WorkflowExecutionStartedEventAttributes) -> String {
    let mut told = String::new();
    if let Some(result) = &started.last_completion_result {
        let data = result.payloads.first().map(|it| it.data.clone()).unwrap_or_default();
        let _ = write!(told, ", last result {}", String::from_utf8_lossy(&data));
    }
    if let Some(failure) = &started.continued_failure {
        let _ = write!(told, ", last failure {}", failure.message);
    }
    told
}

fn audit(event: &Event) -> String {
    match event {
        Event::Created(_) => "created".to_owned(),
        Event::Paused(paused) => format!("paused, {}", paused.reason),
        Event::Resumed(_) => "resumed".to_owned(),
        Event::Updated(updated) => format!("updated {}", updated.changed_fields.join(", ")),
        Event::Triggered(triggered) => {
            format!("triggered {} {}", triggered.trigger_number, triggered.workflow_instance_id)
        }
        Event::TriggerSkipped(skipped) => {
            format!("skipped {} in all, {}", skipped.skipped_trigger_count, skipped.reason)
        }
        Event::Deleted(deleted) => format!("deleted, {}", deleted.reason),
    }
}

fn text(text: &str) -> Payloads {
    Payloads { payloads: vec![Payload { data: text.as_bytes().to_vec(), ..Payload::default() }] }
}
