//! Builds a rule from its parts. Refuses combinations that RFC 5545 forbids.

use jiff::Timestamp;
use jiff::civil::Weekday;
use jiff::tz::Offset;

use super::date_time::Moment;
use super::parts::{Name, Part, Parts};
use super::{ByParts, End, Frequency, Recurrence, Until, WeekdayNum, values};
use crate::error::Fault;

const COUNT_MAX: u32 = 100_000;

pub(super) fn read<'t>(
    parts: &Parts<'t>,
    start: Option<Moment<'t>>,
) -> Result<Recurrence, Fault<'t>> {
    let Some(freq) = parts.get(Name::Freq) else {
        return Err(Fault::new(parts.rule(), "the rule has no FREQ")
            .help("begin it with FREQ=DAILY, or another frequency"));
    };
    let frequency = values::frequency(freq)?;
    check_frequency(parts, frequency)?;
    if let Some(Moment::Date(_)) = start {
        check_date_only(parts)?;
    }
    Ok(Recurrence {
        dtstart: start.map(Moment::wall),
        frequency,
        interval: match parts.get(Name::Interval) {
            Some(part) => values::number(part, u32::MAX)?,
            None => 1,
        },
        end: end(parts)?,
        by: Box::new(ByParts {
            month: values::numbers(parts.get(Name::ByMonth), 1..=12)?,
            week_no: values::positions(parts.get(Name::ByWeekNo), 53)?,
            year_day: values::positions(parts.get(Name::ByYearDay), 366)?,
            month_day: values::positions(parts.get(Name::ByMonthDay), 31)?,
            day: days(parts, frequency)?,
            hour: values::numbers(parts.get(Name::ByHour), 0..=23)?,
            minute: values::numbers(parts.get(Name::ByMinute), 0..=59)?,
            second: values::numbers(parts.get(Name::BySecond), 0..=60)?,
            set_pos: set_positions(parts)?,
        }),
        week_start: match parts.get(Name::Wkst) {
            Some(part) => values::weekday(part, part.value)?,
            None => Weekday::Monday,
        },
    })
}

/// The cells of the RFC's table that say "N/A".
fn check_frequency<'t>(parts: &Parts<'t>, frequency: Frequency) -> Result<(), Fault<'t>> {
    use Frequency::{Daily, Monthly, Weekly, Yearly};
    let refused = |part: Part<'t>, help: &str| {
        let name = part.name.text();
        Err(Fault::new(
            part.text,
            format!("{name} can't be combined with FREQ={}", frequency.name()),
        )
        .help(help))
    };
    if let Some(part) = parts.get(Name::ByWeekNo)
        && frequency != Yearly
    {
        return refused(part, "it needs FREQ=YEARLY");
    }
    if let Some(part) = parts.get(Name::ByYearDay)
        && matches!(frequency, Daily | Weekly | Monthly)
    {
        return refused(part, "use FREQ=YEARLY, or BYMONTH and BYMONTHDAY");
    }
    if let Some(part) = parts.get(Name::ByMonthDay)
        && frequency == Weekly
    {
        return refused(part, "use FREQ=MONTHLY, or BYDAY");
    }
    Ok(())
}

fn check_date_only<'t>(parts: &Parts<'t>) -> Result<(), Fault<'t>> {
    let times = [Name::ByHour, Name::ByMinute, Name::BySecond];
    match times.into_iter().find_map(|name| parts.get(name)) {
        None => Ok(()),
        Some(part) => {
            Err(Fault::new(part.text, format!("{} needs a DTSTART with a time", part.name.text()))
                .help("write DTSTART like 20260105T000000"))
        }
    }
}

fn end<'t>(parts: &Parts<'t>) -> Result<End, Fault<'t>> {
    match (parts.get(Name::Count), parts.get(Name::Until)) {
        (None, None) => Ok(End::Never),
        (Some(count), None) => Ok(End::Count(values::number(count, COUNT_MAX)?)),
        (None, Some(until)) => {
            let moment = Moment::read("UNTIL", until.value)?;
            Ok(End::Until(match moment {
                Moment::Date(_) | Moment::Local(_) => Until::Wall(moment.wall()),
                // `UNTIL=99991231T235959Z`, which stands for "forever", is a day past the last
                // timestamp there is. No time comes near either.
                Moment::Utc(wall, _) => {
                    Until::Instant(Offset::UTC.to_timestamp(wall).unwrap_or(LAST_WHOLE_SECOND))
                }
            }))
        }
        (Some(_), Some(until)) => {
            Err(Fault::new(until.text, "COUNT and UNTIL exclude each other").help("keep one"))
        }
    }
}

const LAST_WHOLE_SECOND: Timestamp = Timestamp::constant(253_402_207_200, 0);

fn days<'t>(parts: &Parts<'t>, frequency: Frequency) -> Result<Vec<WeekdayNum>, Fault<'t>> {
    let Some(part) = parts.get(Name::ByDay) else { return Ok(Vec::new()) };
    let found = values::weekday_nums(part)?;
    if let Some((day, text)) = found.iter().find(|(day, _)| day.nth.is_some()) {
        let every = WeekdayNum { nth: None, ..*day };
        if frequency < Frequency::Monthly {
            let freq = frequency.name();
            return Err(Fault::new(text, format!("BYDAY {text} cannot be counted in FREQ={freq}"))
                .help(format!("write {every}, or use FREQ=MONTHLY or FREQ=YEARLY")));
        }
        if parts.get(Name::ByWeekNo).is_some() {
            return Err(Fault::new(text, format!("BYDAY {text} cannot be counted with BYWEEKNO"))
                .help(format!("write {every}: a week has only one")));
        }
    }
    Ok(found.into_iter().map(|(day, _)| day).collect())
}

fn set_positions<'t>(parts: &Parts<'t>) -> Result<Vec<i16>, Fault<'t>> {
    let part = parts.get(Name::BySetPos);
    if let Some(part) = part
        && !parts.any_by_part()
    {
        return Err(Fault::new(part.text, "BYSETPOS has nothing to choose from")
            .help("add another BY part, like BYDAY=MO,TU,WE,TH,FR"));
    }
    values::positions(part, 366)
}
