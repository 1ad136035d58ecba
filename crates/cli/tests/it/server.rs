//! Starts the real binary as a server process.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::perennial::{perennial, said_by};

/// A server in memory on a free port, killed at the end of the test.
pub(crate) struct Server {
    process: Child,
    pub(crate) address: String,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::start_with(&["start-dev", "--port", "0"])
    }

    pub(crate) fn start_with(args: &[&str]) -> Self {
        let mut process = perennial(&["server"])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        let said = BufReader::new(process.stdout.take().expect("it is piped"));
        let lines = said.lines().map_while(Result::ok);
        let address = lines
            .filter_map(|line| Some(line.strip_prefix("Perennial Server:")?.trim().to_owned()))
            .next()
            .expect("the server says where it listens");
        Self { process, address }
    }

    /// A command line for this server.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = perennial(args);
        command.env("TEMPORAL_ADDRESS", &self.address).env("TZ", "UTC");
        command
    }

    /// The output of a command: standard output, then standard error and exit code.
    pub(crate) fn says(&self, args: &[&str]) -> String {
        said_by(&mut self.command(args))
    }

    /// The JSON output of a command.
    pub(crate) fn json(&self, args: &[&str]) -> serde_json::Value {
        let output = self.command(args).args(["--output", "json"]).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {said}");
        serde_json::from_slice(&output.stdout).expect("it writes JSON")
    }

    /// Runs a shell script from documentation that uses another program's name.
    pub(crate) fn typed(&self, script: &str, program: &str) -> String {
        let binary = env!("CARGO_BIN_EXE_perennial");
        let script = format!("set -e\n{program}() {{ '{binary}' \"$@\"; }}\n{script}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).env("TEMPORAL_ADDRESS", &self.address).env("TZ", "UTC");
        said_by(&mut shell)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
