//! Iterator over the times of a spec.

use std::iter::FusedIterator;

use crate::spec::{Occurrence, Spec, timestamp};

/// The times of a spec between two instants, from either end. Made by [`Spec::after`],
/// [`Spec::before`] and [`Spec::between`]. It ends where a [search](Spec::search) gives up, too.
///
/// ```
/// # use jiff::tz::TimeZoneDatabase;
/// # use perennial_calendar::{Definition, Dialect, NamedCalendars, Spec, Zones};
/// # let zones = Zones::new(TimeZoneDatabase::bundled());
/// # let definition = Definition::read(&["0 9 * * *"], Dialect::Temporal)?;
/// # let spec = Spec::compile(definition, &zones, &NamedCalendars::default())?;
/// let noon = "2026-11-15T12:00:00Z".parse().unwrap();
/// let last_two: Vec<_> = spec.before(noon).take(2).map(|time| time.nominal.to_string()).collect();
/// assert_eq!(last_two, ["2026-11-15T09:00:00Z", "2026-11-14T09:00:00Z"]);
/// # Ok::<(), perennial_calendar::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Occurrences<'s> {
    spec: &'s Spec,
    /// The remaining range, both ends inclusive.
    from: i64,
    to: i64,
}

impl<'s> Occurrences<'s> {
    pub(crate) fn new(spec: &'s Spec, from: i64, to: i64) -> Self {
        Occurrences { spec, from, to }
    }
}

impl Iterator for Occurrences<'_> {
    type Item = Occurrence;

    fn next(&mut self) -> Option<Occurrence> {
        let found = self.spec.next(timestamp(self.from - 1)).map(|o| (o.nominal.as_second(), o));
        let (nominal, occurrence) = found.filter(|(nominal, _)| *nominal <= self.to)?;
        self.from = nominal + 1;
        Some(occurrence)
    }
}

impl DoubleEndedIterator for Occurrences<'_> {
    fn next_back(&mut self) -> Option<Occurrence> {
        let found = self.spec.previous(timestamp(self.to + 1)).map(|o| (o.nominal.as_second(), o));
        let (nominal, occurrence) = found.filter(|(nominal, _)| *nominal >= self.from)?;
        self.to = nominal - 1;
        Some(occurrence)
    }
}

impl FusedIterator for Occurrences<'_> {}
