//! Random definitions, biased to what is interesting: sparse days, short ranges, odd steps.

use jiff::civil::DateTime;
use perennial_calendar::{
    Calendar, Definition, DstPolicy, FieldRange, Interval, OnGap, OnRepeat, Period, Repeat,
    SpecialDay, SpecialWeekday,
};
use proptest::prelude::*;

fn ranges(min: u16, max: u16) -> impl Strategy<Value = Vec<FieldRange>> {
    let range = (min..=max, min..=max, 1..=(max - min + 1).min(20))
        .prop_map(|(a, b, step)| FieldRange { start: a.min(b), end: a.max(b), step });
    let single = (min..=max).prop_map(FieldRange::single);
    prop_oneof![
        3 => Just(vec![FieldRange::new(min, max)]),
        3 => prop::collection::vec(single, 1..3),
        2 => prop::collection::vec(range, 1..3),
    ]
}

fn special_days() -> impl Strategy<Value = Vec<SpecialDay>> {
    let special = prop_oneof![
        (0u8..=30).prop_map(SpecialDay::BeforeLast),
        Just(SpecialDay::LastWeekday),
        (1u8..=31).prop_map(SpecialDay::NearestWeekday),
    ];
    prop_oneof![4 => Just(vec![]), 1 => prop::collection::vec(special, 1..3)]
}

fn special_weekdays() -> impl Strategy<Value = Vec<SpecialWeekday>> {
    let special = prop_oneof![
        (0u8..=6, 1u8..=5).prop_map(|(weekday, nth)| SpecialWeekday::Nth { weekday, nth }),
        (0u8..=6).prop_map(|weekday| SpecialWeekday::Last { weekday }),
    ];
    prop_oneof![4 => Just(vec![]), 1 => prop::collection::vec(special, 1..3)]
}

/// A calendar; with `whole_minutes` its second is 0.
pub(crate) fn calendar(whole_minutes: bool) -> impl Strategy<Value = Calendar> {
    let second = if whole_minutes {
        Just(vec![FieldRange::single(0)]).boxed()
    } else {
        ranges(0, 59).boxed()
    };
    let days = (ranges(1, 31), special_days(), ranges(0, 6), special_weekdays());
    let year = prop_oneof![3 => Just(vec![]), 1 => ranges(2000, 2100)];
    (second, ranges(0, 59), ranges(0, 23), days, ranges(1, 12), year).prop_map(
        |(second, minute, hour, days, month, year)| {
            let (day_of_month, special_days, day_of_week, special_weekdays) = days;
            // A special day only matters where the plain ones don't cover everything.
            let all_days = day_of_month == [FieldRange::new(1, 31)];
            let all_weekdays = day_of_week == [FieldRange::new(0, 6)];
            Calendar {
                second,
                minute,
                hour,
                day_of_month: if all_days && !special_days.is_empty() {
                    vec![]
                } else {
                    day_of_month
                },
                special_days,
                month,
                day_of_week: if all_weekdays && !special_weekdays.is_empty() {
                    vec![]
                } else {
                    day_of_week
                },
                special_weekdays,
                year,
                comment: String::new(),
            }
        },
    )
}

pub(crate) fn interval() -> impl Strategy<Value = Interval> {
    let every = prop_oneof![1u64..600, 600u64..200_000];
    (every, any::<prop::sample::Index>())
        .prop_map(|(every, phase)| Interval { every, phase: phase.index(every as usize) as u64 })
}

pub(crate) fn dst_policy() -> impl Strategy<Value = DstPolicy> {
    let gap = prop_oneof![Just(OnGap::Skip), Just(OnGap::Shift)];
    let repeat = prop_oneof![Just(OnRepeat::First), Just(OnRepeat::Last), Just(OnRepeat::Both)];
    (gap, repeat).prop_map(|(gap, repeat)| DstPolicy { gap, repeat })
}

pub(crate) fn civil_time() -> impl Strategy<Value = DateTime> {
    (2000i16..=2037, 1i8..=12, 1i8..=31, 0i8..24, 0i8..60).prop_map(|(y, mo, d, h, mi)| {
        let first = jiff::civil::date(y, mo, 1);
        jiff::civil::date(y, mo, d.min(first.days_in_month())).at(h, mi, 0, 0)
    })
}

pub(crate) fn civil_repeat() -> impl Strategy<Value = Repeat> {
    let every =
        prop_oneof![(1u32..400).prop_map(Period::Days), (1u32..30).prop_map(Period::Months),];
    let count = prop_oneof![2 => Just(None), 1 => (1u32..50).prop_map(Some)];
    (civil_time(), every, count).prop_map(|(start, every, count)| Repeat { start, every, count })
}

/// Calendars, intervals of whole minutes and exclusions, all at second 0.
pub(crate) fn minute_definition() -> impl Strategy<Value = Definition> {
    let minutes = interval().prop_map(|i| Interval { every: i.every * 60, phase: i.phase * 60 });
    (
        prop::collection::vec(calendar(true), 1..3),
        prop::collection::vec(minutes, 0..2),
        prop::collection::vec(civil_repeat(), 0..2),
        prop::collection::vec(calendar(true), 0..3),
        prop::option::of(dst_policy()),
    )
        .prop_map(|(calendars, intervals, repeats, exclusions, dst)| Definition {
            calendars,
            intervals,
            repeats,
            exclusions,
            dst,
            ..Definition::default()
        })
}
