//! Workflows of the official SDK on a server that is killed repeatedly.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::dev_server::DevServer;
use crate::repository::Repository;
use crate::{process, sdk_suites};

use super::chance;

/// Workflows in flight.
const AT_ONCE: u32 = 16;
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
    let mut load = WorkflowLoad::start(&load, &server.address().to_string())?;
    let mut slowest = Duration::ZERO;
    for _ in 0..kills {
        std::thread::sleep(UPTIME_MIN + UPTIME_EXTRA.mul_f64(chance()));
        load.check_alive()?;
        server.restart(binary)?;
        slowest = slowest.max(server.ready_in());
    }
    let done = load.finish(&format!("after {kills} kills"));
    server.check_alive()?;
    let said = done?;
    Ok(format!(
        "{} workflows with {} signals over {kills} kills: nothing lost, nothing twice, nothing stuck; \
         ready again after {:.0} ms at most",
        said["ran"],
        said["signals"],
        slowest.as_secs_f64() * 1_000.0
    ))
}

/// The program that runs workflows until it is told that all faults are over. Dropping it ends it.
pub(super) struct WorkflowLoad {
    process: Child,
}

impl WorkflowLoad {
    /// Starts it on a server, or on several nodes as in `host:port,host:port`.
    pub(super) fn start(program: &Path, addresses: &str) -> Result<Self> {
        let process = Command::new(program)
            .args([addresses, "crash", &AT_ONCE.to_string(), "0", "0"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the load")?;
        Ok(Self { process })
    }

    pub(super) fn check_alive(&mut self) -> Result<()> {
        check_load(&mut self.process)
    }

    /// Waits for everything under way. Returns the load's output; fails if it reports faults.
    pub(super) fn finish(&mut self, when: &str) -> Result<Value> {
        drop(self.process.stdin.take());
        let mut said = String::new();
        let output = self.process.stdout.as_mut().context("the load has no output")?;
        output.read_to_string(&mut said).context("cannot read what the load says")?;
        let status = self.process.wait().context("cannot wait for the load")?;
        ensure!(status.success(), "the load failed ({status})");
        let said: Value = serde_json::from_str(&said).context("the load printed no JSON")?;
        let faults = said["faults"].as_array().context("the load said nothing about faults")?;
        if !faults.is_empty() {
            bail!("{when}: {}", serde_json::to_string_pretty(faults)?);
        }
        Ok(said)
    }
}

impl Drop for WorkflowLoad {
    fn drop(&mut self) {
        // It would wait for a server that doesn't come back. Both fail if it has ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Fails when the load has ended by itself.
pub(super) fn check_load(process: &mut Child) -> Result<()> {
    if let Some(status) = process.try_wait().context("cannot ask after the load")? {
        bail!("the load has ended by itself ({status})");
    }
    Ok(())
}
