//! Help texts of the schedule commands.

use expect_test::expect;

use crate::perennial::{perennial, said_by};

#[test]
fn the_groups_list_their_commands() {
    expect![[r#"
        Create and manage schedules

        Usage: perennial schedule [OPTIONS] <COMMAND>

        Commands:
          create               Create a schedule
          update               Change a schedule; everything not given stays as it is
          describe             Show a schedule: its settings, recent runs and next times [alias: show]
          list                 List schedules [alias: ls]
          toggle               Pause or unpause a schedule (--pause, --unpause)
          pause                Pause a schedule
          unpause              Resume a paused schedule [alias: resume]
          trigger              Start a run now, and show the result
          backfill             Start runs for the times in a window, past or future
          list-backfills       List a schedule's backfills, or the times of one backfill
          cancel-backfill      Cancel a backfill; runs it has started go on
          delete               Delete a schedule; its running workflows go on
          list-matching-times  List the times of a schedule in a window, computed by the server
          preview              Show the next times of a schedule or of a spec
          explain              Explain in words when a schedule or a spec fires, with warnings
          why                  Explain whether and why a schedule fires, or fired, at a time
          ledger               Show the verdict on each past time: fired or not, why, and its run
          history              Show the audit history: changes, runs, and who made them [alias: audit]
          evaluate             Evaluate all due schedules once and start their runs [alias: tick]
          help                 Print this message or the help of the given subcommand(s)

        Examples:
          perennial schedule create payroll --cron '0 9 * * MON' --type Payroll --task-queue main
          perennial schedule describe payroll
          perennial schedule why payroll 2026-11-16T09:00
          perennial schedule backfill payroll --start-time 2026-11-01 --end-time 2026-11-15 --dry-run

        Show all flags of a command: perennial schedule <COMMAND> --help
    "#]].assert_eq(&said_by(&mut perennial(&["schedule", "-h"])));
}

#[test]
fn a_command_has_its_own_flags_first_and_all_of_them_in_the_long_help() {
    expect![[r#"
        Start a run now, and show the result

        Usage: perennial schedule trigger [OPTIONS] <SCHEDULE_ID|--schedule-id <ID>>

        Arguments:
          [SCHEDULE_ID]  Schedule id

        Options:
          -s, --schedule-id <ID>         Schedule id, as a flag
              --overlap-policy <POLICY>  Overlap policy for this run [default: the schedule's]
              --scheduled-time <TIME>    Nominal time of the run, used in its workflow id [default: now]
              --reason <TEXT>            Reason, stored in the schedule's history
          -h, --help                     Print help (see more with '--help')

        Input:
          -i, --input <JSON>            Input value as JSON; repeatable
              --input-file <FILE>       File with an input value; `-` for standard input; repeatable
              --input-meta <KEY=VALUE>  Payload metadata, such as encoding=json/protobuf; repeat it for each
                                        value
              --input-base64            Input values are base64

        Connection:
              --address <HOST:PORT>  Address of the server [env: TEMPORAL_ADDRESS] [default: localhost:7233]
          -n, --namespace <NAME>     Namespace [env: TEMPORAL_NAMESPACE] [default: default]

        Output:
              --color <WHEN>     When to colour the output [default: auto] [possible values: auto, always,
                                 never]
          -o, --output <FORMAT>  Output format [default: table] [possible values: table, json, jsonl, none]

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
fn every_schedule_command_has_an_example() {
    let listed = said_by(&mut perennial(&["schedule", "-h"]));
    let commands = listed.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty());
    // Continuation lines are indented further.
    let commands = commands.filter_map(|line| line.strip_prefix("  "));
    let names = commands.filter_map(|line| line.split(' ').next()).filter(|it| !it.is_empty());
    for name in names.filter(|name| *name != "help") {
        let said = said_by(&mut perennial(&["schedule", name, "-h"]));
        assert!(said.contains("Examples:"), "{name}:\n{said}");
    }
}
