//! iCalendar's dates and times: `20260105`, `20260105T090000`, `20260105T090000Z`.

use jiff::civil::{Date, DateTime, Time};

use crate::error::Fault;

/// A value of `DTSTART` or `UNTIL`.
#[derive(Clone, Copy)]
pub(super) enum Moment<'t> {
    Date(Date),
    Local(DateTime),
    /// With the `Z` that says so.
    Utc(DateTime, &'t str),
}

impl<'t> Moment<'t> {
    /// `name` is the property or part the text is the value of.
    pub(super) fn read(name: &str, text: &'t str) -> Result<Self, Fault<'t>> {
        read_basic(text).ok_or_else(|| {
            let fault = Fault::new(text, format!("{name} {text:?} is not a date or a time"));
            // Suggest the basic format to users who write ISO 8601's extended format.
            let basic: String = text.chars().filter(|c| !matches!(c, '-' | ':')).collect();
            match read_basic(&basic) {
                Some(_) => fault.help(format!("write {}", basic.to_ascii_uppercase())),
                None => fault.help("write it like 20260105T090000, 20260105T090000Z or 20260105"),
            }
        })
    }

    /// On the wall clock of wherever it is; a date begins at midnight.
    pub(super) fn wall(self) -> DateTime {
        match self {
            Moment::Date(date) => date.to_datetime(Time::midnight()),
            Moment::Local(wall) | Moment::Utc(wall, _) => wall,
        }
    }
}

fn read_basic(text: &str) -> Option<Moment<'_>> {
    let date = read_date(text.get(..8)?)?;
    let rest = &text[8..];
    if rest.is_empty() {
        return Some(Moment::Date(date));
    }
    let time = rest.strip_prefix(['T', 't'])?;
    let wall = date.to_datetime(read_time(time.get(..6)?)?);
    match &time[6..] {
        "" => Some(Moment::Local(wall)),
        z @ ("Z" | "z") => Some(Moment::Utc(wall, z)),
        _ => None,
    }
}

fn read_date(text: &str) -> Option<Date> {
    let year = i16::try_from(digits(text.get(..4)?)?).ok()?;
    let month = i8::try_from(digits(text.get(4..6)?)?).ok()?;
    let day = i8::try_from(digits(text.get(6..)?)?).ok()?;
    Date::new(year, month, day).ok()
}

fn read_time(text: &str) -> Option<Time> {
    let hour = i8::try_from(digits(text.get(..2)?)?).ok()?;
    let minute = i8::try_from(digits(text.get(2..4)?)?).ok()?;
    let second = i8::try_from(digits(text.get(4..)?)?).ok()?;
    // RFC 5545 §3.3.12: without leap seconds, 60 is read as 59.
    let second = if second == 60 { 59 } else { second };
    Time::new(hour, minute, second, 0).ok()
}

fn digits(text: &str) -> Option<u16> {
    if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}
