//! Runs the real binary against a server.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use expect_test::Expect;

use super::worker::Worker;
use crate::perennial::perennial;
use crate::server::Server;

/// Attempts to get an expected result.
const TRIES_MAX: usize = 400;

/// Fields that differ from run to run.
const UNSTEADY: [&str; 2] = ["RunTime", "historySizeBytes"];

/// A server, a worker of the task queue `main`, and the binary that talks to it.
pub(crate) struct Scene {
    pub(crate) server: Server,
    _worker: Worker,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let server = Server::start();
        let worker = Worker::start(&server.address);
        Scene { server, _worker: worker }
    }

    /// Checks the output of a command: standard output, then standard error and exit code.
    pub(crate) fn check(&self, line: &str, expected: Expect) {
        expected.assert_eq(&blanked(&self.say(line)));
    }

    /// Checks the output of a command with this standard input.
    pub(crate) fn check_typing(&self, line: &str, typed: &str, expected: Expect) {
        expected.assert_eq(&blanked(&told(&self.type_in(line, typed))));
    }

    /// The unchanged output of a command.
    pub(crate) fn say(&self, line: &str) -> String {
        told(&self.type_in(line, ""))
    }

    /// The JSON output of a command, which must succeed.
    pub(crate) fn json(&self, line: &str) -> serde_json::Value {
        let output = self.type_in(&format!("{line} -o json"), "");
        assert!(output.status.success(), "{line}: {}", told(&output));
        match output.stdout.is_empty() {
            true => serde_json::Value::Null,
            false => serde_json::from_slice(&output.stdout).expect("it writes JSON"),
        }
    }

    /// Repeats a command until its output is as expected.
    pub(crate) fn until(&self, line: &str, holds: impl Fn(&serde_json::Value) -> bool) {
        let mut answer = serde_json::Value::Null;
        for _ in 0..TRIES_MAX {
            answer = self.json(line);
            if holds(&answer) {
                return;
            }
        }
        panic!("{line} still says {answer:#}");
    }

    fn type_in(&self, line: &str, typed: &str) -> Output {
        run(self.server.command(&[]), line, typed)
    }
}

/// Runs a line without any server.
pub(crate) fn alone(line: &str) -> String {
    told(&run(perennial(&[]), line, ""))
}

/// Runs a line as a shell would: words, and words in single quotes.
pub(crate) fn run(mut command: Command, line: &str, typed: &str) -> Output {
    command.args(words(line)).env("USER", "ada");
    if !line.contains("--command-timeout") {
        // What doesn't come is a failure, and not waited for.
        command.args(["--command-timeout", "60s"]);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().expect("the binary was built for this test");
    let mut stdin = process.stdin.take().expect("it is piped");
    // It may end without reading.
    let _ = stdin.write_all(typed.as_bytes());
    drop(stdin);
    process.wait_with_output().expect("it can be waited for")
}

/// Standard output, standard error and exit code as one text.
pub(crate) fn told(output: &Output) -> String {
    let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.stderr.is_empty() {
        said.push_str("-- stderr --\n");
        said.push_str(&String::from_utf8_lossy(&output.stderr));
    }
    match output.status.code() {
        Some(0) => said,
        Some(code) => said + &format!("-- exit {code} --\n"),
        None => said + "-- killed --\n",
    }
}

fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            c if c.is_whitespace() && !quoted => words.push(String::new()),
            c => words.last_mut().expect("there is always one").push(c),
        }
    }
    words.into_iter().filter(|word| !word.is_empty()).collect()
}

/// Replaces values that differ from run to run: ids, times, sizes, and widths of their columns.
pub(crate) fn blanked(text: &str) -> String {
    let lines = text.lines().map(|line| {
        if let Some(name) = UNSTEADY.iter().find(|name| line.trim_start().starts_with(**name)) {
            return format!("  {name}  <some>\n");
        }
        let mut blank = String::new();
        let mut rest = line;
        while let Some(first) = rest.chars().next() {
            let (shown, length) = match (uuid(rest).or(host(rest)), time(rest), took(rest)) {
                (Some(length), _, _) => ("<uuid>", length),
                (None, Some(length), _) => ("<time>", length),
                (None, None, Some(length)) => ("<took>", length),
                (None, None, None) => (&rest[..first.len_utf8()], first.len_utf8()),
            };
            blank.push_str(shown);
            rest = &rest[length..];
        }
        let indent = blank.len() - blank.trim_start().len();
        let (indent, body) = blank.split_at(indent);
        let cells: Vec<&str> =
            body.split("  ").map(str::trim).filter(|it| !it.is_empty()).collect();
        format!("{indent}{}\n", cells.join("  "))
    });
    let blank: String = lines.collect();
    // A snapshot can't begin with an indent.
    match blank.lines().all(|line| line.is_empty() || line.starts_with("  ")) {
        true => blank.lines().map(|line| format!("{}\n", line.trim_start())).collect(),
        false => blank,
    }
}

fn uuid(text: &str) -> Option<usize> {
    let bytes = text.as_bytes().get(..36)?;
    let fits = bytes.iter().enumerate().all(|(n, byte)| match n {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    fits.then_some(36)
}

/// The host name in an identity: `@somewhere`.
fn host(text: &str) -> Option<usize> {
    let rest = text.strip_prefix("@").filter(|it| !it.starts_with("example"))?;
    Some(1 + rest.find(' ').unwrap_or(rest.len()))
}

/// `2026-11-16 14:47:01.261 UTC (now)`, or without what is in brackets; `2026-11-16T14:47:01.2Z`.
fn time(text: &str) -> Option<usize> {
    let day = text.as_bytes().get(..10)?;
    let fits = day.iter().enumerate().all(|(n, byte)| match n {
        4 | 7 => *byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    if let Some(end) = text.find('Z').filter(|&end| fits && end < 35) {
        return Some(end + 1);
    }
    let end = text.find(" UTC").filter(|&end| fits && end < 30)? + 4;
    let distance = text[end..].starts_with(" (").then(|| text[end..].find(')')).flatten();
    Some(distance.map_or(end, |length| end + length + 1))
}

/// `12 ms`, `1.5 s`, `20ms`, `233 bytes`: a number and its unit at the end of the text or before a gap.
fn took(text: &str) -> Option<usize> {
    let number = text.find(|c: char| !c.is_ascii_digit() && c != '.').filter(|&n| n > 0)?;
    let unit =
        [" ms", " s", "ms", " bytes"].into_iter().find(|unit| text[number..].starts_with(unit))?;
    let end = number + unit.len();
    let follows = text[end..].chars().next();
    follows.is_none_or(|c| c == ' ').then_some(end)
}
