//! What the commands say of themselves.

use expect_test::{Expect, expect};

use crate::scene::alone;

fn check(line: &str, expected: Expect) {
    expected.assert_eq(&alone(line));
}

#[test]
fn groups_list_their_commands() {
    check(
        "workflow -h",
        expect![[r#"
        Start workflows, talk to them, and see what they do

        Usage: perennial workflow [OPTIONS] <COMMAND>

        Commands:
          start                      Start a workflow and go on
          execute                    Start a workflow and wait for its result [alias: run]
          list                       List workflows [alias: ls]
          count                      Count workflows
          describe                   Show what is known of a workflow
          show                       Display a workflow's history
          observe                    Display the history as it grows, as `show --follow` does
          trace                      Show a workflow's progress, with its activities, timers and children,
                                     as a tree
          result                     Wait for a workflow's result
          signal                     Send a signal to a workflow, or to many
          signal-with-start          Send a signal to a workflow, and start it if it doesn't run
          query                      Ask a workflow something; it goes on as if it hadn't been asked
          stack                      Show where a workflow's code stands
          metadata                   Show what a workflow can be asked and told
          update                     Tell a workflow something and get its answer
          start-update-with-start    Send an update to a workflow, starting it if needed, and wait until the
                                     update is accepted
          execute-update-with-start  Send an update to a workflow, starting it if needed, and wait for the
                                     update's result
          cancel                     Ask a workflow, or many, to cancel
          terminate                  End a workflow, or many, at once
          delete                     Delete a workflow, or many, with their histories
          reset                      Let a workflow, or many, go on from an earlier point
          pause                      Pause a workflow: its code gets no tasks until it is unpaused
          unpause                    Let a paused workflow go on
          update-options             Change the priority of a workflow that runs
          fix-history-json           Write a history file of an older version as replayers want it today
          help                       Print this message or the help of the given subcommand(s)

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
          perennial workflow execute --type Greet --task-queue main --input '"Ada"'
          perennial workflow list --query 'ExecutionStatus = "Running"'
          perennial workflow show order-42 --follow
          perennial workflow terminate --query 'WorkflowType = "Import"' --reason "wrong file"
    "#]],
    );
    check(
        "activity -h",
        expect![[r#"
        End, pause and change activities that workflows wait for

        Usage: perennial activity [OPTIONS] <COMMAND>

        Commands:
          complete        Complete an activity in the place of its worker
          fail            Fail an activity in the place of its worker; it isn't tried again
          cancel          Cancel an activity in the place of its worker
          pause           Pause an activity: it isn't tried again until it is unpaused
          unpause         Let a paused activity go on
          reset           Begin an activity anew, with its first attempt
          update-options  Change the options of an activity that is waited for
          help            Print this message or the help of the given subcommand(s)

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
          perennial activity complete -w order-42 --activity-id 5 --result '"paid"'
          perennial activity pause -w order-42 --activity-id 5 --reason "bank is closed"
    "#]],
    );
    check(
        "task-queue -h",
        expect![[r#"
        See who polls a task queue, and what waits in it

        Usage: perennial task-queue [OPTIONS] <COMMAND>

        Commands:
          describe        Show who polls a task queue, and what waits in it
          list-partition  List the partitions of a task queue; on Perennial it is whole
          help            Print this message or the help of the given subcommand(s)

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
          perennial task-queue describe --task-queue main
    "#]],
    );
    check(
        "batch -h",
        expect![[r#"
        See and stop batch jobs, which `workflow` commands with --query start

        Usage: perennial batch [OPTIONS] <COMMAND>

        Commands:
          list       List batch jobs [alias: ls]
          describe   Show how far a batch job is
          terminate  Stop a batch job; what it has done stays done
          help       Print this message or the help of the given subcommand(s)

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
          perennial workflow cancel --query 'WorkflowType = "Import"'
          perennial batch list
          perennial batch describe --job-id 5f0c6c51-…
    "#]],
    );
    check(
        "operator -h",
        expect![[r#"
        Manage namespaces and search attributes, and see how the server is

        Usage: perennial operator [OPTIONS] <COMMAND>

        Commands:
          namespace         Manage namespaces
          search-attribute  Manage the search attributes of a namespace
          cluster           See how the server is
          help              Print this message or the help of the given subcommand(s)

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
          perennial operator namespace create --namespace shop --retention 30d
          perennial operator search-attribute create --name Customer --type Keyword
          perennial operator cluster health
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
          update    Change a namespace; what isn't said stays
          delete    Delete a namespace with all that is in it
          help      Print this message or the help of the given subcommand(s)

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
          perennial operator namespace create --namespace shop --retention 30d
          perennial operator namespace list
    "#]],
    );
}

#[test]
fn commands_have_examples() {
    check(
        "workflow start -h",
        expect![[r#"
        Start a workflow and go on

        Usage: perennial workflow start [OPTIONS]

        Options:
          -w, --workflow-id <ID>             Workflow id [default: a new UUID]
              --fail-existing                Fail if a workflow with this id runs already; otherwise that
                                             one is shown
              --id-conflict-policy <POLICY>  What to do if a workflow with this id runs [possible values:
                                             Fail, UseExisting, TerminateExisting]
              --id-reuse-policy <POLICY>     What to do if a workflow with this id has ended [possible
                                             values: AllowDuplicate, AllowDuplicateFailedOnly,
                                             RejectDuplicate, TerminateIfRunning]
              --start-delay <DURATION>       Wait this long before the first task. An update or
                                             signal-with-start begins it at once; a plain signal waits for
                                             the end of the delay. Can't be used with cron
          -h, --help                         Print help (see more with '--help')

        What:
              --type <NAME>                   Workflow type
          -t, --task-queue <NAME>             Task queue whose workers run it
              --execution-timeout <DURATION>  Fail a workflow that takes longer than this, with retries and
                                              new runs
              --run-timeout <DURATION>        Fail a run that takes longer than this
              --task-timeout <DURATION>       Give a workflow task to another worker after this long
                                              [default: 10s]
              --memo <KEY=JSON>               Memo of each run; repeatable
              --search-attribute <KEY=JSON>   Search attribute of each run; repeatable
              --headers <KEY=JSON>            Header of each run; repeatable
              --static-summary <TEXT>         One line on what it does, shown by user interfaces
              --static-details <TEXT>         More on what it does, as Markdown
              --priority-key <N>              Priority of its tasks, 1 (first) to 5 (last)
              --fairness-key <KEY>            Tasks of one key share what workers can do
              --fairness-weight <WEIGHT>      How large the share of the key is, 0.001 to 1000

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
          perennial workflow start --type Greet --task-queue main --input '"Ada"'
          perennial workflow start -w order-42 --type Order -t orders --input-file order.json
          perennial workflow start --type Report -t main --search-attribute 'Customer="Ada"' -o json
    "#]],
    );
    check(
        "workflow cancel -h",
        expect![[r#"
        Ask a workflow, or many, to cancel

        Usage: perennial workflow cancel [OPTIONS] [WORKFLOW_ID]

        Arguments:
          [WORKFLOW_ID]  Workflow id

        Options:
          -w, --workflow-id <ID>  The same as a flag
          -r, --run-id <ID>       Run id [default: the latest run]
              --reason <TEXT>     Why; the workflow and its history see it
          -h, --help              Print help (see more with '--help')

        Many workflows:
          -q, --query <FILTER>  All workflows that match a list filter, as a batch job
          -y, --yes             Don't ask first
              --rps <N>         No more than so many workflows a second

        Connection:
              --address <HOST:PORT>  Where the server is [env: TEMPORAL_ADDRESS] [default: localhost:7233]
          -n, --namespace <NAME>     Namespace [env: TEMPORAL_NAMESPACE] [default: default]

        Output:
              --color <WHEN>     Colour the output [default: auto] [possible values: auto, always, never]
          -o, --output <FORMAT>  How to write the answer [default: table] [possible values: table, json,
                                 jsonl, none]

        Examples:
          perennial workflow cancel order-42
          perennial workflow cancel --query 'WorkflowType = "Import"' --reason "wrong file" --yes
    "#]],
    );
    check(
        "workflow show -h",
        expect![[r#"
            Display a workflow's history

            Usage: perennial workflow show [OPTIONS] [WORKFLOW_ID]

            Arguments:
              [WORKFLOW_ID]  Workflow id

            Options:
              -w, --workflow-id <ID>  The same as a flag
              -r, --run-id <ID>       Run id [default: the latest run]
              -f, --follow            Wait for more events until the workflow has ended
                  --detailed          Show all that each event says
                  --reverse           The last event first
              -h, --help              Print help (see more with '--help')

            Connection:
                  --address <HOST:PORT>  Where the server is [env: TEMPORAL_ADDRESS] [default: localhost:7233]
              -n, --namespace <NAME>     Namespace [env: TEMPORAL_NAMESPACE] [default: default]

            Output:
                  --color <WHEN>     Colour the output [default: auto] [possible values: auto, always, never]
              -o, --output <FORMAT>  How to write the answer [default: table] [possible values: table, json,
                                     jsonl, none]

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
          -w, --workflow-id <ID>             The same as a flag
          -r, --run-id <ID>                  Run id [default: the latest run]
              --name <NAME>                  Update
              --update-id <ID>               Update id; the same one is never done twice [default: a new
                                             UUID]
              --first-execution-run-id <ID>  Only if the workflow's first run is this one
              --headers <KEY=JSON>           Header that workflow code sees; repeatable
          -h, --help                         Print help (see more with '--help')

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
          perennial workflow update execute order-42 --name addItem --input '{"sku": 7}'
    "#]],
    );
    check(
        "operator namespace create -h",
        expect![[r#"
        Create a namespace

        Usage: perennial operator namespace create [OPTIONS] [NAMESPACE]

        Arguments:
          [NAMESPACE]  Namespace [default: what --namespace says]

        Options:
              --description <TEXT>    What it is for
              --email <ADDRESS>       Whom to ask about it
              --retention <DURATION>  How long ended workflows are kept
              --data <KEY=VALUE>      Anything else to remember; repeatable
          -h, --help                  Print help (see more with '--help')

        Connection:
              --address <HOST:PORT>  Where the server is [env: TEMPORAL_ADDRESS] [default: localhost:7233]
          -n, --namespace <NAME>     Namespace [env: TEMPORAL_NAMESPACE] [default: default]

        Output:
              --color <WHEN>     Colour the output [default: auto] [possible values: auto, always, never]
          -o, --output <FORMAT>  How to write the answer [default: table] [possible values: table, json,
                                 jsonl, none]

        Examples:
          perennial operator namespace create shop --retention 30d --description "orders and carts"
    "#]],
    );
}

#[test]
fn every_command_has_an_example() {
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
