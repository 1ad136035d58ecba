//! Workflows and schedules on a cluster whose nodes are killed, suspended and stopped, and whose PostgreSQL is killed.

mod node;
mod probes;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use perennial_test_postgres::TestPostgres;

use self::node::Node;
use self::probes::Probes;
use super::chance;
use super::schedules::ScheduleLoad;
use super::workflows::WorkflowLoad;
use crate::repository::Repository;
use crate::{process, sdk_suites};

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) length: Length,
    /// Schedules that act every second.
    pub(crate) schedules: u32,
}

/// How long faults strike.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// In each round, every fault strikes once.
    Rounds(u32),
    Time(Duration),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The node is killed, and starts again a random time later: before or after its lease has ended.
    Kill,
    /// The node does nothing for longer than its lease.
    Suspend,
    /// The node is told to stop, gives its cells away, and starts again.
    Stop,
    /// PostgreSQL is killed, and starts again.
    KillPostgres,
}

const FAULTS: [Fault; 4] = [Fault::Kill, Fault::Suspend, Fault::Stop, Fault::KillPostgres];
const NODES: usize = 3;
/// Without a fault: at least this long, plus a random part of the next constant.
const CALM_MIN: Duration = Duration::from_millis(500);
const CALM_EXTRA: Duration = Duration::from_millis(2_500);
/// A killed node starts again after a random part of this. A lease is 3 s.
const DEAD_MAX: Duration = Duration::from_secs(6);
const SUSPENDED: Duration = Duration::from_secs(5);
/// Every workflow must answer again so long after a fault.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn run(repository: &Repository, plan: &Plan) -> Result<String> {
    let mut build = process::cargo(&repository.root);
    process::run(build.args(["build", "--locked", "--package", "perennial-cli"]))?;
    let load = sdk_suites::build_load(repository, "dev")?;
    crash(repository, &repository.target.join("debug").join("perennial"), &load, plan)
}

/// Returns a summary; fails if work was lost, repeated or stuck. The logs of the nodes stay then.
pub(crate) fn crash(
    repository: &Repository,
    binary: &Path,
    load: &Path,
    plan: &Plan,
) -> Result<String> {
    let folder = repository.target.join("conformance");
    let folder = folder.join(format!("cluster-{}", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let said = Cluster::start(binary, &folder)
        .and_then(|mut cluster| cluster.strike_under_load(repository, load, plan))
        .with_context(|| format!("see the logs in {}", folder.display()))?;
    fs::remove_dir_all(&folder).context("cannot remove the nodes' logs")?;
    Ok(said)
}

/// The nodes end before PostgreSQL.
struct Cluster {
    probes: Probes,
    nodes: Vec<Node>,
    postgres: TestPostgres,
}

impl Cluster {
    fn start(binary: &Path, folder: &Path) -> Result<Self> {
        let postgres = TestPostgres::start()?;
        let url = postgres.create_database()?;
        let node = |number| Node::start(binary, &url, folder.join(format!("node-{number}.log")));
        let nodes = (0..NODES).map(node).collect::<Result<Vec<Node>>>()?;
        let database = url.rsplit('/').next().unwrap_or_default();
        let places = nodes.iter().map(Node::http_address).collect();
        let probes = Probes::start(&postgres, database, places)?;
        Ok(Self { probes, nodes, postgres })
    }

    fn strike_under_load(
        &mut self,
        repository: &Repository,
        load: &Path,
        plan: &Plan,
    ) -> Result<String> {
        let addresses: Vec<String> =
            self.nodes.iter().map(|node| node.address().to_string()).collect();
        let addresses = addresses.join(",");
        let mut workflows = WorkflowLoad::start(load, &addresses)?;
        let mut schedules = ScheduleLoad::start(repository, load, &addresses, plan.schedules)?;
        let began = Instant::now();
        let mut struck: Vec<(Fault, Duration)> = Vec::new();
        let goes_on = |struck: usize| match plan.length {
            Length::Rounds(rounds) => struck < FAULTS.len().saturating_mul(rounds as usize),
            Length::Time(time) => began.elapsed() < time,
        };
        while goes_on(struck.len()) {
            std::thread::sleep(CALM_MIN + CALM_EXTRA.mul_f64(chance()));
            workflows.check_alive()?;
            schedules.check_alive()?;
            let fault = FAULTS[struck.len() % FAULTS.len()];
            let node = (chance() * NODES as f64) as usize % NODES;
            let gap = self.strike(fault, node).with_context(|| format!("{fault:?} of {node}"))?;
            struck.push((fault, gap));
        }
        let when = format!("after {} faults", struck.len());
        let ran = workflows.finish(&when);
        let fired = schedules.finish();
        self.nodes.iter_mut().try_for_each(Node::check_alive)?;
        let (ran, fired) = (ran?, fired.context(when)?);
        self.probes.check_all()?;
        let gaps = FAULTS.map(|fault| {
            let of = struck.iter().filter(|(it, _)| *it == fault);
            let longest = of.clone().map(|(_, gap)| *gap).max().unwrap_or_default();
            format!("{fault:?} {} times, {:.1} s", of.count(), longest.as_secs_f64())
        });
        Ok(format!(
            "{} workflows with {} signals: nothing lost, nothing twice, nothing stuck; {fired}; longest time without \
             an answer in any of {} cells: {}",
            ran["ran"],
            ran["signals"],
            self.probes.len(),
            gaps.join("; "),
        ))
    }

    /// Returns the longest time in which a workflow didn't answer.
    fn strike(&mut self, fault: Fault, number: usize) -> Result<Duration> {
        let node = &mut self.nodes[number];
        match fault {
            Fault::Kill => {
                self.probes.begin_fault(Some(number));
                node.kill()?;
                std::thread::sleep(DEAD_MAX.mul_f64(chance()));
                node.start_again()?;
            }
            Fault::Suspend => {
                self.probes.begin_fault(Some(number));
                node.suspend()?;
                std::thread::sleep(SUSPENDED);
                node.resume()?;
            }
            Fault::Stop => {
                self.probes.begin_fault(Some(number));
                node.stop()?;
                node.start_again()?;
            }
            Fault::KillPostgres => {
                self.probes.begin_fault(None);
                self.postgres.crash_and_recover()?;
            }
        }
        self.probes.end_fault();
        let gap = self.probes.longest_gap(PATIENCE)?;
        self.nodes.iter_mut().try_for_each(Node::check_alive)?;
        println!("      {fault:?}: no answer for {:.1} s", gap.as_secs_f64());
        Ok(gap)
    }
}
