//! Named calendars, which `EXCLUDE=` refers to.

use std::collections::BTreeMap;

use crate::definition::Calendar;
use crate::error::{Error, nearest};

/// Named sets of calendars that specs can exclude. Passed in when a spec is compiled, and read in the
/// time zone of that spec.
///
/// ```
/// use perennial_calendar::{Definition, Dialect, NamedCalendars};
///
/// let mut christmas = Definition::default();
/// christmas.exclude("* * * 25 12 * *", Dialect::Temporal)?;
/// let mut named = NamedCalendars::default();
/// named.insert("holidays", christmas.exclusions);
/// assert!(named.get("holidays").is_ok());
/// # Ok::<(), perennial_calendar::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedCalendars {
    calendars: BTreeMap<String, Vec<Calendar>>,
}

impl NamedCalendars {
    /// Sets the calendars of a name, replacing earlier ones.
    pub fn insert(&mut self, name: impl Into<String>, calendars: Vec<Calendar>) {
        self.calendars.insert(name.into(), calendars);
    }

    /// The calendars of that name.
    pub fn get(&self, name: &str) -> Result<&[Calendar], Error> {
        self.calendars.get(name).map(Vec::as_slice).ok_or_else(|| Error::UnknownCalendar {
            name: name.to_owned(),
            similar: nearest(name, self.calendars.keys().map(String::as_str)),
        })
    }
}
