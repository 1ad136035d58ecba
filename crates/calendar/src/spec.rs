//! A compiled spec, which computes its times.

use std::iter::Rev;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::civil::WallSecond;
use crate::compile;
use crate::definition::Definition;
use crate::error::Error;
use crate::jitter::Seed;
use crate::named::NamedCalendars;
use crate::occurrences::Occurrences;
use crate::part::{Exclusion, Part, PartRef};
use crate::sieve::Sieve;
use crate::zone::{Zone, Zones};

/// Bound on the work of one search whose results are excluded one after the other. The unit is one test
/// of an exclusion, or of a part for a minute of a day. Beyond it the search returns
/// [`NoneUpTo`](Search::NoneUpTo).
const EXCLUDED_WORK_MAX: usize = 1_000_000;

/// 2100-12-31T23:59:59Z. As in Temporal nothing is later, so that exclusions, whose years end with
/// 2100, hold as long as what they exclude from.
const LAST_SECOND: i64 = 4_133_980_799;

/// Excluded times in a row after which the search uses the [`Sieve`].
const EXCLUDED_ONE_BY_ONE: usize = 64;

/// A compiled [`Definition`]. Finding the next time takes nanoseconds.
///
/// ```
/// use jiff::tz::TimeZoneDatabase;
/// use perennial_calendar::{Definition, Dialect, NamedCalendars, Spec, Zones};
///
/// let zones = Zones::new(TimeZoneDatabase::bundled());
/// let definition = Definition::read(
///     &["CRON_TZ=America/New_York 0 9 * * MON-FRI"],
///     Dialect::Temporal,
/// )?;
/// let spec = Spec::compile(definition, &zones, &NamedCalendars::default())?;
/// let friday_evening = "2026-11-13T18:00:00-05:00".parse().unwrap();
/// let next = spec.next(friday_evening).unwrap();
/// assert_eq!(next.nominal.to_string(), "2026-11-16T14:00:00Z");
/// # Ok::<(), perennial_calendar::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Spec {
    definition: Definition,
    zone: Arc<Zone>,
    pub(crate) parts: Vec<Part>,
    pub(crate) exclusions: Vec<Exclusion>,
    /// The bounds in whole seconds, both inclusive.
    first: i64,
    last: i64,
    seed: Seed,
}

/// A time of a spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The time the spec says, in whole seconds. It names the run, and progress is tracked by it.
    pub nominal: Timestamp,
    /// The nominal time plus jitter: when to act.
    pub due: Timestamp,
    /// The part of the spec that has this time; the first of them if several do.
    pub part: PartRef,
}

/// The result of a [bounded search](Spec::search).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// The next time.
    Found(Occurrence),
    /// There is none, now or ever.
    Never,
    /// The search reached its bound: exclusions removed every time up to and including this instant. Search
    /// again from there, if it is worth it.
    NoneUpTo(Timestamp),
}

/// A [search back](Spec::search_back) reached its bound: exclusions removed every time it found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("exclusions took every time that was looked at; the search stopped there")]
pub struct GaveUp;

impl Spec {
    /// Checks and compiles a definition. Zones and named calendars are looked up now and kept, so
    /// the compiled spec's times never change.
    pub fn compile(
        definition: Definition,
        zones: &Zones,
        named: &NamedCalendars,
    ) -> Result<Spec, Error> {
        let zone = zones.resolve(&definition.zone)?;
        let exclusions = compile::exclusions(&definition, named)?;
        let parts = compile::parts(&definition, &zone)?;
        let first = definition.start.map_or(Timestamp::MIN.as_second(), ceil_second);
        let last = definition.end.map_or(LAST_SECOND, |end| floor_second(end).min(LAST_SECOND));
        Ok(Spec { definition, zone, parts, exclusions, first, last, seed: Seed::of("") })
    }

    /// Gives the spec an identity, so that its jitter differs from that of equal specs.
    pub fn with_identity(mut self, identity: &str) -> Self {
        self.seed = Seed::of(identity);
        self
    }

    /// The canonical form it was compiled from.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// The clock its calendars are read on.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// The first time strictly after the given instant. `None` if there is none, or none within
    /// the bound of a [search](Self::search).
    pub fn next(&self, after: Timestamp) -> Option<Occurrence> {
        match self.search(after) {
            Search::Found(occurrence) => Some(occurrence),
            Search::Never | Search::NoneUpTo(_) => None,
        }
    }

    /// The first time strictly after the given instant, within bounded work. A part is never
    /// searched for more than two months or periods that could match; where exclusions take one
    /// time after the other, whole days on which they leave nothing are stepped over. Only specs of
    /// very many parts, or of recurrence rules against exclusions that take them second by second,
    /// can reach the bound of a few million comparisons.
    pub fn search(&self, after: Timestamp) -> Search {
        match self.next_nominal(floor_second(after).saturating_add(1)) {
            Found::At(nominal, part) => Search::Found(self.occurrence(nominal, part)),
            Found::Never => Search::Never,
            Found::NotBefore(from) => Search::NoneUpTo(timestamp(from - 1)),
        }
    }

    /// The last time strictly before the given instant. `None` if there is none, or if
    /// [searching for it](Self::search_back) gives up.
    pub fn previous(&self, before: Timestamp) -> Option<Occurrence> {
        self.search_back(before).unwrap_or(None)
    }

    /// The last time strictly before the given instant, within some dozens of the bounded searches
    /// that [`search`](Self::search) makes; an error if one of them gives up.
    pub fn search_back(&self, before: Timestamp) -> Result<Option<Occurrence>, GaveUp> {
        let before = ceil_second(before).min(self.last.saturating_add(1));
        // Look back twice as far each time until something is there, then halve the distance.
        let mut reach = 64;
        let (mut found, mut from) = loop {
            let from = before.saturating_sub(reach).max(self.first);
            match self.next_nominal(from) {
                Found::At(nominal, part) if nominal < before => break ((nominal, part), nominal),
                Found::NotBefore(searched) if searched < before => return Err(GaveUp),
                Found::At(..) | Found::NotBefore(_) | Found::Never => {}
            }
            if from == self.first {
                return Ok(None);
            }
            reach = reach.saturating_mul(2);
        };
        let mut end = before;
        while from + 1 < end {
            let middle = from + (end - from) / 2;
            match self.next_nominal(middle) {
                Found::At(nominal, part) if nominal < end => {
                    found = (nominal, part);
                    from = nominal;
                }
                Found::NotBefore(searched) if searched < end => return Err(GaveUp),
                Found::At(..) | Found::NotBefore(_) | Found::Never => end = middle,
            }
        }
        Ok(Some(self.occurrence(found.0, found.1)))
    }

    /// Every time strictly after the given instant, going forward.
    pub fn after(&self, after: Timestamp) -> Occurrences<'_> {
        self.between(after, Timestamp::MAX)
    }

    /// Every time strictly before the given instant, going back.
    pub fn before(&self, before: Timestamp) -> Rev<Occurrences<'_>> {
        Occurrences::new(self, Timestamp::MIN.as_second(), ceil_second(before) - 1).rev()
    }

    /// Every time after `from` (exclusive) up to `to` (inclusive), from either end.
    pub fn between(&self, from: Timestamp, to: Timestamp) -> Occurrences<'_> {
        Occurrences::new(self, floor_second(from).saturating_add(1), floor_second(to))
    }

    pub(crate) fn bounds(&self) -> (i64, i64) {
        (self.first, self.last)
    }

    pub(crate) fn occurrence(&self, nominal: i64, part: PartRef) -> Occurrence {
        let at = timestamp(nominal);
        if self.definition.jitter.is_zero() {
            return Occurrence { nominal: at, due: at, part };
        }
        let bound = match self.next_nominal(nominal.saturating_add(1)) {
            Found::At(following, _) => {
                self.definition.jitter.min(Duration::from_secs(following.abs_diff(nominal)))
            }
            Found::Never | Found::NotBefore(_) => self.definition.jitter,
        };
        let delay = SignedDuration::try_from(self.seed.delay(nominal, bound));
        let due = at.checked_add(delay.unwrap_or(SignedDuration::MAX)).unwrap_or(Timestamp::MAX);
        Occurrence { nominal: at, due, part }
    }

    /// The first time at or after `from` that is not excluded.
    #[inline]
    fn next_nominal(&self, from: i64) -> Found {
        if self.exclusions.is_empty() {
            return match self.next_of_parts(from) {
                Some((nominal, part)) => Found::At(nominal, part),
                None => Found::Never,
            };
        }
        self.next_not_excluded(from)
    }

    fn next_not_excluded(&self, mut from: i64) -> Found {
        let Some((nominal, part)) = self.next_of_parts(from) else { return Found::Never };
        match self.excluded_until(nominal) {
            None => return Found::At(nominal, part),
            Some(end) => from = end,
        }
        // From here on, search a part again only when the search has passed its next time: the next time of a
        // rule may be costly to find and years away.
        let ask = |part: &Part, from: i64| part.next(&self.zone, from.max(self.first), self.last);
        let mut ahead: Vec<Option<i64>> = self.parts.iter().map(|part| ask(part, from)).collect();
        let mut work = 0;
        let mut sieve = None;
        for tries in 0.. {
            for (next, part) in ahead.iter_mut().zip(&self.parts) {
                if next.is_some_and(|next| next < from) {
                    *next = ask(part, from);
                    work += part.cost();
                }
            }
            let sources = self.parts.iter().map(|part| part.source);
            let times = ahead.iter().zip(sources).filter_map(|(next, part)| next.zip(Some(part)));
            let Some((nominal, part)) = times.min_by_key(|(next, _)| *next) else {
                return Found::Never;
            };
            match self.excluded_until(nominal) {
                None => return Found::At(nominal, part),
                Some(end) => from = end,
            }
            if tries == EXCLUDED_ONE_BY_ONE {
                sieve = Sieve::new(&self.zone, &self.parts, &self.exclusions);
            }
            if let Some(sieve) = &mut sieve {
                from = sieve.skip(from, &mut work, EXCLUDED_WORK_MAX);
            }
            work += 8 + self.parts.len() + self.exclusions.len();
            if work > EXCLUDED_WORK_MAX {
                break;
            }
        }
        Found::NotBefore(from)
    }

    /// The first time at or after `from` of any part, within the bounds.
    #[inline]
    fn next_of_parts(&self, from: i64) -> Option<(i64, PartRef)> {
        let from = from.max(self.first);
        let mut earliest: Option<(i64, PartRef)> = None;
        for part in &self.parts {
            // A later part only matters if it is earlier than what was found.
            let last = earliest.map_or(self.last, |(found, _)| found - 1);
            if let Some(found) = part.next(&self.zone, from, last) {
                earliest = Some((found, part.source));
            }
        }
        earliest
    }

    /// If the instant is excluded: a later one such that all between are excluded too.
    fn excluded_until(&self, instant: i64) -> Option<i64> {
        let segment = &self.zone.segments()[self.zone.segment_at(instant)];
        let wall = WallSecond(instant + segment.offset);
        let exclusion = self.exclusion_at(wall)?;
        let end = exclusion.calendar.run_end(wall).0 - segment.offset;
        Some(end.min(segment.end).max(instant + 1))
    }

    pub(crate) fn exclusion_at(&self, wall: WallSecond) -> Option<&Exclusion> {
        let (day, second_of_day) = wall.split();
        let date = day.date();
        self.exclusions.iter().find(|x| x.calendar.matches(day, date, second_of_day))
    }
}

enum Found {
    At(i64, PartRef),
    Never,
    NotBefore(i64),
}

pub(crate) fn floor_second(instant: Timestamp) -> i64 {
    instant.as_second() - i64::from(instant.subsec_nanosecond() < 0)
}

fn ceil_second(instant: Timestamp) -> i64 {
    instant.as_second() + i64::from(instant.subsec_nanosecond() > 0)
}

pub(crate) fn timestamp(second: i64) -> Timestamp {
    let (min, max) = (Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
    Timestamp::from_second(second.clamp(min, max)).unwrap_or(Timestamp::MAX)
}
