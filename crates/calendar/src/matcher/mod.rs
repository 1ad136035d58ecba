//! Compiled patterns on the wall clock, found with a few bit operations each.

mod calendar;
mod days;

pub(crate) use calendar::{ALL_SIXTY, CalendarMatcher};
