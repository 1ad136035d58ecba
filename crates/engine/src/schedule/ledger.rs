//! The ledger: the verdict of each time.
//!
//! A time that started a run has a line of its own. Consecutive times that started nothing for the same reason share
//! one: a year without a server is one line.

use perennial_proto::store as stored;
use perennial_proto::store::{StartReason, Verdict};

use super::EvaluatedTime;
use super::draft::{Draft, LedgerLine};
use crate::Time;

/// The reason why a time was skipped. Ledgers and audit streams show its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skip {
    /// Another run was open, and the overlap policy doesn't allow a second one.
    Overlap,
    /// The schedule can't act, because its spec doesn't compile.
    NotTriggerable,
    /// The limited actions were used up.
    Exhausted,
    /// Another run has the workflow id.
    IdTaken,
    /// The schedule was paused.
    Paused,
    /// The schedule's spec changed between the time and the jittered time.
    Updated,
    /// A backfill started the time before it was due.
    Backfilled,
    /// The start's backfill was canceled.
    Canceled,
}

impl Skip {
    /// The text of the reason in ledgers.
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

    /// The reason with this text.
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

    /// Whether it counts as a skipped trigger, which operators are warned of.
    fn is_counted(self) -> bool {
        match self {
            Self::Overlap | Self::NotTriggerable | Self::Exhausted | Self::IdTaken => true,
            Self::Paused | Self::Updated | Self::Backfilled | Self::Canceled => false,
        }
    }
}

/// The reason why a start that was to be buffered was dropped. Ledgers show its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dropped {
    /// The buffer was full.
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
    /// The line's key in the ledger: its nominal time. A time may be requested more than once, so in the ledger of
    /// requested starts the sequence number replaces the fraction of the second.
    pub fn position(&self) -> i64 {
        let at = self.occurrence.nominal_at;
        if self.is_manual {
            at - at.rem_euclid(SECOND) + self.occurrence.sequence % SECOND
        } else {
            at
        }
    }

    /// The first and the last key of the lines whose times are `from..=to`. In the ledger of requested starts, the
    /// range includes other lines of the same seconds.
    pub fn positions(is_manual: bool, (from, to): (Time, Time)) -> (i64, i64) {
        if !is_manual {
            return (from.0, to.0);
        }
        let second = |time: Time| time.0.div_euclid(SECOND).saturating_mul(SECOND);
        (second(from), second(to).saturating_add(SECOND - 1))
    }
}

/// Whether a user asked for the start.
pub(crate) fn is_manual(start: &stored::PlannedStart) -> bool {
    match start.reason() {
        StartReason::Trigger | StartReason::Backfill => true,
        StartReason::Schedule | StartReason::Catchup => false,
    }
}

impl Draft<'_> {
    /// Writes the line of a single time.
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

    /// Records the same verdict for the schedule's own times `first..=last`: extends the line before, if that says the
    /// same. `count` is 0 if the times weren't counted.
    pub(crate) fn record_range(
        &mut self,
        (first, last): (Time, Time),
        count: i64,
        verdict: Verdict,
        reason: &str,
    ) {
        let now = self.now().0;
        let open = self.schedule.head.open_range.take();
        // A chosen start was replaced: later times have their verdicts already, and may be extending a line of their
        // own.
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

    /// Drops a start that was to be buffered.
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
            self.forget_early_start(start.nominal_at);
        }
    }

    /// Skips a start.
    pub(crate) fn skip(&mut self, start: &stored::PlannedStart, why: Skip) {
        // A start with a sequence number was requested, or has been buffered and has its line.
        if start.sequence != 0 {
            self.record(start, Verdict::Skipped, why.text(), None);
        } else {
            let at = Time(start.nominal_at);
            self.record_range((at, at), 1, Verdict::Skipped, why.text());
        }
        self.finish_skip(start, why);
    }

    /// Updates the buffer, the counters, the backfill and the stored result of the request after a skip.
    pub(crate) fn finish_skip(&mut self, start: &stored::PlannedStart, why: Skip) {
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
            self.forget_early_start(start.nominal_at);
        }
    }

    /// Stores the outcome of a requested start, for retries of the request.
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

    /// The verdicts of the times that this step has settled, from its ledger lines.
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

    pub(crate) fn forget_early_start(&mut self, nominal: i64) {
        if self.schedule.ahead.contains(&nominal) {
            std::sync::Arc::make_mut(&mut self.schedule.ahead).remove(&nominal);
            self.touched.insert(crate::SchedulePart::Ahead(nominal));
        }
    }
}
