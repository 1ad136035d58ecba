//! The servers that are measured, and the machine they share.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, anyhow};

use crate::repository::Repository;
use crate::{process, python};

/// A server to be measured.
pub(super) struct Contender {
    pub(super) name: &'static str,
    pub(super) binary: PathBuf,
    pub(super) version: String,
}

pub(super) fn ours(repository: &Repository) -> Result<Contender> {
    let mut build = process::cargo(&repository.root);
    // What people install.
    build.args(["build", "--profile", "dist", "--locked", "--package", "perennial-cli"]);
    process::run(&mut build)?;
    let binary = repository.target.join("dist").join("perennial");
    let version = process::output(Command::new(&binary).arg("--version"))?.trim().to_owned();
    Ok(Contender { name: "perennial", binary, version })
}

pub(super) fn temporal(repository: &Repository) -> Result<Contender> {
    let python = python::find().map_err(|why| anyhow!(why))?;
    let python = python::conformance_environment(repository, python)?;
    let binary = python.with_file_name("temporal");
    let version = process::output(Command::new(&binary).arg("--version"))?.trim().to_owned();
    Ok(Contender { name: "Temporal dev server", binary, version })
}

pub(super) fn resident_mb(process: u32) -> Result<f64> {
    let path = format!("/proc/{process}/status");
    let status = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: f64 = line
        .and_then(|line| line.split_whitespace().next()?.parse().ok())
        .with_context(|| format!("{path} doesn't say VmRSS"))?;
    Ok(kib * 1024.0 / 1e6)
}

pub(super) fn machine() -> String {
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("unknown processor", |(_, model)| model);
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{model}, {cores} cores")
}
