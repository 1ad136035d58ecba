//! What the reference documents say, sentence by sentence, and Temporal's own table of rules.

use perennial_calendar::{Definition, Dialect, FieldRange, Interval, NamedCalendars, Spec};

use crate::oracle::{self, compile, instant, nominals, spec};

#[track_caller]
fn check(text: &str, from: &str, expected: &[&str]) {
    assert_eq!(nominals(&spec(text), from, expected.len()), expected, "{text}");
}

#[track_caller]
fn check_dialect(dialect: Dialect, text: &str, from: &str, expected: &[&str]) {
    let spec = compile(Definition::read(&[text], dialect).unwrap());
    assert_eq!(nominals(&spec, from, expected.len()), expected, "{text}");
}

#[track_caller]
fn same(dialect: Dialect, one: &str, other: &str) {
    let read = |text| Definition::read(&[text], dialect).unwrap();
    assert_eq!(read(one), read(other), "{one} and {other}");
}

const NEW_YEAR: &str = "2026-01-01T00:00:00Z";

#[test]
fn intervals_are_aligned_to_the_epoch_with_a_phase() {
    check("45m", NEW_YEAR, &["2026-01-01T00:45:00Z", "2026-01-01T01:30:00Z"]);
    check("6h/5h", NEW_YEAR, &["2026-01-01T05:00:00Z", "2026-01-01T11:00:00Z"]);
    // Every five hours counted from 1970, fifteen minutes past.
    check("5h/15m", NEW_YEAR, &["2026-01-01T04:15:00Z", "2026-01-01T09:15:00Z"]);
    check("PT30M", NEW_YEAR, &["2026-01-01T00:30:00Z", "2026-01-01T01:00:00Z"]);
    check("P1D", NEW_YEAR, &["2026-01-02T00:00:00Z"]);
    check("PT1H/PT5M", NEW_YEAR, &["2026-01-01T00:05:00Z", "2026-01-01T01:05:00Z"]);
    same(Dialect::Temporal, "@every 14h/3h", "14h/3h");
    same(Dialect::Temporal, "@every 1d", "P1D");
}

#[test]
fn calendar_json_has_named_fields_with_defaults() {
    let text = r#"{"year":"2022","month":"Jan,Apr,Jul,Oct","dayOfMonth":"1,15","hour":"11-14"}"#;
    check(
        text,
        "2022-01-01T00:00:00Z",
        &[
            "2022-01-01T11:00:00Z",
            "2022-01-01T12:00:00Z",
            "2022-01-01T13:00:00Z",
            "2022-01-01T14:00:00Z",
            "2022-01-15T11:00:00Z",
        ],
    );
    check(
        r#"{"year":"2022","month":"*/3","dayOfMonth":"1,15","hour":"11-14"}"#,
        "2022-01-15T14:00:00Z",
        &["2022-04-01T11:00:00Z"],
    );
    // With an interval beside it: the schedule of the reference's first example.
    let both = ["5h/15m", r#"{"dayOfWeek":"Fri","hour":"11","minute":"3"}"#];
    let both = compile(Definition::read(&both, Dialect::Temporal).unwrap());
    assert_eq!(
        nominals(&both, "2022-06-17T09:00:00Z", 3),
        ["2022-06-17T10:15:00Z", "2022-06-17T11:03:00Z", "2022-06-17T15:15:00Z"]
    );
    let commented = Definition::read(&[r#"{"comment":"every midnight"}"#], Dialect::Temporal);
    let commented = commented.unwrap();
    assert_eq!(commented.calendars[0].comment, "every midnight");
    check(r#"{"comment":"every midnight"}"#, NEW_YEAR, &["2026-01-02T00:00:00Z"]);
}

#[test]
fn names_may_be_in_any_case_and_abbreviated() {
    for weekday in ["Fri", "FRIDAY", "fr", "frid", "5"] {
        same(Dialect::Temporal, &format!("0 0 * * {weekday}"), "0 0 * * 5");
    }
    for month in ["SEP", "Sept", "september", "9", "09"] {
        same(Dialect::Temporal, &format!("0 0 * {month} *"), "0 0 * 9 *");
    }
    assert!(Definition::read(&["0 0 * * T"], Dialect::Temporal).is_err());
    assert!(Definition::read(&["0 0 * Ju *"], Dialect::Temporal).is_err());
}

#[test]
fn sunday_is_0_and_7() {
    same(Dialect::Temporal, "0 0 * * 7", "0 0 * * 0");
    same(Dialect::Temporal, "0 0 * * 0-7", "0 0 * * *");
    same(Dialect::Temporal, "0 0 * * 1-7", "0 0 * * 0,1-6");
    same(Dialect::Temporal, "0 0 * * 3-7", "0 0 * * 0,3-6");
    same(Dialect::Temporal, "0 0 * * 3-7/3", "0 0 * * 3-6/3");
    same(Dialect::Temporal, "0 0 * * 1-7/2", "0 0 * * 0,1-6/2");
    same(Dialect::Temporal, "0 0 * * FRI-SUN", "0 0 * * 5-7");
}

#[test]
fn cron_fields_are_counted_as_temporal_counts_them() {
    check("30 9 * * *", NEW_YEAR, &["2026-01-01T09:30:00Z"]);
    check("30 9 * * * 2028", NEW_YEAR, &["2028-01-01T09:30:00Z"]);
    check("15 30 9 * * * 2028", NEW_YEAR, &["2028-01-01T09:30:15Z"]);
    check("3/20 * * * *", NEW_YEAR, &["2026-01-01T00:03:00Z", "2026-01-01T00:23:00Z"]);
}

#[test]
fn day_of_month_and_day_of_week_must_both_match() {
    check("0 0 13 * FRI", NEW_YEAR, &["2026-02-13T00:00:00Z", "2026-03-13T00:00:00Z"]);
}

#[test]
fn predefined_names_stand_for_their_fields() {
    for (name, fields) in [
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        ("@monthly", "0 0 1 * *"),
        ("@weekly", "0 0 * * 0"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@hourly", "0 * * * *"),
    ] {
        same(Dialect::Temporal, name, fields);
        same(Dialect::Classic, name, fields);
    }
}

#[test]
fn a_cron_string_may_carry_a_zone_and_a_comment() {
    let text = "CRON_TZ=America/New_York 15 8 * * * # breakfast";
    check(text, NEW_YEAR, &["2026-01-01T13:15:00Z"]);
    let read = Definition::read(&[text], Dialect::Temporal).unwrap();
    assert_eq!(read.calendars[0].comment, "breakfast");
    same(Dialect::Temporal, text, "TZ=America/New_York 15 8 * * *#breakfast");
}

#[test]
fn crons_of_one_spec_must_agree_on_the_zone() {
    let read = |texts: &[&str]| {
        Definition::read(texts, Dialect::Temporal).map_err(|error| error.to_string())
    };
    assert!(read(&["TZ=Europe/Oslo @daily", "CRON_TZ=europe/oslo @hourly", "5h"]).is_ok());
    assert!(read(&["TZ=Europe/Oslo @daily", r#"{"hour":"9"}"#]).is_ok());
    assert_eq!(
        read(&["TZ=Europe/Oslo @daily", "@hourly"]).unwrap_err(),
        "the spec's parts disagree on the time zone: Europe/Oslo and none; name the same in \
         each"
    );
    let mut oslo = read(&["TZ=Europe/Oslo @daily"]).unwrap();
    assert!(oslo.set_zone("Europe/Oslo").is_ok());
    assert!(oslo.set_zone("UTC").is_err());
}

#[test]
fn canonical_form_fills_in_ends_and_steps_and_keeps_comments() {
    let read = Definition::read(&["5,10-20/5 */6 * * 3-7 # c"], Dialect::Temporal).unwrap();
    let calendar = &read.calendars[0];
    assert_eq!(calendar.second, [FieldRange::single(0)]);
    assert_eq!(
        calendar.minute,
        [FieldRange::single(5), FieldRange { start: 10, end: 20, step: 5 }]
    );
    assert_eq!(calendar.hour, [FieldRange { start: 0, end: 23, step: 6 }]);
    assert_eq!(calendar.day_of_month, [FieldRange::new(1, 31)]);
    assert_eq!(calendar.day_of_week, [FieldRange::single(0), FieldRange::new(3, 6)]);
    assert_eq!(calendar.year, []);
    assert_eq!(calendar.comment, "c");
    let read = Definition::read(&["@every 5h/15m"], Dialect::Temporal).unwrap();
    assert_eq!(read.intervals, [Interval { every: 18_000, phase: 900 }]);
}

#[test]
fn an_exclusion_takes_each_monday_noon_that_is_a_holiday() {
    let mut definition = Definition::read(&["0 12 * * MON"], Dialect::Temporal).unwrap();
    definition.exclude("* * * 21 12 * *", Dialect::Temporal).unwrap();
    assert_eq!(
        nominals(&compile(definition), "2026-12-13T00:00:00Z", 2),
        ["2026-12-14T12:00:00Z", "2026-12-28T12:00:00Z"]
    );
}

#[test]
fn a_named_calendar_is_left_out_and_an_unknown_one_refused() {
    let mut christmas = Definition::default();
    christmas.exclude("* * * 24-26 12 * *", Dialect::Temporal).unwrap();
    let mut named = NamedCalendars::default();
    named.insert("holidays", christmas.exclusions);
    let read = |text| Definition::read(&[text], Dialect::Temporal).unwrap();
    let compile = |text| Spec::compile(read(text), &oracle::zones(), &named);
    let spec = compile("EXCLUDE=holidays 0 9 * * *").unwrap();
    assert_eq!(
        nominals(&spec, "2026-12-23T00:00:00Z", 2),
        ["2026-12-23T09:00:00Z", "2026-12-27T09:00:00Z"]
    );
    assert_eq!(
        compile("EXCLUDE=holiday 0 9 * * *").unwrap_err().to_string(),
        r#"unknown calendar "holiday"; did you mean "holidays"?"#
    );
}

#[test]
fn dbos_crontabs_keep_what_the_divisor_divides() {
    let dbos = |text, from, expected: &[&str]| check_dialect(Dialect::Dbos, text, from, expected);
    dbos("* * * * *", NEW_YEAR, &["2026-01-01T00:01:00Z", "2026-01-01T00:02:00Z"]);
    // Every minute during the hour of 05:00 on Mondays.
    dbos("* 5 * * 1", NEW_YEAR, &["2026-01-05T05:00:00Z", "2026-01-05T05:01:00Z"]);
    dbos("30 * * * * *", NEW_YEAR, &["2026-01-01T00:00:30Z", "2026-01-01T00:01:30Z"]);
    dbos("0 12 * * Sun", NEW_YEAR, &["2026-01-04T12:00:00Z", "2026-01-11T12:00:00Z"]);
    dbos("0 9-17 * * *", "2026-01-01T16:00:00Z", &["2026-01-01T17:00:00Z", "2026-01-02T09:00:00Z"]);
    dbos("*/30 * * * * *", NEW_YEAR, &["2026-01-01T00:00:30Z", "2026-01-01T00:01:00Z"]);
    dbos(
        "10-19/2 * * January,Feb *",
        "2026-02-28T23:09:00Z",
        &[
            "2026-02-28T23:10:00Z",
            "2026-02-28T23:12:00Z",
            "2026-02-28T23:14:00Z",
            "2026-02-28T23:16:00Z",
            "2026-02-28T23:18:00Z",
            "2027-01-01T00:10:00Z",
        ],
    );
    same(Dialect::Dbos, "11-19/2 * * * *", "12-19/2 * * * *");
    same(Dialect::Dbos, "0 0 * * 0-7/7", "0 0 * * 0");
    same(Dialect::Dbos, "0 0 * * 5-7", "0 0 * * 0,5,6");
    // The dialect may be chosen inside the string.
    let chosen = Definition::read(&["DIALECT=dbos 30 * * * * *"], Dialect::Temporal).unwrap();
    assert_eq!(chosen, Definition::read(&["30 * * * * *"], Dialect::Dbos).unwrap());
}

#[test]
fn a_workflows_own_cron_matches_either_day_field() {
    let classic =
        |text, from, expected: &[&str]| check_dialect(Dialect::Classic, text, from, expected);
    classic("15 8 * * *", NEW_YEAR, &["2026-01-01T08:15:00Z"]);
    classic(
        "0 0 13 * FRI",
        NEW_YEAR,
        &[
            "2026-01-02T00:00:00Z",
            "2026-01-09T00:00:00Z",
            "2026-01-13T00:00:00Z",
            "2026-01-16T00:00:00Z",
        ],
    );
    // A star with a step restricts; a star without one, or a question mark, doesn't.
    classic("0 0 */20 * FRI", "2026-01-20T12:00:00Z", &["2026-01-21T00:00:00Z"]);
    classic("0 0 13 * *", NEW_YEAR, &["2026-01-13T00:00:00Z", "2026-02-13T00:00:00Z"]);
    classic("0 0 ? * FRI", NEW_YEAR, &["2026-01-02T00:00:00Z", "2026-01-09T00:00:00Z"]);
    classic("@weekly", NEW_YEAR, &["2026-01-04T00:00:00Z"]);
    classic("CRON_TZ=America/New_York 15 8 * * *", NEW_YEAR, &["2026-01-01T13:15:00Z"]);
    classic("@every 90m", NEW_YEAR, &["2026-01-01T01:30:00Z"]);
    for refused in ["0 0 * * 7", "0 0 * * * *", "0 0 L * *", "0 0 * * Friday"] {
        assert!(Definition::read(&[refused], Dialect::Classic).is_err(), "{refused}");
    }
}

#[test]
fn last_nearest_and_nth_days() {
    check("0 0 L * *", NEW_YEAR, &["2026-01-31T00:00:00Z", "2026-02-28T00:00:00Z"]);
    check("0 0 L-2 2 *", NEW_YEAR, &["2026-02-26T00:00:00Z"]);
    // 31 January 2026 is a Saturday, 28 February too.
    check("0 0 LW * *", NEW_YEAR, &["2026-01-30T00:00:00Z", "2026-02-27T00:00:00Z"]);
    // 1 February 2026 is a Sunday, 1 August a Saturday: neither leaves its month.
    check("0 0 1W 2,8 *", NEW_YEAR, &["2026-02-02T00:00:00Z", "2026-08-03T00:00:00Z"]);
    check("0 0 15W 2,8 *", NEW_YEAR, &["2026-02-16T00:00:00Z", "2026-08-14T00:00:00Z"]);
    check("0 0 * * FRI#2", NEW_YEAR, &["2026-01-09T00:00:00Z", "2026-02-13T00:00:00Z"]);
    check("0 0 * * FRI#5", NEW_YEAR, &["2026-01-30T00:00:00Z", "2026-05-29T00:00:00Z"]);
    check("0 0 * * FRIL", NEW_YEAR, &["2026-01-30T00:00:00Z", "2026-02-27T00:00:00Z"]);
    check("0 0 1,L * *", NEW_YEAR, &["2026-01-31T00:00:00Z", "2026-02-01T00:00:00Z"]);
    check(r#"{"dayOfMonth":"L"}"#, NEW_YEAR, &["2026-01-31T00:00:00Z"]);
}

#[test]
fn repeats_are_anchored_at_their_start() {
    check(
        "R/2026-01-31T09:00/P1M",
        NEW_YEAR,
        &["2026-01-31T09:00:00Z", "2026-02-28T09:00:00Z", "2026-03-31T09:00:00Z"],
    );
    check(
        "TZ=America/New_York R/2026-03-07T02:30:00/P1D",
        NEW_YEAR,
        &["2026-03-07T07:30:00Z", "2026-03-09T06:30:00Z"],
    );
    // Exact hours move on the clock, civil days don't.
    check(
        "TZ=America/New_York R/2026-03-07T09:00/PT24H",
        NEW_YEAR,
        &["2026-03-07T14:00:00Z", "2026-03-08T14:00:00Z"],
    );
    check(
        "TZ=America/New_York R/2026-03-07T09:00/P1D",
        NEW_YEAR,
        &["2026-03-07T14:00:00Z", "2026-03-08T13:00:00Z"],
    );
    let three = spec("R3/2026-01-05T09:00:00Z/P2W");
    assert_eq!(
        nominals(&three, NEW_YEAR, 9),
        ["2026-01-05T09:00:00Z", "2026-01-19T09:00:00Z", "2026-02-02T09:00:00Z"]
    );
    assert_eq!(nominals(&spec("R2/2026-01-05T09:00/PT1M"), NEW_YEAR, 9).len(), 2);
    // Five dates, one of which has no 02:30.
    let five = spec("CRON_TZ=Europe/Oslo R5/2026-03-27T02:30/P1D");
    assert_eq!(nominals(&five, NEW_YEAR, 9).len(), 4);
}

#[test]
fn bounds_are_inclusive_on_the_nominal_time() {
    let definition = Definition {
        start: Some(instant("2026-01-01T01:00:00Z")),
        end: Some(instant("2026-01-01T03:00:00Z")),
        jitter: std::time::Duration::from_secs(600),
        ..Definition::read(&["1h"], Dialect::Temporal).unwrap()
    };
    let times: Vec<_> = compile(definition).after(instant("2020-01-01T00:00:00Z")).collect();
    assert_eq!(times.len(), 3);
    assert_eq!(times[2].nominal, instant("2026-01-01T03:00:00Z"));
    assert!(times[2].due > times[2].nominal, "the last start may be put off past the end");
}

#[test]
fn an_exclusion_never_moves_the_clock_of_the_parts() {
    let mut definition = Definition::read(&["0 9 * * *"], Dialect::Temporal).unwrap();
    assert!(definition.exclude("TZ=Europe/Oslo * * * 25 12 * *", Dialect::Temporal).is_err());
    assert!(definition.exclude("EXCLUDE=x * * * 25 12 * *", Dialect::Temporal).is_err());
    definition.set_zone("Europe/Oslo").unwrap();
    assert!(definition.exclude("TZ=Europe/Oslo * * * 25 12 * *", Dialect::Temporal).is_ok());
}

#[test]
fn a_calendar_named_twice_is_left_out_once() {
    let read = Definition::read(&["EXCLUDE=a,b @daily", "EXCLUDE=a @hourly"], Dialect::Temporal);
    assert_eq!(read.unwrap().excluded_calendars, ["a", "b"]);
}

#[test]
fn bounds_within_a_second_take_the_whole_seconds_inside() {
    let definition = Definition {
        start: Some(instant("2026-01-01T00:00:00.5Z")),
        end: Some(instant("2026-01-01T00:00:03.5Z")),
        ..Definition::read(&["1s"], Dialect::Temporal).unwrap()
    };
    let seconds = nominals(&compile(definition), NEW_YEAR, 9);
    assert_eq!(seconds.first().unwrap(), "2026-01-01T00:00:01Z");
    assert_eq!(seconds.last().unwrap(), "2026-01-01T00:00:03Z");
}

#[test]
fn next_is_strictly_after_and_sees_no_fractions() {
    let spec = spec("1m");
    let next = |from| spec.next(instant(from)).unwrap().nominal.to_string();
    assert_eq!(next("2026-01-01T00:00:59.999999999Z"), "2026-01-01T00:01:00Z");
    assert_eq!(next("2026-01-01T00:01:00Z"), "2026-01-01T00:02:00Z");
    assert_eq!(next("2026-01-01T00:01:00.000000001Z"), "2026-01-01T00:02:00Z");
    let previous = |from| spec.previous(instant(from)).unwrap().nominal.to_string();
    assert_eq!(previous("2026-01-01T00:01:00Z"), "2026-01-01T00:00:00Z");
    assert_eq!(previous("2026-01-01T00:01:00.000000001Z"), "2026-01-01T00:01:00Z");
}

#[test]
fn lengths_may_be_in_words() {
    same(Dialect::Temporal, "5 hours", "5h");
    same(Dialect::Temporal, "1 hour 30 minutes", "90m");
}
