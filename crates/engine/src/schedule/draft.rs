//! A decision in the making: a copy of the schedule that changes as the decision is made.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use perennial_proto::perennial::ScheduleEvent;
use perennial_proto::store as stored;

use super::{Evaluated, Reply, Schedule};
use crate::run::{Context, Rejection};
use crate::{SchedulePart, Time};

/// What a command led to.
#[derive(Debug)]
pub struct Decision {
    /// What changed; `None` if nothing did.
    pub transition: Option<Transition>,
    /// What the caller hears once that is durable.
    pub reply: Result<Reply, Rejection>,
}

/// A step of a schedule.
#[derive(Debug)]
pub struct Transition {
    /// The schedule after it.
    pub schedule: Schedule,
    /// Rows that changed: look them up in `schedule`; what isn't there is gone.
    pub touched: BTreeSet<SchedulePart>,
    /// What is added to the audit stream.
    pub audit: Vec<ScheduleEvent>,
    /// Lines of the ledger, new or written again.
    pub ledger: Vec<LedgerLine>,
    /// Messages to runs. Their keys are still to be given.
    pub messages: Vec<stored::EntityMessage>,
    /// Lists show something else now.
    pub is_visible: bool,
    /// When it has to be looked at though nobody asks.
    pub wake_at: Option<Time>,
}

/// What became of a time.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerLine {
    /// Whether someone asked for it, by a trigger or a backfill: those have a ledger of their own, for a
    /// time may be asked for again and again.
    pub is_manual: bool,
    /// The line.
    pub occurrence: stored::Occurrence,
}

/// A start's place among those that wait: its number, or that of the backfill it belongs to.
pub(crate) fn place(start: &stored::PlannedStart) -> i64 {
    if start.place == 0 { start.sequence } else { start.place }
}

/// See the module's documentation.
pub(crate) struct Draft<'a> {
    pub(crate) schedule: Schedule,
    pub(crate) cx: &'a Context<'a>,
    pub(crate) touched: BTreeSet<SchedulePart>,
    pub(crate) audit: Vec<ScheduleEvent>,
    /// By whether they are manual, and by position.
    pub(crate) ledger: BTreeMap<(bool, i64), LedgerLine>,
    pub(crate) messages: Vec<stored::EntityMessage>,
    pub(crate) is_visible: bool,
    /// The start that takes the place of what runs, or would: until the step is over, a later one may
    /// replace it.
    pub(crate) chosen: Option<Arc<stored::PlannedStart>>,
    /// Skips of this step, in order. One event of the audit stream tells of all that nobody asked for and that have
    /// the same reason.
    pub(crate) skips: Vec<stored::PendingSkip>,
    /// Times that got their verdict, in order.
    pub(crate) settled: Vec<Time>,
    /// Whether this step settles what is due: always, unless schedules are evaluated on demand.
    pub(crate) evaluates: bool,
    /// There is more to do than one step does.
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

    /// The schedule's time: never before its last step, whatever the clock says.
    pub(crate) fn now(&self) -> Time {
        self.cx.now.max(Time(self.schedule.head.last_event_at))
    }

    /// The next number for a start or a backfill.
    pub(crate) fn next_sequence(&mut self) -> i64 {
        self.schedule.head.last_sequence += 1;
        self.schedule.head.last_sequence
    }

    /// Something that people configured is different.
    pub(crate) fn configured(&mut self) {
        self.schedule.head.conflict_token += 1;
        self.is_visible = true;
    }

    /// Changes the configuration's row.
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

    /// The starts that wait, in the order they are to go: each behind what was asked for before it.
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
