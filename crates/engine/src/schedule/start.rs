//! Starting a run of a schedule: its workflow id, input, headers and lineage.

use std::sync::Arc;

use perennial_proto::store as stored;
use perennial_proto::store::entity_message::Body;
use perennial_proto::store::{StartReason, Verdict};
use perennial_proto::temporal::common::v1::{Header, Payload};
use perennial_proto::temporal::enums::v1::{
    IndexedValueType as Kind, WorkflowExecutionStatus, WorkflowIdReusePolicy,
};
use perennial_proto::temporal::history::v1::WorkflowExecutionStartedEventAttributes;
use perennial_proto::temporal::schedule::v1::schedule_action::Action;
use perennial_proto::temporal::workflow::v1::NewWorkflowExecutionInfo;
use serde_json::json;

use super::Schedule;
use super::draft::Draft;
use super::ledger::{Skip, is_manual};
use super::spec;
use super::times::timestamp;
use crate::Time;
use crate::fields::json_payload;
use crate::run::{complete_policy, scheduler_identity};

/// The number of recent runs that describe shows.
const RECENT_ACTIONS_MAX: usize = 10;
/// The header in which a run finds the event that started it.
const LINEAGE_HEADER: &str = "perennial-schedule";

impl Draft<'_> {
    /// Starts a run. A scheduled start is skipped if the schedule is paused or exhausted.
    pub(crate) fn start(&mut self, start: &Arc<stored::PlannedStart>) {
        let is_manual = is_manual(start);
        if !is_manual && !self.schedule.is_acting() {
            let why = if self.schedule.is_exhausted() { Skip::Exhausted } else { Skip::Paused };
            return self.skip(start, why);
        }
        self.remove_buffered(start.sequence);
        let now = self.now();
        let head = &mut self.schedule.head;
        head.action_count += 1;
        head.starts_on_their_way += 1;
        head.last_fired_at = now.0;
        if !is_manual {
            head.remaining_actions -= i64::from(head.limited_actions);
            head.last_lag_nanos = now.since(Time(start.due_at)).0;
        }
        let run = stored::ScheduledRun {
            start: Some(stored::PlannedStart::clone(start)),
            workflow_id: self.workflow_id(start),
            run_id: self.cx.ids.next(now),
            decided_at: now.0,
            trigger_number: self.schedule.head.action_count,
            ..stored::ScheduledRun::default()
        };
        let verdict = match start.reason() {
            StartReason::Catchup => Verdict::Late,
            StartReason::Schedule | StartReason::Trigger | StartReason::Backfill => Verdict::Fired,
        };
        self.record(start, verdict, "", Some((&run.workflow_id, &run.run_id)));
        self.remember(&run);
        self.remember_outcome(start, |request| {
            request.workflow_id.clone_from(&run.workflow_id);
            request.run_id.clone_from(&run.run_id);
        });
        self.messages.push(self.start_message(&run));
        self.put_running(run);
        if start.backfill != 0 {
            self.change_backfill(start.backfill, |backfill| backfill.started += 1);
        }
        self.enforce_run_limits();
    }

    /// Skips buffered starts that nobody asked for.
    pub(crate) fn skip_scheduled(&mut self, why: Skip) {
        let scheduled: Vec<_> =
            self.schedule.buffer.values().filter(|start| !is_manual(start)).cloned().collect();
        for start in scheduled {
            self.skip(&start, why);
        }
    }

    fn remember(&mut self, run: &stored::ScheduledRun) {
        let recent = &mut self.schedule.head.recent_actions;
        recent.push(stored::RecentAction {
            due_at: run.start.as_ref().map_or(0, |start| start.due_at),
            started_at: run.decided_at,
            workflow_id: run.workflow_id.clone(),
            run_id: run.run_id.clone(),
            status: WorkflowExecutionStatus::Running.into(),
        });
        let surplus = recent.len().saturating_sub(RECENT_ACTIONS_MAX);
        recent.drain(..surplus);
    }

    /// The workflow id of the run: with the nominal time to the second, and with a fraction for a trigger if that id
    /// is taken.
    fn workflow_id(&self, start: &stored::PlannedStart) -> String {
        let base = self.schedule.base_workflow_id();
        if self.schedule.config.keep_original_workflow_id {
            return base.to_owned();
        }
        let whole = format!("{base}-{}", in_seconds(Time(start.nominal_at)));
        if start.reason() != StartReason::Trigger {
            return whole;
        }
        let is_free =
            |id: &String| self.schedule.running.values().all(|run| run.workflow_id != *id);
        // Bounded: each taken id belongs to another open run.
        let fractions = (0..).map(|more| timestamp(Time(start.nominal_at.saturating_add(more))));
        let with_fractions = fractions.map(|nominal| format!("{base}-{nominal:.9}"));
        std::iter::once(whole).chain(with_fractions).find(is_free).unwrap_or_default()
    }

    fn start_message(&self, run: &stored::ScheduledRun) -> stored::EntityMessage {
        let schedule = &self.schedule;
        let start = run.start.clone().unwrap_or_default();
        let action = schedule.action().cloned().unwrap_or_default();
        let (head, incarnation) = (&schedule.head, &schedule.head.incarnation);
        let nominal_seconds = start.nominal_at.div_euclid(1_000_000_000);
        let request_id = if is_manual(&start) {
            format!("{incarnation}:{nominal_seconds}:{}", start.sequence)
        } else {
            format!("{incarnation}:{nominal_seconds}")
        };
        let reuse_policy = if is_manual(&start) || schedule.config.keep_original_workflow_id {
            WorkflowIdReusePolicy::AllowDuplicate
        } else {
            WorkflowIdReusePolicy::RejectDuplicate
        };
        let user_metadata = action.user_metadata.clone();
        let started = self.first_event(run, &start, action);
        stored::EntityMessage {
            sender: Some(schedule.address()),
            target: Some(
                stored::RunName {
                    namespace: head.namespace,
                    workflow_id: run.workflow_id.clone(),
                    ..stored::RunName::default()
                }
                .into(),
            ),
            request_id,
            body: Some(Body::StartRun(stored::StartRun {
                run_id: run.run_id.clone(),
                initiated_event_id: 0,
                started: Some(started),
                reuse_policy: reuse_policy.into(),
                user_metadata,
            })),
            ..stored::EntityMessage::default()
        }
    }

    /// The attributes of the run's first event, without those that its own start fills in.
    fn first_event(
        &self,
        run: &stored::ScheduledRun,
        start: &stored::PlannedStart,
        action: NewWorkflowExecutionInfo,
    ) -> WorkflowExecutionStartedEventAttributes {
        let schedule = &self.schedule;
        let nominal = in_seconds(Time(start.nominal_at));
        let mut search_attributes = action.search_attributes.unwrap_or_default();
        let mut set = |name: &str, value_type, value| {
            let payload = json_payload(&value, Some(value_type));
            search_attributes.indexed_fields.insert(name.to_owned(), payload);
        };
        let schedule_id = schedule.head.schedule_id.as_str();
        set("TemporalScheduledStartTime", Kind::Datetime, json!(nominal));
        set("TemporalScheduledById", Kind::Keyword, json!(schedule_id));
        let labels = schedule.labels();
        if !labels.is_empty() {
            set("PerennialLabels", Kind::KeywordList, json!(labels));
        }
        let mut header = action.header.unwrap_or_default();
        header.fields.insert(LINEAGE_HEADER.to_owned(), self.lineage(run, start));
        WorkflowExecutionStartedEventAttributes {
            workflow_type: action.workflow_type,
            task_queue: action.task_queue,
            input: if start.has_input { start.input.clone() } else { action.input },
            workflow_execution_timeout: action.workflow_execution_timeout,
            workflow_run_timeout: action.workflow_run_timeout,
            workflow_task_timeout: action.workflow_task_timeout,
            // The stored action is as the user gave it; defaults are filled in here.
            retry_policy: action.retry_policy.map(complete_policy),
            memo: action.memo,
            search_attributes: Some(search_attributes),
            header: Some(Header { fields: header.fields }),
            priority: action.priority,
            versioning_override: action.versioning_override,
            identity: scheduler_identity(schedule_id),
            last_completion_result: schedule.outcome.result.clone(),
            continued_failure: schedule.outcome.failure.clone(),
            ..WorkflowExecutionStartedEventAttributes::default()
        }
    }

    /// The lineage: a `ScheduleTriggered` event that tells the run what started it. Values are spelled as in the
    /// schedule's audit stream (`perennial_proto::json::audit_event`).
    fn lineage(&self, run: &stored::ScheduledRun, start: &stored::PlannedStart) -> Payload {
        let schedule = &self.schedule;
        let spec = schedule.times.spec();
        let definition = spec.map(|spec| spec.definition());
        let reason = match start.reason() {
            StartReason::Schedule => "schedule",
            StartReason::Catchup => "catch-up",
            StartReason::Trigger => "trigger",
            StartReason::Backfill => "backfill",
        };
        let policy = schedule.overlap_policy(start.overlap_policy()).as_str_name();
        let policy = policy.trim_start_matches("SCHEDULE_OVERLAP_POLICY_").to_lowercase();
        let time = |nanos| perennial_proto::Timestamp::from(Time(nanos)).to_string();
        let lineage = json!({
            "event": "ScheduleTriggered",
            "schedule_id": schedule.head.schedule_id,
            "schedule_ulid": schedule.head.incarnation,
            "cron_expression": definition.and_then(|it| it.calendars.first()).map(ToString::to_string),
            "timezone": spec.map_or("", |spec| spec.zone().name()),
            "overlap_policy": policy,
            "trigger_number": run.trigger_number,
            "occurrence_time": time(start.nominal_at),
            "due_time": time(start.due_at),
            "reason": reason,
            "spec": definition.map(spec::texts),
            // The field's former name, for workflows that read it.
            "schedule_internal_id": schedule.head.incarnation,
        });
        json_payload(&lineage, None)
    }
}

impl Schedule {
    /// The workflow that the schedule starts.
    pub fn action(&self) -> Option<&NewWorkflowExecutionInfo> {
        match self.config.action.as_ref()?.action.as_ref()? {
            Action::StartWorkflow(workflow) => Some(workflow),
        }
    }

    /// The prefix of the workflow ids of its runs.
    pub fn base_workflow_id(&self) -> &str {
        let given = self.action().map_or("", |action| action.workflow_id.as_str());
        if given.is_empty() { &self.head.schedule_id } else { given }
    }
}

/// The time in RFC 3339, to the second.
fn in_seconds(time: Time) -> String {
    timestamp(time).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
