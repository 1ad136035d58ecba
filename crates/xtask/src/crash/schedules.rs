//! Schedules that fire every second on a server that is killed repeatedly.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::audit::Audit;
use super::chance;
use crate::dev_server::DevServer;
use crate::repository::Repository;
use crate::{process, sdk_suites};

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) schedules: u32,
    /// How long the schedules act.
    pub(crate) lasting: Duration,
    /// How often the server is killed meanwhile.
    pub(crate) kills: u32,
}

/// Maximum size of the load's log: enough for a million runs.
const LOG_BYTES_MAX: u64 = 1 << 30;

/// Runs a release build: a debug build would spend the time catching up.
pub(super) fn run(repository: &Repository, plan: &Plan) -> Result<String> {
    let mut build = process::cargo(&repository.root);
    process::run(build.args(["build", "--release", "--locked", "--package", "perennial-cli"]))?;
    let binary = repository.target.join("release").join("perennial");
    let load = sdk_suites::build_load(repository, "release")?;
    crash(repository, &binary, &load, plan)
}

/// Returns a one-line summary; fails if a run was lost or doubled.
pub(crate) fn crash(
    repository: &Repository,
    binary: &Path,
    load: &Path,
    plan: &Plan,
) -> Result<String> {
    let mut server = DevServer::start(repository, binary)?;
    let log = repository
        .target
        .join("conformance")
        .join(format!("schedules-{}.log", server.address().port()));
    let mut working = Command::new(load)
        .args([&server.address().to_string(), "schedules", "crash", &plan.schedules.to_string()])
        .arg(&log)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the load")?;
    let crashed = kill_meanwhile(&mut server, binary, &mut working, plan);
    drop(working.stdin.take());
    if crashed.is_err() {
        // The load would wait for a server that doesn't come back.
        let _ = working.kill();
        let _ = working.wait();
    }
    let Crashed { mut output, slowest } = crashed?;
    let mut said = String::new();
    output.read_to_string(&mut said).context("cannot read what the load says")?;
    let status = working.wait().context("cannot wait for the load")?;
    server.check_alive()?;
    ensure!(status.success(), "the load failed ({status})");
    let said: Value = serde_json::from_str(&said).context("the load printed no JSON")?;

    let size = fs::metadata(&log).context("the load wrote no log")?.len();
    ensure!(size <= LOG_BYTES_MAX, "the load's log has {size} bytes, too many to read");
    let audit = Audit::of(&fs::read_to_string(&log).context("cannot read the load's log")?)?;
    let mut faults = audit.faults.clone();
    if said["open"] != 0 {
        faults.push(format!("{} runs are stuck", said["open"]));
    }
    let verdict = format!(
        "{} kills, {} schedules over {} s: {} starts expected, {} counted, {} missing, {} doubled; \
         {} runs were given to the worker more than once; ready again after {:.0} ms at most",
        plan.kills,
        audit.schedules,
        audit.seconds,
        audit.expected,
        audit.counted,
        audit.missing,
        audit.doubled,
        audit.given_again,
        slowest.as_secs_f64() * 1_000.0,
    );
    if !faults.is_empty() {
        // The log stays for whoever looks for the cause.
        bail!("{verdict}\n{}\nsee {}", faults.join("\n"), log.display());
    }
    fs::remove_file(&log).context("cannot remove the load's log")?;
    Ok(verdict)
}

struct Crashed {
    /// The rest of the load's output.
    output: BufReader<std::process::ChildStdout>,
    /// The longest that the server needed to answer again.
    slowest: Duration,
}

fn kill_meanwhile(
    server: &mut DevServer,
    binary: &Path,
    working: &mut Child,
    plan: &Plan,
) -> Result<Crashed> {
    let output = working.stdout.take().context("the load has no output")?;
    let mut output = BufReader::new(output);
    let mut created = String::new();
    output.read_line(&mut created).context("cannot read what the load says")?;
    ensure!(created.contains("created"), "the load has made no schedules");

    let began = Instant::now();
    let mut slowest = Duration::ZERO;
    for kill in 0..plan.kills {
        // At a random moment of its share of the time.
        let moment = plan.lasting.mul_f64((f64::from(kill) + chance()) / f64::from(plan.kills));
        std::thread::sleep(moment.saturating_sub(began.elapsed()));
        if let Some(status) = working.try_wait().context("cannot ask after the load")? {
            bail!("the load has ended by itself ({status})");
        }
        server.restart(binary)?;
        slowest = slowest.max(server.ready_in());
    }
    std::thread::sleep(plan.lasting.saturating_sub(began.elapsed()));
    Ok(Crashed { output, slowest })
}
