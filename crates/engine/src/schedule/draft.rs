//! A decision under construction: a copy of the schedule that changes as the decision is made.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use perennial_proto::perennial::ScheduleEvent;
use perennial_proto::store as stored;

use super::{Evaluated, Reply, Schedule};
use crate::run::{Context, Rejection};
use crate::{SchedulePart, Time};

/// The result of a command.
#[derive(Debug)]
pub struct Decision {
    /// The new state; `None` if nothing changed.
    pub transition: Option<Transition>,
    /// The reply, to be sent once the transition is durable.
    pub reply: Result<Reply, Rejection>,
}

/// A state transition of a schedule.
#[derive(Debug)]
pub struct Transition {
    /// The schedule after the transition.
    pub schedule: Schedule,
    /// The changed rows. Their contents are in `schedule`; a row that isn't there was deleted.
    pub touched: BTreeSet<SchedulePart>,
    /// The events added to the audit stream.
    pub audit: Vec<ScheduleEvent>,
    /// Ledger lines, new or replaced.
    pub ledger: Vec<LedgerLine>,
    /// Messages to runs. The cell assigns their keys.
    pub messages: Vec<stored::EntityMessage>,
    /// Whether the schedule's entry in lists has changed.
    pub is_visible: bool,
    /// When the schedule has to be woken.
    pub wake_at: Option<Time>,
}

/// A line of the ledger: the verdict of a time, or of consecutive times.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerLine {
    /// Whether a user asked for the start, by a trigger or a backfill. Those have a ledger of their own, because a
    /// time may be requested more than once.
    pub is_manual: bool,
    /// The contents of the line.
    pub occurrence: stored::Occurrence,
}

/// A start's place among the buffered ones: its number, or that of its backfill.
pub(crate) fn place(start: &stored::PlannedStart) -> i64 {
    if start.place == 0 { start.sequence } else { start.place }
}

/// A decision under construction; see the module's documentation.
pub(crate) struct Draft<'a> {
    pub(crate) schedule: Schedule,
    pub(crate) cx: &'a Context<'a>,
    pub(crate) touched: BTreeSet<SchedulePart>,
    pub(crate) audit: Vec<ScheduleEvent>,
    /// The lines of this step, by `is_manual` and position.
    pub(crate) ledger: BTreeMap<(bool, i64), LedgerLine>,
    pub(crate) messages: Vec<stored::EntityMessage>,
    pub(crate) is_visible: bool,
    /// The start that leaves at the end of this step. Until then, a later one may replace it.
    pub(crate) chosen: Option<Arc<stored::PlannedStart>>,
    /// Skips of this step, in order. Scheduled starts that were skipped for the same reason share an audit event.
    pub(crate) skips: Vec<stored::PendingSkip>,
    /// The times that this step settled, in order.
    pub(crate) settled: Vec<Time>,
    /// Whether this step settles due times: always, unless schedules are evaluated on demand.
    pub(crate) evaluates: bool,
    /// Whether there is more work than one step does.
    pub(crate) has_more: bool,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(schedule: Schedule, cx: &'a Context<'a>) -> Self {
        Self {
            schedule,
            cx,
            touched: BTreeSet::new(),
            audit: Vec::new(),
            ledger: BTreeMap::new(),
            messages: Vec::new(),
            is_visible: false,
            chosen: None,
            skips: Vec::new(),
            settled: Vec::new(),
            evaluates: cx.evaluated != Evaluated::OnDemand,
            has_more: false,
        }
    }

    /// The schedule's time: never earlier than its last step, even if the clock is.
    pub(crate) fn now(&self) -> Time {
        self.cx.now.max(Time(self.schedule.head.last_event_at))
    }

    /// The next sequence number for a start or a backfill.
    pub(crate) fn next_sequence(&mut self) -> i64 {
        self.schedule.head.last_sequence += 1;
        self.schedule.head.last_sequence
    }

    /// Marks the configuration as changed: new conflict token and list entry.
    pub(crate) fn mark_configured(&mut self) {
        self.schedule.head.conflict_token += 1;
        self.is_visible = true;
    }

    /// Replaces the configuration and marks its row as changed.
    pub(crate) fn set_config(&mut self, config: stored::ScheduleConfig) {
        self.schedule.config = Arc::new(config);
        self.schedule.compile(self.cx.zones);
        self.touched.insert(SchedulePart::Config);
    }

    pub(crate) fn put_running(&mut self, run: stored::ScheduledRun) {
        self.touched.insert(SchedulePart::Running(run.run_id.clone()));
        self.schedule.running.insert(run.run_id.clone(), Arc::new(run));
    }

    pub(crate) fn remove_running(&mut self, run_id: &str) -> Option<Arc<stored::ScheduledRun>> {
        let removed = self.schedule.running.remove(run_id)?;
        self.touched.insert(SchedulePart::Running(run_id.to_owned()));
        Some(removed)
    }

    /// The buffered starts in the order in which they are to be started: by request.
    pub(crate) fn waiting(&self) -> Vec<Arc<stored::PlannedStart>> {
        let mut waiting: Vec<_> = self.schedule.buffer.values().cloned().collect();
        waiting.sort_by_key(|start| (place(start), start.sequence));
        waiting
    }

    pub(crate) fn put_buffered(&mut self, start: Arc<stored::PlannedStart>) {
        self.touched.insert(SchedulePart::Buffered(start.sequence));
        self.schedule.buffer.insert(start.sequence, start);
    }

    pub(crate) fn remove_buffered(&mut self, sequence: i64) {
        if self.schedule.buffer.remove(&sequence).is_some() {
            self.touched.insert(SchedulePart::Buffered(sequence));
        }
    }

    pub(crate) fn change_backfill(
        &mut self,
        sequence: i64,
        change: impl FnOnce(&mut stored::Backfill),
    ) {
        let backfills = &mut self.schedule.backfills;
        let Some(backfill) = backfills.get_mut(&sequence) else { return };
        change(Arc::make_mut(backfill));
        self.touched.insert(SchedulePart::Backfill(sequence));
    }

    pub(crate) fn done(self, reply: Reply) -> Decision {
        Decision { transition: Some(self.into_transition()), reply: Ok(reply) }
    }

    pub(crate) fn into_transition(mut self) -> Transition {
        self.audit_skips();
        self.schedule.head.last_event_at = self.now().0;
        let wake_at = super::decide::wake_at(&self);
        Transition {
            schedule: self.schedule,
            touched: self.touched,
            audit: self.audit,
            ledger: self.ledger.into_values().collect(),
            messages: self.messages,
            is_visible: self.is_visible,
            wake_at,
        }
    }
}
