//! One interface to all crates: compile a spec, and compute the times after an instant.

use std::hint::black_box;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use jiff::Timestamp;
use jiff::tz::TimeZoneDatabase;
use perennial_calendar::{Definition, Dialect, DstPolicy, NamedCalendars, Spec, Zones};

/// A crate in the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
    /// `perennial-calendar`.
    Perennial,
    /// `croner`, on chrono's types as by default.
    Croner,
    /// `cron`.
    Cron,
    /// `saffron`, which knows UTC only.
    Saffron,
}

impl Contender {
    /// All crates, ours first.
    pub const ALL: [Contender; 4] =
        [Contender::Perennial, Contender::Croner, Contender::Cron, Contender::Saffron];

    /// The name a report shows.
    pub fn name(self) -> &'static str {
        match self {
            Contender::Perennial => "perennial",
            Contender::Croner => "croner",
            Contender::Cron => "cron",
            Contender::Saffron => "saffron",
        }
    }
}

/// A spec as one of the crates compiled it.
pub enum Compiled {
    /// By ours.
    Perennial(Spec),
    /// By `croner`.
    Croner(croner::Cron),
    /// By `cron`.
    Cron(cron::Schedule),
    /// By `saffron`.
    Saffron(saffron::Cron),
}

/// A time zone in the types of every crate.
pub struct Zone {
    /// Its IANA name.
    pub name: &'static str,
    chrono: Tz,
}

impl Zone {
    /// The zone of that name. Panics if one of the crates doesn't know it.
    pub fn named(name: &'static str) -> Self {
        let chrono = name.parse().expect("chrono-tz knows the zone");
        Zone { name, chrono }
    }
}

/// An instant in the types of every crate, made before the measurement.
pub struct Start {
    /// Unix seconds.
    pub second: i64,
    timestamp: Timestamp,
    chrono: DateTime<Tz>,
    utc: DateTime<Utc>,
}

impl Start {
    /// The instant as a clock of that zone shows it.
    pub fn new(second: i64, zone: &Zone) -> Self {
        let timestamp = Timestamp::from_second(second).expect("the instant is within jiff's range");
        let utc =
            DateTime::from_timestamp(second, 0).expect("the instant is within chrono's range");
        let chrono = utc.with_timezone(&zone.chrono);
        Start { second, timestamp, chrono, utc }
    }
}

/// Compiles specs, with the objects that a program creates once.
pub struct Compiler {
    zones: Zones,
    named: NamedCalendars,
    croner: croner::parser::CronParser,
}

impl Default for Compiler {
    fn default() -> Self {
        Compiler {
            zones: Zones::new(TimeZoneDatabase::bundled()),
            named: NamedCalendars::default(),
            // Day of month AND day of week, and `x/y` from x on, as ours reads them.
            croner: croner::parser::CronParser::builder()
                .dom_and_dow(true)
                .sloppy_ranges(true)
                .build(),
        }
    }
}

impl Compiler {
    /// Compiles the text [as the contender writes it](crate::expression::Expression::written_for). Only ours has the
    /// zone in the spec; the others take it with each call. `Err` says why it can't.
    pub fn compile(
        &self,
        contender: Contender,
        text: &str,
        zone: &Zone,
    ) -> Result<Compiled, String> {
        match contender {
            Contender::Perennial => self.perennial(text, zone, None).map(Compiled::Perennial),
            Contender::Croner => match self.croner.parse(text) {
                Ok(cron) => Ok(Compiled::Croner(cron)),
                Err(_) => Err(does_not_read(text)),
            },
            Contender::Cron => match text.parse() {
                Ok(schedule) => Ok(Compiled::Cron(schedule)),
                Err(_) => Err(does_not_read(text)),
            },
            Contender::Saffron if zone.name != "UTC" => Err("knows UTC only".to_owned()),
            Contender::Saffron => match text.parse() {
                Ok(cron) => Ok(Compiled::Saffron(cron)),
                Err(_) => Err(does_not_read(text)),
            },
        }
    }

    /// Ours, with a DST policy of one's choice.
    pub fn perennial(
        &self,
        text: &str,
        zone: &Zone,
        policy: Option<DstPolicy>,
    ) -> Result<Spec, String> {
        let mut definition =
            Definition::read(&[text], Dialect::Temporal).map_err(|error| error.to_string())?;
        definition.set_zone(zone.name).map_err(|error| error.to_string())?;
        definition.dst = policy;
        Spec::compile(definition, &self.zones, &self.named).map_err(|error| error.to_string())
    }
}

fn does_not_read(text: &str) -> String {
    format!("does not read `{text}`")
}

impl Compiled {
    /// The first `count` times strictly after the start, in Unix seconds. Fewer if there are no
    /// more.
    pub fn times(&self, start: &Start, count: usize) -> Vec<i64> {
        match self {
            Compiled::Perennial(spec) => {
                let times = spec.after(start.timestamp).take(count);
                times.map(|time| time.nominal.as_second()).collect()
            }
            Compiled::Croner(cron) => {
                cron.iter_after(start.chrono).take(count).map(|time| time.timestamp()).collect()
            }
            Compiled::Cron(schedule) => {
                schedule.after(&start.chrono).take(count).map(|time| time.timestamp()).collect()
            }
            Compiled::Saffron(cron) => {
                let next = |time: &DateTime<Utc>| cron.next_after(*time);
                let times = std::iter::successors(next(&start.utc), next).take(count);
                times.map(|time| time.timestamp()).collect()
            }
        }
    }

    /// Computes the same times for the benchmark: in each crate's own types, in its fastest way.
    pub fn walk(&self, start: &Start, count: usize) {
        match self {
            Compiled::Perennial(spec) => {
                let mut after = start.timestamp;
                for _ in 0..count {
                    let Some(time) = spec.next(black_box(after)) else { return };
                    after = time.nominal;
                }
                black_box(after);
            }
            Compiled::Croner(cron) => {
                let mut after = start.chrono;
                for _ in 0..count {
                    let Ok(time) = cron.find_next_occurrence(black_box(&after), false) else {
                        return;
                    };
                    after = time;
                }
                black_box(after);
            }
            Compiled::Cron(schedule) => {
                for time in black_box(schedule).after(&start.chrono).take(count) {
                    black_box(time);
                }
            }
            Compiled::Saffron(cron) => {
                let mut after = start.utc;
                for _ in 0..count {
                    let Some(time) = cron.next_after(black_box(after)) else { return };
                    after = time;
                }
                black_box(after);
            }
        }
    }
}
