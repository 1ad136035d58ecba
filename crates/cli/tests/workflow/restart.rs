//! Waiting goes on when the server comes back.

use std::thread;

use crate::perennial::{run, told};
use crate::server::Server;
use crate::worker::Worker;

/// A run of the binary that waits.
fn waiting(address: &str) -> thread::JoinHandle<String> {
    let address = address.to_owned();
    thread::spawn(move || {
        let output = run("workflow result order-1 -o json", "", |command| {
            command.env("TEMPORAL_ADDRESS", address);
        });
        told(&output)
    })
}

#[test]
fn a_result_is_waited_for_across_a_restart() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("cli-restart-{}.db", std::process::id()));
    let file = file.to_str().unwrap();
    let server = Server::run(&["start-dev", "--headless", "--port", "0", "--db-filename", file]);
    let address = server.address.clone();
    let port = address.rsplit(':').next().unwrap().to_owned();
    let say = |line: &str| {
        told(&run(line, "", |command| {
            command.env("TEMPORAL_ADDRESS", &address);
        }))
    };
    say("workflow start --type Waits -t main -w order-1");
    let result = waiting(&address);
    drop(server);
    let server = Server::run(&["start-dev", "--headless", "--port", &port, "--db-filename", file]);
    let worker = Worker::start(&address);
    say("workflow signal order-1 --name finish");
    let result = result.join().unwrap();
    assert!(result.contains("\"result\": \"done\""), "{result}");
    drop((worker, server));
}
