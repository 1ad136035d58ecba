use expect_test::expect;

use super::check;
use crate::perennial::{perennial, said_by};

const FROM: &str = "--from=2026-06-01T00:00:00Z";

#[test]
fn says_the_meaning_the_warnings_the_canonical_form_and_the_next_times() {
    check(
        &["explain", "30 2 * * *", "--tz=Europe/Oslo", FROM, "--count=2"],
        expect![[r#"
            At 02:30 every day, Europe/Oslo time.

            Warnings
              it fires twice on 2026-10-25: the clock in Europe/Oslo is put back and shows 02:30 twice; DST=once makes it fire once
              it does not fire at 02:30 on 2027-03-28: the clock in Europe/Oslo jumps from 02:00 to 03:00; DST=once makes it fire at 03:30

            Canonical form
              calendar 1  30 2 * * *
              time zone   Europe/Oslo
              DST policy  literal

            Clock changes
              Sun 2026-10-25 03:00 → 02:00: fires twice at 02:30
              Sun 2027-03-28 02:00 → 03:00: skips 02:30

            Next times
            Europe/Oslo                     UTC                   After --from
            Mon 2026-06-01 02:30:00 +02:00  2026-06-01 00:30:00Z  30 min
            Tue 2026-06-02 02:30:00 +02:00  2026-06-02 00:30:00Z  1 d
        "#]],
    );
}

#[test]
fn names_what_a_policy_does_at_each_change_of_the_clock() {
    let explain = ["explain", "*/10 2 * * *", "--tz=Europe/Oslo", FROM, "-n0"];
    check(
        &[&explain[..], &["--dst=once"]].concat(),
        expect![[r#"
            Every 10 minutes from 02:00 through 02:50 every day, Europe/Oslo time; a time the clock jumps over fires later by the length of the jump, one it shows twice fires only the first time.

            Canonical form
              calendar 1  0-59/10 2 * * *
              time zone   Europe/Oslo
              DST policy  once

            Clock changes
              Sun 2026-10-25 03:00 → 02:00: fires only the first time at 02:00, 02:10, 02:20, 02:30 and 2 more
              Sun 2027-03-28 02:00 → 03:00: fires 1h later for 02:00, 02:10, 02:20, 02:30 and 2 more
        "#]],
    );
    check(
        &[&explain[..], &["--dst=skip,last"]].concat(),
        expect![[r#"
            Every 10 minutes from 02:00 through 02:50 every day, Europe/Oslo time; a time the clock jumps over is skipped, one it shows twice fires only the second time.

            Warnings
              it does not fire at 02:00 on 2027-03-28: the clock in Europe/Oslo jumps from 02:00 to 03:00; DST=once makes it fire at 03:00

            Canonical form
              calendar 1  0-59/10 2 * * *
              time zone   Europe/Oslo
              DST policy  skip,last

            Clock changes
              Sun 2026-10-25 03:00 → 02:00: fires only the last time at 02:00, 02:10, 02:20, 02:30 and 2 more
              Sun 2027-03-28 02:00 → 03:00: skips 02:00, 02:10, 02:20, 02:30 and 2 more
        "#]],
    );
}

#[test]
fn intervals_do_not_care_for_the_clock() {
    check(
        &["explain", "30m", "--tz=Europe/Oslo", FROM, "-n0"],
        expect![[r#"
            Every 30 minutes, counted from 00:00 UTC.

            Canonical form
              interval 1  30m
              time zone   Europe/Oslo
              DST policy  literal
        "#]],
    );
}

#[test]
fn a_day_that_does_not_exist_is_shown_as_a_change_of_date() {
    check(
        &["explain", "30 2 * * *", "--tz=Pacific/Apia", "--from=2011-12-01", "-n0"],
        expect![[r#"
            At 02:30 every day, Pacific/Apia time.

            Warnings
              it does not fire at 02:30 on 2011-12-30: the clock in Pacific/Apia jumps from 00:00 to 00:00; DST=once makes it fire at 02:30

            Canonical form
              calendar 1  30 2 * * *
              time zone   Pacific/Apia
              DST policy  literal

            Clock changes
              Fri 2011-12-30 00:00 → Sat 2011-12-31 00:00: skips 02:30
        "#]],
    );
}

#[test]
fn the_canonical_form_has_every_part_and_setting() {
    check(
        &["explain", "DST=once @weekly # payroll", "90m/5m", "R3/2026-01-31T09:00/P1M"]
            .into_iter()
            .chain([r#"{"month":"dec","dayOfWeek":"fri-sun","year":"2027"}"#])
            .chain(["--exclude=0 0 25 12 *", "--define=x=* * * 1 1 * *", "--exclude=x"])
            .chain(["--start=2026-01-01", "--end=2030-01-01", "--jitter=90s", FROM, "-n0"])
            .collect::<Vec<_>>(),
        expect![[r#"
            At 00:00 on Sunday ("payroll"); and at 00:00 on Friday through Sunday in December of 2027; and every 90 minutes, counted from 00:05 UTC; and every month from 2026-01-31 at 09:00 (the last day in shorter months), 3 dates in all; except at 00:00 on the 25th in December, and except the calendar "x" (1 entry, fingerprint e96d00f7d70da5b5); from 2026-01-01T00:00:00Z until 2030-01-01T00:00:00Z (both inclusive); UTC; each put off by up to 90 seconds.

            Canonical form
              calendar 1           0 0 * * 0 # payroll
              calendar 2           0 0 * 12 0,5-6 2027
              interval 1           1h30m/5m
              repeat 1             R3/2026-01-31T09:00:00/P1M
              exclusion 1          0 0 25 12 *
              excluded calendar 1  x
              start                2026-01-01T00:00:00Z
              end                  2030-01-01T00:00:00Z
              jitter               1m30s
              time zone            UTC
              DST policy           once
        "#]],
    );
}

#[test]
fn a_recurrence_has_a_canonical_text_and_a_dst_policy_of_its_own() {
    let canonical = |specs: &[&str]| {
        let mut command = perennial(&["calendar", "explain", FROM, "-n0"]);
        let said = said_by(command.args(specs));
        said[said.find("Canonical form").unwrap()..].to_owned()
    };
    expect![[r#"
        Canonical form
          recurrence 1  RRULE:FREQ=MONTHLY;BYDAY=-1FR
          time zone     UTC
          DST policy    skip,first
    "#]]
    .assert_eq(&canonical(&["RRULE:freq=monthly;byday=-1FR;INTERVAL=1"]));
    expect![[r#"
        Canonical form
          calendar 1    0 0 * * *
          recurrence 1  RRULE:FREQ=DAILY
          time zone     UTC
          DST policy    literal; of recurrences skip,first
    "#]]
    .assert_eq(&canonical(&["RRULE:FREQ=DAILY", "@daily"]));
}

#[test]
fn json_is_one_document() {
    check(
        &["explain", "30 2 * * * # nightly", "--tz=Europe/Oslo", FROM, "-n1", "-o=json"],
        expect![[r#"
            {
              "sentence": "At 02:30 every day (\"nightly\"), Europe/Oslo time.",
              "warnings": [
                "it fires twice on 2026-10-25: the clock in Europe/Oslo is put back and shows 02:30 twice; DST=once makes it fire once",
                "it does not fire at 02:30 on 2027-03-28: the clock in Europe/Oslo jumps from 02:00 to 03:00; DST=once makes it fire at 03:30"
              ],
              "canonical": {
                "calendars": [
                  "30 2 * * * # nightly"
                ],
                "intervals": [],
                "repeats": [],
                "recurrences": [],
                "exclusions": [],
                "excluded_calendars": [],
                "start": null,
                "end": null,
                "jitter": null,
                "time_zone": "Europe/Oslo",
                "dst": "literal"
              },
              "clock_changes": [
                {
                  "from": "2026-10-25T03:00:00",
                  "to": "2026-10-25T02:00:00",
                  "effect": "fires_twice",
                  "count": 1,
                  "times": [
                    "2026-10-25T02:30:00"
                  ]
                },
                {
                  "from": "2027-03-28T02:00:00",
                  "to": "2027-03-28T03:00:00",
                  "effect": "skipped",
                  "count": 1,
                  "times": [
                    "2027-03-28T02:30:00"
                  ]
                }
              ],
              "next": [
                {
                  "nominal": "2026-06-01T00:30:00Z",
                  "local": "2026-06-01T02:30:00+02:00[Europe/Oslo]",
                  "due": "2026-06-01T00:30:00Z",
                  "part": "calendar 1",
                  "comment": "nightly"
                }
              ]
            }
        "#]],
    );
    check(
        &["explain", "@daily", FROM, "-n1", "-o=jsonl"],
        expect![[r#"
            {"sentence":"At 00:00 every day, UTC.","warnings":[],"canonical":{"calendars":["0 0 * * *"],"intervals":[],"repeats":[],"recurrences":[],"exclusions":[],"excluded_calendars":[],"start":null,"end":null,"jitter":null,"time_zone":"UTC","dst":"literal"},"clock_changes":[],"next":[{"nominal":"2026-06-02T00:00:00Z","local":"2026-06-02T00:00:00+00:00[UTC]","due":"2026-06-02T00:00:00Z","part":"calendar 1"}]}
        "#]],
    );
}

#[test]
fn a_spec_that_never_fires_is_explained_too() {
    check(
        &["explain", "0 0 30 2 *", FROM],
        expect![[r#"
            At 00:00 on the 30th in February, UTC.

            Warnings
              it never fires: there is no such time

            Canonical form
              calendar 1  0 0 30 2 *
              time zone   UTC
              DST policy  literal

            Next times
              it never fires
        "#]],
    );
}
