//! `cargo xtask bench`: measures, and writes the report that the repository shows.

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

Run it on a quiet machine: everything in a report comes from one run.
";

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> Result<ExitCode> {
    match arguments {
        [name] if name == "calendar" => calendar(repository)?,
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
    let file = repository.root.join("docs/benchmarks/calendar.md");
    fs::create_dir_all(repository.root.join("docs/benchmarks"))
        .and_then(|()| fs::write(&file, report))
        .with_context(|| format!("cannot write {}", file.display()))?;
    println!("wrote {}", file.display());
    Ok(())
}
