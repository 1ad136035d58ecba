//! Workflows of the official SDK on a server that is killed repeatedly.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::dev_server::DevServer;
use crate::repository::Repository;
use crate::{process, sdk_suites};

use super::chance;

/// Workflows in flight.
pub(super) const AT_ONCE: u32 = 16;
/// Uptime of the server between kills: at least this long, plus a random part of the next constant.
const UPTIME_MIN: Duration = Duration::from_millis(100);
const UPTIME_EXTRA: Duration = Duration::from_millis(700);

pub(super) fn run(repository: &Repository, kills: u32) -> Result<String> {
    let mut build = process::cargo(&repository.root);
    process::run(build.args(["build", "--locked", "--package", "perennial-cli"]))?;
    let binary = repository.target.join("debug").join("perennial");
    crash(repository, &binary, kills)
}

/// Returns a one-line summary; fails if work was lost.
pub(crate) fn crash(repository: &Repository, binary: &Path, kills: u32) -> Result<String> {
    let load = sdk_suites::build_load(repository, "dev")?;
    let mut server = DevServer::start(repository, binary)?;
    let mut working = Command::new(load)
        .args([&server.address().to_string(), "crash", &AT_ONCE.to_string(), "0", "0"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the load")?;
    let mut slowest = Duration::ZERO;
    for _ in 0..kills {
        std::thread::sleep(UPTIME_MIN + UPTIME_EXTRA.mul_f64(chance()));
        if let Some(status) = working.try_wait().context("cannot ask after the load")? {
            bail!("the load has ended by itself ({status})");
        }
        server.restart(binary)?;
        slowest = slowest.max(server.ready_in());
    }
    drop(working.stdin.take());
    let said = working.wait_with_output().context("cannot wait for the load")?;
    server.check_alive()?;
    let said = faults_of(&said, &format!("after {kills} kills"))?;
    Ok(format!(
        "{} workflows with {} signals over {kills} kills: nothing lost, nothing twice, nothing stuck; \
         ready again after {:.0} ms at most",
        said["ran"],
        said["signals"],
        slowest.as_secs_f64() * 1_000.0
    ))
}

/// The output of the load; fails if it reports faults.
pub(super) fn faults_of(output: &Output, when: &str) -> Result<Value> {
    ensure!(output.status.success(), "the load failed ({})", output.status);
    let said: Value = serde_json::from_slice(&output.stdout).context("the load printed no JSON")?;
    let faults = said["faults"].as_array().context("the load said nothing about faults")?;
    if !faults.is_empty() {
        bail!("{when}: {}", serde_json::to_string_pretty(faults)?);
    }
    Ok(said)
}
