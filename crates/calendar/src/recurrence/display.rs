//! The canonical text of a rule.

use std::fmt::{self, Display, Formatter};

use jiff::civil::{DateTime, Weekday};
use jiff::tz::Offset;

use super::{End, Recurrence, Until, WeekdayNum};

impl Display for Recurrence {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(start) = self.dtstart {
            write!(f, "DTSTART:{} ", Basic(start))?;
        }
        write!(f, "RRULE:FREQ={}", self.frequency.name())?;
        if self.interval != 1 {
            write!(f, ";INTERVAL={}", self.interval)?;
        }
        match self.end {
            End::Never => {}
            End::Count(count) => write!(f, ";COUNT={count}")?,
            End::Until(until) => write!(f, ";UNTIL={until}")?,
        }
        // In the order in which RFC 5545 applies them.
        list(f, "BYMONTH", &self.by.month)?;
        list(f, "BYWEEKNO", &self.by.week_no)?;
        list(f, "BYYEARDAY", &self.by.year_day)?;
        list(f, "BYMONTHDAY", &self.by.month_day)?;
        list(f, "BYDAY", &self.by.day)?;
        list(f, "BYHOUR", &self.by.hour)?;
        list(f, "BYMINUTE", &self.by.minute)?;
        list(f, "BYSECOND", &self.by.second)?;
        list(f, "BYSETPOS", &self.by.set_pos)?;
        if self.week_start != Weekday::Monday {
            write!(f, ";WKST={}", weekday_code(self.week_start))?;
        }
        Ok(())
    }
}

impl Display for Until {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Until::Wall(wall) => write!(f, "{}", Basic(wall)),
            Until::Instant(instant) => write!(f, "{}Z", Basic(Offset::UTC.to_datetime(instant))),
        }
    }
}

impl Display for WeekdayNum {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(nth) = self.nth {
            write!(f, "{nth}")?;
        }
        f.write_str(weekday_code(self.weekday))
    }
}

pub(super) fn weekday_code(weekday: Weekday) -> &'static str {
    match weekday {
        Weekday::Monday => "MO",
        Weekday::Tuesday => "TU",
        Weekday::Wednesday => "WE",
        Weekday::Thursday => "TH",
        Weekday::Friday => "FR",
        Weekday::Saturday => "SA",
        Weekday::Sunday => "SU",
    }
}

/// ISO 8601's basic format, the only one iCalendar knows: `20260105T090000`.
struct Basic(DateTime);

impl Display for Basic {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Basic(t) = self;
        write!(f, "{:04}{:02}{:02}T", t.year(), t.month(), t.day())?;
        write!(f, "{:02}{:02}{:02}", t.hour(), t.minute(), t.second())
    }
}

fn list(f: &mut Formatter<'_>, name: &str, values: &[impl Display]) -> fmt::Result {
    for (i, value) in values.iter().enumerate() {
        match i {
            0 => write!(f, ";{name}={value}")?,
            _ => write!(f, ",{value}")?,
        }
    }
    Ok(())
}
