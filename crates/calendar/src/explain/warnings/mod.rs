//! Finds warnings, within a bounded number of steps.

mod clock_change;
mod exclusion;
mod field;
mod jitter;
mod reach;
mod redundant;

use jiff::{SignedDuration, Timestamp};

use super::warning::Warning;
use crate::spec::Spec;

/// How far ahead warnings look.
const HORIZON: SignedDuration = SignedDuration::from_hours(5 * 366 * 24);

/// All warnings, the most severe first.
pub(super) fn of(spec: &Spec, now: Timestamp) -> Vec<Warning> {
    if spec.parts.is_empty() {
        return Vec::new();
    }
    let mut budget = Budget { steps: STEPS_MAX };
    let (mut warnings, has_a_next_time) = reach::of(spec, now);
    if has_a_next_time {
        // The clock and the exclusions matter only from when the spec begins to have times.
        let window = Window::new(spec, now);
        warnings.extend(clock_change::of(spec, window, &mut budget));
        warnings.extend(field::of(spec));
        warnings.extend(exclusion::of(spec, window, &mut budget));
        warnings.extend(redundant::of(spec));
        warnings.extend(jitter::of(spec, now));
    } else {
        // Why there are none may be just this.
        warnings.extend(field::of(spec).into_iter().filter(|w| *w == Warning::BothDayFields));
    }
    warnings
}

const STEPS_MAX: u32 = 20_000;

/// The remaining steps, shared by all warnings.
struct Budget {
    steps: u32,
}

impl Budget {
    /// Takes a step, if there is one left.
    fn step(&mut self) -> Option<()> {
        self.steps = self.steps.checked_sub(1)?;
        Some(())
    }
}

/// The instants looked at, in Unix seconds, both inclusive.
#[derive(Clone, Copy)]
struct Window {
    from: i64,
    to: i64,
}

impl Window {
    fn new(spec: &Spec, now: Timestamp) -> Self {
        let (first, last) = spec.bounds();
        let from = now.as_second().max(first);
        Window { from, to: from.saturating_add(HORIZON.as_secs()).min(last) }
    }

    fn contains(self, instant: i64) -> bool {
        (self.from..=self.to).contains(&instant)
    }
}
