//! Waiting goes on when the server comes back.

use std::thread;

use crate::scene::{run, told};
use crate::server::Server;
use crate::worker::Worker;

#[test]
fn a_result_is_waited_for_across_a_restart() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("cli-restart-{}.db", std::process::id()));
    let file = file.to_str().unwrap();
    let server = Server::start_with(&["start-dev", "--port", "0", "--db-filename", file]);
    let port = server.address.rsplit(':').next().unwrap().to_owned();
    told(&run(server.command(&[]), "workflow start --type Waits -t main -w order-1", ""));
    let waits = server.command(&[]);
    let result = thread::spawn(move || told(&run(waits, "workflow result order-1 -o json", "")));
    drop(server);
    let server = Server::start_with(&["start-dev", "--port", &port, "--db-filename", file]);
    let worker = Worker::start(&server.address);
    told(&run(server.command(&[]), "workflow signal order-1 --name finish", ""));
    let result = result.join().unwrap();
    assert!(result.contains("\"result\": \"done\""), "{result}");
    drop((worker, server));
}
