//! Specs with different times never share a sentence, and warnings are true.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::Duration;

use jiff::tz::TimeZoneDatabase;
use jiff::{SignedDuration, Timestamp};
use perennial_calendar::{
    Calendar, Definition, Dialect, DstPolicy, FieldRange, Interval, NamedCalendars, Occurrence,
    OnGap, OnRepeat, Period, Recurrence, Repeat, Spec, SpecialDay, SpecialWeekday, Warning,
    ZoneSource, Zones,
};
use proptest::prelude::*;
use proptest::sample::select;

use super::tzif;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn specs_with_different_times_never_share_a_sentence(definition in definition()) {
        let mut known: HashMap<String, (Definition, Option<Vec<Timestamp>>)> = HashMap::new();
        let neighbours = neighbours(&definition);
        for neighbour in std::iter::once(definition).chain(neighbours) {
            let Some(spec) = compile(&neighbour) else { continue };
            let sentence = spec.explain(NOW).sentence;
            let Some((other, other_times)) = known.get_mut(&sentence) else {
                known.insert(sentence, (neighbour, None));
                continue;
            };
            let other_times =
                other_times.get_or_insert_with(|| times(&compile(other).unwrap()));
            prop_assert_eq!(
                &times(&spec), other_times, "{}\n{:?}\n{:?}", sentence, neighbour, other
            );
        }
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
    fn warnings_are_true(definition in definition()) {
        let Some(spec) = compile(&definition) else { return Ok(()) };
        for warning in spec.explain(NOW).warnings {
            match &warning {
                Warning::NeverFires | Warning::EndsBeforeStart | Warning::AllExcluded => {
                    prop_assert_eq!(spec.next(Timestamp::MIN), None);
                }
                Warning::NoTimeLeft { last } => {
                    prop_assert_eq!(spec.next(NOW), None);
                    prop_assert!(fires_at(&spec, last.as_ref().unwrap().timestamp()));
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

fn definition() -> impl Strategy<Value = Definition> {
    let parts = (
        prop::collection::vec(calendar(), 0..3),
        prop::collection::vec(interval(), 0..2),
        prop::collection::vec(repeat(), 0..2),
        prop::option::weighted(0.2, rule()),
        prop::collection::vec(calendar(), 0..2),
    );
    let frame = (
        prop::option::weighted(0.2, instant()),
        prop::option::weighted(0.2, instant()),
        select(vec![0, 0, 1, 400]),
        zone(),
        prop::option::of(policy()),
    );
    (parts, frame).prop_map(|(parts, (start, end, jitter, zone, dst))| {
        let (calendars, intervals, repeats, rule, exclusions) = parts;
        let recurrences = match rule {
            Some(rule) => recurrences(rule),
            None => Vec::new(),
        };
        Definition {
            calendars,
            intervals,
            repeats,
            recurrences,
            exclusions,
            start,
            end,
            jitter: Duration::from_secs(jitter),
            zone,
            dst,
            ..Definition::default()
        }
    })
}

fn calendar() -> impl Strategy<Value = Calendar> {
    let all = |min, max| vec![FieldRange::new(min, max)];
    let zero = || vec![FieldRange::single(0)];
    let days = (
        field(1, 31, all(1, 31)),
        field(1, 12, all(1, 12)),
        field(0, 6, all(0, 6)),
        field(2000, 2100, Vec::new()),
    );
    let times = (field(0, 59, zero()), field(0, 59, zero()), field(0, 23, all(0, 23)));
    let special_day = select(vec![
        SpecialDay::BeforeLast(0),
        SpecialDay::BeforeLast(2),
        SpecialDay::LastWeekday,
        SpecialDay::NearestWeekday(15),
    ]);
    let special_weekday = select(vec![
        SpecialWeekday::Nth { weekday: 5, nth: 2 },
        SpecialWeekday::Nth { weekday: 0, nth: 5 },
        SpecialWeekday::Last { weekday: 1 },
    ]);
    let special = (
        prop::collection::vec(special_day, 0..2),
        prop::collection::vec(special_weekday, 0..2),
        select(vec!["", "a \"comment\", UTC"]),
    );
    (times, days, special).prop_map(
        |((second, minute, hour), (day_of_month, month, day_of_week, year), special)| Calendar {
            second,
            minute,
            hour,
            day_of_month,
            month,
            day_of_week,
            year,
            special_days: special.0,
            special_weekdays: special.1,
            comment: special.2.to_owned(),
        },
    )
}

fn field(min: u16, max: u16, usual: Vec<FieldRange>) -> impl Strategy<Value = Vec<FieldRange>> {
    let range = (min..=max, min..=max, select(vec![1, 1, 2, 3, 5, 7, 10, 15, 30])).prop_map(
        |(one, other, step)| FieldRange { start: one.min(other), end: one.max(other), step },
    );
    prop_oneof![
        8 => Just(usual),
        2 => (min..=max).prop_map(|value| vec![FieldRange::single(value)]),
        2 => select(vec![2, 3, 4, 5, 7, 15])
            .prop_map(move |step| vec![FieldRange { start: min, end: max, step }]),
        2 => prop::collection::vec(range, 0..4),
    ]
}

fn interval() -> impl Strategy<Value = Interval> {
    let every = select(vec![1, 2, 60, 300, 2_700, 3_600, 18_000, 21_600, 86_400, 604_800, 100_000]);
    (every, 0..1_000_000u64).prop_map(|(every, phase)| Interval { every, phase: phase % every })
}

fn repeat() -> impl Strategy<Value = Repeat> {
    let every = prop_oneof![
        (1..40u32).prop_map(Period::Days),
        (1..40u32).prop_map(Period::Months),
        select(vec![3_600, 86_400, 129_600]).prop_map(Period::Seconds),
    ];
    let start = select(vec![
        "2026-01-31T09:00",
        "2024-02-29T02:30",
        "2026-03-29T02:30",
        "2026-06-30T00:00:30",
    ]);
    (start, every, prop::option::of(1..5u32)).prop_map(|(start, every, count)| Repeat {
        start: start.parse().unwrap(),
        every,
        count,
    })
}

fn rule() -> impl Strategy<Value = &'static str> {
    select(RULES.to_vec())
}

/// Each is near to some other.
const RULES: [&str; 40] = [
    "FREQ=DAILY",
    "FREQ=DAILY;INTERVAL=2",
    "FREQ=DAILY;INTERVAL=2;BYDAY=MO",
    "FREQ=DAILY;BYDAY=MO",
    "FREQ=DAILY;BYMONTHDAY=1",
    "FREQ=DAILY;BYMONTHDAY=-1",
    "FREQ=DAILY;BYMONTHDAY=-2",
    "FREQ=DAILY;BYMONTHDAY=13;BYDAY=FR",
    "FREQ=DAILY;BYHOUR=9,10,11,12;BYMINUTE=0,30",
    "FREQ=DAILY;BYHOUR=9,10,11,12;BYMINUTE=0,30;BYSETPOS=1,-1",
    "FREQ=DAILY;BYSECOND=60",
    "FREQ=DAILY;BYSECOND=0,60",
    "FREQ=WEEKLY",
    "FREQ=WEEKLY;BYDAY=MO",
    "FREQ=WEEKLY;INTERVAL=2;BYDAY=SU",
    "FREQ=WEEKLY;INTERVAL=2;BYDAY=SU;WKST=SU",
    "FREQ=WEEKLY;BYMONTH=3;BYDAY=SU",
    "FREQ=MONTHLY",
    "FREQ=MONTHLY;INTERVAL=2",
    "FREQ=MONTHLY;BYMONTHDAY=31",
    "FREQ=MONTHLY;BYDAY=MO",
    "FREQ=MONTHLY;BYDAY=1MO",
    "FREQ=MONTHLY;BYDAY=-1MO",
    "FREQ=MONTHLY;BYDAY=-2MO",
    "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
    "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=1",
    "FREQ=YEARLY",
    "FREQ=YEARLY;BYMONTH=3",
    "FREQ=YEARLY;BYMONTHDAY=1",
    "FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=1",
    "FREQ=YEARLY;BYDAY=2MO",
    "FREQ=YEARLY;BYMONTH=1;BYDAY=2MO",
    "FREQ=YEARLY;BYWEEKNO=20",
    "FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO",
    "FREQ=YEARLY;BYYEARDAY=100",
    "FREQ=HOURLY",
    "FREQ=HOURLY;INTERVAL=5",
    "FREQ=HOURLY;BYHOUR=2",
    "FREQ=MINUTELY;INTERVAL=60",
    "FREQ=SECONDLY;INTERVAL=3600",
];

fn recurrences(rule: &str) -> Vec<Recurrence> {
    Definition::read(&[rule], TEMPORAL).unwrap().recurrences
}

/// What may stand before and after a rule.
const RULE_FRAMES: [(&str, &str); 8] = [
    ("", ""),
    ("", ";COUNT=3"),
    ("", ";UNTIL=20260401T000000"),
    ("", ";UNTIL=20260401T000000Z"),
    ("DTSTART:20260101T000000 ", ""),
    ("DTSTART:20260329T023000 ", ""),
    ("DTSTART:20260330T023000 ", ";COUNT=1"),
    ("DTSTART:20260330T023001 ", ";COUNT=3"),
];

fn instant() -> impl Strategy<Value = Timestamp> {
    (1_700_000_000_000..1_900_000_000_000i64)
        .prop_map(|at| Timestamp::from_millisecond(at).unwrap())
}

fn zone() -> impl Strategy<Value = ZoneSource> {
    select(zones())
}

fn zones() -> Vec<ZoneSource> {
    let names = ["UTC", "Etc/UTC", "Europe/Oslo", "America/New_York", "Australia/Lord_Howe"];
    let named = names.map(|name| ZoneSource::Name(name.to_owned()));
    let files = [("Oslo", "CET-1CEST,M3.5.0,M10.5.0/3"), ("Oslo", "CET-1"), ("", "EST5")];
    let files = files.map(|(name, rule)| ZoneSource::Tzif { name: name.into(), data: tzif(rule) });
    [ZoneSource::Default].into_iter().chain(named).chain(files).collect()
}

fn policy() -> impl Strategy<Value = DstPolicy> {
    select(policies())
}

fn policies() -> Vec<DstPolicy> {
    let repeats = [OnRepeat::First, OnRepeat::Last, OnRepeat::Both];
    let with = |gap| repeats.map(|repeat| DstPolicy { gap, repeat });
    [with(OnGap::Skip), with(OnGap::Shift)].concat()
}

/// Definitions that differ from this one in one small thing.
fn neighbours(definition: &Definition) -> Vec<Definition> {
    let mut found = Vec::new();
    let mut add = |change: &dyn Fn(&mut Definition)| {
        let mut changed = definition.clone();
        change(&mut changed);
        found.push(changed);
    };
    for n in 0..definition.calendars.len() {
        for change in calendar_changes() {
            add(&|d| change(&mut d.calendars[n]));
        }
        add(&|d| d.exclusions.push(d.calendars[n].clone()));
        add(&|d| drop(d.calendars.remove(n)));
    }
    for n in 0..definition.exclusions.len() {
        for change in calendar_changes() {
            add(&|d| change(&mut d.exclusions[n]));
        }
        add(&|d| d.calendars.push(d.exclusions[n].clone()));
        add(&|d| drop(d.exclusions.remove(n)));
    }
    for n in 0..definition.intervals.len() {
        add(&|d| d.intervals[n].every += 1);
        add(&|d| d.intervals[n].every *= 2);
        add(&|d| d.intervals[n].phase += 1);
        add(&|d| d.intervals[n].phase = 0);
    }
    for n in 0..definition.repeats.len() {
        add(&|d| d.repeats[n].start = d.repeats[n].start + SignedDuration::from_secs(1));
        add(&|d| d.repeats[n].start = d.repeats[n].start - SignedDuration::from_hours(24));
        for count in [None, Some(1), Some(2)] {
            add(&|d| d.repeats[n].count = count);
            for every in [Period::Days(1), Period::Days(30), Period::Months(1), Period::Months(12)]
            {
                add(&|d| (d.repeats[n].every, d.repeats[n].count) = (every, count));
            }
            add(&|d| {
                (d.repeats[n].every, d.repeats[n].count) = (Period::Seconds(86_400), count);
            });
        }
    }
    if !definition.recurrences.is_empty() {
        for rule in RULES {
            for (start, end) in RULE_FRAMES {
                add(&|d| d.recurrences = recurrences(&format!("{start}{rule}{end}")));
            }
        }
        add(&|d| d.recurrences.clear());
    }
    for seconds in [-1, 1, 3_600] {
        let moved = SignedDuration::from_secs(seconds);
        add(&|d| d.start = d.start.map(|start| start + moved));
        add(&|d| d.end = d.end.map(|end| end + moved));
    }
    add(&|d| d.start = None);
    add(&|d| d.end = None);
    add(&|d| (d.start, d.end) = (d.end, d.start));
    for zone in zones() {
        add(&|d| d.zone = zone.clone());
    }
    add(&|d| d.dst = None);
    for policy in policies() {
        add(&|d| d.dst = Some(policy));
    }
    found
}

type CalendarChange = Box<dyn Fn(&mut Calendar)>;

fn calendar_changes() -> Vec<CalendarChange> {
    let mut changes: Vec<CalendarChange> = vec![
        Box::new(list_values),
        Box::new(|c| c.comment.push('.')),
        Box::new(|c| c.special_days.push(SpecialDay::BeforeLast(0))),
        Box::new(|c| c.special_days.push(SpecialDay::BeforeLast(1))),
        Box::new(|c| c.special_days.push(SpecialDay::LastWeekday)),
        Box::new(|c| c.special_days.push(SpecialDay::NearestWeekday(16))),
        Box::new(|c| {
            for day in &mut c.special_days {
                match day {
                    SpecialDay::BeforeLast(n) | SpecialDay::NearestWeekday(n) => *n += 1,
                    SpecialDay::LastWeekday => *day = SpecialDay::BeforeLast(0),
                }
            }
        }),
        Box::new(|c| {
            for day in &mut c.special_weekdays {
                match day {
                    SpecialWeekday::Nth { weekday, nth } if *nth == 5 => *weekday += 1,
                    SpecialWeekday::Nth { nth, .. } => *nth += 1,
                    SpecialWeekday::Last { weekday } => *weekday += 1,
                }
            }
        }),
        Box::new(|c| c.special_days.clear()),
        Box::new(|c| c.special_weekdays.push(SpecialWeekday::Nth { weekday: 5, nth: 1 })),
        Box::new(|c| c.special_weekdays.push(SpecialWeekday::Last { weekday: 5 })),
        Box::new(|c| c.special_weekdays.clear()),
    ];
    for field in 0..7 {
        changes.push(Box::new(move |c| change_first(c, field, |range| range.start += 1)));
        changes.push(Box::new(move |c| change_first(c, field, |range| range.end += 1)));
        changes.push(Box::new(move |c| change_first(c, field, |range| range.end -= 1)));
        changes.push(Box::new(move |c| change_first(c, field, |range| range.step += 1)));
        changes.push(Box::new(move |c| change_first(c, field, |range| range.start += range.step)));
        changes.push(Box::new(move |c| {
            change_first(c, field, |range| range.end = range.end.saturating_sub(range.step));
        }));
        changes.push(Box::new(move |c| fields(c)[field].truncate(1)));
        changes.push(Box::new(move |c| fields(c)[field].clear()));
    }
    changes
}

fn change_first(calendar: &mut Calendar, field: usize, change: impl Fn(&mut FieldRange)) {
    if let Some(range) = fields(calendar)[field].first_mut() {
        // A range that would end before 0 is none.
        if range.end > 0 {
            change(range);
        }
    }
}

fn fields(calendar: &mut Calendar) -> [&mut Vec<FieldRange>; 7] {
    [
        &mut calendar.second,
        &mut calendar.minute,
        &mut calendar.hour,
        &mut calendar.day_of_month,
        &mut calendar.month,
        &mut calendar.day_of_week,
        &mut calendar.year,
    ]
}

/// The same values one by one, the last first, and each twice.
fn list_values(calendar: &mut Calendar) {
    for ranges in fields(calendar) {
        let values: Vec<u16> = ranges.iter().flat_map(|range| range.values()).collect();
        let twice = values.iter().rev().chain(&values);
        *ranges = twice.map(|value| FieldRange::single(*value)).collect();
    }
}
