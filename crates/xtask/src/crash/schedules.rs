//! Schedules that fire every second on a server that is killed repeatedly.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::audit::Audit;
use super::chance;
use super::workflows::check_load;
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
    let mut load =
        ScheduleLoad::start(repository, load, &server.address().to_string(), plan.schedules)?;
    let slowest = kill_meanwhile(&mut server, binary, &mut load, plan)?;
    let done = load.finish();
    server.check_alive()?;
    Ok(format!(
        "{} kills, {}; ready again after {:.0} ms at most",
        plan.kills,
        done?,
        slowest.as_secs_f64() * 1_000.0,
    ))
}

/// The longest that the server needed to answer again.
fn kill_meanwhile(
    server: &mut DevServer,
    binary: &Path,
    load: &mut ScheduleLoad,
    plan: &Plan,
) -> Result<Duration> {
    let began = Instant::now();
    let mut slowest = Duration::ZERO;
    for kill in 0..plan.kills {
        // At a random moment of its share of the time.
        let moment = plan.lasting.mul_f64((f64::from(kill) + chance()) / f64::from(plan.kills));
        std::thread::sleep(moment.saturating_sub(began.elapsed()));
        load.check_alive()?;
        server.restart(binary)?;
        slowest = slowest.max(server.ready_in());
    }
    std::thread::sleep(plan.lasting.saturating_sub(began.elapsed()));
    Ok(slowest)
}

/// The program that makes schedules and works on their runs until it is told that all faults are over. Dropping it
/// ends it.
pub(super) struct ScheduleLoad {
    process: Child,
    output: BufReader<ChildStdout>,
    log: PathBuf,
}

impl ScheduleLoad {
    /// Starts it on a server, or on several nodes as in `host:port,host:port`, and waits until it has made the
    /// schedules.
    pub(super) fn start(
        repository: &Repository,
        program: &Path,
        addresses: &str,
        schedules: u32,
    ) -> Result<Self> {
        let folder = repository.target.join("conformance");
        fs::create_dir_all(&folder).context("cannot create the folder of the load's log")?;
        let port = addresses.rsplit(':').next().unwrap_or_default();
        let log = folder.join(format!("schedules-{port}.log"));
        let mut process = Command::new(program)
            .args([addresses, "schedules", "crash", &schedules.to_string()])
            .arg(&log)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the load")?;
        let output = process.stdout.take().context("the load has no output")?;
        let mut load = Self { process, output: BufReader::new(output), log };
        let mut created = String::new();
        load.output.read_line(&mut created).context("cannot read what the load says")?;
        ensure!(created.contains("created"), "the load has made no schedules");
        Ok(load)
    }

    pub(super) fn check_alive(&mut self) -> Result<()> {
        check_load(&mut self.process)
    }

    /// Waits for everything under way, and returns the figures of the audit; fails if a run was lost, doubled or
    /// stuck.
    pub(super) fn finish(&mut self) -> Result<String> {
        drop(self.process.stdin.take());
        let mut said = String::new();
        self.output.read_to_string(&mut said).context("cannot read what the load says")?;
        let status = self.process.wait().context("cannot wait for the load")?;
        ensure!(status.success(), "the load failed ({status})");
        let said: Value = serde_json::from_str(&said).context("the load printed no JSON")?;

        let size = fs::metadata(&self.log).context("the load wrote no log")?.len();
        ensure!(size <= LOG_BYTES_MAX, "the load's log has {size} bytes, too many to read");
        let log = fs::read_to_string(&self.log).context("cannot read the load's log")?;
        let audit = Audit::of(&log)?;
        let mut faults = audit.faults.clone();
        if said["open"] != 0 {
            faults.push(format!("{} runs are stuck", said["open"]));
        }
        let verdict = format!(
            "{} schedules over {} s: {} starts expected, {} counted, {} missing, {} doubled; \
             {} runs were given to the worker more than once",
            audit.schedules,
            audit.seconds,
            audit.expected,
            audit.counted,
            audit.missing,
            audit.doubled,
            audit.given_again,
        );
        if !faults.is_empty() {
            // The log stays for whoever looks for the cause.
            bail!("{verdict}\n{}\nsee {}", faults.join("\n"), self.log.display());
        }
        fs::remove_file(&self.log).context("cannot remove the load's log")?;
        Ok(verdict)
    }
}

impl Drop for ScheduleLoad {
    fn drop(&mut self) {
        // It would wait for a server that doesn't come back. Both fail if it has ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
