//! Definitions that are nearly the same as another.

use jiff::SignedDuration;
use perennial_calendar::{Calendar, Definition, FieldRange, Period, SpecialDay, SpecialWeekday};

use super::definitions::{policies, recurrences, zones};

/// Definitions that differ from this one in one small thing.
pub(super) fn neighbours(definition: &Definition) -> Vec<Definition> {
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
        add(&|d| d.repeats[n].start += SignedDuration::from_secs(1));
        add(&|d| d.repeats[n].start -= SignedDuration::from_hours(24));
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
    for n in 0..definition.recurrences.len() {
        let rule = definition.recurrences[n].to_string();
        for more in
            [";COUNT=1", ";UNTIL=20260401T000000", ";INTERVAL=3", ";BYSECOND=1", ";BYMONTH=2"]
        {
            if let Some(changed) = recurrences(&format!("{rule}{more}")) {
                add(&|d| d.recurrences = changed.clone());
            }
        }
        add(&|d| drop(d.recurrences.remove(n)));
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
pub(super) fn list_values(calendar: &mut Calendar) {
    for ranges in fields(calendar) {
        let values: Vec<u16> = ranges.iter().flat_map(|range| range.values()).collect();
        let twice = values.iter().rev().chain(&values);
        *ranges = twice.map(|value| FieldRange::single(*value)).collect();
    }
}
