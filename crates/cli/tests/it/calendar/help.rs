use expect_test::{Expect, expect};

use crate::perennial::{perennial, said_by};

/// Checks the help of a command, ignoring blanks at the ends of lines.
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
            Durable workflows and schedules, compatible with Temporal's API

            Usage: perennial [OPTIONS] <COMMAND>

            Commands:
              demo        Try it out: a server, a worker and five schedules
              server      Run a server
              workflow    Start, inspect and control workflows [alias: wf]
              schedule    Create and manage schedules
              calendar    Preview and explain cron strings and other specs, offline
              activity    Complete, fail, pause, reset and update activities of workflows
              batch       List, describe and stop batch jobs
              task-queue  Show the pollers and the backlog of task queues [alias: tq]
              operator    Manage namespaces, search attributes and API keys, check the server
              doctor      Check the server, schedules, workflows, workers and clock for problems
              database    Show and upgrade the tables of a PostgreSQL database
              cluster     Show the nodes and cells of a cluster
              config      Manage connection profiles, for --profile
              env         Manage presets for flags, for --env (older; see `config`)
              completion  Print a shell completion script
              help        Print this message or the help of the given subcommand(s)

            Examples:
              perennial demo
              perennial server start-dev --db-filename perennial.db
              perennial schedule create nightly --cron '0 2 * * *' --type Report --task-queue main
              perennial workflow list --query 'ExecutionStatus = "Running"'

            Exit codes: 0 success, 1 failure, 2 invalid argument, 3 not found, 4 conflict,
              5 server unreachable, 6 timeout, 7 permission denied

            Show all flags of a command: perennial <COMMAND> --help
        "#]],
    );
    check(
        &["calendar"],
        expect![[r#"
            Preview and explain cron strings and other specs, offline

            Usage: perennial calendar [OPTIONS] <COMMAND>

            Commands:
              next     Show the next times of a spec
              between  List every time of a spec in a window
              explain  Explain in words when a spec fires, with warnings
              help     Print this message or the help of the given subcommand(s)

            Show all flags of a command: perennial calendar <COMMAND> --help
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
            Preview and explain cron strings and other specs, offline

            A SPEC is one of

              a cron string          '0 9 * * MON-FRI', '0 0 L * *', '@daily', 'CRON_TZ=Europe/Oslo 0 9 * * *'
              an interval            '30m', '5h/15m' (5 hours, 15 minutes past), 'PT30M', '@every 30m'
              a repeating interval   'R/2026-01-31T09:00/P1M' (monthly, from that day on)
              a calendar as JSON     '{"dayOfWeek":"Fri","hour":"11"}'
              a recurrence rule      'DTSTART:20260101T090000 RRULE:FREQ=MONTHLY;BYDAY=-1FR'

            Several specs form a union. Quote each one, or the shell expands the asterisks.

            Usage: perennial calendar [OPTIONS] <COMMAND>

            Commands:
              next     Show the next times of a spec
              between  List every time of a spec in a window
              explain  Explain in words when a spec fires, with warnings
              help     Print this message or the help of the given subcommand(s)

            Show all flags of a command: perennial calendar <COMMAND> --help
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
                      Cron string, interval, repeating interval, calendar JSON or recurrence rule; several form
                      a union

            Options:
              -h, --help
                      Print help (see a summary with '-h')

            Spec:
                  --exclude <SPEC|NAME>
                      Exclude times that match this cron string, calendar JSON or --define name; a whole day is
                      '* * * 25 12 * *'; repeatable

                  --define <NAME=SPEC>
                      Define a named calendar for --exclude NAME and EXCLUDE=NAME; repeatable, also for the same
                      name

                  --tz <NAME>
                      Time zone: an IANA name, or 'local' for this machine's [default: UTC]

                  --tzif <FILE>
                      Read the time zone from a TZif file; then --tz only sets its name

                  --dialect <DIALECT>
                      Dialect of cron strings

                      [default: temporal]
                      [possible values: temporal, dbos, classic]

                  --dst <POLICY>
                      Daylight saving policy: literal (default), once (every local time fires exactly once), or
                      GAP,OVERLAP: skip or shift times in a gap, and fire the first, last or both of times that
                      occur twice

                  --jitter <DURATION>
                      Delay each time by a random amount up to this

                  --identity <ID>
                      Schedule id, which determines the jitter

                  --start <TIME>
                      First possible time

                  --end <TIME>
                      Last possible time

            Window:
              -n, --count <N>
                      Number of times to show

                      [default: 5]

                  --from <TIME>
                      Start of the window (exclusive); without an offset, in the spec's time zone [default: now]

                  --to <TIME|DURATION>
                      End of the window (inclusive), or its length: 90m, 7d, P1M

            Output:
                  --show-left-out
                      Also show times removed by exclusions or clock changes, and why

                  --color <WHEN>
                      When to colour the output

                      Possible values:
                      - auto:   On a terminal, unless NO_COLOR is set
                      - always
                      - never

                      [default: auto]

              -o, --output <FORMAT>
                      Output format

                      Possible values:
                      - table: Text for people
                      - json:  One JSON document
                      - jsonl: One JSON object per line
                      - none:  No output, only the exit code

                      [default: table]

                  --time-format <FORMAT>
                      Time format in tables

                      Possible values:
                      - full:     Local time and distance, such as `2026-11-16 10:00:00 (in 3 h)`
                      - relative: Distance only, such as `in 3 h`
                      - iso:      ISO 8601 in UTC

                      [default: full]

                  --no-json-shorthand-payloads
                      Show payloads in JSON as stored, with metadata and base64 data

            Log:
                  --log-level <LEVEL>
                      Log level; the log goes to standard error [default: never]

                      [possible values: trace, debug, info, warn, error, never]

                  --log-format <FORMAT>
                      Log format [default: text]

                      Possible values:
                      - text: For people
                      - json: For programs

            Configuration:
                  --profile <NAME>
                      Profile in the configuration file [env: TEMPORAL_PROFILE] [default: default]

                  --config-file <FILE>
                      Configuration file (TOML) [env: TEMPORAL_CONFIG_FILE]

                  --disable-config-file
                      Ignore the configuration file

                  --disable-config-env
                      Ignore TEMPORAL_… environment variables

                  --env <NAME>
                      Environment in the older presets file, see `perennial env` [env: TEMPORAL_ENV] [default:
                      default]

                  --env-file <FILE>
                      Older presets file (YAML) [env: TEMPORAL_ENV_FILE]

                  --command-timeout <DURATION>
                      Timeout of the whole command [default: none; 30s per request]

                  --client-connect-timeout <DURATION>
                      Timeout for connecting [default: 10s]

            Examples:
              Weekdays at nine in Oslo
                perennial calendar next --tz Europe/Oslo '0 9 * * MON-FRI'

              The last Friday of the month, and every quarter of an hour on Mondays, but not at Christmas
                perennial calendar next '0 17 * * FRIL' '*/15 * * * MON' --exclude '* * * 24-26 12 * *'

              Times around a clock change, with those left out
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
              <SPEC>...  Cron string, interval, repeating interval, calendar JSON or recurrence rule; several
                         form a union

            Options:
              -h, --help  Print help (see more with '--help')

            Spec:
                  --exclude <SPEC|NAME>  Exclude times that match this cron string, calendar JSON or --define
                                         name; a whole day is '* * * 25 12 * *'; repeatable
                  --define <NAME=SPEC>   Define a named calendar for --exclude NAME and EXCLUDE=NAME;
                                         repeatable, also for the same name
                  --tz <NAME>            Time zone: an IANA name, or 'local' for this machine's [default: UTC]
                  --tzif <FILE>          Read the time zone from a TZif file; then --tz only sets its name
                  --dialect <DIALECT>    Dialect of cron strings [default: temporal] [possible values: temporal,
                                         dbos, classic]
                  --dst <POLICY>         Daylight saving policy: literal (default), once (every local time fires
                                         exactly once), or GAP,OVERLAP: skip or shift times in a gap, and fire
                                         the first, last or both of times that occur twice
                  --jitter <DURATION>    Delay each time by a random amount up to this
                  --identity <ID>        Schedule id, which determines the jitter
                  --start <TIME>         First possible time
                  --end <TIME>           Last possible time

            Window:
              -n, --count <N>           List at most this many times
                  --from <TIME>         Start of the window (exclusive); without an offset, in the spec's time
                                        zone [default: now]
                  --to <TIME|DURATION>  End of the window (inclusive), or its length: 90m, 7d, P1M

            Output:
                  --show-left-out    Also show times removed by exclusions or clock changes, and why
                  --color <WHEN>     When to colour the output [default: auto] [possible values: auto, always,
                                     never]
              -o, --output <FORMAT>  Output format [default: table] [possible values: table, json, jsonl, none]

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
            Explain in words when a spec fires, with warnings

            Usage: perennial calendar explain [OPTIONS] <SPEC>...

            Arguments:
              <SPEC>...  Cron string, interval, repeating interval, calendar JSON or recurrence rule; several
                         form a union

            Options:
              -h, --help  Print help (see more with '--help')

            Spec:
                  --exclude <SPEC|NAME>  Exclude times that match this cron string, calendar JSON or --define
                                         name; a whole day is '* * * 25 12 * *'; repeatable
                  --define <NAME=SPEC>   Define a named calendar for --exclude NAME and EXCLUDE=NAME;
                                         repeatable, also for the same name
                  --tz <NAME>            Time zone: an IANA name, or 'local' for this machine's [default: UTC]
                  --tzif <FILE>          Read the time zone from a TZif file; then --tz only sets its name
                  --dialect <DIALECT>    Dialect of cron strings [default: temporal] [possible values: temporal,
                                         dbos, classic]
                  --dst <POLICY>         Daylight saving policy: literal (default), once (every local time fires
                                         exactly once), or GAP,OVERLAP: skip or shift times in a gap, and fire
                                         the first, last or both of times that occur twice
                  --jitter <DURATION>    Delay each time by a random amount up to this
                  --identity <ID>        Schedule id, which determines the jitter
                  --start <TIME>         First possible time
                  --end <TIME>           Last possible time

            Window:
              -n, --count <N>           Number of next times to show; 0 for none [default: 5]
                  --from <TIME>         Start of the window (exclusive); without an offset, in the spec's time
                                        zone [default: now]
                  --to <TIME|DURATION>  End of the window (inclusive), or its length: 90m, 7d, P1M

            Output:
                  --show-left-out    Also show times removed by exclusions or clock changes, and why
                  --color <WHEN>     When to colour the output [default: auto] [possible values: auto, always,
                                     never]
              -o, --output <FORMAT>  Output format [default: table] [possible values: table, json, jsonl, none]

            Examples:
              Is this every Monday that is the 13th, or every Monday and every 13th?
                perennial calendar explain '0 9 13 * MON'
                perennial calendar explain '0 9 13 * MON' --dialect classic

              Times in the night of a clock change
                perennial calendar explain '30 2 * * *' --tz Europe/Oslo
                perennial calendar explain '30 2 * * *' --tz Europe/Oslo --dst once

              For a program
                perennial calendar explain '0 0 31 * *' --output json
        "#]],
    );
}
