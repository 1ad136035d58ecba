//! When runs and schedules have to be looked at though nobody asks.
//!
//! Each has one stored wake-up, never later than the first thing that happens in it by itself. When a run's
//! comes and nothing is due yet, the stored time is moved on: a run that is over soon costs no write for
//! each deadline that never comes. Only the near future is in memory.

use std::collections::{BTreeMap, HashMap};

use perennial_engine::run::Run;
use perennial_engine::{EntityKey, EntityRef, Kind, NamespaceKey, Span, Time};
use perennial_store::Wake;

use super::request::{Incoming, ReplyTo, Request};
use super::{Cell, Effects, World};
use crate::Evaluation;

/// With more wake-ups than this in memory, no more are read. Those of runs that were stepped just now are
/// kept besides: what isn't durable yet can't be read again.
const WAKES_IN_MEMORY: usize = 50_000;
/// How far ahead is read from the store at a time.
const HORIZON: Span = Span::seconds(60);
/// When less than this is known ahead, more is read as soon as the cell has nothing else to do: the store has to bring
/// its tables up to date first, which would slow down other work.
const READ_WHEN_IDLE: Span = Span::seconds(30);
/// When less than this is known ahead, more is read at once.
const READ_AT_ONCE: Span = Span::seconds(10);

pub(super) struct Wakes {
    by_time: BTreeMap<(Time, EntityKey), EntityRef>,
    time_of: HashMap<EntityKey, Time>,
    /// Everything up to here is in memory.
    known_up_to: Time,
    /// The store has been asked for more.
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

    /// Whether someone else sees to it that it is looked at.
    fn is_left_alone(&self, kind: Kind) -> bool {
        kind == Kind::Schedule && self.evaluation == Evaluation::OnDemand
    }

    /// Notes when an entity wakes up next. `entity` is asked for if that is soon.
    pub(super) fn set(
        &mut self,
        kind: Kind,
        key: EntityKey,
        at: Option<Time>,
        now: Time,
        entity: impl FnOnce() -> EntityRef,
    ) {
        self.remove(key);
        let Some(at) = at.filter(|_| !self.is_left_alone(kind)) else { return };
        // Farther than the next reading of the store will reach: by the reading after that, what is
        // decided now has long been durable.
        if at > self.known_up_to.max(now).after(Span(2 * HORIZON.0)) {
            return;
        }
        self.by_time.insert((at, key), entity());
        self.time_of.insert(key, at);
    }

    /// The entity doesn't wake up any more.
    pub(super) fn remove(&mut self, key: EntityKey) {
        if let Some(before) = self.time_of.remove(&key) {
            self.by_time.remove(&(before, key));
        }
    }

    pub(super) fn next(&self) -> Option<Time> {
        let due = self.by_time.keys().next().map(|(at, _)| *at);
        // While more is being read, or there is enough, only what is due makes the cell step.
        let can_read = !self.reading && self.by_time.len() <= WAKES_IN_MEMORY;
        let refill = can_read.then(|| Time(self.known_up_to.0.saturating_sub(READ_WHEN_IDLE.0)));
        due.into_iter().chain(refill).min()
    }

    /// What to read from the store, if it is time to.
    pub(super) fn wanted(&mut self, now: Time, is_busy: bool) -> Option<((Time, EntityKey), Time)> {
        let enough = now.after(if is_busy { READ_AT_ONCE } else { READ_WHEN_IDLE });
        let is_full = self.by_time.len() > WAKES_IN_MEMORY && self.known_up_to > now;
        if self.reading || self.known_up_to > enough || is_full {
            return None;
        }
        self.reading = true;
        Some((self.read_after, now.after(HORIZON)))
    }

    /// Asks the store for nothing, and so has nobody woken: for a cell that may not write.
    pub(super) fn suspend(&mut self) {
        self.reading = true;
    }

    /// The store didn't answer: what was asked for is asked for again.
    pub(super) fn unread(&mut self) {
        self.reading = false;
    }

    /// Takes a page of wake-ups: all up to a time, or the first of them.
    pub(super) fn loaded(&mut self, up_to: Time, page: Vec<Wake>, is_all: bool) {
        self.reading = false;
        let last = page.last().map(|wake| (wake.at, wake.key)).filter(|_| !is_all);
        self.known_up_to = last.map_or(up_to, |(at, _)| at);
        self.read_after = last.unwrap_or((up_to, EntityKey(i64::MAX)));
        for Wake { at, key, entity } in page {
            // What is in memory is newer than what was read.
            if self.time_of.contains_key(&key) || self.is_left_alone(entity.id.kind) {
                continue;
            }
            self.by_time.insert((at, key), entity);
            self.time_of.insert(key, at);
        }
    }

    /// When the first was due, if it is by now.
    pub(super) fn first_due(&self, now: Time) -> Option<Time> {
        self.by_time.keys().next().map(|(at, _)| *at).filter(|at| *at <= now)
    }

    fn take_first(&mut self) -> Option<(EntityKey, EntityRef)> {
        let ((_, key), entity) = self.by_time.pop_first()?;
        self.time_of.remove(&key);
        Some((key, entity))
    }
}

impl Cell {
    /// Wakes the first, whether its time has come or not.
    pub(super) fn wake_first(&mut self, world: &World<'_>, effects: &mut Effects) {
        let Some((key, entity)) = self.wakes.take_first() else { return };
        let request = Request::Wake { key, entity };
        self.ask(Incoming { request, reply: ReplyTo::Nobody }, world, effects);
    }

    /// The wake-up to store for a run after a step: earlier if it has to be, later only when the stored one
    /// has come or the run has closed.
    pub(super) fn next_stored_wake(
        &self,
        run: &Run,
        woken: bool,
        world: &World<'_>,
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

/// When a closed run is deleted.
pub(super) fn retention_end(run: &Run, world: &World<'_>) -> Option<Time> {
    let namespace = world.namespaces.by_key(NamespaceKey(run.head.namespace))?;
    Span(namespace.retention_nanos).get().map(|kept| Time(run.head.closed_at).after(kept))
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
            wakes.unread();
        }
    }
}
