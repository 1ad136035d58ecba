//! Warnings about a spec's surprising behaviour.

use std::fmt;

use jiff::Zoned;
use jiff::civil::DateTime;

use super::wording::{clock_of, counted, date_at, duration, ordinal};
use crate::parse::temporal::SIXTH_IS_YEAR;
use crate::part::{ExclusionRef, PartRef};

/// A warning about a spec. It displays as one sentence, without a capital or a full stop. Times are in the
/// spec's time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// No time matches, past or future.
    NeverFires,
    /// The end comes before the start.
    EndsBeforeStart,
    /// There would be times, but exclusions take all of them.
    AllExcluded,
    /// There were times, but all have passed.
    NoTimeLeft {
        /// The last one; `None` in specs so large that it was not looked for.
        last: Option<Zoned>,
    },
    /// Exclusions took every time that was looked at.
    NothingBefore {
        /// The instant up to which the search got.
        searched_until: Zoned,
    },
    /// There is a next time, but in more than a year.
    FarAway {
        /// The next time.
        next: Zoned,
    },
    /// The spec runs out within five years, and not because of a stated end.
    RunsOut {
        /// The last time.
        last: Zoned,
    },
    /// The clock is put back over a time, which fires both times.
    FiresTwice {
        /// The earliest such time within five years.
        local: DateTime,
        /// The zone whose clock it is.
        zone: String,
    },
    /// The clock jumps over a time, which is skipped.
    Skipped {
        /// The earliest such time within five years.
        local: DateTime,
        /// Local time at which the gap begins.
        jumps_from: DateTime,
        /// Local time at which the gap ends.
        jumps_to: DateTime,
        /// The zone whose clock it is.
        zone: String,
    },
    /// Times that come all day long fall silent while the clock shows an hour the other time.
    Pauses {
        /// When, on the clock, the repeated hour begins.
        local: DateTime,
        /// When it ends.
        until: DateTime,
        /// The zone whose clock it is.
        zone: String,
    },
    /// Some of the months don't have the day.
    ShortMonths {
        /// 29, 30 or 31.
        day: u8,
        /// Number of months that always have the day.
        months_with: u32,
        /// Number of months that don't, or not always.
        months_without: u32,
        /// The notation for the last day of the month.
        last_day_is: &'static str,
    },
    /// Day of month and day of week are both restricted.
    BothDayFields,
    /// A recurrence rule does not match its own `DTSTART`.
    StartIsNoTime {
        /// `DTSTART`.
        start: DateTime,
    },
    /// A step that does not divide its field: the last value is not followed by an equal step.
    UnevenStep {
        /// The field, as users name it.
        field: &'static str,
        /// The step.
        step: u32,
        /// The last value of the field.
        last: u32,
        /// The value it starts again with.
        first: u32,
        /// The distance between these two; `None` if it depends on the month.
        distance: Option<u32>,
    },
    /// An exact period that doesn't divide a day: the times of day wander.
    Drifts {
        /// The period in seconds.
        every: u64,
    },
    /// An exclusion that matches none of the times of the next five years.
    IdleExclusion {
        /// The exclusion.
        exclusion: ExclusionRef,
        /// The exclusion in words.
        words: String,
        /// Whether it is for some times of the day only.
        is_partial_day: bool,
    },
    /// A part whose every time another part has too.
    RedundantPart {
        /// The part that could be left out.
        part: PartRef,
        /// That part in words.
        words: String,
        /// The other part in words.
        covered_by: String,
    },
    /// The jitter is longer than the distance between two times, where it is cut.
    JitterCut {
        /// The distance, in seconds.
        distance: u64,
        /// The earlier of the two times.
        local: DateTime,
    },
    /// A cron string of six fields, the last of which lets every year: it may be meant to begin with the second.
    SixthFieldIsYear,
    /// A cron string whose second is `*`, but whose minute isn't.
    EverySecondOfMinute,
    /// A cron string of one hour whose minute is `*`.
    EveryMinuteOfHour {
        /// 0–23.
        hour: u8,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::NeverFires => write!(f, "it never fires: there is no such time"),
            Warning::EndsBeforeStart => write!(f, "it never fires: its end is before its start"),
            Warning::AllExcluded => write!(f, "it never fires: exclusions leave out every time"),
            Warning::NoTimeLeft { last: None } => write!(f, "it never fires again"),
            Warning::NoTimeLeft { last: Some(last) } => {
                write!(f, "it never fires again: its last time was {}", date_at(last.datetime()))
            }
            Warning::NothingBefore { searched_until } => write!(
                f,
                "exclusions leave nothing until {} at least",
                date_at(searched_until.datetime())
            ),
            Warning::FarAway { next } => {
                write!(f, "the next time is more than a year away: {}", date_at(next.datetime()))
            }
            Warning::RunsOut { last } => {
                write!(f, "its last time is {}", date_at(last.datetime()))
            }
            Warning::FiresTwice { local, zone } => write!(
                f,
                "it fires twice on {}: the clock in {zone} is put back and shows {} twice; \
                 DST=once makes it fire once",
                local.date(),
                clock_of(*local)
            ),
            Warning::Skipped { local, jumps_from, jumps_to, zone } => write!(
                f,
                "it does not fire at {} on {}: the clock in {zone} jumps from {} to {}; DST=once \
                 makes it fire at {}",
                clock_of(*local),
                local.date(),
                clock_of(*jumps_from),
                clock_of(*jumps_to),
                clock_of(local.saturating_add(jumps_to.duration_since(*jumps_from)))
            ),
            Warning::Pauses { local, until, zone } => write!(
                f,
                "it pauses on {}: the clock in {zone} is put back and shows {} to {} twice, and \
                 only one of them fires",
                local.date(),
                clock_of(*local),
                clock_of(*until)
            ),
            Warning::ShortMonths { day, months_with, months_without, last_day_is } => {
                short_months(f, *day, (*months_with, *months_without), last_day_is)
            }
            Warning::BothDayFields => write!(
                f,
                "day of month and day of week must both match; classic cron needs only one"
            ),
            Warning::StartIsNoTime { start } => write!(
                f,
                "DTSTART ({}) does not match its own rule, so it does not fire then",
                date_at(*start)
            ),
            Warning::UnevenStep { field, step, last, first, distance } => {
                uneven_step(f, field, *step, (*last, *first), *distance)
            }
            Warning::Drifts { every } => write!(
                f,
                "{} do not divide a day evenly: the times of day differ from day to day",
                duration(*every)
            ),
            Warning::IdleExclusion { words, is_partial_day, .. } => {
                write!(f, "the exclusion of {words:?} leaves out no time of the next five years")?;
                if *is_partial_day {
                    write!(
                        f,
                        "; hour, minute and second of a calendar are 0 unless given, so a whole \
                         day needs * for each"
                    )?;
                }
                Ok(())
            }
            Warning::RedundantPart { words, covered_by, .. } => {
                write!(f, "{words:?} adds nothing to {covered_by:?}")
            }
            Warning::JitterCut { distance, local } => write!(
                f,
                "the jitter is longer than the {} from {} to the next time, and is cut to that",
                duration(*distance),
                date_at(*local)
            ),
            Warning::SixthFieldIsYear => write!(f, "{SIXTH_IS_YEAR}"),
            Warning::EverySecondOfMinute => write!(
                f,
                "the first field is the second, and * is each of the 60; write 0 for once a minute"
            ),
            Warning::EveryMinuteOfHour { hour } => write!(
                f,
                "the minute is *: it fires each minute from {hour:02}:00 to {hour:02}:59; write 0 \
                 for once"
            ),
        }
    }
}

fn short_months(
    f: &mut fmt::Formatter<'_>,
    day: u8,
    (with, without): (u32, u32),
    last_day_is: &str,
) -> fmt::Result {
    let day = ordinal(day.into());
    if day == "29th" {
        return write!(
            f,
            "the 29th exists in February only in leap years; write {last_day_is} for the last day"
        );
    }
    let months = if with == 1 { "month" } else { "months" };
    let are = if without == 1 { "one is" } else { &format!("{without} are") };
    write!(
        f,
        "the {day} exists in {with} {months}; the other {are} skipped; write {last_day_is} for \
         the last day"
    )
}

fn uneven_step(
    f: &mut fmt::Formatter<'_>,
    field: &str,
    step: u32,
    (last, first): (u32, u32),
    distance: Option<u32>,
) -> fmt::Result {
    let around = match field {
        "second" => "minute",
        "minute" => "hour",
        "hour" => "day",
        "day" => "month",
        _ => "year",
    };
    write!(
        f,
        "every {step} {field}s starts again each {around}: {field} {last} is followed by {field} \
         {first}"
    )?;
    match distance {
        Some(distance) => write!(f, ", {} later", counted(distance.into(), field)),
        None => Ok(()),
    }
}
