//! Peak memory of a server under loads with large payloads.

use std::fmt::Write as _;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use super::servers::{machine, ours};
use super::{GOALS, goal_row, write};
use crate::dev_server::DevServer;
use crate::process;
use crate::repository::Repository;
use crate::sdk_suites;

/// Large starts at once.
const AT_ONCE: u32 = 150;
/// Workflows whose first task no worker takes.
const TASKS: u32 = 500_000;
/// The default of `--memory-budget`.
const BUDGET_MB: f64 = 256.0 * 1024.0 * 1024.0 / 1e6;

pub(super) fn run(repository: &Repository) -> Result<()> {
    let load = sdk_suites::build_load(repository, "release")?;
    let contender = ours(repository)?;
    let server = DevServer::start(repository, &contender.binary)?;
    let said = process::output(
        Command::new(load)
            .args([server.address().to_string().as_str(), "memory"])
            .args([AT_ONCE, TASKS, server.process_id()].map(|it| it.to_string())),
    )?;
    let said: Value = serde_json::from_str(&said).context("the load printed no JSON")?;
    let number = |name: &str| {
        said[name].as_f64().with_context(|| format!("the load printed no `{name}`: {said}"))
    };
    let idle = number("idle_mb")?;
    let most = idle + BUDGET_MB;
    let mut text = heading(&contender.version);
    writeln!(text, "{GOALS}")?;
    let rows = [
        ("1,000 open runs of 1.9 MB input", "large_runs_mb"),
        ("and 500,000 waiting tasks", "tasks_mb"),
        ("and 150 starts of 1.9 MB at once", "at_once_mb"),
    ];
    for (what, name) in rows {
        let measured = number(name)?;
        let (goal, shown) = (format!("≤ {most:.0} MB"), format!("{measured:.0} MB"));
        writeln!(text, "{}", goal_row(what, &goal, &shown, measured <= most))?;
    }
    writeln!(
        text,
        "\nAn idle server takes {idle:.0} MB. Of the {AT_ONCE} concurrent starts, {} were served and {} refused with\n\
         `RESOURCE_EXHAUSTED`. A large start after them was served.",
        number("served")?,
        number("refused")?
    )?;
    write(repository, "memory.md", &text)
}

fn heading(version: &str) -> String {
    format!(
        "\
# Memory: peak memory of a server

Repeat with `cargo xtask bench memory`. One server with the default memory budget of 256 MB (`--memory-budget`) and
its database in a file gets three loads, one after the other: a thousand workflows with 1.9 MB of input each, half a
million workflows without a worker, and 150 large starts at the same instant, each over its own
connection. Each row is the peak RSS of the process so far, as the kernel counts it (`VmHWM`). The goal
is the budget plus the memory of an idle server.

- Date: {}
- Machine: {}
- Server: {version}

",
        process::probe(Command::new("date").arg("+%Y-%m-%d")).unwrap_or_default(),
        machine(),
    )
}
