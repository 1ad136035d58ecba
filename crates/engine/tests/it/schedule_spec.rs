//! A schedule's spec in every form it can be written, and the one it is shown in.

#![allow(
    deprecated,
    reason = "earlier clients write exclusions so, and nothing newer says as much"
)]

use expect_test::{Expect, expect};
use jiff::Timestamp;
use jiff::tz::TimeZoneDatabase;
use perennial_calendar::{NamedCalendars, Spec, Zones};
use perennial_engine::schedule::spec::{canonical, read};
use perennial_proto::Duration;
use perennial_proto::temporal::schedule::v1::{
    CalendarSpec, IntervalSpec, Range, ScheduleSpec, StructuredCalendarSpec,
};

/// A spec of these cron strings.
fn crons(texts: &[&str]) -> ScheduleSpec {
    let cron_string = texts.iter().map(|text| (*text).to_owned()).collect();
    ScheduleSpec { cron_string, ..ScheduleSpec::default() }
}

fn range(start: i32, end: i32, step: i32) -> Vec<Range> {
    vec![Range { start, end, step }]
}

/// What the canonical form has, a part a line.
fn shown(spec: &ScheduleSpec) -> String {
    let ranges = |ranges: &[Range]| -> String {
        let range = |it: &Range| format!("{}-{}/{}", it.start, it.end, it.step);
        ranges.iter().map(range).collect::<Vec<_>>().join(",")
    };
    let calendar = |it: &StructuredCalendarSpec| {
        let fields = [
            &it.second,
            &it.minute,
            &it.hour,
            &it.day_of_month,
            &it.month,
            &it.day_of_week,
            &it.year,
        ];
        let fields: Vec<_> = fields.into_iter().map(|field| ranges(field)).collect();
        format!("{} #{}", fields.join(" "), it.comment)
    };
    let mut lines = Vec::new();
    lines.extend(spec.structured_calendar.iter().map(|it| format!("calendar {}", calendar(it))));
    lines.extend(spec.cron_string.iter().map(|it| format!("cron {it}")));
    lines.extend(spec.interval.iter().map(|it| {
        let seconds = |it: &Option<Duration>| it.as_ref().map_or(0, |it| it.seconds);
        format!("interval {}/{}", seconds(&it.interval), seconds(&it.phase))
    }));
    let excluded = spec.exclude_structured_calendar.iter();
    lines.extend(excluded.map(|it| format!("exclude {}", calendar(it))));
    lines.extend(spec.exclude_calendar.iter().map(|it| {
        let CalendarSpec { second, minute, hour, day_of_month, month, day_of_week, .. } = it;
        format!("exclude {second} {minute} {hour} {day_of_month} {month} {day_of_week}")
    }));
    lines.extend(spec.start_time.iter().map(|it| format!("start {}", it.seconds)));
    lines.extend(spec.end_time.iter().map(|it| format!("end {}", it.seconds)));
    lines.extend(spec.jitter.iter().map(|it| format!("jitter {}", it.seconds)));
    if !spec.timezone_name.is_empty() || !spec.timezone_data.is_empty() {
        lines.push(format!("zone {} ({} bytes)", spec.timezone_name, spec.timezone_data.len()));
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

/// The first times of a spec.
fn times(spec: &ScheduleSpec) -> Vec<Timestamp> {
    let mut named = NamedCalendars::default();
    named.insert("holidays", read(&crons(&["* * * 25 12 * *"])).unwrap().calendars);
    let zones = Zones::new(TimeZoneDatabase::bundled());
    let spec = Spec::compile(read(spec).unwrap(), &zones, &named).unwrap();
    let from: Timestamp = "2026-12-24T00:00:00Z".parse().unwrap();
    spec.after(from).take(50).map(|it| it.nominal).collect()
}

/// The canonical form; that it is canonical, and that it means what was written, holds for each.
#[track_caller]
fn check(spec: &ScheduleSpec, expected: Expect) {
    let form = canonical(&read(spec).unwrap());
    expected.assert_eq(&shown(&form));
    assert_eq!(canonical(&read(&form).unwrap()), form);
    assert_eq!(times(&form), times(spec));
}

#[test]
fn cron_strings_become_structured_calendars_and_intervals() {
    check(
        &crons(&[
            "CRON_TZ=Europe/Oslo 0 9-17/2 * * MON-FRI # office",
            "CRON_TZ=Europe/Oslo @daily",
        ]),
        expect![[r#"
            calendar 0-0/1 0-0/1 9-17/2 1-31/1 1-12/1 1-5/1  #office
            calendar 0-0/1 0-0/1 0-0/1 1-31/1 1-12/1 0-6/1  #
            zone Europe/Oslo (0 bytes)
        "#]],
    );
    check(
        &crons(&["@every 5h/15m", "30m"]),
        expect![[r#"
        interval 18000/900
        interval 1800/0
    "#]],
    );
}

#[test]
fn named_fields_have_defaults_and_structured_ones_have_none() {
    let mut spec = ScheduleSpec::default();
    spec.calendar.push(CalendarSpec { day_of_week: "Fri".to_owned(), ..CalendarSpec::default() });
    spec.structured_calendar.push(StructuredCalendarSpec {
        minute: range(5, 0, 0),
        hour: range(1, 9, 3),
        comment: "never".to_owned(),
        ..StructuredCalendarSpec::default()
    });
    check(
        &spec,
        expect![[r#"
        calendar  5-5/1 1-9/3     #never
        calendar 0-0/1 0-0/1 0-0/1 1-31/1 1-12/1 5-5/1  #
    "#]],
    );
}

#[test]
fn what_structured_calendars_cant_say_stays_a_cron_string() {
    check(
        &crons(&[
            "0 2 L * *",
            "0 3 * * FRI#2",
            "R/2026-01-05/P2W",
            "FREQ=MONTHLY;BYDAY=-1FR",
            "0 4 * * *",
        ]),
        expect![[r#"
            calendar 0-0/1 0-0/1 4-4/1 1-31/1 1-12/1 0-6/1  #
            cron 0 2 L * *
            cron 0 3 * * 5#2
            cron R/2026-01-05T00:00:00/P14D
            cron RRULE:FREQ=MONTHLY;BYDAY=-1FR
        "#]],
    );
}

#[test]
fn settings_without_a_field_of_their_own_stand_before_a_text() {
    check(
        &crons(&["CRON_TZ=Europe/Oslo DST=once 30 2 * * *", "CRON_TZ=Europe/Oslo 0 12 * * *"]),
        expect![[r#"
            calendar 0-0/1 30-30/1 2-2/1 1-31/1 1-12/1 0-6/1  #
            cron DST=once 0 12 * * *
            zone Europe/Oslo (0 bytes)
        "#]],
    );
    check(
        &crons(&["EXCLUDE=holidays 0 12 * * *", "0 2 L * *"]),
        expect![[r#"
        calendar 0-0/1 0-0/1 12-12/1 1-31/1 1-12/1 0-6/1  #
        cron EXCLUDE=holidays 0 2 L * *
    "#]],
    );
    check(
        &crons(&["EXCLUDE=holidays 6h"]),
        expect![[r#"
        cron EXCLUDE=holidays 6h
    "#]],
    );
}

#[test]
fn exclusions_bounds_jitter_and_zone_are_kept() {
    let mut spec = crons(&["0 * * * *"]);
    spec.exclude_structured_calendar =
        canonical(&read(&crons(&["* * 3 * * * *"])).unwrap()).structured_calendar;
    spec.exclude_calendar.push(CalendarSpec {
        hour: "*".to_owned(),
        day_of_month: "L".to_owned(),
        ..CalendarSpec::default()
    });
    spec.start_time = Some(perennial_proto::Timestamp { seconds: 1_798_000_000, nanos: 0 });
    spec.end_time = Some(perennial_proto::Timestamp { seconds: 1_800_000_000, nanos: 0 });
    spec.jitter = Some(Duration { seconds: 60, nanos: 0 });
    spec.timezone_name = "America/New_York".to_owned();
    check(
        &spec,
        expect![[r#"
        calendar 0-0/1 0-0/1 0-23/1 1-31/1 1-12/1 0-6/1  #
        exclude 0-59/1 0-59/1 3-3/1 1-31/1 1-12/1 0-6/1  #
        exclude 0 0 * L * *
        start 1798000000
        end 1800000000
        jitter 60
        zone America/New_York (0 bytes)
    "#]],
    );
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let refused = |spec: &ScheduleSpec| read(spec).unwrap_err().to_string();
    let mut spec = ScheduleSpec::default();
    spec.structured_calendar.push(StructuredCalendarSpec {
        hour: range(-1, 0, 0),
        ..StructuredCalendarSpec::default()
    });
    assert_eq!(refused(&spec), "hour -1 is out of range");

    let negative = Some(Duration { seconds: -1, nanos: 0 });
    let interval = vec![IntervalSpec { interval: negative, phase: None }];
    let spec = ScheduleSpec { interval, ..ScheduleSpec::default() };
    assert_eq!(refused(&spec), "interval is negative");

    let mut spec = crons(&["CRON_TZ=Europe/Oslo 0 9 * * *"]);
    spec.timezone_name = "UTC".to_owned();
    assert_eq!(
        refused(&spec),
        "the spec's parts disagree on the time zone: Europe/Oslo and UTC; name the same in each"
    );
}
