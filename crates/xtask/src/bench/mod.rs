//! `cargo xtask bench`: measures, and writes the report that the repository shows.

mod chart;
mod memory;
mod schedules;
mod servers;
mod workflows;

use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};

use crate::repository::Repository;
use crate::{process, usage};

pub(crate) const HELP: &str = "\
Measure, and write the report under docs/benchmarks/.

Usage: cargo xtask bench <benchmark>

Benchmarks:
  calendar    The next time of a spec, side by side with the crates croner, cron and saffron
  workflows   Workflows of one activity, side by side with Temporal's dev server: how many a second,
              how fast, what they cost; and how soon a server is ready. `--sleepers N` says how many
              sleeping workflows are in the file it starts from (1000000).
  schedules   Schedules side by side with Temporal's dev server and DBOS: how late they act, how many are
              made a second, what they cost idle. `--quick` tries it out with a hundredth of everything,
              and writes no report.
  memory      What our server holds at most: large runs, a long backlog, many large starts at once

Run it on a quiet machine: everything in a report comes from one run.
";

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> Result<ExitCode> {
    match arguments {
        [name] if name == "calendar" => calendar(repository)?,
        [name] if name == "workflows" => workflows::run(repository, SLEEPERS)?,
        [name, option, count] if name == "workflows" && option == "--sleepers" => {
            let Ok(count) = count.parse() else {
                return Ok(usage(&format!("`{count}` is no number of workflows"), HELP));
            };
            workflows::run(repository, count)?;
        }
        [name] if name == "memory" => memory::run(repository)?,
        [name] if name == "schedules" => schedules::run(repository, &schedules::FULL)?,
        [name, option] if name == "schedules" && option == "--quick" => {
            schedules::run(repository, &schedules::QUICK)?;
        }
        [] => return Ok(usage("`bench` needs the name of a benchmark", HELP)),
        [unknown, ..] => {
            return Ok(usage(&format!("`bench` can't use the argument `{unknown}`"), HELP));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn calendar(repository: &Repository) -> Result<()> {
    let mut benchmark = process::cargo(&repository.root);
    benchmark
        .args(["run", "--release", "--manifest-path", "comparison/Cargo.toml", "--bin", "calendar"])
        .env("CARGO_TARGET_DIR", &repository.target);
    let report = process::output(&mut benchmark)?;
    ensure!(!report.trim().is_empty(), "the benchmark printed no report; nothing was written");
    write(repository, "calendar.md", &report)
}

/// How many workflows sleep in the file that a server is started from.
const SLEEPERS: u32 = 1_000_000;

fn write(repository: &Repository, name: &str, content: &str) -> Result<()> {
    let folder = repository.root.join("docs/benchmarks");
    let file = folder.join(name);
    fs::create_dir_all(&folder)
        .and_then(|()| fs::write(&file, content))
        .with_context(|| format!("cannot write {}", file.display()))?;
    println!("wrote {}", file.display());
    Ok(())
}

/// Begins the table of goals in a report.
const GOALS: &str = "## Goals\n\n| | goal | measured | |\n|---|---:|---:|---|";

fn goal_row(what: &str, goal: &str, measured: &str, is_met: bool) -> String {
    let verdict = if is_met { "met" } else { "not met" };
    format!("| {what} | {goal} | {measured} | {verdict} |")
}
