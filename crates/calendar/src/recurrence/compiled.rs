//! A compiled rule, which computes its next time.

use jiff::civil::DateTime;

use super::cadence::Cadence;
use super::days::DayFilter;
use super::set_positions::SetPositions;
use super::sub_daily::SubDaily;
use super::times::Times;
use super::{Frequency, Recurrence, Until};
use crate::civil::{Day, WallSecond};

/// The last second of 2100. Bounds every search.
const LAST: DateTime = DateTime::constant(2100, 12, 31, 23, 59, 59, 0);

/// A [`Recurrence`] with everything precomputed. It is stateless: the search costs the same near
/// `DTSTART` and a century later.
///
/// # Bounds
///
/// One call of [`next`](Self::next) examines at most 1,572 months (1970–2100), and within them
/// at no more than 47,847 days, or 6,836 weeks if it has `BYSETPOS`. Rules in hours, minutes or
/// seconds then look at one day's multiples of `INTERVAL`, at most 43,200, two or three times. That
/// is less than [`STEPS_MAX`](Self::STEPS_MAX) steps of some nanoseconds, reached only by rules that
/// match next to nothing; most take one or two.
#[derive(Clone, Debug)]
pub(crate) struct CompiledRecurrence {
    /// `DTSTART`.
    first: WallSecond,
    /// A wall-clock `UNTIL`, but never after 2100.
    last: WallSecond,
    plan: Plan,
}

/// How a rule's next time is found, by its `FREQ`.
#[derive(Clone, Debug)]
enum Plan {
    /// `DAILY` and longer: any time of `times` on any day of `days`.
    DaysAndTimes { days: DayFilter, times: Times },
    /// `WEEKLY` and longer with `BYSETPOS`: a period must be seen whole.
    SetPositions(SetPositions),
    /// `HOURLY` and shorter.
    SubDaily(SubDaily),
}

impl CompiledRecurrence {
    /// Upper bound on the steps of one call.
    #[cfg(test)]
    pub(super) const STEPS_MAX: usize = 200_000;

    /// The first time of the rule at or after `from` and at or before `until`, nor after an
    /// `UNTIL` on the wall clock. `COUNT` and an `UNTIL` that is an instant are not applied.
    pub(crate) fn next(&self, from: WallSecond, until: WallSecond) -> Option<WallSecond> {
        let from = from.max(self.first);
        let until = until.min(self.last);
        if from > until {
            return None;
        }
        let (last_day, _) = until.split();
        let found = match &self.plan {
            Plan::DaysAndTimes { days, times } => next_day_and_time(days, times, from, last_day),
            Plan::SetPositions(periods) => periods.next(from, last_day),
            Plan::SubDaily(steps) => steps.next(from, last_day),
        };
        found.filter(|time| *time <= until)
    }

    pub(super) fn new(rule: &Recurrence) -> Self {
        let anchor = rule.anchor();
        let days = DayFilter::new(rule);
        let plan = match rule.frequency {
            Frequency::Yearly | Frequency::Monthly | Frequency::Weekly => {
                let times = Times::of_day(rule);
                if rule.by.set_pos.is_empty() {
                    Plan::DaysAndTimes { days, times }
                } else {
                    let cadence = Cadence::new(rule);
                    Plan::SetPositions(SetPositions::new(cadence, days, times, &rule.by.set_pos))
                }
            }
            // Within a day or less every period has the same times, so BYSETPOS is applied here.
            Frequency::Daily => Plan::DaysAndTimes {
                days,
                times: Times::of_day(rule).at_positions(&rule.by.set_pos),
            },
            Frequency::Hourly | Frequency::Minutely | Frequency::Secondly => {
                Plan::SubDaily(SubDaily::new(rule, days))
            }
        };
        let last = match rule.until() {
            Some(Until::Wall(until)) => until.min(LAST),
            Some(Until::Instant(_)) | None => LAST,
        };
        CompiledRecurrence { first: WallSecond::from(anchor), last: WallSecond::from(last), plan }
    }
}

fn next_day_and_time(
    days: &DayFilter,
    times: &Times,
    from: WallSecond,
    last_day: Day,
) -> Option<WallSecond> {
    let (today, now) = from.split();
    let later_today = times.at_or_after(now);
    let first_day = if later_today.is_some() { today } else { Day(today.0 + 1) };
    let day = days.between(first_day, last_day).next()?;
    let time = if day == today { later_today? } else { times.at_or_after(0)? };
    Some(WallSecond::new(day, time))
}
