//! The functions of the fuzz targets. The targets under `targets/` call them from
//! libFuzzer; `tests/replay.rs` calls them with the corpus, on any toolchain.
//!
//! Every function asserts the same: nothing panics or hangs, errors say what is wrong and where,
//! valid specs obey the calendar's laws, and nothing unsigned passes for a signed token.

mod certificates;
mod headers;
mod tokens;

use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::tz::TimeZoneDatabase;
use perennial_calendar::{Definition, Dialect, Error, NamedCalendars, Spec, Zone, Zones};

pub use certificates::client_certificate;
pub use headers::headers;
pub use tokens::{key_set, token};

static ZONES: LazyLock<Zones> = LazyLock::new(|| Zones::new(TimeZoneDatabase::bundled()));

/// Cron strings of schedules, and every form that is told apart by how it begins.
pub fn cron_temporal(data: &[u8]) {
    attack(data, "", "", Dialect::Temporal);
}

/// DBOS crontabs.
pub fn cron_dbos(data: &[u8]) {
    attack(data, "", "", Dialect::Dbos);
}

/// Cron strings of a workflow's own Cron Schedule.
pub fn cron_classic(data: &[u8]) {
    attack(data, "", "", Dialect::Classic);
}

/// Calendars with named fields.
pub fn calendar_json(data: &[u8]) {
    attack(data, "", "", Dialect::Temporal);
}

/// Durations and intervals.
pub fn interval(data: &[u8]) {
    attack(data, "@every ", "", Dialect::Temporal);
}

/// ISO 8601 repeating intervals.
pub fn repeat(data: &[u8]) {
    attack(data, "R/", "", Dialect::Temporal);
}

/// Recurrence rules.
pub fn recurrence(data: &[u8]) {
    attack(data, "RRULE:", "", Dialect::Temporal);
}

/// Settings before a cron string.
pub fn settings(data: &[u8]) {
    attack(data, "", " 0 9 * * *", Dialect::Temporal);
}

/// Several parts, one a line, and exclusions, on lines that begin with `-`.
pub fn several_lines(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (exclusions, parts): (Vec<&str>, Vec<&str>) =
        text.lines().take(8).partition(|line| line.starts_with('-'));
    let Ok(mut definition) = Definition::read(&parts, Dialect::Temporal) else { return };
    for exclusion in exclusions {
        if definition.exclude(&exclusion[1..], Dialect::Temporal).is_err() {
            return;
        }
    }
    check_laws(definition);
}

/// TZif files.
pub fn zone_data(data: &[u8]) {
    match Zone::from_tzif("attack", data) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(_) => {
            let zone = perennial_calendar::ZoneSource::Tzif {
                name: "attack".to_owned(),
                data: data.to_vec(),
            };
            for dst in ["literal", "once", "shift,last"] {
                let text = format!("DST={dst} */7 */3 * * *");
                let mut definition =
                    Definition::read(&[&text], Dialect::Temporal).expect("the text is a constant");
                definition.zone = zone.clone();
                check_laws(definition);
            }
        }
    }
}

fn attack(data: &[u8], before: &str, after: &str, dialect: Dialect) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let text = format!("{before}{text}{after}");
    match Definition::read(&[&text], dialect) {
        Ok(definition) => {
            check_canonical_text(&definition);
            check_laws(definition);
        }
        Err(Error::Parse(error)) => {
            assert!(!error.to_string().is_empty());
            assert!(error.text().get(error.span()).is_some(), "marks no characters: {error:?}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn check_canonical_text(definition: &Definition) {
    let read = |text: String| {
        Definition::read(&[&text], Dialect::Temporal)
            .unwrap_or_else(|error| panic!("{text:?} is canonical but not readable: {error}"))
    };
    for calendar in &definition.calendars {
        // Control characters and edges of a comment are for people, not for cron strings.
        let mut calendar = calendar.clone();
        calendar.comment = String::new();
        assert_eq!(read(calendar.to_string()).calendars, [calendar]);
    }
    for interval in &definition.intervals {
        assert_eq!(read(interval.to_string()).intervals, [*interval]);
    }
    for repeat in &definition.repeats {
        assert_eq!(&read(repeat.to_string()).repeats[0], repeat);
    }
    for rule in &definition.recurrences {
        assert_eq!(&read(rule.to_string()).recurrences[0], rule);
    }
}

fn check_laws(definition: Definition) {
    let Ok(spec) = Spec::compile(definition, &ZONES, &NamedCalendars::default()) else { return };
    let now = Timestamp::from_second(1_800_000_000).expect("a constant within range");
    spec.explain(now);
    let times: Vec<_> = spec.after(now).take(8).collect();
    for pair in times.windows(2) {
        assert!(pair[0].nominal < pair[1].nominal);
        assert!(pair[0].due <= pair[1].nominal);
        assert_eq!(spec.previous(pair[1].nominal), Some(pair[0]));
    }
    if let Some(last) = times.last() {
        let fired = spec.trace(now, last.nominal).filter_map(|traced| match traced {
            perennial_calendar::Traced::Fires(occurrence) => Some(occurrence),
            perennial_calendar::Traced::LeftOut(_) => None,
        });
        assert!(fired.eq(times.iter().copied()), "trace and search disagree");
    }
    spec.next(Timestamp::MIN);
    spec.previous(Timestamp::MAX);
}
