//! The times of a schedule: its compiled spec, with the engine's types.

use std::sync::Arc;

use jiff::Timestamp;
use perennial_calendar::{NamedCalendars, Occurrence, Search, Spec, Traced, ZoneSource, Zones};
use perennial_proto::store as stored;

use super::spec;
use crate::Time;

/// The times of a schedule, or the error if its spec doesn't compile, because its zone is gone, say.
#[derive(Debug, Clone)]
pub struct Times(Result<Arc<Spec>, String>);

/// A time of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    /// The nominal time, as in the spec, in whole seconds.
    pub(crate) nominal: Time,
    /// The due time: the nominal time plus jitter.
    pub(crate) due: Time,
}

/// The result of a search for the next time.
pub(crate) enum Next {
    /// The next time.
    At(Moment),
    /// No time up to this one, perhaps later.
    NoneUpTo(Time),
    /// No further time.
    Never,
}

impl Times {
    /// Compiles the spec. Jitter depends on the incarnation's id.
    pub fn compile(config: &stored::ScheduleConfig, incarnation: &str, zones: &Zones) -> Self {
        let spec = config.spec.clone().unwrap_or_default();
        let compiled = spec::read(&spec)
            .and_then(|definition| Spec::compile(definition, zones, &NamedCalendars::default()))
            .map(|spec| Arc::new(spec.with_identity(incarnation)));
        Self(compiled.map_err(|error| error.to_string()))
    }

    /// The error, if the spec doesn't compile.
    pub fn broken(&self) -> Option<&str> {
        self.0.as_ref().err().map(String::as_str)
    }

    /// The compiled spec.
    pub fn spec(&self) -> Option<&Spec> {
        self.0.as_deref().ok()
    }

    /// Whether a new time zone database may change the times.
    pub fn depend_on_zones(&self) -> bool {
        self.spec().is_none_or(|spec| matches!(spec.definition().zone, ZoneSource::Name(_)))
    }

    /// Searches for the first time after a nominal one.
    pub(crate) fn after(&self, nominal: Time) -> Next {
        let Some(spec) = self.spec() else { return Next::Never };
        match spec.search(timestamp(nominal)) {
            Search::Found(found) => Next::At(moment(found)),
            Search::NoneUpTo(searched) => Next::NoneUpTo(time(searched)),
            Search::Never => Next::Never,
        }
    }

    /// The last time after the nominal time `after` that is due by `by`.
    pub(crate) fn last_due(&self, after: Time, by: Time) -> Option<Moment> {
        let spec = self.spec()?;
        let mut before = Time(by.0.saturating_add(1));
        // A due time is never later than the next nominal time, so the time before this one is due.
        for _ in 0..2 {
            let last = moment(spec.previous(timestamp(before))?);
            if last.nominal <= after {
                return None;
            }
            if last.due <= by {
                return Some(last);
            }
            before = last.nominal;
        }
        None
    }

    /// Whether the spec may leave out times that its parts match.
    pub(crate) fn may_leave_out(&self) -> bool {
        self.spec().is_some_and(|spec| {
            let definition = spec.definition();
            !definition.exclusions.is_empty()
                || !definition.excluded_calendars.is_empty()
                || definition.zone != ZoneSource::Default
        })
    }

    /// The times strictly between two that the spec leaves out, with the reasons; at most `count`.
    pub(crate) fn left_out(&self, after: Time, before: Time, count: usize) -> Vec<(Time, String)> {
        let Some(spec) = self.spec() else { return Vec::new() };
        let traced = spec.trace(timestamp(after), timestamp(before));
        let left_out = traced.filter_map(|traced| match traced {
            Traced::LeftOut(left_out) => Some((time(left_out.nominal), spec.why(&left_out))),
            Traced::Fires(_) => None,
        });
        left_out.filter(|(at, _)| *at < before).take(count).collect()
    }

    /// Whether the spec has this nominal time.
    pub fn contain(&self, nominal: Time) -> bool {
        let just_before = Time(nominal.0.saturating_sub(1));
        matches!(self.after(just_before), Next::At(moment) if moment.nominal == nominal)
    }

    /// The reason why the spec leaves out a time that one of its parts matches.
    pub fn why_left_out(&self, nominal: Time) -> Option<String> {
        let (before, after) =
            (Time(nominal.0.saturating_sub(1)), Time(nominal.0.saturating_add(1)));
        self.left_out(before, after, 1).into_iter().next().map(|(_, why)| why)
    }

    /// The times before and after an instant.
    pub fn neighbours(&self, instant: Time) -> (Option<Time>, Option<Time>) {
        let Some(spec) = self.spec() else { return (None, None) };
        let (before, after) = (spec.previous(timestamp(instant)), spec.next(timestamp(instant)));
        (before.map(|it| time(it.nominal)), after.map(|it| time(it.nominal)))
    }

    /// The nominal times from `from` to `to`, both included.
    pub fn nominal_from(&self, from: Time, to: Time) -> impl Iterator<Item = Time> {
        let from = Time(from.0.saturating_sub(1));
        let between = move |spec| Spec::between(spec, timestamp(from), timestamp(to));
        self.spec().into_iter().flat_map(between).map(|found| time(found.nominal))
    }

    /// The due times after an instant.
    pub fn due_after(&self, instant: Time) -> impl Iterator<Item = Time> {
        let after = self.spec().into_iter().flat_map(move |spec| spec.after(timestamp(instant)));
        after.map(|found| time(found.due))
    }

    /// The due times after `from`, up to `to` inclusive.
    pub fn due_between(&self, from: Time, to: Time) -> impl Iterator<Item = Time> {
        let between = move |spec| Spec::between(spec, timestamp(from), timestamp(to));
        self.spec().into_iter().flat_map(between).map(|found| time(found.due))
    }
}

fn moment(found: Occurrence) -> Moment {
    Moment { nominal: time(found.nominal), due: time(found.due) }
}

pub(crate) fn timestamp(time: Time) -> Timestamp {
    Timestamp::from_nanosecond(time.0.into()).unwrap_or(Timestamp::MAX)
}

fn time(timestamp: Timestamp) -> Time {
    Time(i64::try_from(timestamp.as_nanosecond()).unwrap_or(i64::MAX))
}
