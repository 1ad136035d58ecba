//! A compiled spec: the times it has, one after the other.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::civil::WallSecond;
use crate::definition::{Calendar, Definition, Interval};
use crate::dst::DstPolicy;
use crate::error::Error;
use crate::jitter::Seed;
use crate::matcher::CalendarMatcher;
use crate::named::NamedCalendars;
use crate::recurrence::{Recurrence, Until};
use crate::repeat::{CivilPeriod, CivilRepeat, Period, Repeat, wall_second};
use crate::search::WallPattern;
use crate::zone::{Zone, Zones};

/// The most parts a spec may have, and the most exclusions, named calendars included.
const PARTS_MAX: usize = 1_000;

/// The longest interval: no two times of a longer one fall within the years that timestamps have.
const INTERVAL_SECONDS_MAX: u64 = 400_000_000_000;

/// How many matchers one search asks, at most, while it steps over excluded stretches. Past it, and
/// past a thousand stretches, it says [`NotBefore`](Search::NotBefore): tens of milliseconds at the
/// very worst.
const EXCLUDED_WORK_MAX: usize = 1_000_000;

/// A [`Definition`] compiled: asks its times in nanoseconds.
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

/// One of a definition's parts, by its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PartRef {
    /// `definition.calendars[n]`
    Calendar(usize),
    /// `definition.intervals[n]`
    Interval(usize),
    /// `definition.repeats[n]`
    Repeat(usize),
    /// `definition.recurrences[n]`
    Recurrence(usize),
}

/// One of the things that leave times out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExclusionRef {
    /// `definition.exclusions[n]`
    Calendar(usize),
    /// `definition.excluded_calendars[n]`
    Named(usize),
}

/// What a [bounded search](Spec::search) found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// The next time.
    Found(Occurrence),
    /// There is none, now or ever.
    Never,
    /// Exclusions took all that the search has looked at; there is none before this instant. Ask
    /// again from there, if it is worth it.
    NotBefore(Timestamp),
}

#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) source: PartRef,
    pub(crate) times: Times,
    /// Its own bounds, both inclusive.
    pub(crate) first: i64,
    pub(crate) last: i64,
}

#[derive(Clone, Debug)]
pub(crate) enum Times {
    /// Unix seconds `t` with `t ≡ phase` modulo `every`.
    Interval { every: i64, phase: i64 },
    /// What a clock shows.
    Wall { pattern: WallPattern, policy: DstPolicy },
}

#[derive(Clone, Debug)]
pub(crate) struct Exclusion {
    pub(crate) source: ExclusionRef,
    pub(crate) calendar: CalendarMatcher,
}

impl Spec {
    /// Checks and compiles a definition. Zones and named calendars are looked up now and kept, so
    /// the compiled spec's times never change.
    pub fn compile(
        definition: Definition,
        zones: &Zones,
        named: &NamedCalendars,
    ) -> Result<Spec, Error> {
        let zone = zones.resolve(&definition.zone)?;
        let exclusions = compile_exclusions(&definition, named)?;
        let parts = compile_parts(&definition, &zone)?;
        let first = definition.start.map_or(Timestamp::MIN.as_second(), ceil_second);
        let last = definition.end.map_or(Timestamp::MAX.as_second(), floor_second);
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
            Search::Never | Search::NotBefore(_) => None,
        }
    }

    /// The first time strictly after the given instant, within bounded work: a calendar part looks
    /// at no more than two months, and a search steps over no more than ten thousand excluded
    /// stretches, a thousand in specs with very many parts. A stretch is as long as an exclusion
    /// lasts without a break, up to a month, so only specs whose exclusions interleave by the
    /// second or minute ever reach that bound.
    pub fn search(&self, after: Timestamp) -> Search {
        match self.next_nominal(floor_second(after).saturating_add(1)) {
            Found::At(nominal, part) => Search::Found(self.occurrence(nominal, part)),
            Found::Never => Search::Never,
            Found::NotBefore(from) => Search::NotBefore(timestamp(from)),
        }
    }

    /// The last time strictly before the given instant.
    pub fn previous(&self, before: Timestamp) -> Option<Occurrence> {
        let before = ceil_second(before).min(self.last.saturating_add(1));
        // Look back twice as far each time until something is there, then halve the distance.
        let mut reach = 64;
        let (mut found, mut from) = loop {
            let from = before.saturating_sub(reach).max(self.first);
            match self.next_nominal(from) {
                Found::At(nominal, part) if nominal < before => break ((nominal, part), nominal),
                _ if from == self.first => return None,
                _ => reach = reach.saturating_mul(2),
            }
        };
        let mut end = before;
        while from + 1 < end {
            let middle = from + (end - from) / 2;
            match self.next_nominal(middle) {
                Found::At(nominal, part) if nominal < end => {
                    found = (nominal, part);
                    from = nominal;
                }
                _ => end = middle,
            }
        }
        Some(self.occurrence(found.0, found.1))
    }

    /// Every time strictly after the given instant.
    pub fn after(&self, after: Timestamp) -> Occurrences<'_> {
        Occurrences { spec: self, after, last: Timestamp::MAX }
    }

    /// Every time after `from` (exclusive) up to `to` (inclusive).
    pub fn between(&self, from: Timestamp, to: Timestamp) -> Occurrences<'_> {
        Occurrences { spec: self, after: from, last: to }
    }

    pub(crate) fn bounds(&self) -> (i64, i64) {
        (self.first, self.last)
    }

    pub(crate) fn occurrence(&self, nominal: i64, part: PartRef) -> Occurrence {
        let bound = self.definition.jitter;
        let delay = if bound.is_zero() {
            Duration::ZERO
        } else {
            let bound = match self.next_nominal(nominal.saturating_add(1)) {
                Found::At(following, _) => {
                    bound.min(Duration::from_secs(following.abs_diff(nominal)))
                }
                Found::Never | Found::NotBefore(_) => bound,
            };
            self.seed.delay(nominal, bound)
        };
        let nominal = timestamp(nominal);
        let delay = SignedDuration::try_from(delay).unwrap_or(SignedDuration::MAX);
        let due = nominal.checked_add(delay).unwrap_or(Timestamp::MAX);
        Occurrence { nominal, due, part }
    }

    /// The first time at or after `from` that is not excluded.
    #[inline]
    fn next_nominal(&self, from: i64) -> Found {
        let mut from = from;
        let matchers = self.parts.len() + self.exclusions.len();
        for _ in 0..(EXCLUDED_WORK_MAX / matchers.max(1)).clamp(1_000, 10_000) {
            let Some((nominal, part)) = self.next_of_parts(from) else { return Found::Never };
            if self.exclusions.is_empty() {
                return Found::At(nominal, part);
            }
            match self.excluded_until(nominal) {
                None => return Found::At(nominal, part),
                Some(end) => from = end,
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

impl Part {
    /// The first time at or after `from`, and not after `last`.
    #[inline]
    fn next(&self, zone: &Zone, from: i64, last: i64) -> Option<i64> {
        self.next_by(zone, from, last, None)
    }

    /// The same under another DST policy than its own, if one is given.
    #[inline]
    pub(crate) fn next_by(
        &self,
        zone: &Zone,
        from: i64,
        last: i64,
        other: Option<DstPolicy>,
    ) -> Option<i64> {
        let (from, last) = (from.max(self.first), last.min(self.last));
        if from > last {
            return None;
        }
        match &self.times {
            Times::Interval { every, phase } => {
                let behind = (from - phase).rem_euclid(*every);
                let next = if behind == 0 { from } else { from.checked_add(every - behind)? };
                (next <= last).then_some(next)
            }
            Times::Wall { pattern, policy } => {
                pattern.next_instant(zone, other.unwrap_or(*policy), from, last)
            }
        }
    }
}

/// The times of a spec, in order. Made by [`Spec::after`] and [`Spec::between`].
#[derive(Clone, Debug)]
pub struct Occurrences<'s> {
    spec: &'s Spec,
    after: Timestamp,
    last: Timestamp,
}

impl Iterator for Occurrences<'_> {
    type Item = Occurrence;

    fn next(&mut self) -> Option<Occurrence> {
        let found = self.spec.next(self.after).filter(|found| found.nominal <= self.last)?;
        self.after = found.nominal;
        Some(found)
    }
}

fn compile_parts(definition: &Definition, zone: &Zone) -> Result<Vec<Part>, Error> {
    let count = definition.calendars.len()
        + definition.intervals.len()
        + definition.repeats.len()
        + definition.recurrences.len();
    if count > PARTS_MAX {
        return Err(too_many("parts", count));
    }
    let policy = definition.dst.unwrap_or(DstPolicy::LITERAL);
    let mut parts = Vec::with_capacity(count);
    for (n, calendar) in definition.calendars.iter().enumerate() {
        let pattern = WallPattern::Calendar(CalendarMatcher::compile(calendar)?);
        parts.push(Part::new(PartRef::Calendar(n), Times::Wall { pattern, policy }));
    }
    for (n, interval) in definition.intervals.iter().enumerate() {
        parts.push(Part::new(PartRef::Interval(n), compile_interval(*interval)?));
    }
    for (n, repeat) in definition.repeats.iter().enumerate() {
        parts.push(compile_repeat(n, repeat, zone, policy)?);
    }
    let policy = definition.dst.unwrap_or(DstPolicy::RECURRENCE);
    for (n, rule) in definition.recurrences.iter().enumerate() {
        parts.push(compile_recurrence(n, rule, zone, policy));
    }
    Ok(parts)
}

impl Part {
    fn new(source: PartRef, times: Times) -> Self {
        let (first, last) = (Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
        Part { source, times, first, last }
    }
}

fn compile_interval(interval: Interval) -> Result<Times, Error> {
    let invalid = |problem: String| Error::Invalid { field: "interval".to_owned(), problem };
    if interval.every == 0 {
        return Err(invalid("of 0 seconds; the least is 1 second".to_owned()));
    }
    if interval.every > INTERVAL_SECONDS_MAX {
        return Err(invalid(format!("of {} seconds is longer than 12,000 years", interval.every)));
    }
    if interval.phase >= interval.every {
        return Err(invalid(format!(
            "phase of {} seconds is not less than its length of {} seconds",
            interval.phase, interval.every
        )));
    }
    Ok(Times::Interval { every: interval.every as i64, phase: interval.phase as i64 })
}

fn compile_repeat(
    n: usize,
    repeat: &Repeat,
    zone: &Zone,
    policy: DstPolicy,
) -> Result<Part, Error> {
    let source = PartRef::Repeat(n);
    let civil = |every| {
        let pattern = WallPattern::Repeat(CivilRepeat::new(repeat.start, every, repeat.count));
        Part::new(source, Times::Wall { pattern, policy })
    };
    match repeat.every {
        Period::Days(0) | Period::Months(0) => {
            Err(Error::Invalid { field: "repeat".to_owned(), problem: "has no length".to_owned() })
        }
        Period::Days(days) => Ok(civil(CivilPeriod::Days(days))),
        Period::Months(months) => Ok(civil(CivilPeriod::Months(months))),
        Period::Seconds(every) => {
            let anchor = zone.instant_of(wall_second(repeat.start));
            let times = compile_interval(Interval::anchored(every, anchor))?;
            let mut part = Part { first: anchor, ..Part::new(source, times) };
            if let Some(count) = repeat.count {
                let length = i64::from(count - 1).saturating_mul(every as i64);
                part.last = part.last.min(anchor.saturating_add(length));
            }
            Ok(part)
        }
    }
}

fn compile_recurrence(n: usize, rule: &Recurrence, zone: &Zone, policy: DstPolicy) -> Part {
    let pattern = WallPattern::Recurrence(Box::new(rule.compile()));
    let mut part = Part::new(PartRef::Recurrence(n), Times::Wall { pattern, policy });
    if let Some(Until::Instant(until)) = rule.until() {
        part.last = part.last.min(floor_second(until));
    }
    if let Some(count) = rule.count() {
        part.last = part.last.min(nth_time(&part, zone, count));
    }
    part
}

/// The `count`-th time of a part; its last one if it has fewer.
fn nth_time(part: &Part, zone: &Zone, count: u32) -> i64 {
    let mut last = i64::MIN;
    let mut from = Timestamp::MIN.as_second();
    for _ in 0..count {
        let Some(found) = part.next(zone, from, Timestamp::MAX.as_second()) else { break };
        last = found;
        from = found + 1;
    }
    last
}

fn compile_exclusions(
    definition: &Definition,
    named: &NamedCalendars,
) -> Result<Vec<Exclusion>, Error> {
    let mut sources: Vec<(ExclusionRef, &Calendar)> = Vec::new();
    for (n, calendar) in definition.exclusions.iter().enumerate() {
        sources.push((ExclusionRef::Calendar(n), calendar));
    }
    for (n, name) in definition.excluded_calendars.iter().enumerate() {
        sources.extend(named.get(name)?.iter().map(|calendar| (ExclusionRef::Named(n), calendar)));
    }
    if sources.len() > PARTS_MAX {
        return Err(too_many("exclusions", sources.len()));
    }
    let compiled = sources.into_iter().map(|(source, calendar)| {
        Ok(Exclusion { source, calendar: CalendarMatcher::compile(calendar)? })
    });
    compiled.collect()
}

fn too_many(field: &str, count: usize) -> Error {
    let problem = format!("are too many: {count}, at most {PARTS_MAX} are allowed");
    Error::Invalid { field: field.to_owned(), problem }
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
