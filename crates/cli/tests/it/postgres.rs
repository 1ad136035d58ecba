//! A server whose state is in PostgreSQL.

use std::process::{Child, Stdio};
use std::sync::LazyLock;

use perennial_test_postgres::TestPostgres;

use crate::perennial::{perennial, said_by};
use crate::server_process::Server;

static POSTGRES: LazyLock<TestPostgres> = LazyLock::new(|| TestPostgres::start().unwrap());

fn start(url: &str) -> Server {
    let ports = ["--port", "0", "--http-port", "0"];
    Server::start(&[&["--db", url, "--allow-fsync-off"], &ports[..]].concat())
}

/// Runs a command against a server.
fn said(server: &Server, args: &[&str]) -> String {
    said_by(&mut perennial(&[args, &["--address", &server.address]].concat()))
}

#[test]
fn acknowledged_work_survives_a_killed_server() {
    let url = POSTGRES.create_database().unwrap();
    let mut server = start(&url);
    let start_order = ["workflow", "start", "--type", "Order", "--task-queue", "q"];
    said(&server, &[&start_order[..], &["--workflow-id", "order-1"]].concat());
    let nightly = ["schedule", "create", "--schedule-id", "nightly", "--cron", "0 2 * * *"];
    let order = ["--type", "Order", "--task-queue", "q"];
    said(&server, &[&nightly[..], &order[..]].concat());
    server.process.kill().unwrap();
    server.process.wait().unwrap();

    let server = start(&url);
    let described = said(&server, &["workflow", "describe", "--workflow-id", "order-1"]);
    assert!(described.contains("Running"), "{described}");
    let described = said(&server, &["schedule", "describe", "--schedule-id", "nightly"]);
    assert!(described.contains("nightly") && !described.contains("-- exit"), "{described}");
    let doctor = said(&server, &["doctor"]);
    let place = url.replace("postgres@", "").replace("%2F", "/");
    assert!(doctor.contains(&place), "{doctor} has {place}");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn servers_on_one_database_answer_for_each_other() {
    let url = POSTGRES.create_database().unwrap();
    let (first, second) = (start(&url), start(&url));
    let orders: Vec<String> = (0..8).map(|number| format!("order-{number}")).collect();
    for id in &orders {
        let start = ["workflow", "start", "--type", "Order", "--task-queue", "q"];
        let said = said(&first, &[&start[..], &["--workflow-id", id]].concat());
        assert!(said.contains("Running execution"), "{said}");
    }
    let describe = |server: &Server, id: &str| {
        let described = said(server, &["workflow", "describe", "--workflow-id", id]);
        assert!(described.contains("Running"), "{described}");
    };
    orders.iter().for_each(|id| describe(&second, id));
    // A namespace is usable everywhere the moment its creation is answered.
    said(&first, &["operator", "namespace", "create", "--namespace", "shop"]);
    let started = ["workflow", "start", "--type", "Order", "--task-queue", "q", "-n", "shop"];
    let said_there = said(&second, &started);
    assert!(said_there.contains("Running execution"), "{said_there}");
    // A server that stops hands its part over.
    assert_eq!(first.stop(), Some(0));
    orders.iter().for_each(|id| describe(&second, id));
    assert_eq!(second.stop(), Some(0));
}

#[test]
fn long_polls_at_another_server_dont_keep_a_server_from_stopping() {
    let url = POSTGRES.create_database().unwrap();
    let (first, second) = (start(&url), start(&url));
    let start = ["workflow", "start", "--type", "Order", "--task-queue", "q"];
    let wait = |number: usize| {
        let id = format!("order-{number}");
        said(&first, &[&start[..], &["--workflow-id", &id]].concat());
        let result = ["workflow", "result", "--workflow-id", &id, "--address", &first.address];
        perennial(&result).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut waiting: Vec<Child> = (0..8).map(wait).collect();
    // Each has asked, once the server has got a call of a later client.
    said(&first, &["workflow", "describe", "--workflow-id", "order-0"]);
    first.terminate();
    let (code, log) = first.end();
    for client in &mut waiting {
        client.kill().unwrap();
        client.wait().unwrap();
    }
    assert_eq!(code, Some(0), "{log}");
    assert!(!log.contains("requests were still in progress"), "{log}");
    assert_eq!(second.stop(), Some(0));
}

#[test]
fn killed_server_is_replaced_by_another_one() {
    let url = POSTGRES.create_database().unwrap();
    let (mut first, second) = (start(&url), start(&url));
    let start = ["workflow", "start", "--type", "Order", "--task-queue", "q"];
    for id in 0..8 {
        said(&first, &[&start[..], &["--workflow-id", &format!("order-{id}")]].concat());
    }
    first.process.kill().unwrap();
    first.process.wait().unwrap();
    for id in 0..8 {
        let id = format!("order-{id}");
        let described = said(&second, &["workflow", "describe", "--workflow-id", &id]);
        assert!(described.contains("Running"), "{described}");
    }
    assert_eq!(second.stop(), Some(0));
}

#[test]
fn cluster_list_shows_each_node_and_each_slot_once_on_every_node() {
    let url = POSTGRES.create_database().unwrap();
    let servers = [start(&url), start(&url)];
    let listed = servers.each_ref().map(|server| {
        let json = said(server, &["cluster", "list", "--output", "json"]);
        serde_json::from_str::<serde_json::Value>(&json).unwrap()
    });
    let nodes = |of: &serde_json::Value| -> Vec<(String, bool)> {
        let nodes = of["nodes"].as_array().unwrap();
        let is_this = |node: &serde_json::Value| node["isThisNode"] == true;
        nodes.iter().map(|node| (node["address"].to_string(), is_this(node))).collect()
    };
    let [first, second] = listed.each_ref().map(nodes);
    assert_eq!(first.len(), 2, "{first:?}");
    assert_ne!(first[0].0, first[1].0);
    // Exactly one node answers, and each server says that it is the one.
    let swapped: Vec<_> =
        second.into_iter().map(|(address, is_this)| (address, !is_this)).collect();
    assert_eq!(first, swapped);
    assert_ne!(first[0].1, first[1].1);
    for cluster in &listed {
        // Fields with their default value are left out.
        let slot = |value: &serde_json::Value| value.as_u64().unwrap_or(0);
        let cells = cluster["cells"].as_array().unwrap();
        let slots = cells.iter().flat_map(|it| slot(&it["firstSlot"])..=slot(&it["lastSlot"]));
        assert!(slots.eq(0..16_384), "{cells:?}");
    }
    for server in &servers {
        let text = said(server, &["cluster", "list"]);
        assert!(
            first.iter().all(|(address, _)| text.contains(address.trim_matches('"'))),
            "{text}"
        );
        assert!(text.contains("Nodes\n") && text.contains("Cells\n"), "{text}");
    }
    for server in servers {
        assert_eq!(server.stop(), Some(0));
    }
}

#[test]
fn cluster_list_says_that_a_development_server_has_no_cluster() {
    let server = Server::start(&["start-dev", "--port", "0"]);
    let alone = "This server has no cluster: it works alone on its database.\n";
    assert_eq!(said(&server, &["cluster", "list"]), alone);
    assert_eq!(said(&server, &["cluster", "list", "--output", "jsonl"]), "{}\n");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn first_admin_key_is_created_in_the_database() {
    let url = POSTGRES.create_database().unwrap();
    let mut command = perennial(&["operator", "api-key", "create", "--db", &url]);
    let said = said_by(command.args(["--name", "first", "--role", "admin", "--whole-server"]));
    assert!(said.contains("perennial_"), "{said}");
}

#[test]
fn refused_databases_are_named_without_the_password() {
    let no_database = "postgres://me:secret@127.0.0.1";
    let unreachable = "postgres://me:secret@127.0.0.1:1/payroll";
    for (url, expected, code) in [
        (no_database, "names no database", "exit 2"),
        (unreachable, "Connection refused", "exit 1"),
    ] {
        let said = said_by(&mut perennial(&["server", "--db", url, "--port", "0", "--no-http"]));
        assert!(said.contains(expected) && said.contains(code), "{said}");
        assert!(!said.contains("secret"), "{said}");
    }
}

#[test]
fn tables_are_shown_and_made_without_a_server() {
    let url = POSTGRES.create_database().unwrap();
    let database = |command: &str| {
        let json = perennial(&["database", command, "--db", &url, "--output", "json"]).output();
        serde_json::from_slice::<serde_json::Value>(&json.unwrap().stdout).unwrap()
    };
    assert_eq!(database("status")["state"], "missing");
    assert_eq!(database("status")["version"], 0);
    let migrated = database("migrate");
    assert_eq!(migrated["state"], "up to date");
    assert_eq!(database("status"), migrated);
    let refused = said_by(&mut perennial(&["database", "status", "--db", "perennial.db"]));
    assert!(refused.contains("is for PostgreSQL") && refused.contains("exit 2"), "{refused}");
}
