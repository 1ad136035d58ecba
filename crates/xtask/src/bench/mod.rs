//! `cargo xtask bench`: runs a benchmark and writes its report to docs/benchmarks.

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
Run a benchmark and write its report to docs/benchmarks/.

Usage: cargo xtask bench <benchmark>

Benchmarks:
  calendar    Time to compute the next time of a spec, compared with the crates croner, cron and saffron
  workflows   Throughput, latency and cost of workflows with one activity, and the start time of a server,
              compared with Temporal's dev server. `--sleepers N` sets the number of sleeping workflows in
              the file that the server starts from (1000000).
  schedules   Lag, creation rate and idle cost of schedules, compared with Temporal's dev server and DBOS.
              `--quick` uses a hundredth of the load, and writes no report.
  memory      Peak memory of our server: large runs, a long backlog, many large concurrent starts

Run it on a quiet machine: all numbers of a report come from one run.
";

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> Result<ExitCode> {
    match arguments {
        [name] if name == "calendar" => calendar(repository)?,
        [name] if name == "workflows" => workflows::run(repository, SLEEPERS)?,
        [name, option, count] if name == "workflows" && option == "--sleepers" => {
            let Ok(count) = count.parse() else {
                return Ok(usage(&format!("`{count}` is not a number of workflows"), HELP));
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

/// Number of sleeping workflows in the file that a server is started from.
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
