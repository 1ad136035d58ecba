//! Runs the real binary.

use std::process::{Command, Stdio};

/// The binary in an empty environment, independent of the time zone, language and terminal of the machine.
pub(crate) fn perennial(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_perennial"));
    command.env_clear().args(args).stdin(Stdio::null());
    command
}

/// Standard output, standard error and exit code as one text.
pub(crate) fn said_by(command: &mut Command) -> String {
    let output = command.output().expect("the binary was built for this test");
    let mut said = String::from_utf8(output.stdout).expect("it writes text");
    if !output.stderr.is_empty() {
        said.push_str("-- stderr --\n");
        said.push_str(&String::from_utf8(output.stderr).expect("it writes text"));
    }
    match output.status.code() {
        Some(0) => {}
        Some(code) => said.push_str(&format!("-- exit {code} --\n")),
        None => said.push_str("-- killed --\n"),
    }
    said
}
