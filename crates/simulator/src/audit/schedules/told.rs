//! Replies about schedules, and what must hold because of them.

use perennial_engine::schedule::{EvaluatedTime, Triggered};
use perennial_engine::{EntityKey, Time};
use perennial_proto::store::{Occurrence, Verdict};
use perennial_store::Log;

use super::{Others, ScheduleSeen, Schedules, Violation};

const NOTHING_LOST: &str = "nothing acknowledged is lost";

/// A reply about a schedule that a client received.
#[derive(Debug, Clone)]
pub(crate) enum ToldOfSchedule {
    /// The schedule has made at least this progress.
    Saw {
        key: EntityKey,
        audit_sequence: i64,
        settled_up_to: i64,
    },
    /// The schedule was paused or unpaused after this event.
    Paused {
        key: EntityKey,
        audit_sequence: i64,
        is_paused: bool,
    },
    Triggered {
        key: EntityKey,
        request_id: String,
        scheduled_at: Option<Time>,
        outcome: Triggered,
    },
    Backfilled {
        key: EntityKey,
        sequence: i64,
        from: Time,
        to: Time,
    },
    Deleted {
        key: EntityKey,
    },
    /// An evaluation settled this time.
    Evaluated {
        key: EntityKey,
        time: EvaluatedTime,
    },
}

impl ToldOfSchedule {
    fn key(&self) -> EntityKey {
        match self {
            Self::Saw { key, .. }
            | Self::Paused { key, .. }
            | Self::Triggered { key, .. }
            | Self::Backfilled { key, .. }
            | Self::Deleted { key }
            | Self::Evaluated { key, .. } => *key,
        }
    }
}

impl Schedules {
    /// Checks a reply as soon as it is received.
    pub(in crate::audit) fn told(&mut self, told: ToldOfSchedule) -> Option<Violation> {
        let violation = self.told_before(&told).or_else(|| self.claimed_before(&told));
        self.told.push(told);
        violation
    }

    /// Checks that a retry is told of the same effect.
    fn told_before(&self, told: &ToldOfSchedule) -> Option<Violation> {
        let ToldOfSchedule::Triggered { key, request_id, outcome, .. } = told else { return None };
        let before = self.told.iter().rev().find_map(|before| match before {
            ToldOfSchedule::Triggered { request_id: id, outcome, .. } if id == request_id => {
                Some(outcome)
            }
            _ => None,
        })?;
        let agrees = match (before, outcome) {
            (Triggered::Buffered { .. }, _) => true,
            (Triggered::Started { .. }, Triggered::Started { .. }) => before == outcome,
            // Another run had the workflow id, as turned out later.
            (Triggered::Started { .. }, Triggered::Skipped { reason }) => {
                *reason == "workflow_id_taken"
            }
            (Triggered::Skipped { .. }, Triggered::Skipped { .. }) => true,
            (Triggered::Dropped { .. }, Triggered::Dropped { .. }) => true,
            (
                Triggered::Started { .. } | Triggered::Skipped { .. } | Triggered::Dropped { .. },
                _,
            ) => false,
        };
        let schedule = self.seen.get(key)?;
        (!agrees).then(|| {
            let what = format!("{request_id} was {before:?}, and then {outcome:?}");
            schedule.violation("who asks again hears of the same", what)
        })
    }

    /// Checks that each time is reported by one evaluation only, the one that settled it.
    fn claimed_before(&self, told: &ToldOfSchedule) -> Option<Violation> {
        let ToldOfSchedule::Evaluated { key, time } = told else { return None };
        let mut before = self.told.iter();
        let is_claimed = before.any(|before| match before {
            ToldOfSchedule::Evaluated { key: of, time: it } => {
                of == key && it.nominal == time.nominal
            }
            _ => false,
        });
        let schedule = self.seen.get(key).filter(|_| is_claimed)?;
        let what = format!("{time:?} was claimed by another pass");
        Some(schedule.violation("passes share out what is due", what))
    }

    /// Compares the stored state with the replies.
    pub(super) fn hold_to(&self, told: &ToldOfSchedule, others: Others<'_>) -> Option<Violation> {
        let Some(schedule) = self.seen.get(&told.key()) else {
            let what = format!("there is no such schedule, but someone was told {told:?}");
            let (workflow_id, run_id) = (String::new(), String::new());
            return Some(Violation { promise: NOTHING_LOST, workflow_id, run_id, what });
        };
        let wrong = |what: &str| {
            let what = format!("{what}, but someone was told {told:?}");
            Some(schedule.violation(NOTHING_LOST, what))
        };
        match told {
            ToldOfSchedule::Saw { audit_sequence, settled_up_to, .. } => {
                let head = &schedule.head;
                let is_less =
                    head.audit_sequence < *audit_sequence || head.settled_up_to < *settled_up_to;
                if is_less { wrong("it isn't as far") } else { None }
            }
            ToldOfSchedule::Paused { audit_sequence, is_paused, .. } => {
                let is_so = schedule.was_paused_after(*audit_sequence) == *is_paused;
                if is_so { None } else { wrong("its audit stream says otherwise") }
            }
            ToldOfSchedule::Deleted { .. } => {
                if schedule.head.deleted_at != 0 {
                    None
                } else {
                    wrong("it is there")
                }
            }
            ToldOfSchedule::Backfilled { sequence, from, to, .. } => {
                let backfill = schedule.backfills.get(sequence);
                let is_it = backfill.is_some_and(|it| (it.from, it.to) == (from.0, to.0));
                if is_it { None } else { wrong("that is no such backfill") }
            }
            ToldOfSchedule::Evaluated { time, .. } => {
                schedule.hold_to_evaluation(time).and_then(wrong)
            }
            ToldOfSchedule::Triggered { scheduled_at, outcome, .. } => {
                schedule.hold_to_trigger(*scheduled_at, outcome, others).and_then(wrong)
            }
        }
    }
}

impl ScheduleSeen {
    /// The error in an evaluation's report of a time: some version of its ledger line must say the same.
    fn hold_to_evaluation(&self, time: &EvaluatedTime) -> Option<&'static str> {
        let lines = self.lines.iter().filter(|((log, _), _)| *log == Log::Ledger);
        let mut versions = lines.flat_map(|(_, versions)| versions).map(|written| &written.line);
        let is_it = |line: &Occurrence| {
            (line.nominal_at..=line.until).contains(&time.nominal.0)
                // A buffered start may have been started in the same commit.
                && (time.verdict == Verdict::Buffered
                    || line.verdict() == time.verdict && line.run_id == time.run_id)
        };
        (!versions.any(is_it)).then_some("the ledger never said so")
    }

    /// The error in the reply to a trigger.
    fn hold_to_trigger(
        &self,
        scheduled_at: Option<Time>,
        outcome: &Triggered,
        others: Others<'_>,
    ) -> Option<&'static str> {
        let line = scheduled_at
            .and_then(|at| self.ledger(Log::ManualLedger).find(|line| line.nominal_at == at.0));
        if scheduled_at.is_some() && line.is_none() {
            return Some("the ledger has no line for it");
        }
        match outcome {
            Triggered::Started { run_id, .. } => {
                let is_there = others.all.contains_key(run_id)
                    || others.may_be_deleted.contains(run_id)
                    || line.is_none_or(|line| line.reason == "workflow_id_taken");
                (!is_there).then_some("there is no such run")
            }
            Triggered::Skipped { .. } | Triggered::Dropped { .. } => {
                let is_started = line.is_some_and(|line| !line.run_id.is_empty());
                is_started.then_some("it was started")
            }
            Triggered::Buffered { .. } => {
                let waits = line.is_some_and(|line| line.verdict() == Verdict::Buffered);
                waits.then_some("it waits still")
            }
        }
    }
}
