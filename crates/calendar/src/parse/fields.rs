//! Calendars in named fields, as Temporal's API has them.

use super::check_length;
use super::field::Field;
use super::temporal;
use crate::definition::{Calendar, FieldRange};
use crate::error::Error;

/// A calendar's fields as texts. An empty one has its default: 0 for hour, minute and second, `*` for the
/// others.
///
/// ```
/// use perennial_calendar::FieldTexts;
///
/// let fridays = FieldTexts { day_of_week: "Fri".into(), hour: "11".into(), ..FieldTexts::default() };
/// let calendar = fridays.read()?;
/// assert_eq!(calendar.to_string(), "0 11 * * 5");
/// assert_eq!(FieldTexts::of(&calendar).day_of_week, "5");
/// # Ok::<(), perennial_calendar::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldTexts {
    /// 0–59.
    pub second: String,
    /// 0–59.
    pub minute: String,
    /// 0–23.
    pub hour: String,
    /// 1–31, `L`, `15W`.
    pub day_of_month: String,
    /// 1–12, or names.
    pub month: String,
    /// 0–7, or names; `FRI#2`, `FRIL`.
    pub day_of_week: String,
    /// 2000–2100.
    pub year: String,
    /// Free text.
    pub comment: String,
}

impl FieldTexts {
    /// Parses the fields.
    pub fn read(&self) -> Result<Calendar, Error> {
        let mut calendar = with_defaults();
        let fields = [
            (Field::Second, &self.second),
            (Field::Minute, &self.minute),
            (Field::Hour, &self.hour),
            (Field::DayOfMonth, &self.day_of_month),
            (Field::Month, &self.month),
            (Field::DayOfWeek, &self.day_of_week),
            (Field::Year, &self.year),
        ];
        check_length(&self.comment)?;
        for (field, text) in fields {
            check_length(text)?;
            if !text.trim().is_empty() {
                let set = temporal::set(&mut calendar, field, text.trim());
                set.map_err(|fault| fault.in_text(text))?;
            }
        }
        self.comment.trim().clone_into(&mut calendar.comment);
        Ok(calendar)
    }
}

/// Midnight, every day.
pub(super) fn with_defaults() -> Calendar {
    Calendar {
        second: vec![FieldRange::single(0)],
        minute: vec![FieldRange::single(0)],
        hour: vec![FieldRange::single(0)],
        day_of_month: Field::DayOfMonth.all(),
        month: Field::Month.all(),
        day_of_week: Field::DayOfWeek.all(),
        ..Calendar::default()
    }
}
