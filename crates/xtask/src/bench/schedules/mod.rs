//! Benchmark of schedules on our server, Temporal's dev server and DBOS: lag, creation rate, and cost of idle
//! schedules.

mod dbos;
mod report;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use serde_json::Value;

use self::dbos::Dbos;
use super::chart::{Bars, chart};
use super::servers::{Contender, ours, resident_mb, temporal};
use super::write;
use crate::dev_server::DevServer;
use crate::repository::Repository;
use crate::{process, sdk_suites};

/// The size of the load.
pub(super) struct Size {
    /// Schedules that act every second.
    acting: [u32; 3],
    /// For how many seconds.
    seconds: u32,
    /// Made by our server; the others make as many as they can in a while.
    created: u32,
    created_seconds_max: u32,
    /// Due in the same second.
    burst: u32,
    /// In the file that a server is started from; fewer if that takes too long.
    idle: u32,
    idle_seconds_max: u32,
    is_written: bool,
}

pub(super) const FULL: Size = Size {
    acting: [1, 100, 1_000],
    seconds: 20,
    created: 100_000,
    created_seconds_max: 30,
    burst: 10_000,
    idle: 1_000_000,
    idle_seconds_max: 150,
    is_written: true,
};

pub(super) const QUICK: Size = Size {
    acting: [1, 5, 10],
    seconds: 5,
    created: 1_000,
    created_seconds_max: 5,
    burst: 100,
    idle: 10_000,
    idle_seconds_max: 20,
    is_written: false,
};

/// Lag of schedules that fire every second.
struct Fired {
    expected: f64,
    fired: f64,
    /// Some didn't exist yet when their first time came.
    created_late: bool,
    /// `None` if nothing fired.
    p50_ms: Option<f64>,
    p99_ms: Option<f64>,
    max_ms: Option<f64>,
    /// Each start's. `None` where the scheduler is no process of its own.
    cpu_ms: Option<f64>,
}

struct Created {
    created: f64,
    a_second: f64,
    rss_mb_before: f64,
    rss_mb_after: f64,
}

/// How long after they were due all had started, or nobody waited any longer.
struct Burst {
    started: f64,
    /// Some didn't exist yet when they were due.
    created_late: bool,
    all_started_s: f64,
    /// And a worker had received all, where there was one.
    all_received_s: Option<f64>,
}

struct Idle {
    created: Created,
    file_mb: f64,
    ready: Duration,
    rss_mb: f64,
    rss_mb_looked_at: f64,
    looked: Value,
}

/// One for each contender, in their order.
struct Results {
    names: Vec<&'static str>,
    versions: Vec<String>,
    load_average: String,
    fired: Vec<Vec<Fired>>,
    created: Vec<Created>,
    burst: Burst,
    burst_with_worker: Burst,
    idle: Idle,
}

pub(super) fn run(repository: &Repository, size: &Size) -> Result<()> {
    let load = Load { repository, program: sdk_suites::build_load(repository, "release")? };
    let servers = [ours(repository)?, temporal(repository)?];
    let dbos = Dbos::install(repository)?;
    let load_average = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();

    // Turn by turn at each width: what disturbs the machine disturbs all.
    let mut fired: Vec<Vec<Fired>> = vec![Vec::new(), Vec::new(), Vec::new()];
    for schedules in size.acting {
        for (server, fired) in servers.iter().zip(&mut fired) {
            println!("{}: {schedules} schedules, every second", server.name);
            fired.push(load.fire(server, schedules, size.seconds)?);
        }
        println!("{}: {schedules} schedules, every second", dbos::NAME);
        fired[2].push(Fired::read(&dbos.run("fire", &[schedules, size.seconds])?)?);
    }
    let mut created = Vec::new();
    for server in &servers {
        println!("{}: creating schedules", server.name);
        created.push(load.create(server, size.created, size.created_seconds_max)?);
    }
    println!("{}: creating schedules", dbos::NAME);
    let said =
        dbos.run("create", &[dbos::CREATED_MAX.min(size.created), size.created_seconds_max])?;
    created.push(Created::read(&said)?);
    println!("{}: {} due in the same second", servers[0].name, size.burst);
    let burst = load.burst(&servers[0], size.burst, false)?;
    let burst_with_worker = load.burst(&servers[0], size.burst, true)?;
    println!("{}: {} idle schedules", servers[0].name, size.idle);
    let idle = load.idle(&servers[0], size.idle, size.idle_seconds_max)?;

    let [ours, theirs] = servers;
    let results = Results {
        names: vec![ours.name, theirs.name, dbos::NAME],
        versions: vec![ours.version, theirs.version, dbos.version],
        load_average: load_average.split(' ').next().unwrap_or_default().to_owned(),
        fired,
        created,
        burst,
        burst_with_worker,
        idle,
    };
    let text = report::report(size, &results)?;
    if !size.is_written {
        println!("{text}");
        return Ok(());
    }
    let labels = size.acting.map(|schedules| format!("{schedules} a second"));
    let bars: Vec<_> = results
        .names
        .iter()
        .zip(&results.fired)
        .map(|(name, fired)| Bars {
            name,
            values: fired.iter().map(|it| it.p99_ms.unwrap_or(f64::NAN)).collect(),
        })
        .collect();
    let title = "Lag of the starts that arrived, p99 in ms (logarithmic, less is better)";
    write(repository, "schedules.svg", &chart(title, &labels, &bars))?;
    write(repository, "schedules.md", &text)
}

/// The load generator.
struct Load<'a> {
    repository: &'a Repository,
    program: std::path::PathBuf,
}

/// Requests in flight.
const AT_ONCE: u32 = 64;

impl Load<'_> {
    fn fire(&self, contender: &Contender, schedules: u32, seconds: u32) -> Result<Fired> {
        let server = self.server(contender)?;
        Fired::read(&self.run(&server, "fire", &[schedules, seconds, server.process_id()])?)
    }

    fn create(&self, contender: &Contender, schedules: u32, seconds_max: u32) -> Result<Created> {
        let server = self.server(contender)?;
        let numbers = [AT_ONCE, schedules, seconds_max, server.process_id()];
        Created::read(&self.run(&server, "create", &numbers)?)
    }

    fn burst(&self, contender: &Contender, schedules: u32, with_worker: bool) -> Result<Burst> {
        let server = self.server(contender)?;
        let said = self.run(&server, "burst", &[schedules, u32::from(with_worker)])?;
        Ok(Burst {
            started: number(&said, "started")?,
            created_late: said["created_late"] == true,
            all_started_s: number(&said, "all_started_s")?,
            all_received_s: said["all_received_s"].as_f64(),
        })
    }

    fn idle(&self, contender: &Contender, schedules: u32, seconds_max: u32) -> Result<Idle> {
        let mut server = self.server(contender)?;
        let numbers = [4 * AT_ONCE, schedules, seconds_max, server.process_id()];
        let created = Created::read(&self.run(&server, "create", &numbers)?)?;
        server.restart(&contender.binary)?;
        let (ready, rss_mb) = (server.ready_in(), resident_mb(server.process_id())?);
        let looked = self.run(&server, "look", &[created.created as u32])?;
        Ok(Idle {
            created,
            file_mb: server.bytes_on_disk()? as f64 / 1e6,
            ready,
            rss_mb,
            rss_mb_looked_at: resident_mb(server.process_id())?,
            looked,
        })
    }

    /// With an empty file, for each load: none finds what another has left.
    fn server(&self, contender: &Contender) -> Result<DevServer> {
        DevServer::start(self.repository, &contender.binary)
    }

    fn run(&self, server: &DevServer, verb: &str, numbers: &[u32]) -> Result<Value> {
        let mut load = Command::new(&self.program);
        load.args([&server.address().to_string(), "schedules", verb]);
        run_and_read(load.args(numbers.iter().map(u32::to_string)))
    }
}

impl Fired {
    fn read(said: &Value) -> Result<Self> {
        Ok(Self {
            expected: number(said, "expected")?,
            fired: number(said, "fired")?,
            created_late: said["created_late"] == true,
            p50_ms: said["p50_ms"].as_f64(),
            p99_ms: said["p99_ms"].as_f64(),
            max_ms: said["max_ms"].as_f64(),
            cpu_ms: said["server_cpu_ms"].as_f64(),
        })
    }
}

impl Created {
    fn read(said: &Value) -> Result<Self> {
        Ok(Self {
            created: number(said, "created")?,
            a_second: number(said, "a_second")?,
            rss_mb_before: number(said, "rss_mb_before")?,
            rss_mb_after: number(said, "rss_mb_after")?,
        })
    }

    fn bytes_each(&self) -> f64 {
        (self.rss_mb_after - self.rss_mb_before) * 1e6 / self.created.max(1.0)
    }
}

fn number(said: &Value, name: &str) -> Result<f64> {
    said[name].as_f64().ok_or_else(|| anyhow!("the load printed no `{name}`: {said}"))
}

fn run_and_read(command: &mut Command) -> Result<Value> {
    let said = process::output(command)?;
    println!("  {}", said.trim());
    serde_json::from_str(&said).context("the load printed no JSON")
}

/// Recreates the folder, without files of an earlier run.
fn empty_folder(folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))
}
