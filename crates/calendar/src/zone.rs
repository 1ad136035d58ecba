//! Compiled time zones: segments of constant offset, found in a few nanoseconds.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

use crate::civil::{Date, SECONDS_PER_DAY, WallSecond};
use crate::definition::ZoneSource;
use crate::dst::{DstPolicy, OnGap, OnRepeat};
use crate::error::Error;
use crate::hash::fnv1a;

/// The years whose offsets are tabulated. Calendars end with 2100 (Temporal's limit); recurrence
/// rules may begin in 1970. A margin of a year on both sides keeps every wall time inside.
const FIRST_YEAR: i32 = 1969;
const LAST_YEAR: i32 = 2101;

/// A bucket of the offset index spans 2^22 seconds, 48 days: seldom more than one transition.
const BUCKET_BITS: u32 = 22;

/// No clock is further from UTC, not even one that a TZif file makes up.
pub(crate) const OFFSET_MAX: i64 = 26 * 3600;

/// Far outside every representable timestamp, with room to add offsets.
const FOREVER: i64 = i64::MAX / 4;

/// The longest name of a zone that is looked up (the longest in the tz database has 32 bytes).
pub(crate) const NAME_BYTES_MAX: usize = 255;

/// The largest TZif file taken (the largest in the tz database has under 4 KB).
const TZIF_BYTES_MAX: usize = 64 * 1024;

/// Maximum number of transitions in those years; two a year are usual.
const TRANSITIONS_MAX: usize = 10_000;

/// The end of 2100, after which nothing fires.
const LAST_SECOND: i64 = 4_133_980_800;

/// A time zone database with a cache of compiled zones. It is a snapshot: a zone never changes once it is
/// read, so equal specs compiled with one `Zones` have equal times. For a new version of the tz database,
/// make a new `Zones`.
///
/// ```
/// use jiff::tz::TimeZoneDatabase;
/// use perennial_calendar::Zones;
///
/// let zones = Zones::new(TimeZoneDatabase::bundled());
/// assert_eq!(zones.get("europe/oslo")?.name(), "Europe/Oslo");
/// assert_eq!(
///     zones.get("Europe/Olso").unwrap_err().to_string(),
///     r#"unknown time zone "Europe/Olso"; did you mean "Europe/Oslo"?"#
/// );
/// # Ok::<(), perennial_calendar::Error>(())
/// ```
pub struct Zones {
    database: TimeZoneDatabase,
    utc: Arc<Zone>,
    // Keyed by the database's own spelling, so it is bounded by the database.
    compiled: RwLock<HashMap<String, Arc<Zone>>>,
}

impl Zones {
    /// Zones by name from `database`.
    pub fn new(database: TimeZoneDatabase) -> Self {
        let utc = Zone::compile("UTC".to_owned(), TimeZone::UTC).expect("UTC never jumps");
        let utc = Arc::new(utc);
        Zones { database, utc, compiled: RwLock::default() }
    }

    /// The zone of that IANA name, in any case.
    pub fn get(&self, name: &str) -> Result<Arc<Zone>, Error> {
        if name == "UTC" {
            return Ok(Arc::clone(&self.utc));
        }
        if let Some(zone) = self.cached(name) {
            return Ok(zone);
        }
        // No zone has a longer name: don't search for it, nor for a similar one.
        if name.len() > NAME_BYTES_MAX {
            return Err(Error::UnknownZone { name: name.to_owned(), similar: None });
        }
        let Ok(rules) = self.database.get(name) else {
            return Err(Error::UnknownZone { name: name.to_owned(), similar: self.similar(name) });
        };
        let name = rules.iana_name().unwrap_or(name).to_owned();
        if let Some(zone) = self.cached(&name) {
            return Ok(zone);
        }
        let zone = Arc::new(Zone::compile(name.clone(), rules)?);
        let mut compiled = self.compiled.write().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(compiled.entry(name).or_insert(zone)))
    }

    /// A hash of all zones. Two databases with a different local time between 1970 and 2100 have different
    /// fingerprints. Reads all zones, which takes tens of milliseconds.
    pub fn fingerprint(&self) -> u64 {
        let mut names: Vec<String> = self.database.available().map(|it| it.to_string()).collect();
        names.sort();
        let mut facts = Vec::new();
        for name in names {
            let Ok(rules) = self.database.get(&name) else { continue };
            facts.extend_from_slice(name.as_bytes());
            let first = rules.to_offset(Timestamp::UNIX_EPOCH).seconds();
            facts.extend_from_slice(&first.to_le_bytes());
            let shown = rules.following(Timestamp::UNIX_EPOCH).take(TRANSITIONS_MAX);
            for transition in shown.take_while(|it| it.timestamp().as_second() < LAST_SECOND) {
                facts.extend_from_slice(&transition.timestamp().as_second().to_le_bytes());
                facts.extend_from_slice(&transition.offset().seconds().to_le_bytes());
            }
        }
        fnv1a(&facts)
    }

    /// The zone that a definition asks for.
    pub fn resolve(&self, source: &ZoneSource) -> Result<Arc<Zone>, Error> {
        match source {
            ZoneSource::Default => Ok(Arc::clone(&self.utc)),
            ZoneSource::Name(name) => self.get(name),
            ZoneSource::Tzif { name, data } => Zone::from_tzif(name, data).map(Arc::new),
        }
    }

    fn cached(&self, name: &str) -> Option<Arc<Zone>> {
        self.compiled.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    fn similar(&self, name: &str) -> Option<String> {
        let known: Vec<String> = self.database.available().map(|n| n.to_string()).collect();
        // People name the city: `Oslo`, `New York`.
        let city = name.replace(' ', "_");
        let is_in = |zone: &&String| {
            zone.rsplit_once('/').is_some_and(|(_, place)| place.eq_ignore_ascii_case(&city))
        };
        let by_city = known.iter().find(is_in).cloned();
        by_city.or_else(|| crate::error::nearest(name, known.iter().map(String::as_str)))
    }
}

impl fmt::Debug for Zones {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Zones").field("database", &self.database).finish_non_exhaustive()
    }
}

/// A time zone with its offsets tabulated. The offset is constant between two transitions, so a search by
/// local time is a search in each such segment.
pub struct Zone {
    name: String,
    rules: TimeZone,
    segments: Box<[Segment]>,
    /// For each bucket of time, the segment at its beginning.
    index: Box<[u16]>,
}

/// A segment of constant offset: instants `start..end` (Unix seconds).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) offset: i64,
}

impl Segment {
    /// Local time at its beginning.
    pub(crate) fn wall_start(&self) -> i64 {
        self.start + self.offset
    }

    /// Local time at its end, before the clock changes.
    pub(crate) fn wall_end(&self) -> i64 {
        self.end + self.offset
    }
}

impl Zone {
    /// A zone from the bytes of a TZif file.
    pub fn from_tzif(name: &str, data: &[u8]) -> Result<Zone, Error> {
        let bad = |reason: String| Error::BadZoneData { name: name.to_owned(), reason };
        if data.len() > TZIF_BYTES_MAX {
            return Err(bad(format!(
                "it has {} bytes, more than the {TZIF_BYTES_MAX} allowed",
                data.len()
            )));
        }
        let rules = TimeZone::tzif(name, data).map_err(|error| bad(error.to_string()))?;
        Zone::compile(name.to_owned(), rules)
    }

    /// The IANA name, or what came with the TZif file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The instant as this zone's clock shows it.
    pub fn at(&self, instant: Timestamp) -> jiff::Zoned {
        instant.to_zoned(self.rules.clone())
    }

    /// Refuses rules that no clock can follow: a file may hold transitions that run backwards, or
    /// that never end.
    fn compile(name: String, rules: TimeZone) -> Result<Zone, Error> {
        let first = year_start(FIRST_YEAR);
        let last = year_start(LAST_YEAR + 1);
        let base = Timestamp::from_second(first).unwrap_or(Timestamp::UNIX_EPOCH);
        let mut segments = vec![Segment {
            start: -FOREVER,
            end: FOREVER,
            offset: rules.to_offset(base).seconds().into(),
        }];
        let mut previous = first;
        for (number, transition) in rules.following(base).enumerate() {
            let start = transition.timestamp().as_second();
            if start >= last {
                break;
            }
            // A file without a rule for the future ends with its last transition, again and again.
            if start == previous || (number == 0 && start < previous) {
                break;
            }
            let bad = |reason: String| Error::BadZoneData { name: name.clone(), reason };
            if start < previous {
                let at = transition.timestamp();
                return Err(bad(format!("its transitions are out of order at {at}")));
            }
            if number == TRANSITIONS_MAX {
                return Err(bad(format!("its clock jumps more than {TRANSITIONS_MAX} times")));
            }
            previous = start;
            let offset = i64::from(transition.offset().seconds());
            let before = segments.len().checked_sub(2).map(|before| segments[before]);
            let current = segments.last_mut().expect("it begins with one and never shrinks");
            // A change of name or DST flag alone doesn't move the clock.
            if offset == current.offset {
                continue;
            }
            // Jumps that overlap would show a time three times; no real clock comes near it.
            let jumped = before.map_or(0, |before| (current.offset - before.offset).abs());
            if start - current.start < jumped + (offset - current.offset).abs() {
                let at = transition.timestamp();
                return Err(bad(format!("its clock jumps again too soon at {at}")));
            }
            current.end = start;
            segments.push(Segment { start, end: FOREVER, offset });
        }
        let buckets = ((last - first) >> BUCKET_BITS) + 1;
        let mut at = 0;
        let index = (0..buckets)
            .map(|bucket| {
                let start = first + (bucket << BUCKET_BITS);
                while segments[at].end <= start {
                    at += 1;
                }
                at as u16
            })
            .collect();
        Ok(Zone { name, rules, segments: segments.into(), index })
    }

    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The segment that holds the instant.
    #[inline]
    pub(crate) fn segment_at(&self, instant: i64) -> usize {
        if self.segments.len() == 1 {
            return 0;
        }
        let bucket = (instant - year_start(FIRST_YEAR)) >> BUCKET_BITS;
        let mut at = match usize::try_from(bucket) {
            Ok(bucket) => usize::from(self.index[bucket.min(self.index.len() - 1)]),
            Err(_) => 0,
        };
        while self.segments[at].end <= instant {
            at += 1;
        }
        at
    }

    /// The wall times that segment `at` answers for under a policy: from the first, up to and not
    /// including the second. Under `shift` it also answers for the gap behind it.
    #[inline]
    pub(crate) fn wall_range(&self, at: usize, policy: DstPolicy) -> (i64, i64) {
        let segment = &self.segments[at];
        let (mut from, mut to) = (segment.wall_start(), segment.wall_end());
        if policy.repeat == OnRepeat::First && at > 0 {
            from = from.max(self.segments[at - 1].wall_end());
        }
        if let Some(following) = self.segments.get(at + 1) {
            if policy.repeat == OnRepeat::Last {
                to = to.min(following.wall_start());
            }
            if policy.gap == OnGap::Shift {
                to = to.max(following.wall_start());
            }
        }
        (from, to)
    }

    /// The first segment from `at` on that still answers for wall times beyond `wall`.
    pub(crate) fn segment_showing(&self, wall: i64, at: usize, policy: DstPolicy) -> usize {
        let mut found = self.segment_at(wall - OFFSET_MAX).max(at);
        while self.wall_range(found, policy).1 <= wall {
            found += 1;
        }
        found
    }

    /// The instant of a wall time, taken as RFC 5545 takes it: the earlier if it happens twice, and
    /// with the offset before the gap if it doesn't happen.
    pub(crate) fn instant_of(&self, wall: WallSecond) -> i64 {
        let at = self.segment_showing(wall.0, 0, DstPolicy::ONCE);
        wall.0 - self.segments[at].offset
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Zone").field(&self.name).finish()
    }
}

fn year_start(year: i32) -> i64 {
    i64::from(Date { year, month: 1, day: 1 }.day_number().0) * SECONDS_PER_DAY
}
