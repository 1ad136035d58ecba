use expect_test::{Expect, expect};

use crate::perennial::{perennial, said_by};

/// `perennial … ` says this. The blanks that clap leaves at the ends of lines are no matter.
fn check(args: &[&str], expected: Expect) {
    let said = said_by(&mut perennial(args));
    let lines: Vec<&str> = said.lines().map(str::trim_end).collect();
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

#[test]
fn the_command_alone_prints_its_help() {
    check(
        &[],
        expect![[r#"
            Durable workflows and schedules

            Usage: perennial [OPTIONS] <COMMAND>

            Commands:
              schedule    Start workflows at the right times, and see what became of it
              calendar    When does it fire? Preview and explain schedules before creating anything
              workflow    Start workflows, talk to them, and see what they do [alias: wf]
              activity    End, pause and change activities that workflows wait for
              batch       See and stop batch jobs, which `workflow` commands with --query start
              task-queue  See who polls a task queue, and what waits in it [alias: tq]
              server      Run the server: one process, one file
              operator    Manage namespaces and search attributes, and see how the server is
              demo        See it work: a server, a worker and a handful of schedules that fire every few seconds
              doctor      Look for what is wrong: is the server reachable and healthy, does it keep up, is the
                          clock right, does a workflow task fail again and again?
              config      Keep addresses, namespaces and keys in profiles, for --profile
              env         Keep values for flags in named environments, for --env; `perennial config` is the
                          newer way
              completion  Print the script that makes a shell complete this command
              help        Print this message or the help of the given subcommand(s)

            Options:
              -h, --help     Print help (see more with '--help')
              -V, --version  Print version

            Output:
                  --color <WHEN>     Colour the output [default: auto] [possible values: auto, always, never]
              -o, --output <FORMAT>  How to write the answer [default: table] [possible values: table, json,
                                     jsonl, none]

            Exit codes:
              0  done
              1  failed
              2  an argument can't be read, or the server refuses it
              3  not found
              4  there already, or changed by someone else meanwhile
              5  the server can't be reached
              6  not done in time
              7  not allowed

            Examples:
              perennial demo
              perennial server start-dev
              perennial schedule list
              perennial schedule explain --cron '0 9 * * MON-FRI' --time-zone Europe/Oslo
        "#]],
    );
    check(
        &["calendar"],
        expect![[r#"
            When does it fire? Preview and explain schedules before creating anything

            Usage: perennial calendar [OPTIONS] <COMMAND>

            Commands:
              next     Show the next times of a spec
              between  List every time of a spec in a window
              explain  Say in plain English what a spec means, and what to look out for
              help     Print this message or the help of the given subcommand(s)

            Options:
              -h, --help  Print help (see more with '--help')

            Output:
                  --color <WHEN>     Colour the output [default: auto] [possible values: auto, always, never]
              -o, --output <FORMAT>  How to write the answer [default: table] [possible values: table, json,
                                     jsonl, none]
        "#]],
    );
}

#[test]
fn the_version_is_that_of_the_package() {
    let version = said_by(&mut perennial(&["--version"]));
    assert_eq!(version, format!("perennial {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_calendar_says_what_a_spec_is() {
    check(
        &["calendar", "--help"],
        expect![[r#"
            When does it fire? Preview and explain schedules before creating anything

            A SPEC is one of

              a cron string          '0 9 * * MON-FRI', '0 0 L * *', '@daily', 'CRON_TZ=Europe/Oslo 0 9 * * *'
              an interval            '30m', '5h/15m' (5 hours, 15 minutes past), 'PT30M', '@every 30m'
              a repeating interval   'R/2026-01-31T09:00/P1M' (monthly, from that day on)
              a calendar as JSON     '{"dayOfWeek":"Fri","hour":"11"}'
              a recurrence rule      'DTSTART:20260101T090000 RRULE:FREQ=MONTHLY;BYDAY=-1FR'

            Several are a union. Put each in quotes, or the shell will make file names of the asterisks.

            Usage: perennial calendar [OPTIONS] <COMMAND>

            Commands:
              next     Show the next times of a spec
              between  List every time of a spec in a window
              explain  Say in plain English what a spec means, and what to look out for
              help     Print this message or the help of the given subcommand(s)

            Options:
              -h, --help
                      Print help (see a summary with '-h')

            Output:
                  --color <WHEN>
                      Colour the output

                      Possible values:
                      - auto:   On a terminal, unless NO_COLOR is set
                      - always
                      - never

                      [default: auto]

              -o, --output <FORMAT>
                      How to write the answer

                      Possible values:
                      - table: For people
                      - json:  One document
                      - jsonl: One object a line
                      - none:  Nothing; the exit code tells

                      [default: table]

                  --time-format <FORMAT>
                      How to write times in tables

                      Possible values:
                      - full:     The time here, and how far away it is
                      - relative: How far away it is
                      - iso:      The time in UTC

                      [default: full]

                  --no-json-shorthand-payloads
                      In JSON, show payloads as they are stored, not what they hold

            Log:
                  --log-level <LEVEL>
                      What to log, on standard error [default: never]

                      [possible values: trace, debug, info, warn, error, never]

                  --log-format <FORMAT>
                      How to log [default: text]

                      Possible values:
                      - text: For people
                      - json: For programs

            Configuration:
                  --profile <NAME>
                      Profile of the configuration file [env: TEMPORAL_PROFILE] [default: default]

                  --config-file <FILE>
                      Configuration file, as TOML [env: TEMPORAL_CONFIG_FILE]

                  --disable-config-file
                      Don't read the configuration file

                  --disable-config-env
                      Don't read the environment

                  --env <NAME>
                      Environment of the older presets file, `perennial env` [env: TEMPORAL_ENV] [default:
                      default]

                  --env-file <FILE>
                      The older presets file, as YAML [env: TEMPORAL_ENV_FILE]

                  --command-timeout <DURATION>
                      Give up after this long [default: none; a single request 30s]

                  --client-connect-timeout <DURATION>
                      Give up connecting after this long [default: 10s]
        "#]],
    );
}

#[test]
fn every_command_has_help_with_examples() {
    check(
        &["calendar", "next", "--help"],
        expect![[r#"
            Show the next times of a spec

            Usage: perennial calendar next [OPTIONS] <SPEC>...

            Arguments:
              <SPEC>...
                      A cron string, interval, repeating interval, calendar JSON or recurrence rule; several are
                      a union

            Options:
              -h, --help
                      Print help (see a summary with '-h')

            Spec:
                  --exclude <SPEC|NAME>
                      Leave out the times that this cron string or calendar JSON matches; a whole day is '* * *
                      25 12 * *'. May also name a --define. Repeatable

                  --define <NAME=SPEC>
                      Define a named calendar for --exclude NAME and EXCLUDE=NAME. Repeatable; of one name they
                      add up

                  --tz <NAME>
                      The zone whose clock is read: an IANA name, or 'local' for this machine's [default: UTC]

                  --tzif <FILE>
                      Read the zone from a TZif file; --tz then only names it

                  --dialect <DIALECT>
                      How cron strings are read

                      [default: temporal]
                      [possible values: temporal, dbos, classic]

                  --dst <POLICY>
                      What to do where the clock jumps: literal (as the clock shows, the default), once (every
                      civil time fires exactly once), or GAP,OVERLAP: skip or shift what is jumped over, and
                      take the first, last or both of what comes twice

                  --jitter <DURATION>
                      Put each time off by up to this much

                  --identity <ID>
                      The schedule id whose jitter to show

                  --start <TIME>
                      No time before this one

                  --end <TIME>
                      No time after this one

            Window:
              -n, --count <N>
                      How many times to show

                      [default: 5]

                  --from <TIME>
                      Look at the times after this one; a date or time without an offset is on the spec's clock
                      [default: now]

                  --to <TIME|DURATION>
                      Look no further than this time (inclusive), or this long: 90m, 7d, P1M

            Output:
                  --show-left-out
                      Also show the times that exclusions or clock changes took, and why

                  --color <WHEN>
                      Colour the output

                      Possible values:
                      - auto:   On a terminal, unless NO_COLOR is set
                      - always
                      - never

                      [default: auto]

              -o, --output <FORMAT>
                      How to write the answer

                      Possible values:
                      - table: For people
                      - json:  One document
                      - jsonl: One object a line
                      - none:  Nothing; the exit code tells

                      [default: table]

                  --time-format <FORMAT>
                      How to write times in tables

                      Possible values:
                      - full:     The time here, and how far away it is
                      - relative: How far away it is
                      - iso:      The time in UTC

                      [default: full]

                  --no-json-shorthand-payloads
                      In JSON, show payloads as they are stored, not what they hold

            Log:
                  --log-level <LEVEL>
                      What to log, on standard error [default: never]

                      [possible values: trace, debug, info, warn, error, never]

                  --log-format <FORMAT>
                      How to log [default: text]

                      Possible values:
                      - text: For people
                      - json: For programs

            Configuration:
                  --profile <NAME>
                      Profile of the configuration file [env: TEMPORAL_PROFILE] [default: default]

                  --config-file <FILE>
                      Configuration file, as TOML [env: TEMPORAL_CONFIG_FILE]

                  --disable-config-file
                      Don't read the configuration file

                  --disable-config-env
                      Don't read the environment

                  --env <NAME>
                      Environment of the older presets file, `perennial env` [env: TEMPORAL_ENV] [default:
                      default]

                  --env-file <FILE>
                      The older presets file, as YAML [env: TEMPORAL_ENV_FILE]

                  --command-timeout <DURATION>
                      Give up after this long [default: none; a single request 30s]

                  --client-connect-timeout <DURATION>
                      Give up connecting after this long [default: 10s]

            Examples:
              Weekdays at nine in Oslo
                perennial calendar next --tz Europe/Oslo '0 9 * * MON-FRI'

              The last Friday of the month, and every quarter of an hour on Mondays, but not at Christmas
                perennial calendar next '0 17 * * FRIL' '*/15 * * * MON' --exclude '* * * 24-26 12 * *'

              What a night of changing clocks does to it
                perennial calendar next --tz America/New_York '30 2 * * *' --from 2026-03-06 --show-left-out

              For a script
                perennial calendar next @hourly --count 1 --output jsonl | jq -r .nominal
        "#]],
    );
    check(
        &["calendar", "between", "-h"],
        expect![[r#"
            List every time of a spec in a window

            Usage: perennial calendar between [OPTIONS] <SPEC>...

            Arguments:
              <SPEC>...  A cron string, interval, repeating interval, calendar JSON or recurrence rule; several
                         are a union

            Options:
              -h, --help  Print help (see more with '--help')

            Spec:
                  --exclude <SPEC|NAME>  Leave out the times that this cron string or calendar JSON matches; a
                                         whole day is '* * * 25 12 * *'. May also name a --define. Repeatable
                  --define <NAME=SPEC>   Define a named calendar for --exclude NAME and EXCLUDE=NAME.
                                         Repeatable; of one name they add up
                  --tz <NAME>            The zone whose clock is read: an IANA name, or 'local' for this
                                         machine's [default: UTC]
                  --tzif <FILE>          Read the zone from a TZif file; --tz then only names it
                  --dialect <DIALECT>    How cron strings are read [default: temporal] [possible values:
                                         temporal, dbos, classic]
                  --dst <POLICY>         What to do where the clock jumps: literal (as the clock shows, the
                                         default), once (every civil time fires exactly once), or GAP,OVERLAP:
                                         skip or shift what is jumped over, and take the first, last or both of
                                         what comes twice
                  --jitter <DURATION>    Put each time off by up to this much
                  --identity <ID>        The schedule id whose jitter to show
                  --start <TIME>         No time before this one
                  --end <TIME>           No time after this one

            Window:
              -n, --count <N>           List no more than so many times
                  --from <TIME>         Look at the times after this one; a date or time without an offset is on
                                        the spec's clock [default: now]
                  --to <TIME|DURATION>  Look no further than this time (inclusive), or this long: 90m, 7d, P1M

            Output:
                  --show-left-out    Also show the times that exclusions or clock changes took, and why
                  --color <WHEN>     Colour the output [default: auto] [possible values: auto, always, never]
              -o, --output <FORMAT>  How to write the answer [default: table] [possible values: table, json,
                                     jsonl, none]

            Examples:
              The coming week
                perennial calendar between '0 9,17 * * *' --tz Asia/Tokyo --to 7d

              A year, with the holidays that were left out
                perennial calendar between '0 9 1 * *' --from 2026-01-01 --to 2027-01-01 \
                  --define holidays='* * * 1 1,5 * *' --exclude holidays --show-left-out

              How often does it fire in a year?
                perennial calendar between '*/7 * * * *' --to 365d --output jsonl | wc -l
        "#]],
    );
    check(
        &["calendar", "explain", "-h"],
        expect![[r#"
            Say in plain English what a spec means, and what to look out for

            Usage: perennial calendar explain [OPTIONS] <SPEC>...

            Arguments:
              <SPEC>...  A cron string, interval, repeating interval, calendar JSON or recurrence rule; several
                         are a union

            Options:
              -h, --help  Print help (see more with '--help')

            Spec:
                  --exclude <SPEC|NAME>  Leave out the times that this cron string or calendar JSON matches; a
                                         whole day is '* * * 25 12 * *'. May also name a --define. Repeatable
                  --define <NAME=SPEC>   Define a named calendar for --exclude NAME and EXCLUDE=NAME.
                                         Repeatable; of one name they add up
                  --tz <NAME>            The zone whose clock is read: an IANA name, or 'local' for this
                                         machine's [default: UTC]
                  --tzif <FILE>          Read the zone from a TZif file; --tz then only names it
                  --dialect <DIALECT>    How cron strings are read [default: temporal] [possible values:
                                         temporal, dbos, classic]
                  --dst <POLICY>         What to do where the clock jumps: literal (as the clock shows, the
                                         default), once (every civil time fires exactly once), or GAP,OVERLAP:
                                         skip or shift what is jumped over, and take the first, last or both of
                                         what comes twice
                  --jitter <DURATION>    Put each time off by up to this much
                  --identity <ID>        The schedule id whose jitter to show
                  --start <TIME>         No time before this one
                  --end <TIME>           No time after this one

            Window:
              -n, --count <N>           How many of the next times to show; 0 for none [default: 5]
                  --from <TIME>         Look at the times after this one; a date or time without an offset is on
                                        the spec's clock [default: now]
                  --to <TIME|DURATION>  Look no further than this time (inclusive), or this long: 90m, 7d, P1M

            Output:
                  --show-left-out    Also show the times that exclusions or clock changes took, and why
                  --color <WHEN>     Colour the output [default: auto] [possible values: auto, always, never]
              -o, --output <FORMAT>  How to write the answer [default: table] [possible values: table, json,
                                     jsonl, none]

            Examples:
              Is this every Monday that is the 13th, or every Monday and every 13th?
                perennial calendar explain '0 9 13 * MON'
                perennial calendar explain '0 9 13 * MON' --dialect classic

              What happens when the clock changes?
                perennial calendar explain '30 2 * * *' --tz Europe/Oslo
                perennial calendar explain '30 2 * * *' --tz Europe/Oslo --dst once

              For a program
                perennial calendar explain '0 0 31 * *' --output json
        "#]],
    );
}
