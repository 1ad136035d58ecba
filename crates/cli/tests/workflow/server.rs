//! A server of the test's own.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Ends with the test.
pub(crate) struct Server {
    process: Child,
    pub(crate) address: String,
}

impl Server {
    /// Starts one that keeps nothing.
    pub(crate) fn start() -> Self {
        Self::run(&["start-dev", "--headless", "--port", "0"])
    }

    /// Starts one with these flags and reads where it listens.
    pub(crate) fn run(args: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_perennial"))
            .arg("server")
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        let said = BufReader::new(process.stdout.take().expect("it is piped"));
        let mut lines = said.lines().map_while(Result::ok);
        let address = lines
            .find_map(|line| Some(line.strip_prefix("Perennial Server:")?.trim().to_owned()))
            .expect("the server says where it listens");
        Self { process, address }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It keeps nothing that anyone needs.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
