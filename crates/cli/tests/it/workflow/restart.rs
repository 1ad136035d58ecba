//! Commands that wait survive a restart of the server.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use super::scene::{run, told};
use super::worker::Worker;
use crate::server::Server;

#[test]
fn a_history_is_followed_across_a_restart() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("cli-restart-{}.db", std::process::id()));
    let file = file.to_str().unwrap();
    let server = Server::start_with(&["start-dev", "--port", "0", "--db-filename", file]);
    let port = server.address.rsplit(':').next().unwrap().to_owned();
    told(&run(server.command(&[]), "workflow start --type Waits -t main -w order-1", ""));
    let mut following = server.command(&["workflow", "show", "order-1", "--follow"]);
    following.args(["--command-timeout", "60s"]).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut following = following.spawn().unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("WorkflowTaskScheduled")), "it shows what is there");
    drop(server);

    let server = Server::start_with(&["start-dev", "--port", &port, "--db-filename", file]);
    let worker = Worker::start(&server.address);
    told(&run(server.command(&[]), "workflow signal order-1 --name finish", ""));
    assert!(lines.any(|line| line.contains("WorkflowExecutionCompleted")), "and what comes");
    assert!(lines.any(|line| line.contains("\"done\"")), "and the result");
    assert!(following.wait().unwrap().success());
    drop((worker, server));
}
