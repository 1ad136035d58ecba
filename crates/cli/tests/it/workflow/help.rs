//! Help texts of the workflow commands.

use expect_test::{Expect, expect};

use super::scene::alone;

fn check(line: &str, expected: Expect) {
    expected.assert_eq(&alone(line));
}

#[test]
fn groups_list_their_commands() {
    check(
        "workflow -h",
        expect![[r#"
            Start, inspect and control workflows

            Usage: perennial workflow [OPTIONS] <COMMAND>

            Commands:
              start                      Start a workflow without waiting for it
              execute                    Start a workflow and wait for its result [alias: run]
              list                       List workflows [alias: ls]
              count                      Count workflows
              describe                   Show the state of a workflow
              show                       Show a workflow's history
              observe                    Follow the history, same as `show --follow`
              trace                      Show activities, timers and child workflows as a live tree
              result                     Wait for a workflow's result
              signal                     Send a signal to one workflow or many
              signal-with-start          Send a signal, starting the workflow if needed
              query                      Query a workflow's state, without side effects
              stack                      Show a workflow's stack trace
              metadata                   Show a workflow's queries, signals and updates
              update                     Send updates to a workflow and get their results
              start-update-with-start    Send an update, starting the workflow if needed; wait for acceptance
              execute-update-with-start  Send an update, starting the workflow if needed; wait for the result
              cancel                     Request cancellation of one workflow or many
              terminate                  Terminate one workflow or many
              delete                     Delete one workflow or many, with their histories
              reset                      Reset one workflow or many to an earlier point
              pause                      Pause a workflow: no workflow tasks until it is unpaused
              unpause                    Resume a paused workflow
              update-options             Change the priority of a running workflow
              fix-history-json           Convert an old history JSON file to the current format
              help                       Print this message or the help of the given subcommand(s)

            Examples:
              perennial workflow execute --type Greet --task-queue main --input '"Ada"'
              perennial workflow list --query 'ExecutionStatus = "Running"'
              perennial workflow show order-42 --follow
              perennial workflow terminate --query 'WorkflowType = "Import"' --reason "wrong file"

            Show all flags of a command: perennial workflow <COMMAND> --help
        "#]],
    );
    check(
        "activity -h",
        expect![[r#"
            Complete, fail, pause, reset and update activities of workflows

            Usage: perennial activity [OPTIONS] <COMMAND>

            Commands:
              complete        Complete an activity, on behalf of its worker
              fail            Fail an activity without retry, on behalf of its worker
              cancel          Report an activity as canceled, on behalf of its worker
              pause           Pause an activity: no further attempts until it is unpaused
              unpause         Unpause an activity
              reset           Restart an activity from its first attempt
              update-options  Change the options of a pending activity
              help            Print this message or the help of the given subcommand(s)

            Examples:
              perennial activity complete -w order-42 --activity-id 5 --result '"paid"'
              perennial activity pause -w order-42 --activity-id 5 --reason "bank is closed"

            Show all flags of a command: perennial activity <COMMAND> --help
        "#]],
    );
    check(
        "task-queue -h",
        expect![[r#"
            Show the pollers and the backlog of task queues

            Usage: perennial task-queue [OPTIONS] <COMMAND>

            Commands:
              describe        Show the pollers and the backlog of a task queue
              list-partition  List the partitions of a task queue (Perennial has one)
              help            Print this message or the help of the given subcommand(s)

            Examples:
              perennial task-queue describe --task-queue main

            Show all flags of a command: perennial task-queue <COMMAND> --help
        "#]],
    );
    check(
        "batch -h",
        expect![[r#"
            List, describe and stop batch jobs

            Usage: perennial batch [OPTIONS] <COMMAND>

            Commands:
              list       List batch jobs [alias: ls]
              describe   Show the progress of a batch job
              terminate  Stop a batch job; its effects so far stay
              help       Print this message or the help of the given subcommand(s)

            Examples:
              perennial workflow cancel --query 'WorkflowType = "Import"'
              perennial batch list
              perennial batch describe --job-id 5f0c6c51-…

            Show all flags of a command: perennial batch <COMMAND> --help
        "#]],
    );
    check(
        "operator -h",
        expect![[r#"
            Manage namespaces, search attributes and API keys, check the server

            Usage: perennial operator [OPTIONS] <COMMAND>

            Commands:
              namespace         Manage namespaces
              search-attribute  Manage the search attributes of a namespace
              cluster           Show the server's health, version and capabilities
              api-key           Create, list and revoke API keys
              log-levels        Set what the server logs, until it stops
              help              Print this message or the help of the given subcommand(s)

            Examples:
              perennial operator namespace create --namespace shop --retention 30d
              perennial operator search-attribute create --name Customer --type Keyword
              perennial operator cluster health
              perennial operator api-key create --name ci --role worker --namespace default

            Show all flags of a command: perennial operator <COMMAND> --help
        "#]],
    );
    check(
        "operator namespace -h",
        expect![[r#"
            Manage namespaces

            Usage: perennial operator namespace [OPTIONS] <COMMAND>

            Commands:
              create    Create a namespace [alias: register]
              describe  Show a namespace
              list      List namespaces [alias: ls]
              update    Change a namespace; everything not given stays as it is
              delete    Delete a namespace with all its workflows and schedules
              help      Print this message or the help of the given subcommand(s)

            Examples:
              perennial operator namespace create --namespace shop --retention 30d
              perennial operator namespace list

            Show all flags of a command: perennial operator namespace <COMMAND> --help
        "#]],
    );
}

#[test]
fn commands_have_examples() {
    check(
        "workflow start -h",
        expect![[r#"
            Start a workflow without waiting for it

            Usage: perennial workflow start [OPTIONS]

            Options:
              -w, --workflow-id <ID>             Workflow id [default: a new UUID]
                  --fail-existing                Fail if a workflow with this id is running; by default, show
                                                 that one
                  --id-conflict-policy <POLICY>  Policy if a workflow with this id is running [possible values:
                                                 Fail, UseExisting, TerminateExisting]
                  --id-reuse-policy <POLICY>     Policy if a workflow with this id has ended [possible values:
                                                 AllowDuplicate, AllowDuplicateFailedOnly, RejectDuplicate,
                                                 TerminateIfRunning]
                  --start-delay <DURATION>       Delay before the first workflow task; not with --cron. An
                                                 update or signal-with-start ends the delay, a signal doesn't
              -h, --help                         Print help (see more with '--help')

            Workflow:
                  --type <NAME>                   Workflow type
              -t, --task-queue <NAME>             Task queue of the workers that run it
                  --execution-timeout <DURATION>  Timeout of the workflow, including retries and runs that
                                                  continue it as new
                  --run-timeout <DURATION>        Timeout of a single run
                  --task-timeout <DURATION>       Timeout of a workflow task; then another worker gets it
                                                  [default: 10s]
                  --memo <KEY=JSON>               Memo of each run; repeatable
                  --search-attribute <KEY=JSON>   Search attribute of each run; repeatable
                  --headers <KEY=JSON>            Header of each run; repeatable
                  --static-summary <TEXT>         One-line summary, shown by user interfaces
                  --static-details <TEXT>         Details in Markdown, shown by user interfaces
                  --priority-key <N>              Priority of its tasks, 1 (highest) to 5 (lowest)
                  --fairness-key <KEY>            Fairness key: workers are shared fairly between keys
                  --fairness-weight <WEIGHT>      Weight of the fairness key, 0.001 to 1000

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
              perennial workflow start --type Greet --task-queue main --input '"Ada"'
              perennial workflow start -w order-42 --type Order -t orders --input-file order.json
              perennial workflow start --type Report -t main --search-attribute 'Customer="Ada"' -o json
        "#]],
    );
    check(
        "workflow cancel -h",
        expect![[r#"
            Request cancellation of one workflow or many

            Usage: perennial workflow cancel [OPTIONS] [WORKFLOW_ID]

            Arguments:
              [WORKFLOW_ID]  Workflow id

            Options:
              -w, --workflow-id <ID>  Workflow id, as a flag
              -r, --run-id <ID>       Run id [default: the latest run]
                  --reason <TEXT>     Reason, stored in the history and visible to the workflow
              -h, --help              Print help (see more with '--help')

            Many workflows:
              -q, --query <FILTER>  Apply to all workflows that match this list filter, as a batch job
              -y, --yes             Don't ask for confirmation
                  --rps <N>         Maximum workflows per second

            Connection:
                  --address <HOST:PORT>  Address of the server [env: TEMPORAL_ADDRESS] [default: localhost:7233]
              -n, --namespace <NAME>     Namespace [env: TEMPORAL_NAMESPACE] [default: default]

            Output:
                  --color <WHEN>     When to colour the output [default: auto] [possible values: auto, always,
                                     never]
              -o, --output <FORMAT>  Output format [default: table] [possible values: table, json, jsonl, none]

            Examples:
              perennial workflow cancel order-42
              perennial workflow cancel --query 'WorkflowType = "Import"' --reason "wrong file" --yes
        "#]],
    );
    check(
        "workflow show -h",
        expect![[r#"
            Show a workflow's history

            Usage: perennial workflow show [OPTIONS] [WORKFLOW_ID]

            Arguments:
              [WORKFLOW_ID]  Workflow id

            Options:
              -w, --workflow-id <ID>  Workflow id, as a flag
              -r, --run-id <ID>       Run id [default: the latest run]
              -f, --follow            Wait for new events until the workflow ends
                  --detailed          Show all details of each event
                  --reverse           Last event first
              -h, --help              Print help (see more with '--help')

            Connection:
                  --address <HOST:PORT>  Address of the server [env: TEMPORAL_ADDRESS] [default: localhost:7233]
              -n, --namespace <NAME>     Namespace [env: TEMPORAL_NAMESPACE] [default: default]

            Output:
                  --color <WHEN>     When to colour the output [default: auto] [possible values: auto, always,
                                     never]
              -o, --output <FORMAT>  Output format [default: table] [possible values: table, json, jsonl, none]

            Examples:
              perennial workflow show order-42
              perennial workflow show order-42 --follow
              perennial workflow show order-42 --detailed --reverse
              perennial workflow show order-42 -o json > history.json
        "#]],
    );
    check(
        "workflow update execute -h",
        expect![[r#"
            Send an update and wait for its result

            Usage: perennial workflow update execute [OPTIONS] --name <NAME> [WORKFLOW_ID]

            Arguments:
              [WORKFLOW_ID]  Workflow id

            Options:
              -w, --workflow-id <ID>             Workflow id, as a flag
              -r, --run-id <ID>                  Run id [default: the latest run]
                  --name <NAME>                  Update name
                  --update-id <ID>               Update id, for deduplication [default: a new UUID]
                  --first-execution-run-id <ID>  Only if this is the first run of the workflow's chain
                  --headers <KEY=JSON>           Header that workflow code sees; repeatable
              -h, --help                         Print help (see more with '--help')

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
              perennial workflow update execute order-42 --name addItem --input '{"sku": 7}'
        "#]],
    );
    check(
        "operator namespace create -h",
        expect![[r#"
            Create a namespace

            Usage: perennial operator namespace create [OPTIONS] [NAMESPACE]

            Arguments:
              [NAMESPACE]  Namespace [default: the one given by --namespace]

            Options:
                  --description <TEXT>    Description
                  --email <ADDRESS>       Email of the owner
                  --retention <DURATION>  How long closed workflows are kept
                  --data <KEY=VALUE>      Custom data; repeatable
              -h, --help                  Print help (see more with '--help')

            Connection:
                  --address <HOST:PORT>  Address of the server [env: TEMPORAL_ADDRESS] [default: localhost:7233]
              -n, --namespace <NAME>     Namespace [env: TEMPORAL_NAMESPACE] [default: default]

            Output:
                  --color <WHEN>     When to colour the output [default: auto] [possible values: auto, always,
                                     never]
              -o, --output <FORMAT>  Output format [default: table] [possible values: table, json, jsonl, none]

            Examples:
              perennial operator namespace create shop --retention 30d --description "orders and carts"
        "#]],
    );
}

#[test]
fn every_workflow_command_has_an_example() {
    let groups = [
        (
            "workflow",
            "start execute list count describe show trace result signal signal-with-start query stack \
             metadata start-update-with-start execute-update-with-start cancel terminate delete reset \
             pause unpause update-options fix-history-json",
        ),
        ("workflow update", "execute start result describe"),
        ("activity", "complete fail cancel pause unpause reset update-options"),
        ("task-queue", "describe list-partition"),
        ("batch", "list describe terminate"),
        ("operator namespace", "create describe list update delete"),
        ("operator search-attribute", "create list remove"),
        ("operator cluster", "health describe system list"),
    ];
    for (group, commands) in groups {
        for command in commands.split_whitespace() {
            let said = alone(&format!("{group} {command} -h"));
            assert!(said.contains("Examples:\n  perennial "), "{group} {command}: {said}");
        }
    }
}
