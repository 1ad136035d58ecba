//! Cron schedules of workflows: when the next run of a chain begins.

use jiff::Timestamp;
use perennial_calendar::{Definition, Dialect, Error, Interval, NamedCalendars, Spec, Zones};

use crate::run::Rejection;
use crate::{Span, Time};

const UNREADABLE: &str = "invalid CronSchedule.";
const NEVER: &str = "invalid CronSchedule, no time can be found to satisfy the schedule";

/// Checks that the string can be parsed and has a future time. An empty string is valid.
pub(super) fn check(cron: &str, now: Time, zones: &Zones) -> Result<(), CronError> {
    if cron.is_empty() {
        return Ok(());
    }
    let never = || CronError { message: NEVER, details: String::new() };
    let unreadable = |error: Error| CronError { message: UNREADABLE, details: error.to_string() };
    let spec = spec(cron, now, zones).map_err(unreadable)?;
    let now = timestamp(now).ok_or_else(never)?;
    spec.next(now).map(|_| ()).ok_or_else(never)
}

/// An error in a cron string.
pub(super) struct CronError {
    /// Temporal's error message, which has no details.
    pub(super) message: &'static str,
    /// The position of the error and a hint; may be empty.
    pub(super) details: String,
}

impl From<CronError> for Rejection {
    fn from(fault: CronError) -> Self {
        let CronError { message, details } = fault;
        Rejection::InvalidArgument(format!("{message} {details}").trim_end().to_owned())
    }
}

/// The delay from `now` to the next time: the first after `scheduled_at` that isn't past. Missed times are lost.
/// `None` without cron, and if there is no further time.
pub(super) fn delay(cron: &str, scheduled_at: Time, now: Time, zones: &Zones) -> Option<Span> {
    if cron.is_empty() {
        return None;
    }
    if now < scheduled_at {
        return Some(scheduled_at.since(now));
    }
    // A time that equals `now` isn't past.
    let after = scheduled_at.max(Time(now.0.saturating_sub(1)));
    let next = spec(cron, scheduled_at, zones).ok()?.next(timestamp(after)?)?;
    let next = Time(i64::try_from(next.nominal.as_nanosecond()).ok()?);
    Some(next.since(now))
}

/// Parses the string; intervals ("@every") count from `anchor`.
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
