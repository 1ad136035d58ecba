//! Flags for a schedule's spec: when it fires.

use std::time::Duration;

use anyhow::Context;
use perennial_calendar::{Definition, Dialect, DstPolicy, ZoneSource, parse_duration};

use crate::calendar::mistakes_in;
use crate::input::InstantText;
use crate::system_zones;

/// A spec: the union of all calendars, cron strings and intervals, minus the exclusions.
#[derive(Debug, Default, Clone, clap::Args)]
#[group(id = "when-args")]
pub(crate) struct ScheduleSpecArgs {
    /// Calendar as JSON, such as '{"dayOfWeek":"Fri","hour":"17"}'; repeatable
    #[arg(long, alias = "cal", value_name = "JSON", help_heading = "Spec")]
    calendar: Vec<String>,

    /// Cron string, such as '30 12 * * Fri', @daily or '0 2 L * *'; repeatable
    #[arg(long, value_name = "CRON", help_heading = "Spec")]
    cron: Vec<String>,

    /// Interval, optionally with a phase, such as 90m or 5h/15m; repeatable
    #[arg(long, value_name = "DURATION[/PHASE]", help_heading = "Spec")]
    interval: Vec<String>,

    /// Exclude times that match this cron string or calendar JSON; repeatable
    #[arg(long, value_name = "SPEC", help_heading = "Spec")]
    exclude: Vec<String>,

    /// Time zone: an IANA name, or 'local' for this machine's [default: UTC]
    #[arg(long, alias = "tz", value_name = "NAME", help_heading = "Spec")]
    time_zone: Option<String>,

    /// Daylight saving policy: literal, once, or GAP,OVERLAP such as shift,last
    #[arg(long, value_name = "POLICY", help_heading = "Spec")]
    dst: Option<DstPolicy>,

    /// Delay each time by a random amount up to this
    #[arg(long, value_name = "DURATION", help_heading = "Spec", value_parser = parse_duration)]
    jitter: Option<Duration>,

    /// First possible time
    #[arg(long, value_name = "TIME", help_heading = "Spec")]
    start_time: Option<InstantText>,

    /// Last possible time
    #[arg(long, value_name = "TIME", help_heading = "Spec")]
    end_time: Option<InstantText>,
}

impl ScheduleSpecArgs {
    /// Whether any flag was given.
    pub(super) fn is_given(&self) -> bool {
        self.has_times()
            || !self.exclude.is_empty()
            || self.time_zone.is_some()
            || self.dst.is_some()
            || self.jitter.is_some()
            || self.start_time.is_some()
            || self.end_time.is_some()
    }

    /// Whether calendars, cron strings or intervals are given.
    pub(super) fn has_times(&self) -> bool {
        !(self.calendar.is_empty() && self.cron.is_empty() && self.interval.is_empty())
    }

    /// Likely mistakes in the flags.
    pub(super) fn mistakes(&self) -> Vec<String> {
        mistakes_in(&self.cron, Dialect::Temporal)
    }

    /// A new spec from the flags.
    pub(super) fn read(&self) -> anyhow::Result<Definition> {
        self.change(Definition::default())
    }

    /// Applies the given flags to a spec. Calendars, cron strings and intervals are replaced together.
    pub(super) fn change(&self, present: Definition) -> anyhow::Result<Definition> {
        let mut definition = present;
        if self.has_times() {
            let times = self.times()?;
            let zone = std::mem::take(&mut definition.zone);
            definition = Definition {
                calendars: times.calendars,
                intervals: times.intervals,
                repeats: times.repeats,
                recurrences: times.recurrences,
                excluded_calendars: times.excluded_calendars,
                dst: times.dst.or(definition.dst),
                zone: match times.zone {
                    ZoneSource::Default => zone,
                    given @ (ZoneSource::Name(_) | ZoneSource::Tzif { .. }) => given,
                },
                ..definition
            };
        }
        if let Some(name) = &self.time_zone {
            let name = match name.as_str() {
                "local" => system_zones::local_name()?,
                name => name.to_owned(),
            };
            // A new time zone replaces the old one, but must agree with the zones named in cron strings.
            if !self.times()?.zone.eq(&ZoneSource::Default) {
                definition.set_zone(&name).context("--time-zone")?;
            }
            definition.zone = ZoneSource::Name(name);
        }
        if let Some(policy) = self.dst {
            definition.dst = Some(policy);
        }
        if !self.exclude.is_empty() {
            definition.exclusions.clear();
            for text in &self.exclude {
                definition.exclude(text, Dialect::Temporal).context("--exclude")?;
            }
        }
        if let Some(jitter) = self.jitter {
            definition.jitter = jitter;
        }
        for (flag, given, bound) in [
            ("--start-time", &self.start_time, &mut definition.start),
            ("--end-time", &self.end_time, &mut definition.end),
        ] {
            // Only a time without an offset needs this machine's time zones; the server uses its own.
            let Some(given) = given else { continue };
            *bound = Some(match given {
                InstantText::Exact(instant) => *instant,
                InstantText::Civil(_) => {
                    let zones = system_zones::zones_with(&definition.zone)?;
                    let zone = zones.resolve(&definition.zone)?;
                    given.on(&zone).context(flag)?
                }
            });
        }
        Ok(definition)
    }

    fn times(&self) -> anyhow::Result<Definition> {
        for (flag, texts) in
            [("--calendar", &self.calendar), ("--cron", &self.cron), ("--interval", &self.interval)]
        {
            for text in texts {
                Definition::read(&[text], Dialect::Temporal).context(flag)?;
            }
        }
        let all = self.calendar.iter().chain(&self.cron).chain(&self.interval);
        let texts: Vec<&str> = all.map(String::as_str).collect();
        Ok(Definition::read(&texts, Dialect::Temporal)?)
    }
}
