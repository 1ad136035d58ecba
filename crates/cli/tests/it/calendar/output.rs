use expect_test::expect;

use super::check;
use crate::perennial::{perennial, said_by};

const NEXT: [&str; 7] = [
    "calendar",
    "next",
    "30 2 * * *",
    "8h",
    "--from=2026-03-28T12:00:00Z",
    "--tz=Europe/Oslo",
    "-n3",
];

#[test]
fn jsonl_has_one_object_a_line() {
    check(
        &[&NEXT[1..], &["--output=jsonl", "--show-left-out", "--jitter=1m"]].concat(),
        expect![[r#"
            {"nominal":"2026-03-28T16:00:00Z","local":"2026-03-28T17:00:00+01:00[Europe/Oslo]","due":"2026-03-28T16:00:16.179Z","part":"interval 1"}
            {"nominal":"2026-03-29T00:00:00Z","local":"2026-03-29T01:00:00+01:00[Europe/Oslo]","due":"2026-03-29T00:00:49.049Z","part":"interval 1"}
            {"nominal":"2026-03-29T01:30:00Z","local":"2026-03-29T03:30:00+02:00[Europe/Oslo]","part":"calendar 1","civil":"2026-03-29T02:30:00","left_out":"02:30:00 on 2026-03-29 does not exist: the clock of Europe/Oslo jumps over it"}
            {"nominal":"2026-03-29T08:00:00Z","local":"2026-03-29T10:00:00+02:00[Europe/Oslo]","due":"2026-03-29T08:00:22.182Z","part":"interval 1"}
        "#]],
    );
}

#[test]
fn json_is_one_array() {
    check(
        &[&NEXT[1..], &["--output=json"]].concat(),
        expect![[r#"
        [
          {"nominal":"2026-03-28T16:00:00Z","local":"2026-03-28T17:00:00+01:00[Europe/Oslo]","due":"2026-03-28T16:00:00Z","part":"interval 1"},
          {"nominal":"2026-03-29T00:00:00Z","local":"2026-03-29T01:00:00+01:00[Europe/Oslo]","due":"2026-03-29T00:00:00Z","part":"interval 1"},
          {"nominal":"2026-03-29T08:00:00Z","local":"2026-03-29T10:00:00+02:00[Europe/Oslo]","due":"2026-03-29T08:00:00Z","part":"interval 1"}
        ]
    "#]],
    );
}

#[test]
fn comments_come_with_the_times_of_their_part() {
    check(
        &["next", "@daily # \"quoted\"", "--from=2026-11-15", "-n1", "-o=jsonl"],
        expect![[r#"
        {"nominal":"2026-11-16T00:00:00Z","local":"2026-11-16T00:00:00+00:00[UTC]","due":"2026-11-16T00:00:00Z","part":"calendar 1","comment":"\"quoted\""}
    "#]],
    );
}

#[test]
fn a_narrow_terminal_gets_fewer_columns_and_wrapped_reasons() {
    let at_width = |columns: &str| {
        let mut command = perennial(&NEXT);
        said_by(command.arg("--show-left-out").env("COLUMNS", columns))
    };
    expect![[r#"
        Europe/Oslo                     After --from  Part        Left out because
        Sat 2026-03-28 17:00:00 +01:00  4 h           interval 1
        Sun 2026-03-29 01:00:00 +01:00  12 h          interval 1
        Sun 2026-03-29 02:30:00         –             calendar 1  02:30:00 on 2026-03-29 does not exist: the
                                                                  clock of Europe/Oslo jumps over it
        Sun 2026-03-29 10:00:00 +02:00  20 h          interval 1
    "#]].assert_eq(&at_width("100"));
    expect![[r#"
        Europe/Oslo                     Left out because
        Sat 2026-03-28 17:00:00 +01:00
        Sun 2026-03-29 01:00:00 +01:00
        Sun 2026-03-29 02:30:00         02:30:00 on 2026-03-29 does
                                        not exist: the clock of
                                        Europe/Oslo jumps over it
        Sun 2026-03-29 10:00:00 +02:00
    "#]]
    .assert_eq(&at_width("60"));
    expect![[r#"
        Europe/Oslo                     Left out because
        Sat 2026-03-28 17:00:00 +01:00
        Sun 2026-03-29 01:00:00 +01:00
        Sun 2026-03-29 02:30:00         02:30:00 on 2026-03-29
                                        does not exist: the
                                        clock of Europe/Oslo
                                        jumps over it
        Sun 2026-03-29 10:00:00 +02:00
    "#]]
    .assert_eq(&at_width("1"));
}

#[test]
fn colours_are_for_terminals_unless_asked_for() {
    let colored = |args: &[&str]| said_by(perennial(&NEXT).args(args)).contains("\x1b[");
    assert!(!colored(&[]));
    assert!(!colored(&["--color=never"]));
    assert!(colored(&["--color=always"]));
}

#[test]
fn headings_are_bold_and_what_was_left_out_is_faint() {
    let mut command = perennial(&NEXT);
    let said = said_by(command.args(["--color=always", "--show-left-out"]));
    expect![[r#"
        ␛[1mEurope/Oslo                     UTC                   After --from  Part        Left out because␛[0m
        Sat 2026-03-28 17:00:00 +01:00  2026-03-28 16:00:00Z  4 h           interval 1
        Sun 2026-03-29 01:00:00 +01:00  2026-03-29 00:00:00Z  12 h          interval 1
        ␛[2mSun 2026-03-29 02:30:00         –                     –             calendar 1  02:30:00 on 2026-03-29 does not exist: the clock of Europe/Oslo jumps over it␛[0m
        Sun 2026-03-29 10:00:00 +02:00  2026-03-29 08:00:00Z  20 h          interval 1
    "#]].assert_eq(&said.replace('\x1b', "␛"));
}

#[test]
fn control_characters_of_a_comment_do_not_reach_the_terminal() {
    check(
        &["next", "@daily # \x1b[31mred", "@yearly", "--from=2026-11-15", "-n1"],
        expect![[r#"
        UTC                      After --from  Part
        Mon 2026-11-16 00:00:00  1 d           calendar 1:  [31mred
    "#]],
    );
}
