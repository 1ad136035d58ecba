//! Explains a spec in words, with warnings.
//!
//! Start reading at `sentence`, which combines the clauses. `calendar`, `period` and `recurrence`
//! phrase the parts. `warnings` finds surprising behaviour.

mod calendar;
mod day;
mod fields;
mod period;
mod recurrence;
mod sentence;
mod time_of_day;
mod warning;
mod warnings;
mod wording;

use jiff::Timestamp;

pub use warning::Warning;

use crate::spec::Spec;

/// The meaning of a spec in one sentence, and warnings about surprising behaviour. Made by
/// [`Spec::explain`].
///
/// Specs with different sets of nominal times never share a sentence, provided that both were
/// compiled with the same [`Zones`](crate::Zones): the sentence names a zone by its name. Specs with
/// equal sets may well have different sentences.
///
/// ```
/// use jiff::tz::TimeZoneDatabase;
/// use perennial_calendar::{Definition, Dialect, NamedCalendars, Spec, Zones};
///
/// let zones = Zones::new(TimeZoneDatabase::bundled());
/// let definition = Definition::read(&["CRON_TZ=Europe/Oslo 30 2 * * *"], Dialect::Temporal)?;
/// let spec = Spec::compile(definition, &zones, &NamedCalendars::default())?;
/// let explanation = spec.explain("2026-06-01T00:00:00Z".parse().unwrap());
/// assert_eq!(explanation.sentence, "At 02:30 every day, Europe/Oslo time.");
/// assert_eq!(
///     explanation.warnings[0].to_string(),
///     "it fires twice on 2026-10-25: the clock in Europe/Oslo is put back and shows 02:30 twice; \
///      DST=once makes it fire once"
/// );
/// # Ok::<(), perennial_calendar::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The meaning, complete and in one sentence.
    pub sentence: String,
    /// Warnings, the most severe first; usually none.
    pub warnings: Vec<Warning>,
}

impl Spec {
    /// Explains the spec in words, with warnings.
    ///
    /// Warnings look ahead from `now`, for five years and for no more than 20,000 steps in all,
    /// whatever the spec: a step is one search of one part or exclusion. Later problems are not
    /// reported. The next and the last time take at most three hundred [searches](Self::search).
    pub fn explain(&self, now: Timestamp) -> Explanation {
        Explanation { sentence: sentence::of(self), warnings: warnings::of(self, now) }
    }
}
