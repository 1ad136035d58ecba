//! `cargo xtask crash`: kills the server under load, again and again, and looks for what was lost.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::dev_server::DevServer;
use crate::repository::Repository;
use crate::{process, sdk_suites, usage};

pub(crate) const HELP: &str = "\
Kill the server with SIGKILL at random moments while a worker and clients of the official Rust SDK keep
it busy, and start it again on the file it left. Fails if anything that was acknowledged is lost or
happened twice, or if a workflow is stuck.

Usage: cargo xtask crash [--kills N]

Options:
  --kills N   How often (100)
";

const KILLS: u32 = 100;
/// Workflows in flight.
const AT_ONCE: u32 = 16;
/// A server lives this long at least, and at most so much longer.
const LIVES_MIN: Duration = Duration::from_millis(100);
const LIVES_LONGER: Duration = Duration::from_millis(700);

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> Result<ExitCode> {
    let kills = match arguments {
        [] => KILLS,
        [option, kills] if option == "--kills" => match kills.parse() {
            Ok(kills) => kills,
            Err(_) => return Ok(usage(&format!("`{kills}` is no number of kills"), HELP)),
        },
        [unknown, ..] => {
            return Ok(usage(&format!("`crash` can't use the argument `{unknown}`"), HELP));
        }
    };
    let mut build = process::cargo(&repository.root);
    process::run(build.args(["build", "--locked", "--package", "perennial-cli"]))?;
    let binary = repository.target.join("debug").join("perennial");
    println!("{}", crash(repository, &binary, kills)?);
    Ok(ExitCode::SUCCESS)
}

/// Says what ran, in one line; fails with what was lost.
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
        std::thread::sleep(LIVES_MIN + LIVES_LONGER.mul_f64(chance()));
        if let Some(status) = working.try_wait().context("cannot ask after the load")? {
            bail!("the load has ended by itself ({status})");
        }
        server.restart(binary)?;
        slowest = slowest.max(server.ready_in());
    }
    drop(working.stdin.take());
    let said = working.wait_with_output().context("cannot wait for the load")?;
    server.check_alive()?;
    ensure!(said.status.success(), "the load failed ({})", said.status);
    let said: Value = serde_json::from_slice(&said.stdout).context("the load printed no JSON")?;
    let faults = said["faults"].as_array().context("the load said nothing about faults")?;
    if !faults.is_empty() {
        bail!("after {kills} kills: {}", serde_json::to_string_pretty(faults)?);
    }
    Ok(format!(
        "{} workflows with {} signals over {kills} kills: nothing lost, nothing twice, nothing stuck; \
         ready again after {:.0} ms at most",
        said["ran"],
        said["signals"],
        slowest.as_secs_f64() * 1_000.0
    ))
}

/// Between 0 and 1. The moments of the kills needn't be repeatable: the load isn't either.
fn chance() -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    f64::from(now.subsec_nanos() % 1_000_003) / 1_000_003.0
}
