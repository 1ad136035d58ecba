//! Searches of specs that never or rarely fire are bounded.

use jiff::Timestamp;
use perennial_calendar::{Definition, Dialect, FieldTexts, Search};

use crate::oracle::{self, compile, instant, nominals, spec};

const NOW: &str = "2026-11-15T00:00:00Z";

fn excluding(texts: &[&str], exclusions: &[&str]) -> perennial_calendar::Spec {
    let mut definition = Definition::read(texts, Dialect::Temporal).unwrap();
    for text in exclusions {
        definition.exclude(text, Dialect::Temporal).unwrap();
    }
    compile(definition)
}

#[test]
fn a_date_that_never_comes_is_never_found() {
    for text in [
        "0 0 30 2 *",
        "0 0 31 4,6,9,11 *",
        "0 0 29 2 1 2028",
        "0 0 29 2 * 2027",
        "0 0 31W 2 *",
        "0 0 * 2 MON#5 2027",
        "CRON_TZ=America/New_York 30 2 8 3 * 2026",
        "0 0 1 1 * 2020",
    ] {
        assert_eq!(spec(text).search(instant(NOW)), Search::Never, "{text}");
    }
}

#[test]
fn a_leap_day_on_a_monday_is_found_decades_away() {
    assert_eq!(
        nominals(&spec("0 0 29 2 MON"), NOW, 3),
        ["2044-02-29T00:00:00Z", "2072-02-29T00:00:00Z"]
    );
    assert_eq!(
        spec("0 0 29 2 MON").previous(instant(NOW)).unwrap().nominal,
        instant("2016-02-29T00:00:00Z")
    );
}

#[test]
fn a_spec_that_excludes_itself_never_fires() {
    let every_second = "* * * * * * *";
    assert_eq!(excluding(&[every_second], &[every_second]).search(instant(NOW)), Search::Never);
    let week = ["* * * * * MON-FRI *", "* * * * * SAT,SUN *"];
    assert_eq!(excluding(&["0 9 * * *"], &week).search(instant(NOW)), Search::Never);
}

#[test]
fn exclusions_that_interleave_by_the_second_are_seen_through() {
    let never = [
        (&["@hourly"][..], &["0 * * * *"][..]),
        (&["* * * * *"], &["*/2 * * * *", "1/2 * * * *"]),
        (&["* * * * * * *"], &["*/2 * * * * * *", "1/2 * * * * * *"]),
        (&["0 9 * * *", "0 17 * * *"], &["0 9 * * MON-FRI", "0 9 * * SAT,SUN", "0 17 * * *"]),
        (&["CRON_TZ=Europe/Oslo DST=once 30 2 * * *"], &["30 2-3 * * *"]),
    ];
    for (texts, exclusions) in never {
        assert_eq!(excluding(texts, exclusions).search(instant(NOW)), Search::Never, "{texts:?}");
    }
    for (interval, exclusions) in [
        ("1s", &["*/2 * * * * * *", "1/2 * * * * * *"][..]),
        ("1h", &["0 * * * *"]),
        ("14s", &["*/2 * * * * * *"]),
        ("R/2026-01-01T00:00/P1D", &["0 0 * * *"]),
    ] {
        let spec = excluding(&[interval], exclusions);
        assert_eq!(spec.search(instant(NOW)), Search::Never, "{interval}");
    }
    // One second of one day is left.
    let left =
        ["*/2 * * * * * *", "1/2 0-58 * * * * *", "1-57/2 59 * * * * *", "59 59 0-22 * * * *"];
    let left = excluding(&["1s"], &[&left[..], &["59 59 23 1-30 * * *"]].concat());
    assert_eq!(left.next(instant(NOW)).unwrap().nominal, instant("2026-12-31T23:59:59Z"));
}

#[test]
fn a_search_that_costs_too_much_stops_and_says_where() {
    let rule = ["RRULE:FREQ=SECONDLY;INTERVAL=2"];
    let spec = excluding(&rule, &["*/2 * * * * * *"]);
    let Search::NoneUpTo(reached) = spec.search(instant(NOW)) else {
        panic!("the rule's seconds are even, but the search does not know that");
    };
    assert!(reached > instant(NOW));
    assert!(matches!(spec.search(reached), Search::NoneUpTo(further) if further > reached));
}

#[test]
fn long_exclusions_are_stepped_over_at_once() {
    // Every second of 2027 to 2090 is excluded: months at a time, not two billion seconds.
    let spec = excluding(&["* * * * * * *"], &["* * * * * * 2027-2090"]);
    assert_eq!(
        spec.next(instant("2026-12-31T23:59:59Z")).unwrap().nominal,
        instant("2091-01-01T00:00:00Z")
    );
    assert_eq!(
        spec.previous(instant("2091-01-01T00:00:00Z")).unwrap().nominal,
        instant("2026-12-31T23:59:59Z")
    );
}

#[test]
fn every_kind_of_part_ends_with_2100() {
    for text in ["0 0 1 1 *", "1h", "R/2026-01-01T00:00/P1D", "RRULE:FREQ=DAILY"] {
        let spec = spec(text);
        let last = spec.previous(Timestamp::MAX).unwrap();
        assert!(last.nominal < instant("2101-01-01T00:00:00Z"), "{text}: {last:?}");
        assert_eq!(spec.next(last.nominal), None, "{text}");
        assert_eq!(spec.before(Timestamp::MAX).next(), Some(last), "{text}");
    }
}

#[test]
fn a_search_back_that_gives_up_says_nothing_rather_than_something_wrong() {
    let mut definition =
        Definition::read(&["RRULE:FREQ=SECONDLY;INTERVAL=2"], Dialect::Temporal).unwrap();
    definition.exclude("*/2 * * 1-30 * * *", Dialect::Temporal).unwrap();
    let spec = compile(definition);
    let before = instant("2026-02-28T00:00:00Z");
    let right = instant("2026-01-31T23:59:58Z");
    match spec.search_back(before) {
        Ok(found) => assert_eq!(found.unwrap().nominal, right),
        Err(perennial_calendar::GaveUp) => assert_eq!(spec.previous(before), None),
    }
}

#[test]
fn going_on_from_where_a_search_stopped_loses_nothing() {
    let mut definition =
        Definition::read(&["RRULE:FREQ=SECONDLY;INTERVAL=2"], Dialect::Temporal).unwrap();
    definition.exclude("*/2 * * * 1-11 * 2026", Dialect::Temporal).unwrap();
    let spec = compile(definition);
    let mut after = instant("2026-11-15T00:00:00Z");
    let found = loop {
        match spec.search(after) {
            Search::Found(found) => break found.nominal,
            Search::NoneUpTo(searched) => after = searched,
            Search::Never => panic!("December is left"),
        }
    };
    assert_eq!(found, instant("2026-12-01T00:00:00Z"));
}

#[test]
fn rules_and_counts_that_would_take_long_are_refused() {
    let refused = |texts: &[&str]| {
        let definition = Definition::read(texts, Dialect::Temporal).unwrap();
        let named = perennial_calendar::NamedCalendars::default();
        perennial_calendar::Spec::compile(definition, &oracle::zones(), &named)
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    assert_eq!(
        refused(&["RRULE:FREQ=SECONDLY;INTERVAL=86399;BYHOUR=12"; 51]).unwrap_err(),
        "the spec has 51 recurrence rules; at most 50 are allowed"
    );
    assert_eq!(
        refused(&["RRULE:FREQ=DAILY;COUNT=100000", "RRULE:FREQ=DAILY;COUNT=1"]).unwrap_err(),
        "the spec counts 100001 times of its rules; at most 100000 are counted"
    );
    assert_eq!(
        refused(&["1m"; 1_001]).unwrap_err(),
        "the spec has 1001 parts; at most 1000 are allowed"
    );
}

#[test]
fn a_spec_without_parts_never_fires() {
    assert_eq!(compile(Definition::default()).search(Timestamp::MIN), Search::Never);
    assert_eq!(compile(Definition::default()).previous(Timestamp::MAX), None);
}

#[test]
fn the_most_hostile_specs_allowed_still_answer() {
    let every = ["* * * * * * *"; 1_000];
    let mut definition = Definition::read(&every, Dialect::Temporal).unwrap();
    for n in 0..1_000 {
        definition.exclude(&format!("{} * * * * * *", n % 60), Dialect::Temporal).unwrap();
    }
    let spec = compile(definition.clone());
    assert!(matches!(spec.search(instant(NOW)), Search::NoneUpTo(_)));
    definition.exclude("* * * * *", Dialect::Temporal).unwrap();
    let refused = perennial_calendar::Spec::compile(
        definition,
        &oracle::zones(),
        &perennial_calendar::NamedCalendars::default(),
    );
    assert_eq!(
        refused.unwrap_err().to_string(),
        "the spec has 1001 exclusions; at most 1000 are allowed"
    );
}

#[test]
fn long_names_are_refused_without_a_look_for_similar_ones() {
    let long = "Europe/Oslo".repeat(30_000);
    let refusal = Definition::default().set_zone(&long).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "the name of the time zone has 330000 bytes; at most 255 are read"
    );
    let zones = perennial_calendar::Zones::new(jiff::tz::TimeZoneDatabase::bundled());
    // Near `Europe/Oslo` for its length: with a look it would be found.
    let doubled = format!("Europe/Oslo{}", "x".repeat(60));
    for (name, shown) in [(long.as_str(), 400), (doubled.as_str(), 100)] {
        match zones.get(name) {
            Err(error @ perennial_calendar::Error::UnknownZone { similar: None, .. }) => {
                assert!(error.to_string().len() < shown, "{error}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn errors_repeat_only_a_part_of_what_was_typed() {
    let word = "é".repeat(4_000);
    for text in [format!("0 0 * {word} *"), format!("{word}=1 * * * *"), format!("@{word}")] {
        let told = Definition::read(&[&text], Dialect::Temporal).unwrap_err().to_string();
        assert!(told.chars().count() < 500, "{told}");
    }
    let calendar = FieldTexts { month: word.repeat(2), ..FieldTexts::default() };
    let told = calendar.read().unwrap_err().to_string();
    assert!(told.starts_with("the text has 16000 bytes; at most 10000 are read"), "{told}");
}
