//! The audit stream of a schedule: what happened, and who asked for it. Each event's fields are the keys of its
//! payload.

use perennial_proto::perennial::schedule_event::Event;
use perennial_proto::perennial::{
    CommandContext, ScheduleCreated, ScheduleDeleted, ScheduleEvent, SchedulePaused,
    ScheduleResumed, ScheduleTriggerSkipped, ScheduleTriggered, ScheduleUpdated,
};
use perennial_proto::store as stored;

use super::draft::Draft;
use crate::Time;

/// The stream's word for a run that was started.
const TRIGGERED: &str = "triggered";
/// The most skips that wait for the answers to earlier starts; beyond that, the oldest are reported at once.
const PENDING_SKIPS_MAX: usize = 100;

impl Draft<'_> {
    pub(crate) fn audit_created(&mut self, command_context: Option<CommandContext>) {
        let config = &self.schedule.config;
        self.append(Event::Created(ScheduleCreated {
            spec: config.spec.clone(),
            action: config.action.clone(),
            overlap_policy: self.schedule.overlap_policy(Default::default()).into(),
            next_fire_at: self.schedule.next_due().map(Into::into),
            command_context,
        }));
    }

    pub(crate) fn audit_updated(
        &mut self,
        changed_fields: Vec<String>,
        command_context: Option<CommandContext>,
    ) {
        let config = &self.schedule.config;
        self.append(Event::Updated(ScheduleUpdated {
            changed_fields,
            spec: config.spec.clone(),
            action: config.action.clone(),
            overlap_policy: self.schedule.overlap_policy(Default::default()).into(),
            next_fire_at: self.schedule.next_due().map(Into::into),
            command_context,
        }));
    }

    pub(crate) fn audit_paused(&mut self, reason: &str, command_context: Option<CommandContext>) {
        self.append(Event::Paused(SchedulePaused {
            reason: reason.to_owned(),
            paused_at: Some(self.now().into()),
            command_context,
        }));
    }

    pub(crate) fn audit_resumed(&mut self, command_context: Option<CommandContext>) {
        let next_fire_at = self.schedule.next_due().map(Into::into);
        self.append(Event::Resumed(ScheduleResumed { next_fire_at, command_context }));
    }

    pub(crate) fn audit_triggered(&mut self, run: &stored::ScheduledRun) {
        let start = run.start.clone().unwrap_or_default();
        let backfill = self.schedule.backfills.get(&start.backfill);
        let context = start.context.clone().or_else(|| backfill?.context.clone());
        self.append(Event::Triggered(ScheduleTriggered {
            workflow_instance_id: run.workflow_id.clone(),
            workflow_run_id: run.run_id.clone(),
            outcome: TRIGGERED.to_owned(),
            effective_overlap_policy: self.schedule.overlap_policy(start.overlap_policy()).into(),
            trigger_number: run.trigger_number,
            occurrence_time: Some(Time(start.nominal_at).into()),
            command_context: context,
        }));
    }

    /// Reports skips, each after the starts that were decided before it: those may have caused it, and enter the
    /// stream only when they have been answered.
    pub(crate) fn audit_skips(&mut self) {
        let mut pending = std::mem::take(&mut self.schedule.head.pending_skips);
        pending.append(&mut self.skips);
        let running = self.schedule.running.values();
        let unanswered = running.filter(|run| !run.is_started).map(|run| run.decided_at).min();
        let surplus = pending.len().saturating_sub(PENDING_SKIPS_MAX);
        for (place, skip) in pending.into_iter().enumerate() {
            if place >= surplus && unanswered.is_some_and(|first| first <= skip.skipped_at) {
                self.schedule.head.pending_skips.push(skip);
                continue;
            }
            self.append(Event::TriggerSkipped(ScheduleTriggerSkipped {
                reason: skip.reason,
                skipped_trigger_count: skip.skipped_trigger_count,
                last_skipped_at: Some(Time(skip.skipped_at).into()),
                command_context: skip.context,
            }));
        }
    }

    pub(crate) fn audit_deleted(&mut self, reason: &str, command_context: Option<CommandContext>) {
        self.append(Event::Deleted(ScheduleDeleted {
            reason: reason.to_owned(),
            deleted_at: Some(self.now().into()),
            command_context,
        }));
    }

    fn append(&mut self, event: Event) {
        self.schedule.head.audit_sequence += 1;
        self.audit.push(ScheduleEvent {
            sequence: self.schedule.head.audit_sequence,
            recorded_at: Some(self.now().into()),
            event: Some(event),
        });
    }
}
