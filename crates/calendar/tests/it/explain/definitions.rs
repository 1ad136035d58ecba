//! Random definitions, of parts from small ranges so that two are often nearly the same.

use std::time::Duration;

use jiff::Timestamp;
use perennial_calendar::{
    Calendar, Definition, Dialect, DstPolicy, FieldRange, Interval, OnGap, OnRepeat, Period,
    Recurrence, Repeat, SpecialDay, SpecialWeekday, ZoneSource,
};
use proptest::prelude::*;
use proptest::sample::select;

use super::tzif;

pub(super) fn definition() -> impl Strategy<Value = Definition> {
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
            Some(rule) => recurrences(rule).unwrap(),
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

/// One of a few; `every_rule` has the others.
fn rule() -> impl Strategy<Value = &'static str> {
    select(vec![
        "FREQ=DAILY",
        "DTSTART:20260329T023000 RRULE:FREQ=DAILY;COUNT=3",
        "FREQ=WEEKLY;BYDAY=SU;BYHOUR=2;BYMINUTE=30",
        "FREQ=MONTHLY;BYDAY=-1SU;BYHOUR=2;UNTIL=20260401T000000Z",
        "FREQ=HOURLY",
    ])
}

pub(super) fn recurrences(text: &str) -> Option<Vec<Recurrence>> {
    Definition::read(&[text], Dialect::Temporal).ok().map(|definition| definition.recurrences)
}

/// Every combination of some values of the parts of a rule, as far as it is one.
pub(super) fn every_rule() -> Vec<String> {
    let parts: [&[&str]; 9] = [
        &["", "DTSTART:20260330T023000 "],
        &["SECONDLY", "MINUTELY", "HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY"],
        &["", ";INTERVAL=2"],
        &["", ";BYMONTH=3"],
        &["", ";BYMONTHDAY=30", ";BYMONTHDAY=-2"],
        &["", ";BYDAY=MO", ";BYDAY=-1MO", ";BYDAY=MO,5MO"],
        &["", ";BYHOUR=2,14"],
        &["", ";BYSETPOS=-1"],
        &["", ";WKST=SU"],
    ];
    let mut rules = vec![String::new()];
    for values in parts {
        let longer = |rule: &String| {
            let rule = rule.clone();
            values.iter().map(move |value| match *value {
                frequency if frequency.ends_with("LY") => format!("{rule}FREQ={frequency}"),
                value => format!("{rule}{value}"),
            })
        };
        rules = rules.iter().flat_map(longer).collect();
    }
    rules
}

fn instant() -> impl Strategy<Value = Timestamp> {
    (1_700_000_000_000..1_900_000_000_000i64)
        .prop_map(|at| Timestamp::from_millisecond(at).unwrap())
}

fn zone() -> impl Strategy<Value = ZoneSource> {
    select(zones())
}

pub(super) fn zones() -> Vec<ZoneSource> {
    let names = ["UTC", "Etc/UTC", "Europe/Oslo", "America/New_York", "Australia/Lord_Howe"];
    let named = names.map(|name| ZoneSource::Name(name.to_owned()));
    let files = [("Oslo", "CET-1CEST,M3.5.0,M10.5.0/3"), ("Oslo", "CET-1"), ("", "EST5")];
    let files = files.map(|(name, rule)| ZoneSource::Tzif { name: name.into(), data: tzif(rule) });
    [ZoneSource::Default].into_iter().chain(named).chain(files).collect()
}

fn policy() -> impl Strategy<Value = DstPolicy> {
    select(policies())
}

pub(super) fn policies() -> Vec<DstPolicy> {
    let repeats = [OnRepeat::First, OnRepeat::Last, OnRepeat::Both];
    let with = |gap| repeats.map(|repeat| DstPolicy { gap, repeat });
    [with(OnGap::Skip), with(OnGap::Shift)].concat()
}
