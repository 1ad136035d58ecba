//! The ledger: what became of each time.
//!
//! A time that started a run has a line of its own. Times in a row that started nothing for the same reason
//! share one: a year without a server is one line.

use perennial_proto::store as stored;
use perennial_proto::store::{StartReason, Verdict};

use super::EvaluatedTime;
use super::draft::{Draft, LedgerLine};
use crate::Time;

/// Why a time started nothing though it might have. The words stand in ledgers and audit streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skip {
    /// Another run was still going, and the overlap policy says no.
    Overlap,
    /// The schedule can't act.
    NotTriggerable,
    /// The limited actions were used up.
    Exhausted,
    /// A run has the workflow id already.
    IdTaken,
    /// The schedule was paused.
    Paused,
    /// The schedule's spec changed between the time and the jittered time.
    Updated,
    /// The time was started before it came, by a backfill.
    Backfilled,
    /// The backfill it belongs to was canceled.
    Canceled,
}

impl Skip {
    /// As it is written down.
    pub fn text(self) -> &'static str {
        match self {
            Self::Overlap => "overlap_policy_skip",
            Self::NotTriggerable => "status_not_triggerable",
            Self::Exhausted => "remaining_actions_exhausted",
            Self::IdTaken => "workflow_id_taken",
            Self::Paused => "paused",
            Self::Updated => "updated",
            Self::Backfilled => "backfilled",
            Self::Canceled => "backfill_canceled",
        }
    }

    /// The one that is written down like this.
    pub fn named(text: &str) -> Option<Self> {
        let all = [
            Self::Overlap,
            Self::NotTriggerable,
            Self::Exhausted,
            Self::IdTaken,
            Self::Paused,
            Self::Updated,
            Self::Backfilled,
            Self::Canceled,
        ];
        all.into_iter().find(|it| it.text() == text)
    }

    /// Whether it counts as a skipped trigger, which operators are told of.
    fn is_counted(self) -> bool {
        match self {
            Self::Overlap | Self::NotTriggerable | Self::Exhausted | Self::IdTaken => true,
            Self::Paused | Self::Updated | Self::Backfilled | Self::Canceled => false,
        }
    }
}

/// Why a start that was to wait came to nothing. The words stand in ledgers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dropped {
    /// As many starts as may wait did.
    BufferFull,
    /// The schedule was deleted.
    Deleted,
}

impl Dropped {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::BufferFull => "buffer_full",
            Self::Deleted => "deleted",
        }
    }

    pub(crate) fn named(text: &str) -> Option<Self> {
        [Self::BufferFull, Self::Deleted].into_iter().find(|it| it.text() == text)
    }
}

const SECOND: i64 = 1_000_000_000;

impl LedgerLine {
    /// Where the line stands: at its time. A time may be asked for by hand again and again, so there the
    /// start's number takes the place of a second's fraction.
    pub fn position(&self) -> i64 {
        let at = self.occurrence.nominal_at;
        if self.is_manual {
            at - at.rem_euclid(SECOND) + self.occurrence.sequence % SECOND
        } else {
            at
        }
    }

    /// Where the lines stand whose times are `from..=to`, the first and the last; among those that were asked for
    /// by hand, with others of the same seconds.
    pub fn positions(is_manual: bool, (from, to): (Time, Time)) -> (i64, i64) {
        if !is_manual {
            return (from.0, to.0);
        }
        let second = |time: Time| time.0.div_euclid(SECOND).saturating_mul(SECOND);
        (second(from), second(to).saturating_add(SECOND - 1))
    }
}

/// Whether someone asked for the start.
pub(crate) fn is_manual(start: &stored::PlannedStart) -> bool {
    match start.reason() {
        StartReason::Trigger | StartReason::Backfill => true,
        StartReason::Schedule | StartReason::Catchup => false,
    }
}

impl Draft<'_> {
    /// Writes the line of a time that has one of its own.
    pub(crate) fn record(
        &mut self,
        start: &stored::PlannedStart,
        verdict: Verdict,
        reason: &str,
        run: Option<(&str, &str)>,
    ) {
        let (workflow_id, run_id) = run.unwrap_or_default();
        let occurrence = stored::Occurrence {
            nominal_at: start.nominal_at,
            until: start.nominal_at,
            count: 1,
            verdict: verdict.into(),
            reason: reason.to_owned(),
            decided_at: self.now().0,
            due_at: start.due_at,
            workflow_id: workflow_id.to_owned(),
            run_id: run_id.to_owned(),
            start_reason: start.reason,
            backfill: start.backfill,
            sequence: start.sequence,
            last_decided_at: 0,
        };
        let is_manual = is_manual(start);
        if !is_manual {
            self.schedule.head.open_range = None;
        }
        let line = LedgerLine { is_manual, occurrence };
        self.ledger.insert((is_manual, line.position()), line);
    }

    /// Writes that the schedule's own times `first..=last` came to nothing: on the line before, if that says
    /// the same. `count` is 0 if nobody counted them.
    pub(crate) fn record_range(
        &mut self,
        (first, last): (Time, Time),
        count: i64,
        verdict: Verdict,
        reason: &str,
    ) {
        let now = self.now().0;
        let open = self.schedule.head.open_range.take();
        // A start that was chosen and then replaced: times after it have their verdicts already, and may go
        // on with theirs.
        let is_behind = last.0 < self.schedule.head.settled_up_to;
        let later = open.clone().filter(|open| open.until > last.0);
        let same = |open: &stored::Occurrence| {
            !is_behind && open.verdict() == verdict && open.reason == reason
        };
        let line = match open.filter(same) {
            Some(open) => stored::Occurrence {
                until: last.0,
                count: if open.count == 0 || count == 0 { 0 } else { open.count + count },
                last_decided_at: now,
                ..open
            },
            None => stored::Occurrence {
                nominal_at: first.0,
                until: last.0,
                count,
                verdict: verdict.into(),
                reason: reason.to_owned(),
                decided_at: now,
                ..stored::Occurrence::default()
            },
        };
        self.schedule.head.open_range = if is_behind { later } else { Some(line.clone()) };
        let line = LedgerLine { is_manual: false, occurrence: line };
        self.ledger.insert((false, line.position()), line);
    }

    /// A start that was to wait comes to nothing.
    pub(crate) fn drop_start(&mut self, start: &stored::PlannedStart, why: Dropped) {
        self.schedule.head.buffer_dropped_count += 1;
        self.record(start, Verdict::Dropped, why.text(), None);
        self.remove_buffered(start.sequence);
        self.remember_outcome(start, |request| {
            request.run_id.clear();
            why.text().clone_into(&mut request.skip_reason);
        });
        if start.backfill != 0 {
            self.change_backfill(start.backfill, |backfill| backfill.skipped += 1);
            self.forget_ahead(start.nominal_at);
        }
    }

    /// A start comes to nothing.
    pub(crate) fn skip(&mut self, start: &stored::PlannedStart, why: Skip) {
        // A start that has a number was asked for, or has waited in the buffer and has its line.
        if start.sequence != 0 {
            self.record(start, Verdict::Skipped, why.text(), None);
        } else {
            let at = Time(start.nominal_at);
            self.record_range((at, at), 1, Verdict::Skipped, why.text());
        }
        self.skipped(start, why);
    }

    /// What follows when a start has come to nothing.
    pub(crate) fn skipped(&mut self, start: &stored::PlannedStart, why: Skip) {
        self.remove_buffered(start.sequence);
        self.remember_outcome(start, |request| {
            request.run_id.clear();
            why.text().clone_into(&mut request.skip_reason);
        });
        if why == Skip::Overlap {
            self.schedule.head.overlap_skipped_count += 1;
        }
        if why.is_counted() {
            self.count_skip(start, why);
        }
        if start.backfill != 0 {
            self.change_backfill(start.backfill, |backfill| backfill.skipped += 1);
            self.forget_ahead(start.nominal_at);
        }
    }

    /// Whoever asked for the start and asks again is told what came of it.
    pub(crate) fn remember_outcome(
        &mut self,
        start: &stored::PlannedStart,
        remember: impl FnOnce(&mut stored::TakenRequest),
    ) {
        let mut requests = self.schedule.head.requests.iter_mut();
        let request = requests.find(|it| it.sequence != 0 && it.sequence == start.sequence);
        if let Some(request) = request {
            remember(request);
        }
    }

    fn count_skip(&mut self, start: &stored::PlannedStart, why: Skip) {
        let now = self.now();
        let head = &mut self.schedule.head;
        head.skipped_trigger_count += 1;
        head.last_skip_reason = why.text().to_owned();
        head.last_skipped_at = now.0;
        let skip = stored::PendingSkip {
            reason: why.text().to_owned(),
            skipped_trigger_count: head.skipped_trigger_count,
            skipped_at: now.0,
            context: start.context.clone(),
        };
        if skip.context.is_none() {
            self.skips.retain(|it| it.context.is_some() || it.reason != skip.reason);
        }
        self.skips.push(skip);
    }

    /// What the lines of this step say of the times that it has settled.
    pub(crate) fn evaluated_times(&self) -> Vec<EvaluatedTime> {
        let mut times: Vec<EvaluatedTime> = Vec::new();
        let mut last_position = None;
        for nominal in &self.settled {
            let mut before = self.ledger.range(..=(false, nominal.0)).rev();
            let line = before.next().filter(|(_, line)| line.occurrence.until >= nominal.0);
            let Some((position, LedgerLine { occurrence, .. })) = line else { continue };
            let is_missed = occurrence.verdict() == Verdict::Missed;
            match times.last_mut() {
                Some(last) if is_missed && last_position == Some(position) => last.count += 1,
                _ => times.push(EvaluatedTime {
                    nominal: *nominal,
                    verdict: occurrence.verdict(),
                    reason: occurrence.reason.clone(),
                    workflow_id: occurrence.workflow_id.clone(),
                    run_id: occurrence.run_id.clone(),
                    count: 1,
                }),
            }
            last_position = Some(position);
        }
        times
    }

    pub(crate) fn forget_ahead(&mut self, nominal: i64) {
        if self.schedule.ahead.contains(&nominal) {
            std::sync::Arc::make_mut(&mut self.schedule.ahead).remove(&nominal);
            self.touched.insert(crate::SchedulePart::Ahead(nominal));
        }
    }
}
