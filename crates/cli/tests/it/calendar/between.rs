use std::io::{BufRead, BufReader};
use std::process::Stdio;

use expect_test::expect;

use super::check;
use crate::perennial::{perennial, said_by};

const FROM: &str = "--from=2026-11-15T12:00:00Z";

#[test]
fn lists_every_time_of_the_window() {
    check(
        &["between", "0 9,17 * * *", "--tz=Asia/Tokyo", FROM, "--to=2026-11-17"],
        expect![[r#"
        Asia/Tokyo                      UTC                   After --from
        Mon 2026-11-16 09:00:00 +09:00  2026-11-16 00:00:00Z  12 h
        Mon 2026-11-16 17:00:00 +09:00  2026-11-16 08:00:00Z  20 h
    "#]],
    );
}

#[test]
fn the_end_may_be_a_duration_a_count_or_the_end_of_the_spec() {
    check(
        &["between", "@hourly", FROM, "--to=2h", "-o=jsonl"],
        expect![[r#"
        {"nominal":"2026-11-15T13:00:00Z","local":"2026-11-15T13:00:00+00:00[UTC]","due":"2026-11-15T13:00:00Z","part":"calendar 1"}
        {"nominal":"2026-11-15T14:00:00Z","local":"2026-11-15T14:00:00+00:00[UTC]","due":"2026-11-15T14:00:00Z","part":"calendar 1"}
    "#]],
    );
    check(
        &["between", "@hourly", FROM, "--count=1", "-o=jsonl"],
        expect![[r#"
        {"nominal":"2026-11-15T13:00:00Z","local":"2026-11-15T13:00:00+00:00[UTC]","due":"2026-11-15T13:00:00Z","part":"calendar 1"}
    "#]],
    );
    check(
        &["between", "@hourly", FROM, "--end=2026-11-15T13:30:00Z", "-o=jsonl"],
        expect![[r#"
        {"nominal":"2026-11-15T13:00:00Z","local":"2026-11-15T13:00:00+00:00[UTC]","due":"2026-11-15T13:00:00Z","part":"calendar 1"}
    "#]],
    );
}

#[test]
fn an_endless_window_is_refused() {
    check(
        &["between", "@hourly", FROM],
        expect![[r#"
        -- stderr --
        error: the window has no end; give --to or --count
        -- exit 2 --
    "#]],
    );
}

#[test]
fn json_of_an_empty_window_is_an_empty_array() {
    check(
        &["between", "@daily", FROM, "--to=1h", "-o=json"],
        expect![[r#"
        []
        -- stderr --
        no times in this window; the next one is 2026-11-16T00:00:00+00:00[UTC], 12 h later
    "#]],
    );
    check(
        &["between", "@daily", FROM, "--to=1h", "-o=jsonl"],
        expect![[r#"
        -- stderr --
        no times in this window; the next one is 2026-11-16T00:00:00+00:00[UTC], 12 h later
    "#]],
    );
    check(
        &["between", "@daily", FROM, "--to=1h"],
        expect![[r#"
        -- stderr --
        no times in this window; the next one is 2026-11-16T00:00:00+00:00[UTC], 12 h later
    "#]],
    );
}

#[test]
fn a_long_table_stops_and_counts_the_rest() {
    let mut command = perennial(&["calendar", "between", "* * * * *", FROM, "--to=1d"]);
    let said = said_by(&mut command);
    assert_eq!(said.lines().filter(|line| line.starts_with("Sun ")).count(), 719);
    assert_eq!(said.lines().filter(|line| line.starts_with("Mon ")).count(), 281);
    let end: Vec<&str> = said.lines().skip(1_000).collect();
    expect![[r#"
        Mon 2026-11-16 04:40:00  16 h 40 min
        -- stderr --
        and 440 times more; --count N shows N of them, --output jsonl all"#]]
    .assert_eq(&end.join("\n"));
}

#[test]
fn a_long_table_is_printed_when_it_is_asked_for_and_its_pages_line_up() {
    let mut command = perennial(&["calendar", "between", "* * * * *", FROM, "--count=2500"]);
    let said = said_by(&mut command);
    assert_eq!(said.lines().count(), 2_501);
    assert_eq!(said.matches("After --from").count(), 1);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[1_000].find("16 h"), lines[1_001].find("16 h"));
}

#[test]
fn an_endless_stream_is_written_as_it_is_read_and_may_be_cut_off() {
    let mut child = perennial(&["calendar", "between", "* * * * * * *", FROM, "--to=2100-01-01"])
        .args(["--output", "jsonl"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    expect![[r#"
        {"nominal":"2026-11-15T12:00:01Z","local":"2026-11-15T12:00:01+00:00[UTC]","due":"2026-11-15T12:00:01Z","part":"calendar 1"}
    "#]].assert_eq(&line);
    // The reader is gone by now.
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn times_left_out_stand_among_those_that_fire() {
    check(
        &["between", "0 */6 * * *", FROM, "--to=1d", "--exclude=* * 0-11 * * * *"]
            .into_iter()
            .chain(["--show-left-out", "--output=jsonl"])
            .collect::<Vec<_>>(),
        expect![[r#"
            {"nominal":"2026-11-15T18:00:00Z","local":"2026-11-15T18:00:00+00:00[UTC]","due":"2026-11-15T18:00:00Z","part":"calendar 1"}
            {"nominal":"2026-11-16T00:00:00Z","local":"2026-11-16T00:00:00+00:00[UTC]","part":"calendar 1","civil":"2026-11-16T00:00:00","left_out":"exclusion 1 matches it: * * 0-11 * * * *"}
            {"nominal":"2026-11-16T06:00:00Z","local":"2026-11-16T06:00:00+00:00[UTC]","part":"calendar 1","civil":"2026-11-16T06:00:00","left_out":"exclusion 1 matches it: * * 0-11 * * * *"}
            {"nominal":"2026-11-16T12:00:00Z","local":"2026-11-16T12:00:00+00:00[UTC]","due":"2026-11-16T12:00:00Z","part":"calendar 1"}
        "#]],
    );
}
