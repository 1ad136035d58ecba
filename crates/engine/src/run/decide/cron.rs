//! Cron strings of workflows: when the next run of a chain begins.

use jiff::Timestamp;
use perennial_calendar::{Definition, Dialect, Error, Interval, NamedCalendars, Spec, Zones};

use crate::run::Rejection;
use crate::{Span, Time};

const UNREADABLE: &str = "invalid CronSchedule.";
const NEVER: &str = "invalid CronSchedule, no time can be found to satisfy the schedule";

/// Whether the string can be read, and has a time; an empty one has none and needs none.
pub(super) fn check(cron: &str, now: Time, zones: &Zones) -> Result<(), CronFault> {
    if cron.is_empty() {
        return Ok(());
    }
    let never = || CronFault { sentence: NEVER, place: String::new() };
    let unreadable = |error: Error| CronFault { sentence: UNREADABLE, place: error.to_string() };
    let spec = spec(cron, now, zones).map_err(unreadable)?;
    let now = timestamp(now).ok_or_else(never)?;
    spec.next(now).map(|_| ()).ok_or_else(never)
}

/// What is wrong with a cron string.
pub(super) struct CronFault {
    /// In Temporal's words, which say no more.
    pub(super) sentence: &'static str,
    /// Where it is wrong, and how to mend it; may be empty.
    pub(super) place: String,
}

impl From<CronFault> for Rejection {
    fn from(fault: CronFault) -> Self {
        let CronFault { sentence, place } = fault;
        Rejection::InvalidArgument(format!("{sentence} {place}").trim_end().to_owned())
    }
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
    let next = spec(cron, scheduled_at, zones).ok()?.next(timestamp(after)?)?;
    let next = Time(i64::try_from(next.nominal.as_nanosecond()).ok()?);
    Some(next.since(now))
}

/// The string's times; what comes "every so often" is counted from `anchor`.
fn spec(cron: &str, anchor: Time, zones: &Zones) -> Result<Spec, Error> {
    let mut definition = Definition::read(&[cron], Dialect::Classic)?;
    let anchor = anchor.0.div_euclid(1_000_000_000);
    for interval in &mut definition.intervals {
        *interval = Interval::anchored(interval.every, anchor);
    }
    Spec::compile(definition, zones, &NamedCalendars::default())
}

fn timestamp(time: Time) -> Option<Timestamp> {
    Timestamp::from_nanosecond(i128::from(time.0)).ok()
}
