//! `cargo xtask crash`: repeatedly kills the server or nodes of a cluster under load, or fills its disk, and searches for
//! lost work.

mod audit;
pub(crate) mod cluster;
pub(crate) mod disk;
pub(crate) mod schedules;
pub(crate) mod workflows;

use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;

use crate::repository::Repository;
use crate::usage;

pub(crate) const HELP: &str = "\
Kill the server with SIGKILL at random moments under load, and restart it on the same file; or fill its
disk. Fails if work is lost, repeated or stuck.

Usage: cargo xtask crash workflows [--kills N]
       cargo xtask crash schedules [--schedules N] [--minutes N] [--kills N]
       cargo xtask crash disk [--rounds N]
       cargo xtask crash cluster [--rounds N | --minutes N]

workflows   Load: a worker and clients of the official Rust SDK, with activities, signals and timers. Everything
            acknowledged must have happened exactly once.
  --kills N       Number of kills (100)

schedules   Load: schedules that start a workflow every second, and a worker. Every schedule must have exactly
            one run for every second.
  --schedules N   Number of schedules (1000)
  --minutes N     Duration (10); afterwards the worker gets the time it needs
  --kills N       Number of kills (15 per minute)

disk        The load of `workflows` on a small file system (mounting it needs root) that is filled and freed.
            While it is full, reads must be served, writes refused, and health must be NOT_SERVING.
  --rounds N      Number of rounds (20)

cluster     The loads of `workflows` and of `schedules` on three nodes that share a PostgreSQL database of their own.
            One node at a time is killed, suspended for longer than its lease, or stopped, and comes back; PostgreSQL
            is killed too. Prints how long workflows didn't answer.
  --rounds N      Number of rounds (5), in which each fault strikes once
  --minutes N     Duration of the faults, instead of a number
";

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> Result<ExitCode> {
    let said = match parse(arguments) {
        Ok(Wanted::Workflows { kills }) => workflows::run(repository, kills)?,
        Ok(Wanted::Schedules(plan)) => schedules::run(repository, &plan)?,
        Ok(Wanted::Disk { rounds }) => disk::run(repository, rounds)?,
        Ok(Wanted::Cluster(plan)) => cluster::run(repository, &plan)?,
        Err(wrong) => return Ok(usage(&wrong, HELP)),
    };
    println!("{said}");
    Ok(ExitCode::SUCCESS)
}

#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    Workflows { kills: u32 },
    Schedules(schedules::Plan),
    Disk { rounds: u32 },
    Cluster(cluster::Plan),
}

const KILLS: u32 = 100;
const ROUNDS: u32 = 20;
const CLUSTER_ROUNDS: u32 = 5;
const SCHEDULES: u32 = 1_000;
const CLUSTER_SCHEDULES: u32 = 100;
const MINUTES: u32 = 10;
const KILLS_A_MINUTE: u32 = 15;

fn parse(arguments: &[String]) -> Result<Wanted, String> {
    let Some((what, options)) = arguments.split_first() else {
        return Err("`crash` needs to know what to put under load".to_owned());
    };
    let known: &[&str] = match what.as_str() {
        "workflows" => &["--kills"],
        "schedules" => &["--schedules", "--minutes", "--kills"],
        "disk" => &["--rounds"],
        "cluster" => &["--rounds", "--minutes"],
        unknown => return Err(format!("`crash` can't use the argument `{unknown}`")),
    };
    let mut given = Vec::new();
    for pair in options.chunks(2) {
        let option = pair[0].as_str();
        if !known.contains(&option) {
            return Err(format!("`crash {what}` has no option `{option}`"));
        }
        let value = pair.get(1).ok_or_else(|| format!("`{option}` needs a value"))?;
        let value = value.parse::<u32>().ok().filter(|it| (1..=1_000_000).contains(it));
        let value = value.ok_or_else(|| format!("`{option}` needs a number from 1 to 1000000"))?;
        given.push((option, value));
    }
    let get = |name| given.iter().find(|(option, _)| *option == name).map(|(_, value)| *value);
    if what == "workflows" {
        return Ok(Wanted::Workflows { kills: get("--kills").unwrap_or(KILLS) });
    }
    if what == "disk" {
        return Ok(Wanted::Disk { rounds: get("--rounds").unwrap_or(ROUNDS) });
    }
    if what == "cluster" {
        let length = match (get("--rounds"), get("--minutes")) {
            (Some(_), Some(_)) => return Err("`--rounds` excludes `--minutes`".to_owned()),
            (rounds, None) => cluster::Length::Rounds(rounds.unwrap_or(CLUSTER_ROUNDS)),
            (None, Some(minutes)) => {
                cluster::Length::Time(Duration::from_secs(60 * u64::from(minutes)))
            }
        };
        return Ok(Wanted::Cluster(cluster::Plan { length, schedules: CLUSTER_SCHEDULES }));
    }
    let minutes = get("--minutes").unwrap_or(MINUTES);
    Ok(Wanted::Schedules(schedules::Plan {
        schedules: get("--schedules").unwrap_or(SCHEDULES),
        lasting: Duration::from_secs(60 * u64::from(minutes)),
        kills: get("--kills").unwrap_or_else(|| KILLS_A_MINUTE.saturating_mul(minutes)),
    }))
}

/// Between 0 and 1. The moments of the kills needn't be repeatable: the load isn't either.
fn chance() -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    f64::from(now.subsec_nanos() % 1_000_003) / 1_000_003.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_line(line: &str) -> Result<Wanted, String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&arguments)
    }

    #[test]
    fn options_that_are_left_out_have_the_values_that_help_says() {
        assert_eq!(parse_line("workflows"), Ok(Wanted::Workflows { kills: 100 }));
        assert_eq!(parse_line("disk"), Ok(Wanted::Disk { rounds: 20 }));
        let plan =
            schedules::Plan { schedules: 1_000, lasting: Duration::from_secs(120), kills: 30 };
        let rounds = cluster::Plan { length: cluster::Length::Rounds(5), schedules: 100 };
        assert_eq!(parse_line("cluster"), Ok(Wanted::Cluster(rounds)));
        assert_eq!(parse_line("schedules --minutes 2"), Ok(Wanted::Schedules(plan)));
    }

    #[test]
    fn a_wrong_command_line_says_what_is_wrong() {
        for (line, wrong) in [
            ("", "`crash` needs to know what to put under load"),
            ("runs", "`crash` can't use the argument `runs`"),
            ("workflows --minutes 3", "`crash workflows` has no option `--minutes`"),
            ("schedules --minutes", "`--minutes` needs a value"),
            ("cluster --rounds 2 --minutes 1", "`--rounds` excludes `--minutes`"),
            ("schedules --minutes 0", "`--minutes` needs a number from 1 to 1000000"),
        ] {
            assert_eq!(parse_line(line), Err(wrong.to_owned()));
        }
    }
}
