//! `cargo xtask simulate`: runs any number of seeded simulations.

use std::process::ExitCode;

use anyhow::Result;

use crate::repository::Repository;
use crate::{process, usage};

pub(crate) const HELP: &str = "\
Run seeded simulations of clients, workers, crashes and faulty disks, and audit them.

Usage: cargo xtask simulate [--seeds N] [--from S] [--sabotage W]
       cargo xtask simulate --seed S [--sabotage W]

  --seeds N       Number of simulations (default: 100)
  --from S        Seed of the first; the others follow (default: 1)
  --seed S        Run only this seed
  --sabotage W    Turn a protection off: fence, deduplication, wait-for-commit, progress, watermark or
                  running

A seed gives the same simulation every time; every second seed has schedules. A failure shows the seed, the broken
invariant and the events before it. `cargo xtask test` runs the first two hundred seeds.

Exit code: 0 all invariants held, 1 one was broken, 2 wrong command line.
";

const OPTIONS: [&str; 4] = ["--seeds", "--from", "--seed", "--sabotage"];

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> Result<ExitCode> {
    if let Err(wrong) = check(arguments) {
        return Ok(usage(&wrong, HELP));
    }
    let mut simulate = process::cargo(&repository.root);
    simulate
        // As tests are compiled: that is optimised enough, and there as a rule.
        .args(["run", "--quiet", "--package", "perennial-simulator", "--"])
        .args(arguments)
        .env("CARGO_TARGET_DIR", &repository.target);
    let status = simulate.status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Checks the command line before anything is compiled.
fn check(arguments: &[String]) -> Result<(), String> {
    for pair in arguments.chunks(2) {
        let option = pair[0].as_str();
        if !OPTIONS.contains(&option) {
            return Err(format!("`simulate` has no option `{option}`"));
        }
        let Some(value) = pair.get(1) else { return Err(format!("`{option}` needs a value")) };
        if option != "--sabotage" && value.parse::<u64>().is_err() {
            return Err(format!("`{option} {value}` is not a whole number"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_line(line: &str) -> Result<(), String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        check(&arguments)
    }

    #[test]
    fn a_wrong_command_line_says_what_is_wrong() {
        assert_eq!(check_line("--seeds 10 --from 3"), Ok(()));
        for (line, wrong) in [
            ("--seeds", "`--seeds` needs a value"),
            ("--seed x", "`--seed x` is not a whole number"),
            ("--fast 1", "`simulate` has no option `--fast`"),
        ] {
            assert_eq!(check_line(line), Err(wrong.to_owned()));
        }
    }
}
