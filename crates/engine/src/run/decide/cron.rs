//! Cron strings of workflows: when the next run of a chain begins.

use jiff::Timestamp;
use perennial_calendar::{Definition, Dialect, Interval, NamedCalendars, Spec, Zones};

use crate::run::Rejection;
use crate::{Span, Time};

const UNREADABLE: &str = "invalid CronSchedule.";
const NEVER: &str = "invalid CronSchedule, no time can be found to satisfy the schedule";

/// Whether the string can be read, and has a time; an empty one has none and needs none.
pub(super) fn check(cron: &str, now: Time, zones: &Zones) -> Result<(), Rejection> {
    if cron.is_empty() {
        return Ok(());
    }
    let bad = |message: &str| Rejection::InvalidArgument(message.to_owned());
    let spec = spec(cron, now, zones).ok_or_else(|| bad(UNREADABLE))?;
    let now = timestamp(now).ok_or_else(|| bad(NEVER))?;
    spec.next(now).map(|_| ()).ok_or_else(|| bad(NEVER))
}

/// How long from `now` to the next time: the first after `scheduled_at` that isn't past. Times that
/// were missed are lost. `None` without cron, and when there is no further time.
pub(super) fn delay(cron: &str, scheduled_at: Time, now: Time, zones: &Zones) -> Option<Span> {
    if cron.is_empty() {
        return None;
    }
    if now < scheduled_at {
        return Some(scheduled_at.since(now));
    }
    // A time that is right now is still to come.
    let after = scheduled_at.max(Time(now.0.saturating_sub(1)));
    let next = spec(cron, scheduled_at, zones)?.next(timestamp(after)?)?;
    let next = Time(i64::try_from(next.nominal.as_nanosecond()).ok()?);
    Some(next.since(now))
}

/// The string's times; what comes "every so often" is counted from `anchor`.
fn spec(cron: &str, anchor: Time, zones: &Zones) -> Option<Spec> {
    let mut definition = Definition::read(&[cron], Dialect::Classic).ok()?;
    let anchor = timestamp(anchor)?.as_second();
    for interval in &mut definition.intervals {
        *interval = Interval::anchored(interval.every, anchor);
    }
    Spec::compile(definition, zones, &NamedCalendars::default()).ok()
}

fn timestamp(time: Time) -> Option<Timestamp> {
    Timestamp::from_nanosecond(i128::from(time.0)).ok()
}
