//! Invalid specs and their error messages: what is wrong, where, and what to write instead.

use expect_test::{Expect, expect};
use perennial_calendar::{Definition, Dialect, DstPolicy, parse_duration};

fn refusals(dialect: Dialect, texts: &[&str], expected: Expect) {
    let mut told = String::new();
    for text in texts {
        let error = Definition::read(&[text], dialect).expect_err(text);
        told.push_str(&format!("{error}\n"));
    }
    expected.assert_eq(&told);
}

#[test]
fn cron_strings() {
    refusals(
        Dialect::Temporal,
        &[
            "0 24 * * *",
            "60 * * * *",
            "* * 0 * *",
            "* * 32 * *",
            "* * * 13 *",
            "* * * * 8",
            "* * * * * 1999",
            "* * * *",
            "* * * * * * * *",
            "* * * * MOM",
            "* * * Sebtember *",
            "* 22-2 * * *",
            "*/0 * * * *",
            "5/ * * * *",
            "1-2-3 * * * *",
            "1/2/3 * * * *",
            "1,,2 * * * *",
            "-5 * * * *",
            "99999999999 * * * *",
            "* * ? * *",
            "é * * * *",
        ],
        expect![[r#"
            hour 24 is out of range 0–23; midnight is 0
              0 24 * * *
                ^^
            minute 60 is out of range 0–59; the full hour is 0
              60 * * * *
              ^^
            day of month 0 is out of range 1–31; the first day is 1
              * * 0 * *
                  ^
            day of month 32 is out of range 1–31; the last day of the month is L
              * * 32 * *
                  ^^
            month 13 is out of range 1–12; December is 12
              * * * 13 *
                    ^^
            day of week 8 is out of range 0–7; Sunday is 0 or 7, Saturday is 6
              * * * * 8
                      ^
            year 1999 is out of range 2000–2100
              * * * * * 1999
                        ^^^^
            a cron string has 5 to 7 fields, this has 4 fields; minute, hour, day of month, month, day of week; a sixth is the year; of seven the first is the second
              * * * *
                     ^
            a cron string has 5 to 7 fields, this has 8 fields; minute, hour, day of month, month, day of week; a sixth is the year; of seven the first is the second
              * * * * * * * *
                            ^
            "MOM" is not a day of week; did you mean MON?
              * * * * MOM
                      ^^^
            "Sebtember" is not a month; did you mean SEP?
              * * * Sebtember *
                    ^^^^^^^^^
            hour range 22-2 runs backwards; write 22-23,0-2
              * 22-2 * * *
                ^^^^
            "0" is not a step for the minute; write a number from 1 up after the /
              */0 * * * *
                ^
            "" is not a step for the minute; write a number from 1 up after the /
              5/ * * * *
                ^
            "2-3" is not a minute; write numbers 0–59, or *
              1-2-3 * * * *
                ^^^
            "2/3" is not a step for the minute; write a number from 1 up after the /
              1/2/3 * * * *
                ^^^
            a minute is missing
              1,,2 * * * *
                ^
            a minute is missing
              -5 * * * *
              ^
            minute 99999999999 is out of range 0–59
              99999999999 * * * *
              ^^^^^^^^^^^
            "?" is not a day of month; write * for every one
              * * ? * *
                  ^
            "é" is not a minute; write numbers 0–59, or *
              é * * * *
              ^
        "#]],
    );
}

#[test]
fn last_nearest_and_nth() {
    refusals(
        Dialect::Temporal,
        &[
            "0 0 L-31 * *",
            "0 0 32W * *",
            "0 0 LX * *",
            "0 0 * * L",
            "0 0 * * FRI#6,1",
            "0 0 * * XL",
        ],
        expect![[r#"
            "31" is not a number of days 0–30; L-3 is the third day before the last
              0 0 L-31 * *
                    ^^
            day of month 32 is out of range 1–31; the last day of the month is L
              0 0 32W * *
                  ^^
            "LX" is not a day of month; L is the last day, L-3 three days before it, LW the last weekday
              0 0 LX * *
                  ^^
            L alone is not a day of week; FRIL is the last Friday of the month
              0 0 * * L
                      ^
            "6" is not one of 1–5; FRI#2 is the second Friday of the month, FRIL the last
              0 0 * * FRI#6,1
                          ^
            "X" is not a day of week; write numbers 0–7, names such as MON, or *
              0 0 * * XL
                      ^
        "#]],
    );
}

#[test]
fn settings_before_a_cron_string() {
    refusals(
        Dialect::Temporal,
        &[
            "CRON_TZ= 0 9 * * *",
            "CRON_TZ=Europe/Oslo",
            "TZ=UTC CRON_TZ=UTC 0 9 * * *",
            "DST=twice 0 9 * * *",
            "DST=move,first 0 9 * * *",
            "DST=skip,never 0 9 * * *",
            "DIALECT=quartz 0 9 * * *",
            "EXCLUDE=a,,b 0 9 * * *",
            "CRON_TS=UTC 0 9 * * *",
            "@dayly",
            "@every",
            "",
        ],
        expect![[r#"
            CRON_TZ= has no value; write CRON_TZ=Europe/Oslo
              CRON_TZ= 0 9 * * *
              ^^^^^^^^
            there is no time expression; write a cron string such as `0 9 * * MON-FRI`, or an interval such as `30m`
              CRON_TZ=Europe/Oslo
                                 ^
            CRON_TZ= is given twice
              TZ=UTC CRON_TZ=UTC 0 9 * * *
                     ^^^^^^^^^^^
            "twice" is not a DST policy; write literal, once, or a gap rule (skip, shift) and a repeat rule (first, last, both) such as shift,last
              DST=twice 0 9 * * *
                  ^^^^^
            "move" is not a rule for gaps; write literal, once, or a gap rule (skip, shift) and a repeat rule (first, last, both) such as shift,last
              DST=move,first 0 9 * * *
                  ^^^^
            "never" is not a rule for repeated times; write literal, once, or a gap rule (skip, shift) and a repeat rule (first, last, both) such as shift,last
              DST=skip,never 0 9 * * *
                       ^^^^^
            "quartz" is not a cron dialect; write temporal, dbos or classic
              DIALECT=quartz 0 9 * * *
                      ^^^^^^
            EXCLUDE= has no value; write EXCLUDE=holidays
              EXCLUDE=a,,b 0 9 * * *
              ^^^^^^^^^^^^
            CRON_TS= is not a setting; did you mean CRON_TZ=?
              CRON_TS=UTC 0 9 * * *
              ^^^^^^^^^^^
            @dayly is not a predefined schedule; did you mean @daily?
              @dayly
              ^^^^^^
            there is no duration; write it like 90s, 1h30m, 2d or PT30M
              @every
                    ^
            there is no time expression; write a cron string such as `0 9 * * MON-FRI`, or an interval such as `30m`
        "#]],
    );
}

#[test]
fn intervals_and_repeats() {
    refusals(
        Dialect::Temporal,
        &[
            "0s",
            "1500ms",
            "5x",
            "P1M",
            "-5m",
            "5m/5m",
            "5m/",
            "R/2026-01-05T09:00",
            "R0/2026-01-05T09:00/P1D",
            "R/2026-13-05T09:00/P1D",
            "R/1969-01-05T09:00/P1D",
            "R/2026-01-05T09:00+01:00/P1D",
            "R/2026-01-05T09:00/P1M1D",
            "R/2026-01-05T09:00/P1DT1H",
            "R/2026-01-05T09:00/P0D",
            "R/2026-01-05T09:00/PT999999999999S",
            "CRON_TZ=Europe/Oslo R/2026-01-05T09:00Z/P1D",
        ],
        expect![[r#"
            an interval is at least 1 second
              0s
              ^^
            1500ms is not a whole number of seconds
              1500ms
              ^^^^^^
            "5x" is not a duration; write it like 90s, 1h30m, 2d or PT30M
              5x
              ^^
            P1M has no fixed length; months and years repeat from a date, such as R/2026-01-31T09:00/P1M
              P1M
              ^^^
            the duration -5m is negative
              -5m
              ^^^
            the phase 5m is not less than the interval 5m
              5m/5m
                 ^^
            there is no duration; write it like 90s, 1h30m, 2d or PT30M
              5m/
                 ^
            a repeating interval has three parts; write R/<start>/<duration>, such as R/2026-01-31T09:00/P1M
              R/2026-01-05T09:00
              ^^^^^^^^^^^^^^^^^^
            0 is not a number of times from 1 up
              R0/2026-01-05T09:00/P1D
               ^
            "2026-13-05T09:00" is not a date and time; write R/<start>/<duration>, such as R/2026-01-31T09:00/P1M
              R/2026-13-05T09:00/P1D
                ^^^^^^^^^^^^^^^^
            the year 1969 is not within 1970–2100
              R/1969-01-05T09:00/P1D
                ^^^^^^^^^^^^^^^^
            the start is a local time in whole seconds, or UTC with Z; write R/<start>/<duration>, such as R/2026-01-31T09:00/P1M
              R/2026-01-05T09:00+01:00/P1D
                ^^^^^^^^^^^^^^^^^^^^^^
            months and days cannot be mixed in one repeat
              R/2026-01-05T09:00/P1M1D
                                 ^^^^^
            civil and exact units cannot be mixed in one repeat; P1D is a day on the clock, PT24H is 24 hours
              R/2026-01-05T09:00/P1DT1H
                                 ^^^^^^
            P0D has no length
              R/2026-01-05T09:00/P0D
                                 ^^^
            PT999999999999S is longer than the calendar
              R/2026-01-05T09:00/PT999999999999S
                                 ^^^^^^^^^^^^^^^
            the time is in UTC, but the expression is in Europe/Oslo
              CRON_TZ=Europe/Oslo R/2026-01-05T09:00Z/P1D
                                                    ^
        "#]],
    );
}

#[test]
fn calendar_json() {
    refusals(
        Dialect::Temporal,
        &[
            r#"{"hour":"24"}"#,
            r#"{"hours":"9"}"#,
            r#"{"hour":[9]}"#,
            r#"{"hour":"9""#,
            r#"{"hour":"\u0039"}"#,
            r#"{"comment":5}"#,
            "{'hour':'9'}",
        ],
        expect![[r#"
            hour 24 is out of range 0–23; midnight is 0
              {"hour":"24"}
                       ^^
            "hours" is not a field of a calendar; did you mean hour?
              {"hours":"9"}
                ^^^^^
            the hour is not a string; write it like "1,15" or "9-17"
              {"hour":[9]}
                      ^^^
            the calendar is not a JSON object of strings: EOF while parsing an object; write it like {"dayOfWeek":"Fri","hour":"11"}
              {"hour":"9"
                        ^
            the hour is not a string; write it like "1,15" or "9-17"
              {"hour":"\u0039"}
                      ^^^^^^^^
            the comment is not a string
              {"comment":5}
                         ^
            the calendar is not a JSON object of strings: key must be a string; write it like {"dayOfWeek":"Fri","hour":"11"}
              {'hour':'9'}
               ^
        "#]],
    );
}

#[test]
fn other_dialects() {
    refusals(
        Dialect::Dbos,
        &[
            "*/1 * * * *",
            "*/60 * * * *",
            "1/2 * * * *",
            "* * * * * * *",
            "0 0 * * Thurs",
            "1-5/2/2 * * * *",
        ],
        expect![[r#"
            the divisor "1" is not within 2–59; one divisor may follow the whole list, such as 10-19/2
              */1 * * * *
                ^
            the divisor "60" is not within 2–59; one divisor may follow the whole list, such as 10-19/2
              */60 * * * *
                ^^
            no minute in 1 is divisible by 2; /n keeps the values that n divides; it is not a step in this dialect
              1/2 * * * *
              ^^^
            a cron string has 5 or 6 fields, this has 7 fields; minute, hour, day of month, month, day of week; of six the first is the second
              * * * * * * *
                          ^
            "Thurs" is not a day of week; did you mean THU?
              0 0 * * Thurs
                      ^^^^^
            the divisor "2/2" is not within 2–59; one divisor may follow the whole list, such as 10-19/2
              1-5/2/2 * * * *
                  ^^^
        "#]],
    );
    refusals(
        Dialect::Classic,
        &["* * * * 7", "* * * * * *", "* * * * Friday"],
        expect![[r#"
        day of week 7 is out of range 0–6; Sunday is 0 in this dialect
          * * * * 7
                  ^
        a cron string has 5 fields, this has 6 fields; minute, hour, day of month, month, day of week
          * * * * * *
                    ^
        "Friday" is not a day of week; did you mean FRI?
          * * * * Friday
                  ^^^^^^
    "#]],
    );
}

#[test]
fn durations_and_policies_by_themselves() {
    let told = |error: perennial_calendar::ParseError| error.to_string();
    expect![[r#"
        "soon" is not a duration; write it like 90s, 1h30m, 2d or PT30M
          soon
          ^^^^"#]]
    .assert_eq(&told(parse_duration("soon").unwrap_err()));
    expect![[r#"
        "maybe" is not a DST policy; write literal, once, or a gap rule (skip, shift) and a repeat rule (first, last, both) such as shift,last
          maybe
          ^^^^^"#]].assert_eq(&told("maybe".parse::<DstPolicy>().unwrap_err()));
    expect![[r#"
        "cron" is not a cron dialect; write temporal, dbos or classic
          cron
          ^^^^"#]]
    .assert_eq(&told("cron".parse::<Dialect>().unwrap_err()));
}

#[test]
fn a_long_text_is_shown_only_near_its_fault() {
    let text = format!("{} 24 * * *", vec!["5"; 200].join(","));
    let error = Definition::read(&[&text], Dialect::Temporal).unwrap_err().to_string();
    assert!(error.lines().all(|line| line.chars().count() < 130), "{error}");
    let text = "x".repeat(10_001);
    let error = Definition::read(&[&text], Dialect::Temporal).unwrap_err().to_string();
    assert!(error.starts_with("the text has 10001 bytes; at most 10000 are read"), "{error}");
}

#[test]
fn an_exclusion_is_a_calendar() {
    let mut definition = Definition::default();
    let error = definition.exclude("5h", Dialect::Temporal).unwrap_err().to_string();
    assert!(error.starts_with("an exclusion must be a calendar"), "{error}");
}
