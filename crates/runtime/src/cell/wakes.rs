//! Wake-ups: times at which runs and schedules act without a request.
//!
//! Each entity has one stored wake-up, never later than its first timer or deadline. If nothing is due when a run
//! wakes up, the stored time moves: so deadlines of a short run that never fire cost no writes. Memory holds only
//! the near future.

use std::collections::{BTreeMap, HashMap};

use perennial_engine::run::Run;
use perennial_engine::{EntityKey, EntityRef, Kind, Span, Time};
use perennial_store::Wake;

use super::request::{Incoming, ReplyTo, Request};
use super::retention::retention_end;
use super::{Cell, StepContext, StepResult};
use crate::Evaluation;

/// With more wake-ups than this in memory, no more are read. Wake-ups of runs that were just stepped are kept as well,
/// because they may not be durable yet.
const WAKES_IN_MEMORY: usize = 50_000;
/// How far ahead one read reaches.
const HORIZON: Span = Span::seconds(60);
/// With less than this in memory, the next read starts when the cell is idle: the store has to apply its log to the
/// tables first, which would slow down other work.
const READ_IDLE_BELOW: Span = Span::seconds(30);
/// With less than this in memory, the next read starts immediately.
const READ_NOW_BELOW: Span = Span::seconds(10);

pub(super) struct Wakes {
    by_time: BTreeMap<(Time, EntityKey), EntityRef>,
    time_of: HashMap<EntityKey, Time>,
    /// All wake-ups up to this time are in memory.
    known_up_to: Time,
    /// A read is in progress.
    reading: bool,
    read_after: (Time, EntityKey),
    evaluation: Evaluation,
}

impl Wakes {
    pub(super) fn new(evaluation: Evaluation) -> Self {
        let before_all = (Time(i64::MIN), EntityKey(i64::MIN));
        Self {
            by_time: BTreeMap::new(),
            time_of: HashMap::new(),
            known_up_to: before_all.0,
            reading: false,
            read_after: before_all,
            evaluation,
        }
    }

    /// Whether entities of this kind are evaluated only on demand.
    fn is_on_demand(&self, kind: Kind) -> bool {
        kind == Kind::Schedule && self.evaluation == Evaluation::OnDemand
    }

    /// Sets the next wake-up of an entity. `entity` is called only for one in the near future.
    pub(super) fn set(
        &mut self,
        kind: Kind,
        key: EntityKey,
        at: Option<Time>,
        now: Time,
        entity: impl FnOnce() -> EntityRef,
    ) {
        self.remove(key);
        let Some(at) = at.filter(|_| !self.is_on_demand(kind)) else { return };
        // Beyond the next read. By the read after that, this wake-up is durable.
        if at > self.known_up_to.max(now).after(Span(2 * HORIZON.0)) {
            return;
        }
        self.by_time.insert((at, key), entity());
        self.time_of.insert(key, at);
    }

    /// Removes the wake-up of an entity.
    pub(super) fn remove(&mut self, key: EntityKey) {
        if let Some(before) = self.time_of.remove(&key) {
            self.by_time.remove(&(before, key));
        }
    }

    pub(super) fn next(&self) -> Option<Time> {
        let due = self.by_time.keys().next().map(|(at, _)| *at);
        // During a read, or with enough in memory, only due wake-ups step the cell.
        let can_read = !self.reading && self.by_time.len() <= WAKES_IN_MEMORY;
        let refill = can_read.then(|| Time(self.known_up_to.0.saturating_sub(READ_IDLE_BELOW.0)));
        due.into_iter().chain(refill).min()
    }

    /// The range to read from the store, if a read is due.
    pub(super) fn wanted(&mut self, now: Time, is_busy: bool) -> Option<((Time, EntityKey), Time)> {
        let enough = now.after(if is_busy { READ_NOW_BELOW } else { READ_IDLE_BELOW });
        let is_full = self.by_time.len() > WAKES_IN_MEMORY && self.known_up_to > now;
        if self.reading || self.known_up_to > enough || is_full {
            return None;
        }
        self.reading = true;
        Some((self.read_after, now.after(HORIZON)))
    }

    /// Stops reads and thereby wake-ups, for a suspended cell.
    pub(super) fn suspend(&mut self) {
        self.reading = true;
    }

    /// A read failed: the next step requests it again.
    pub(super) fn read_failed(&mut self) {
        self.reading = false;
    }

    /// Adds a page of wake-ups: all up to a time, or the first of them.
    pub(super) fn loaded(&mut self, up_to: Time, page: Vec<Wake>, is_all: bool) {
        self.reading = false;
        let last = page.last().map(|wake| (wake.at, wake.key)).filter(|_| !is_all);
        self.known_up_to = last.map_or(up_to, |(at, _)| at);
        self.read_after = last.unwrap_or((up_to, EntityKey(i64::MAX)));
        for Wake { at, key, entity } in page {
            // The wake-up in memory is newer.
            if self.time_of.contains_key(&key) || self.is_on_demand(entity.id.kind) {
                continue;
            }
            self.by_time.insert((at, key), entity);
            self.time_of.insert(key, at);
        }
    }

    /// Time of the first wake-up, if it is due.
    pub(super) fn first_due(&self, now: Time) -> Option<Time> {
        self.by_time.keys().next().map(|(at, _)| *at).filter(|at| *at <= now)
    }

    /// Time of the first wake-up, or of the end of what is known, if that is earlier. `None` before the first read.
    pub(super) fn first_unhandled(&self) -> Option<Time> {
        let first = self.by_time.keys().next().map(|(at, _)| *at);
        let known_up_to = Some(self.known_up_to).filter(|at| at.0 != i64::MIN)?;
        Some(first.map_or(known_up_to, |first| first.min(known_up_to)))
    }

    fn take_first(&mut self) -> Option<(EntityKey, EntityRef)> {
        let ((_, key), entity) = self.by_time.pop_first()?;
        self.time_of.remove(&key);
        Some((key, entity))
    }
}

impl Cell {
    /// Wakes the entity with the first wake-up.
    pub(super) fn wake_first(&mut self, world: &StepContext<'_>, result: &mut StepResult) {
        let Some((key, entity)) = self.wakes.take_first() else { return };
        let request = Request::Wake { key, entity };
        self.ask(Incoming::internal(request, ReplyTo::Nobody), world, result);
    }

    /// The wake-up to store for a run after a step. It moves to a later time only when the stored one was due or the
    /// run has closed.
    pub(super) fn next_stored_wake(
        &self,
        run: &Run,
        woken: bool,
        world: &StepContext<'_>,
    ) -> Option<Time> {
        let stored = Time(run.head.stored_wake_at).get();
        let wanted = if run.is_open() { run.wake_at() } else { retention_end(run, world) };
        if woken || !run.is_open() {
            return wanted;
        }
        match (stored, wanted) {
            (Some(stored), Some(wanted)) => Some(stored.min(wanted)),
            (Some(stored), None) => Some(stored),
            (None, wanted) => wanted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_future_is_read_while_nothing_else_goes_on_unless_too_little_is_known() {
        let mut wakes = Wakes::new(Evaluation::ByItself);
        let at = |seconds| Time(1).after(Span::seconds(seconds));
        let (_, up_to) = wakes.wanted(at(0), true).expect("nothing is known");
        assert_eq!(up_to, at(60));
        assert!(wakes.wanted(at(1), false).is_none(), "it is being read");
        wakes.loaded(up_to, Vec::new(), true);
        for (seconds, is_busy, is_wanted) in [
            (29, false, false),
            (31, false, true),
            (31, true, false),
            (49, true, false),
            (51, true, true),
        ] {
            let wanted = wakes.wanted(at(seconds), is_busy);
            assert_eq!(wanted.is_some(), is_wanted, "after {seconds} s, busy: {is_busy}");
            wakes.read_failed();
        }
    }
    #[test]
    fn first_unhandled_wake_is_a_due_one_or_the_end_of_what_is_known() {
        let mut wakes = Wakes::new(Evaluation::ByItself);
        let at = |seconds| Time(1).after(Span::seconds(seconds));
        assert_eq!(wakes.first_unhandled(), None, "nothing has been read");
        wakes.loaded(at(60), Vec::new(), true);
        assert_eq!(wakes.first_unhandled(), Some(at(60)));
        let entity = || EntityRef::run(perennial_engine::NamespaceKey(1), "order", "");
        wakes.set(Kind::Run, EntityKey(1), Some(at(5)), at(0), entity);
        assert_eq!(wakes.first_unhandled(), Some(at(5)));
        wakes.take_first();
        assert_eq!(wakes.first_unhandled(), Some(at(60)));
    }
}
