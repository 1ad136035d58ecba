//! Specs with different times never share a sentence, and warnings are true.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::Duration;

use jiff::tz::TimeZoneDatabase;
use jiff::{SignedDuration, Timestamp};
use perennial_calendar::{
    Definition, Dialect, FieldRange, NamedCalendars, Occurrence, Spec, Warning, Zones,
};
use proptest::prelude::*;
use proptest::sample::select;

use super::definitions::{definition, every_rule, recurrences};
use super::neighbours::{list_values, neighbours};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn specs_with_different_times_never_share_a_sentence(definition in definition()) {
        let neighbours = neighbours(&definition);
        none_share_a_sentence(std::iter::once(definition).chain(neighbours));
    }

    #[test]
    fn rewriting_ranges_as_lists_changes_no_word(definition in definition()) {
        let mut listed = definition.clone();
        listed.calendars.iter_mut().chain(&mut listed.exclusions).for_each(list_values);
        let sentence = |definition: &Definition| {
            compile(definition).map(|spec| spec.explain(NOW).sentence)
        };
        prop_assert_eq!(sentence(&definition), sentence(&listed));
    }

    #[test]
    fn any_instant_will_do_for_now(
        definition in definition(),
        now in select(vec![Timestamp::MIN, Timestamp::UNIX_EPOCH, Timestamp::MAX]),
    ) {
        if let Some(spec) = compile(&definition) {
            prop_assert_eq!(spec.explain(now).sentence, spec.explain(NOW).sentence);
        }
    }

    #[test]
    fn warnings_are_true(definition in definition()) {
        let Some(spec) = compile(&definition) else { return Ok(()) };
        for warning in spec.explain(NOW).warnings {
            match &warning {
                Warning::NeverFires | Warning::EndsBeforeStart | Warning::AllExcluded => {
                    prop_assert_eq!(spec.next(Timestamp::MIN), None);
                }
                Warning::NoTimeLeft { last } => {
                    prop_assert_eq!(spec.next(NOW), None);
                    // Unknown if looking for it was given up.
                    prop_assert!(last.as_ref().is_none_or(|it| fires_at(&spec, it.timestamp())));
                }
                Warning::FarAway { next } => {
                    prop_assert_eq!(spec.next(NOW).map(|t| t.nominal), Some(next.timestamp()));
                }
                Warning::RunsOut { last } => {
                    prop_assert!(fires_at(&spec, last.timestamp()));
                    prop_assert_eq!(spec.next(last.timestamp()), None);
                }
                Warning::FiresTwice { local, .. } => {
                    let shown = |t: &Occurrence| spec.zone().at(t.nominal).datetime() == *local;
                    prop_assert_eq!(around(&spec, *local).filter(shown).count(), 2);
                }
                Warning::Skipped { local, jumps_from, jumps_to, .. } => {
                    prop_assert!(jumps_from <= local && local < jumps_to);
                    let shown = |t: Occurrence| spec.zone().at(t.nominal).datetime();
                    prop_assert!(around(&spec, *local).all(|t| shown(t) != *local));
                }
                Warning::JitterCut { distance, .. } => {
                    prop_assert!(definition.jitter > Duration::from_secs(*distance));
                }
                _ => {}
            }
        }
    }
}

const CASES: u32 = 64;

const NOW: Timestamp = Timestamp::constant(1_780_272_000, 0);

static ZONES: LazyLock<Zones> = LazyLock::new(|| Zones::new(TimeZoneDatabase::bundled()));

/// `None` for a definition that was bent too far.
fn compile(definition: &Definition) -> Option<Spec> {
    Spec::compile(definition.clone(), &ZONES, &NamedCalendars::default()).ok()
}

#[test]
fn rules_with_different_times_never_share_a_sentence() {
    let rules = every_rule().into_iter().filter_map(|rule| recurrences(&rule));
    none_share_a_sentence(
        rules.map(|recurrences| Definition { recurrences, ..Definition::default() }),
    );
}

/// Those of them, that is, that have different times.
fn none_share_a_sentence(definitions: impl Iterator<Item = Definition>) {
    let mut known: HashMap<String, (Definition, Option<Vec<Timestamp>>)> = HashMap::new();
    for definition in definitions {
        let Some(spec) = compile(&definition) else { continue };
        let sentence = spec.explain(NOW).sentence;
        let Some((other, other_times)) = known.get_mut(&sentence) else {
            known.insert(sentence, (definition, None));
            continue;
        };
        let other_times = other_times.get_or_insert_with(|| times(&compile(other).unwrap()));
        assert_eq!(&times(&spec), other_times, "{sentence}\n{definition:?}\n{other:?}");
    }
}

#[test]
fn the_largest_specs_are_explained_within_bounds() {
    let mut definition =
        Definition::read(&["CRON_TZ=Europe/Oslo * * * * * * *"], TEMPORAL).unwrap();
    definition.calendars = vec![definition.calendars[0].clone(); 1_000];
    definition.exclude("*/2 * * * * * 2000-2099", TEMPORAL).unwrap();
    definition.exclude("1-59/2 * * * * * 2000-2099", TEMPORAL).unwrap();
    definition.exclude("0 0 0 30 2 * *", TEMPORAL).unwrap();
    definition.exclusions.resize(1_000, definition.exclusions[2].clone());
    definition.jitter = Duration::from_secs(10);
    let warnings = compile(&definition).unwrap().explain(NOW).warnings;
    assert!(matches!(warnings[..], [Warning::NothingBefore { .. }]), "{warnings:?}");

    for calendar in &mut definition.calendars {
        calendar.year = vec![FieldRange::new(2000, 2020)];
    }
    let warnings = compile(&definition).unwrap().explain(NOW).warnings;
    assert_eq!(warnings, [Warning::NoTimeLeft { last: None }]);

    definition.exclusions.drain(..2);
    definition.calendars.iter_mut().for_each(|calendar| calendar.year.clear());
    assert!(!compile(&definition).unwrap().explain(NOW).warnings.is_empty());
}

const TEMPORAL: Dialect = Dialect::Temporal;

fn fires_at(spec: &Spec, instant: Timestamp) -> bool {
    let before = instant - SignedDuration::from_secs(1);
    spec.next(before).is_some_and(|found| found.nominal == instant)
}

/// The times within a day of a reading of the clock, if they are not too many.
fn around(spec: &Spec, local: jiff::civil::DateTime) -> impl Iterator<Item = Occurrence> {
    let near = jiff::tz::Offset::UTC.to_timestamp(local).unwrap();
    let day = SignedDuration::from_hours(30);
    spec.between(near - day, near + day).take(200_000)
}

/// Enough of the times to tell most sets apart: some from all over, and dense stretches where the
/// clock changes, where calendars begin and end, and where the years of a rule might matter.
fn times(spec: &Spec) -> Vec<Timestamp> {
    let mut times: Vec<Timestamp> = Vec::new();
    for from in ["1960-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2062-07-01T00:00:00Z"] {
        times.extend(spec.after(from.parse().unwrap()).take(300).map(|t| t.nominal));
    }
    for from in [
        "1999-12-31T00:00:00Z",
        "2026-03-08T05:00:00Z",
        "2026-03-29T00:00:00Z",
        "2026-10-25T00:00:00Z",
        "2026-11-01T05:00:00Z",
        "2026-04-04T14:00:00Z",
        "2026-06-07T22:00:00Z",
        "2100-12-31T00:00:00Z",
    ] {
        let from: Timestamp = from.parse().unwrap();
        let to = from + SignedDuration::from_hours(30);
        times.extend(spec.between(from, to).take(300).map(|t| t.nominal));
    }
    times
}
