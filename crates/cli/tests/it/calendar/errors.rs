use std::process::Stdio;

use expect_test::expect;

use super::check;
use crate::perennial::perennial;

#[test]
fn a_spec_that_does_not_parse_is_pointed_at() {
    check(
        &["next", "0 24 * * *"],
        expect![[r#"
        -- stderr --
        error: hour 24 is out of range 0–23; midnight is 0
          0 24 * * *
            ^^
        -- exit 2 --
    "#]],
    );
    check(
        &["explain", "0 9 * * MON-FRO"],
        expect![[r#"
        -- stderr --
        error: "FRO" is not a day of week; did you mean FRI?
          0 9 * * MON-FRO
                      ^^^
        -- exit 2 --
    "#]],
    );
    check(
        &["between", "0 9 * *", "--to=1d"],
        expect![[r#"
        -- stderr --
        error: a cron string has 5 to 7 fields, this has 4 fields; minute, hour, day of month, month, day of week; a sixth is the year; of seven the first is the second
          0 9 * *
                 ^
        -- exit 2 --
    "#]],
    );
    check(
        &["next", r#"{"hour":"9","minutes":"30"}"#],
        expect![[r#"
        -- stderr --
        error: "minutes" is not a field of a calendar; did you mean minute?
          {"hour":"9","minutes":"30"}
                       ^^^^^^^
        -- exit 2 --
    "#]],
    );
    check(
        &["next", "@dayly"],
        expect![[r#"
        -- stderr --
        error: @dayly is not a predefined schedule; did you mean @daily?
          @dayly
          ^^^^^^
        -- exit 2 --
    "#]],
    );
    check(
        &["next", "every day"],
        expect![[r#"
            -- stderr --
            error: a cron string has 5 to 7 fields, this has 2 fields; write @every 5m, @hourly, @daily or @weekly
              every day
                       ^
            -- exit 2 --
        "#]],
    );
    check(
        &["next", ""],
        expect![[r#"
        -- stderr --
        error: there is no time expression; write a cron string such as `0 9 * * MON-FRI`, or an interval such as `30m`
        -- exit 2 --
    "#]],
    );
}

#[test]
fn the_option_that_does_not_parse_is_named() {
    check(
        &["next", "@daily", "--exclude=0 9 * * FUN"],
        expect![[r#"
        -- stderr --
        error: --exclude: "FUN" is not a day of week; did you mean SUN?
          0 9 * * FUN
                  ^^^
        -- exit 2 --
    "#]],
    );
    check(
        &["next", "@daily", "--exclude=30m"],
        expect![[r#"
            -- stderr --
            error: --exclude: an exclusion must be a calendar; write a cron string or calendar JSON; a whole day is `* * * 25 12 * *`
              30m
              ^^^
            -- exit 2 --
        "#]],
    );
    check(
        &["next", "@daily", "--define=x=0 9 * * FUN"],
        expect![[r#"
        -- stderr --
        error: --define x: "FUN" is not a day of week; did you mean SUN?
          0 9 * * FUN
                  ^^^
        -- exit 2 --
    "#]],
    );
    check(
        &["next", "@daily", "--define=nothing"],
        expect![[r#"
        -- stderr --
        error: invalid value 'nothing' for '--define <NAME=SPEC>': write NAME=SPEC, such as holidays='* * * 25 12 * *'

        For more information, try '--help'.
        -- exit 2 --
    "#]],
    );
    check(
        &["next", "@daily", "--define=x=CRON_TZ=Asia/Tokyo @daily"],
        expect![[r#"
            -- stderr --
            error: --define x: a named calendar has no time zone; it uses that of the spec
            -- exit 2 --
        "#]],
    );
    check(
        &["next", "@daily", "--dst=twice"],
        expect![[r#"
        -- stderr --
        error: invalid value 'twice' for '--dst <POLICY>': "twice" is not a DST policy; write literal, once, or a gap rule (skip, shift) and a repeat rule (first, last, both) such as shift,last
          twice
          ^^^^^

        For more information, try '--help'.
        -- exit 2 --
    "#]],
    );
    check(
        &["next", "@daily", "--dialect=quartz"],
        expect![[r#"
        -- stderr --
        error: invalid value 'quartz' for '--dialect <DIALECT>'
          [possible values: temporal, dbos, classic]

        For more information, try '--help'.
        -- exit 2 --
    "#]],
    );
    check(
        &["next", "@daily", "--jitter=P1M"],
        expect![[r#"
        -- stderr --
        error: invalid value 'P1M' for '--jitter <DURATION>': P1M has no fixed length; months and years repeat from a date, such as R/2026-01-31T09:00/P1M
          P1M
          ^^^

        For more information, try '--help'.
        -- exit 2 --
    "#]],
    );
    check(
        &["next", "@daily", "--from=yesterday"],
        expect![[r#"
        -- stderr --
        error: invalid value 'yesterday' for '--from <TIME>': not a time; write 2026-11-16T09:00:00Z, 2026-11-16T10:00:00+01:00, or by the spec's clock 2026-11-16T10:00 or 2026-11-16

        For more information, try '--help'.
        -- exit 2 --
    "#]],
    );
    check(
        &["next", "@daily", "--to=soon"],
        expect![[r#"
            -- stderr --
            error: invalid value 'soon' for '--to <TIME|DURATION>': not a time; write 2026-11-16T09:00:00Z, 2026-11-16T10:00:00+01:00, or by the spec's clock 2026-11-16T10:00 or 2026-11-16, or a duration such as 90m, 7d or P1M

            For more information, try '--help'.
            -- exit 2 --
        "#]],
    );
    check(
        &["next", "@daily", "--count=0"],
        expect![[r#"
        -- stderr --
        error: invalid value '0' for '--count <N>': 0 is not in 1..18446744073709551615

        For more information, try '--help'.
        -- exit 2 --
    "#]],
    );
}

#[test]
fn a_window_that_ends_before_it_begins_is_refused() {
    check(
        &["between", "@daily", "--from=2026-11-15", "--to=2026-11-14"],
        expect![[r#"
        -- stderr --
        error: the window ends before it begins: --to is before --from
        -- exit 2 --
    "#]],
    );
}

#[test]
fn zones_that_contradict_each_other_are_refused() {
    check(
        &["next", "CRON_TZ=Europe/Oslo @daily", "--tz=Asia/Tokyo"],
        expect![[r#"
            -- stderr --
            error: --tz: the spec's parts disagree on the time zone: Europe/Oslo and Asia/Tokyo; name the same in each
            -- exit 2 --
        "#]],
    );
    check(
        &["next", "CRON_TZ=Europe/Oslo @daily", "@hourly"],
        expect![[r#"
            -- stderr --
            error: the spec's parts disagree on the time zone: Europe/Oslo and none; name the same in each
            -- exit 2 --
        "#]],
    );
    check(
        &["next", "DST=once @daily", "--dst=literal"],
        expect![[r#"
            -- stderr --
            error: --dst: the spec's parts disagree on the DST policy: once and literal; name the same in each
            -- exit 2 --
        "#]],
    );
}

#[test]
fn unknown_names_come_with_a_suggestion() {
    check(
        &["next", "@daily", "--tz=Europe/Olso"],
        expect![[r#"
        -- stderr --
        error: unknown time zone "Europe/Olso"; did you mean "Europe/Oslo"?
        -- exit 2 --
    "#]],
    );
    check(
        &["next", "EXCLUDE=holiday @daily", "--define=holidays=* * * 1 1 * *"],
        expect![[r#"
        -- stderr --
        error: unknown calendar "holiday"; did you mean "holidays"?
        -- exit 2 --
    "#]],
    );
    check(
        &["next", "EXCLUDE=holidays @daily"],
        expect![[r#"
            -- stderr --
            error: unknown calendar "holidays"; define it with --define holidays=SPEC
            -- exit 2 --
        "#]],
    );
}

#[test]
fn a_cron_string_without_quotes_is_recognised() {
    check(
        &["next", "0", "9", "Cargo.toml", "src", "1"],
        expect![[r#"
            -- stderr --
            error: too many short specs: quote a cron string, so that the shell passes it on as one
            -- exit 2 --
        "#]],
    );
}

#[test]
fn a_missing_file_is_not_a_wrong_argument() {
    check(
        &["next", "@daily", "--tzif=/nowhere/at/all"],
        expect![[r#"
        -- stderr --
        error: /nowhere/at/all: No such file or directory (os error 2)
        -- exit 1 --
    "#]],
    );
}

#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_written_is_a_failure() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = perennial(&["calendar", "next", "@daily"]);
    let child = command.stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.stderr, b"error: No space left on device (os error 28)\n");
    assert_eq!(output.status.code(), Some(1));
}
