use expect_test::expect;

use super::check;

const FROM: &str = "--from=2026-11-15T12:00:00Z";

#[test]
fn a_cron_in_a_zone_shows_local_time_utc_and_distance() {
    check(
        &["next", "0 9 * * MON-FRI", "--tz", "Europe/Oslo", FROM],
        expect![[r#"
        Europe/Oslo                     UTC                   After --from
        Mon 2026-11-16 09:00:00 +01:00  2026-11-16 08:00:00Z  20 h
        Tue 2026-11-17 09:00:00 +01:00  2026-11-17 08:00:00Z  1 d 20 h
        Wed 2026-11-18 09:00:00 +01:00  2026-11-18 08:00:00Z  2 d 20 h
        Thu 2026-11-19 09:00:00 +01:00  2026-11-19 08:00:00Z  3 d 20 h
        Fri 2026-11-20 09:00:00 +01:00  2026-11-20 08:00:00Z  4 d 20 h
    "#]],
    );
}

#[test]
fn in_utc_there_is_no_second_utc_column() {
    check(
        &["next", "@daily", "--count", "2", FROM],
        expect![[r#"
        UTC                      After --from
        Mon 2026-11-16 00:00:00  12 h
        Tue 2026-11-17 00:00:00  1 d 12 h
    "#]],
    );
}

#[test]
fn every_form_of_spec_is_read() {
    let forms = [
        "0 9 * * MON-FRI",
        "@every 5h/15m",
        "5h/15m",
        "PT30M",
        "R/2026-01-31T09:00:00/P1M",
        r#"{"dayOfWeek":"Fri","hour":"11"}"#,
        "DTSTART:20260131T090000\nRRULE:FREQ=MONTHLY;BYDAY=-1FR",
    ];
    for form in forms {
        let output = crate::perennial::perennial(&["calendar", "next", "-n1", "-o", "jsonl", FROM])
            .arg(form)
            .output()
            .unwrap();
        assert!(output.status.success(), "{form}: {output:?}");
        assert!(output.stdout.starts_with(b"{\"nominal\":\"2026-11-"), "{form}: {output:?}");
    }
}

#[test]
fn several_specs_are_a_union_and_the_table_says_which_part_fired() {
    check(
        &["next", "0 9 * * * # breakfast", "6h/30m", "R2/2026-11-15T20:00/P1D", FROM],
        expect![[r#"
            UTC                      After --from  Part
            Sun 2026-11-15 12:30:00  30 min        interval 1
            Sun 2026-11-15 18:30:00  6 h 30 min    interval 1
            Sun 2026-11-15 20:00:00  8 h           repeat 1
            Mon 2026-11-16 00:30:00  12 h 30 min   interval 1
            Mon 2026-11-16 06:30:00  18 h 30 min   interval 1
        "#]],
    );
}

#[test]
fn exclusions_take_times_and_can_be_shown_with_the_reason() {
    check(
        &["next", "0 9 * * *", FROM, "-n2", "--exclude", "* * * 17 11 * *", "--exclude"]
            .into_iter()
            .chain(["* * * * * WED * # closed on Wednesdays", "--show-left-out"])
            .collect::<Vec<_>>(),
        expect![[r#"
            UTC                      After --from  Left out because
            Mon 2026-11-16 09:00:00  21 h
            Tue 2026-11-17 09:00:00  1 d 21 h      exclusion 1 matches it: * * * 17 11 * *
            Wed 2026-11-18 09:00:00  2 d 21 h      exclusion 2 matches it: closed on Wednesdays
            Thu 2026-11-19 09:00:00  3 d 21 h
        "#]],
    );
}

#[test]
fn an_exclusion_may_be_a_named_calendar_by_prefix_or_option() {
    let define = ["--define", "holidays=* * * 16 11 * *", "--define", "holidays=* * * 17 11 * *"];
    let by_option = ["next", "@daily", FROM, "-n1", "--exclude", "holidays"];
    check(
        &[&by_option[..], &define].concat(),
        expect![[r#"
        UTC                      After --from
        Wed 2026-11-18 00:00:00  2 d 12 h
    "#]],
    );
    let by_prefix = ["next", "EXCLUDE=holidays @daily", FROM, "-n2", "--show-left-out"];
    check(
        &[&by_prefix[..], &define].concat(),
        expect![[r#"
            UTC                      After --from  Left out because
            Mon 2026-11-16 00:00:00  12 h          the calendar "holidays" matches it: * * * 16 11 * *
            Tue 2026-11-17 00:00:00  1 d 12 h      the calendar "holidays" matches it: * * * 17 11 * *
            Wed 2026-11-18 00:00:00  2 d 12 h
            Thu 2026-11-19 00:00:00  3 d 12 h
        "#]],
    );
}

#[test]
fn times_that_the_clock_jumps_over_are_shown_as_the_clock_would_show_them() {
    check(
        &["next", "30 2 * * *", "--tz=Europe/Oslo", "--from=2026-03-28", "-n2", "--show-left-out"],
        expect![[r#"
            Europe/Oslo                     UTC                   After --from  Left out because
            Sat 2026-03-28 02:30:00 +01:00  2026-03-28 01:30:00Z  2 h 30 min
            Sun 2026-03-29 02:30:00         –                     –             02:30:00 on 2026-03-29 does not exist: the clock of Europe/Oslo jumps over it
            Mon 2026-03-30 02:30:00 +02:00  2026-03-30 00:30:00Z  2 d 2 h
        "#]],
    );
}

#[test]
fn a_dst_policy_decides_what_becomes_of_jumps_and_repeats() {
    let spring = ["next", "30 2 * * *", "--tz=Europe/Oslo", "--from=2026-03-28T12:00", "-n1"];
    check(
        &[&spring[..], &["--dst=literal"]].concat(),
        expect![[r#"
        Europe/Oslo                     UTC                   After --from
        Mon 2026-03-30 02:30:00 +02:00  2026-03-30 00:30:00Z  1 d 14 h
    "#]],
    );
    check(
        &[&spring[..], &["--dst=once"]].concat(),
        expect![[r#"
        Europe/Oslo                     UTC                   After --from
        Sun 2026-03-29 03:30:00 +02:00  2026-03-29 01:30:00Z  14 h 30 min
    "#]],
    );
    let autumn = ["next", "30 2 * * *", "--tz=Europe/Oslo", "--from=2026-10-24T12:00", "-n2"];
    check(
        &[&autumn[..], &["--dst=literal"]].concat(),
        expect![[r#"
        Europe/Oslo                     UTC                   After --from
        Sun 2026-10-25 02:30:00 +02:00  2026-10-25 00:30:00Z  14 h 30 min
        Sun 2026-10-25 02:30:00 +01:00  2026-10-25 01:30:00Z  15 h 30 min
    "#]],
    );
    check(
        &[&autumn[..], &["--dst=skip,last", "--show-left-out"]].concat(),
        expect![[r#"
            Europe/Oslo                     UTC                   After --from  Left out because
            Sun 2026-10-25 02:30:00 +02:00  2026-10-25 00:30:00Z  14 h 30 min   02:30:00 on 2026-10-25 happens twice in Europe/Oslo; only the last counts
            Sun 2026-10-25 02:30:00 +01:00  2026-10-25 01:30:00Z  15 h 30 min
            Mon 2026-10-26 02:30:00 +01:00  2026-10-26 01:30:00Z  1 d 14 h
        "#]],
    );
}

#[test]
fn dialects_read_the_same_text_differently() {
    let next = ["next", "0 9 13 * FRI", FROM, "-n3"];
    check(
        &[&next[..], &["--dialect=temporal"]].concat(),
        expect![[r#"
        UTC                      After --from
        Fri 2027-08-13 09:00:00  8 mo 28 d
        Fri 2028-10-13 09:00:00  1 y 10 mo
        Fri 2029-04-13 09:00:00  2 y 4 mo
    "#]],
    );
    check(
        &[&next[..], &["--dialect=classic"]].concat(),
        expect![[r#"
        UTC                      After --from  Part
        Fri 2026-11-20 09:00:00  4 d 21 h      calendar 2
        Fri 2026-11-27 09:00:00  11 d 21 h     calendar 2
        Fri 2026-12-04 09:00:00  18 d 21 h     calendar 2
    "#]],
    );
    check(
        &["next", "11-19/4 * * * *", FROM, "-n3", "--dialect=dbos"],
        expect![[r#"
        UTC                      After --from
        Sun 2026-11-15 12:12:00  12 min
        Sun 2026-11-15 12:16:00  16 min
        Sun 2026-11-15 13:12:00  1 h 12 min
    "#]],
    );
}

#[test]
fn jitter_shows_when_it_is_due_and_depends_on_the_schedule_id() {
    let next = ["next", "@hourly", FROM, "-n2", "--jitter=10m"];
    check(
        &next,
        expect![[r#"
        UTC                      After --from  Due
        Sun 2026-11-15 13:00:00  1 h           2026-11-15 13:07:59.781
        Sun 2026-11-15 14:00:00  2 h           2026-11-15 14:02:26.249
    "#]],
    );
    check(
        &[&next[..], &["--identity=payroll"]].concat(),
        expect![[r#"
        UTC                      After --from  Due
        Sun 2026-11-15 13:00:00  1 h           2026-11-15 13:09:51.373
        Sun 2026-11-15 14:00:00  2 h           2026-11-15 14:08:53.395
    "#]],
    );
}

#[test]
fn bounds_are_inclusive_and_a_list_that_ends_early_says_so() {
    check(
        &["next", "@daily", FROM, "--start=2026-12-24", "--end=2026-12-25"],
        expect![[r#"
        UTC                      After --from
        Thu 2026-12-24 00:00:00  1 mo 8 d
        Fri 2026-12-25 00:00:00  1 mo 9 d
        -- stderr --
        that is all: it fires no more
    "#]],
    );
}

#[test]
fn from_is_exclusive_and_to_inclusive() {
    check(
        &["next", "@hourly", "--from=2026-11-15T12:00:00Z", "--to=2026-11-15T14:00:00Z"],
        expect![[r#"
            UTC                      After --from
            Sun 2026-11-15 13:00:00  1 h
            Sun 2026-11-15 14:00:00  2 h
        "#]],
    );
}

#[test]
fn a_date_is_midnight_on_the_clock_of_the_spec() {
    check(
        &["next", "0 * * * *", "--tz=Asia/Kolkata", "--from=2026-11-15", "-n1"],
        expect![[r#"
        Asia/Kolkata                    UTC                   After --from
        Sun 2026-11-15 01:00:00 +05:30  2026-11-14 19:30:00Z  1 h
    "#]],
    );
}

#[test]
fn a_spec_that_never_fires_says_so_and_succeeds() {
    check(
        &["next", "0 0 30 2 *", FROM],
        expect![[r#"
        -- stderr --
        it never fires
    "#]],
    );
    check(
        &["next", "0 0 1 1 * 2020", FROM],
        expect![[r#"
            -- stderr --
            it fires no more; its last time was 2020-01-01T00:00:00+00:00[UTC]
        "#]],
    );
    check(
        &["next", "* * * * * * *", "--exclude", "* * * * * * *", FROM],
        expect![[r#"
        -- stderr --
        it never fires
    "#]],
    );
}

#[test]
fn a_window_without_times_names_the_next_one() {
    check(
        &["next", "@yearly", FROM, "--to=7d", "-o", "json"],
        expect![[r#"
        []
        -- stderr --
        no times in this window; the next one is 2027-01-01T00:00:00+00:00[UTC], 1 mo 16 d later
    "#]],
    );
}

#[test]
fn showing_what_was_left_out_ends_even_if_nothing_ever_fires() {
    let mut command = crate::perennial::perennial(&[
        "calendar",
        "next",
        "* * * * * * *",
        "--exclude",
        "* * * * * * *",
        FROM,
        "--show-left-out",
        "-o",
        "jsonl",
    ]);
    let output = command.output().unwrap();
    assert_eq!(output.stdout.split(|&byte| byte == b'\n').count(), 1_001);
    expect![[r#"
        stopped after 1,000 times that were left out; --to sets an end of your own
    "#]]
    .assert_eq(std::str::from_utf8(&output.stderr).unwrap());
}

#[test]
fn without_from_the_times_are_after_now() {
    let output =
        crate::perennial::perennial(&["calendar", "next", "* * * * * * *", "-n1"]).output();
    let table = String::from_utf8(output.unwrap().stdout).unwrap();
    let (heading, time) = table.split_once('\n').unwrap();
    assert_eq!(heading, "UTC                      In");
    // The next whole second is less than one second away.
    assert!(time.trim_end().ends_with(" 0 s") || time.trim_end().ends_with(" 1 s"), "{time}");
}
