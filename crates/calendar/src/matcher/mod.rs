//! Compiled patterns of local times, matched with a few bit operations each.

mod calendar;
mod days;

pub(crate) use calendar::{ALL_SIXTY, CalendarMatcher};
