//! `perennial schedule`, `doctor`, `demo` and their settings, run as users run them, with a real server.

mod backfill;
mod demo;
mod doctor;
mod failures;
mod help;
mod people;
mod profiles;
mod programs;
mod reference;
mod secrets;
mod update;

use crate::server::Server;

/// A schedule whose times are so far away that it never fires during a test.
fn create(server: &Server, id: &str, more: &[&str]) {
    let mut args = vec!["schedule", "create", id, "--cron", "0 9 1 1 * 2099"];
    args.extend(["--type", "Payroll", "--task-queue", "main", "--identity", "tester"]);
    args.extend(more);
    assert_eq!(server.says(&args), format!("Created {id}\n"));
}

/// Replaces values that differ from run to run: current times, ids, and widths of their columns.
fn steady(said: &str) -> String {
    let mut steady = without_times(said);
    while steady.contains("   ") {
        steady = steady.replace("   ", "  ");
    }
    steady
}

fn without_times(said: &str) -> String {
    let mut steady = String::new();
    let mut rest = said;
    while let Some(c) = rest.chars().next() {
        let (length, instead) = match (time_length(rest), uuid_length(rest)) {
            (Some(length), _) => (length, "<now>"),
            (None, Some(length)) => (length, "<id>"),
            (None, None) => (c.len_utf8(), &rest[..c.len_utf8()]),
        };
        steady.push_str(instead);
        rest = &rest[length..];
    }
    steady
}

/// How long the time is that stands here, if it is one of this age: `2026-11-16T09:00:00.5Z`.
fn time_length(text: &str) -> Option<usize> {
    let digit = |c: char| c.is_ascii_digit();
    let shape = "dddd-dd-ddTdd:dd:dd";
    let fits = text.len() >= shape.len()
        && text.starts_with("20")
        && !text.starts_with("2099")
        && text.chars().zip(shape.chars()).all(|(c, s)| if s == 'd' { digit(c) } else { c == s });
    let end = text.find('Z').filter(|_| fits)?;
    Some(end + 1)
}

fn uuid_length(text: &str) -> Option<usize> {
    let shape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    let hex = |c: char| c.is_ascii_hexdigit();
    let fits = text.len() >= shape.len()
        && text.chars().zip(shape.chars()).all(|(c, s)| if s == 'x' { hex(c) } else { c == s });
    fits.then_some(shape.len())
}
