//! Every command explains itself, with an example.

use expect_test::expect;

use crate::perennial::{perennial, said_by};

#[test]
fn the_groups_list_their_commands() {
    expect![[r#"
        Start workflows at the right times, and see what became of it

        Usage: perennial schedule [OPTIONS] <COMMAND>

        Commands:
          create               Create a schedule
          update               Change what is given of a schedule, and nothing else
          describe             Show a schedule: what it does, what it did, what it will do [alias: show]
          list                 List schedules [alias: ls]
          toggle               Pause a schedule, or let it go on
          pause                Pause a schedule, as `toggle --pause` does
          unpause              Let a paused schedule go on, as `toggle --unpause` does [alias: resume]
          trigger              Start once, now, and say what came of it
          backfill             Start for the times of a window, past or future, both ends counted
          list-backfills       List the backfills of a schedule and how far they have come, or what became
                               of each time of one
          cancel-backfill      Cancel a backfill: what it hasn't started yet isn't started
          delete               Delete a schedule; its runs go on
          list-matching-times  List the times of a schedule in a window, as the server sees them
          preview              Show the next times of a schedule, or of one that isn't there yet
          explain              Say in plain English when a schedule acts, or one that isn't there yet, and
                               what to look out for
          why                  Did it fire then, why not, or will it?
          ledger               Show what became of each time of a schedule: its verdict, why, and its run
          history              Show what happened to a schedule, and who asked [alias: audit]
          evaluate             Evaluate the schedules that are due once, in that order, and start what is to
                               be started [alias: tick]
          help                 Print this message or the help of the given subcommand(s)

        Options:
          -h, --help  Print help (see more with '--help')

        Connection:
              --address <HOST:PORT>  Where the server is [env: TEMPORAL_ADDRESS] [default: localhost:7233]
          -n, --namespace <NAME>     Namespace [env: TEMPORAL_NAMESPACE] [default: default]

        Output:
              --color <WHEN>     Colour the output [default: auto] [possible values: auto, always, never]
          -o, --output <FORMAT>  How to write the answer [default: table] [possible values: table, json,
                                 jsonl, none]

        Examples:
          perennial schedule create payroll --cron '0 9 * * MON' --type Payroll --task-queue main
          perennial schedule describe payroll
          perennial schedule why payroll 2026-11-16T09:00
          perennial schedule backfill payroll --start-time 2026-11-01 --end-time 2026-11-15 --dry-run
    "#]].assert_eq(&said_by(&mut perennial(&["schedule", "-h"])));
}

#[test]
fn a_command_has_its_own_flags_first_and_all_of_them_in_the_long_help() {
    expect![[r#"
        Start once, now, and say what came of it

        Usage: perennial schedule trigger [OPTIONS] <SCHEDULE_ID|--schedule-id <ID>>

        Arguments:
          [SCHEDULE_ID]  Schedule id

        Options:
          -s, --schedule-id <ID>         The same as a flag
              --overlap-policy <POLICY>  Overlap policy for this start alone [default: the schedule's]
              --scheduled-time <TIME>    The time to name the run by [default: now]
              --reason <TEXT>            Why; kept in the schedule's history
          -h, --help                     Print help (see more with '--help')

        Input:
          -i, --input <JSON>            A value to pass, as JSON; repeatable
              --input-file <FILE>       File that holds a value to pass; `-` is standard input; repeatable
              --input-meta <KEY=VALUE>  Metadata of the values, such as encoding=json/protobuf; of one key
                                        the n-th is the n-th value's
              --input-base64            The values are base64

        Connection:
              --address <HOST:PORT>  Where the server is [env: TEMPORAL_ADDRESS] [default: localhost:7233]
          -n, --namespace <NAME>     Namespace [env: TEMPORAL_NAMESPACE] [default: default]

        Output:
              --color <WHEN>     Colour the output [default: auto] [possible values: auto, always, never]
          -o, --output <FORMAT>  How to write the answer [default: table] [possible values: table, json,
                                 jsonl, none]

        Examples:
          perennial schedule trigger payroll
          perennial schedule trigger payroll --overlap-policy AllowAll
          perennial schedule trigger payroll --input '{"dry":true}' --reason "a trial before the audit"
    "#]].assert_eq(&said_by(&mut perennial(&["schedule", "trigger", "-h"])));
    let long = said_by(&mut perennial(&["schedule", "trigger", "--help"]));
    for flag in ["--tls-cert-path", "--profile", "--command-timeout", "--api-key"] {
        assert!(long.contains(flag), "{flag}");
    }
}

#[test]
fn every_command_has_an_example() {
    let listed = said_by(&mut perennial(&["schedule", "-h"]));
    let commands = listed.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty());
    // What a line goes on with is indented by more.
    let commands = commands.filter_map(|line| line.strip_prefix("  "));
    let names = commands.filter_map(|line| line.split(' ').next()).filter(|it| !it.is_empty());
    for name in names.filter(|name| *name != "help") {
        let said = said_by(&mut perennial(&["schedule", name, "-h"]));
        assert!(said.contains("Examples:"), "{name}:\n{said}");
    }
}
