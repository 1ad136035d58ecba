//! Compares the runs that a worker received with the times of their schedules. Its only input is the log of
//! the load generator:
//!
//! - `schedule <id> <created at> <runs until> <ended by> <actions>`: a schedule acts every second after it
//!   was created. It had not been told to stop at `runs until`, and had stopped at `ended by`. It says itself
//!   how many actions it took.
//! - `run <schedule id> <nominal time> <run id>`: a worker was given a run, perhaps not for the first time.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use anyhow::{Context, Result};

/// The result: expected, missing and doubled runs of every schedule.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Audit {
    pub(super) schedules: usize,
    /// Seconds of the schedule that fired longest.
    pub(super) seconds: u64,
    pub(super) expected: u64,
    /// Runs, each once.
    pub(super) counted: u64,
    pub(super) missing: u64,
    pub(super) doubled: u64,
    /// Runs delivered again because the worker's response was lost in a crash. They are no second runs.
    pub(super) given_again: u64,
    /// The first few, in words.
    pub(super) faults: Vec<String>,
}

/// Faults that are listed; the rest is only counted.
const LISTED_MAX: usize = 20;

impl Audit {
    pub(super) fn of(log: &str) -> Result<Self> {
        let mut audit = Self::default();
        let mut schedules = Vec::new();
        let mut runs: BTreeMap<&str, BTreeMap<u64, BTreeSet<&str>>> = BTreeMap::new();
        let mut given = HashSet::new();
        for line in log.lines() {
            let mut words = line.split(' ');
            let mut word = || words.next().with_context(|| format!("`{line}` is too short"));
            if word()? == "schedule" {
                let id = word()?;
                let mut number = || -> Result<u64> {
                    word()?.parse().with_context(|| format!("`{line}` has a wrong number"))
                };
                schedules.push((id, [number()?, number()?, number()?, number()?]));
            } else {
                let (id, nominal, run) = (word()?, word()?.parse()?, word()?);
                audit.given_again += u64::from(!given.insert(run));
                runs.entry(id).or_default().entry(nominal).or_default().insert(run);
            }
        }
        for (id, [created_at, runs_until, ended_by, actions]) in schedules {
            let runs = runs.remove(id).unwrap_or_default();
            audit.check_schedule(id, &runs, [created_at + 1, runs_until, ended_by], actions);
        }
        for (id, _) in runs {
            audit.fault(format!("{id} is no schedule, and has runs"));
        }
        Ok(audit)
    }

    fn check_schedule(
        &mut self,
        id: &str,
        runs: &BTreeMap<u64, BTreeSet<&str>>,
        [first, last, last_at_most]: [u64; 3],
        actions: u64,
    ) {
        // Nobody knows when exactly it stopped. If it had a run for a later time, it went on up to that.
        let last = runs.keys().next_back().map_or(last, |it| last.max((*it).min(last_at_most)));
        let seconds = (last + 1).saturating_sub(first);
        let counted: u64 = runs.values().map(|runs| runs.len() as u64).sum();
        self.schedules += 1;
        self.seconds = self.seconds.max(seconds);
        self.expected += seconds;
        self.counted += counted;
        for at in (first..=last).filter(|at| !runs.contains_key(at)) {
            self.missing += 1;
            self.fault(format!("{id} has no run for {at} (from {first} to {last})"));
        }
        for (at, runs) in runs {
            if runs.len() > 1 {
                self.doubled += 1;
                self.fault(format!("{id} has {} runs for {at}: {runs:?}", runs.len()));
            }
            if *at < first || *at > last {
                self.fault(format!("{id} has a run for {at}, which isn't from {first} to {last}"));
            }
        }
        if actions != counted {
            self.fault(format!("{id} counts {actions} actions, and has {counted} runs"));
        }
    }

    fn fault(&mut self, fault: String) {
        if self.faults.len() < LISTED_MAX {
            self.faults.push(fault);
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(log: &str, expected: Expect) {
        let Audit { expected: wanted, counted, missing, doubled, given_again, faults, .. } =
            Audit::of(log).unwrap();
        let numbers = [wanted, counted, missing, doubled, given_again];
        expected.assert_eq(&format!("{numbers:?}\n{}", faults.join("\n")));
    }

    #[test]
    fn a_run_for_every_second_is_what_is_expected() {
        check(
            "schedule a 9 12 13 3\nrun a 10 x\nrun a 11 y\nrun a 11 y\nrun a 12 z",
            expect![[r#"
                [3, 3, 0, 0, 1]
            "#]],
        );
    }

    #[test]
    fn a_second_without_a_run_is_told() {
        check(
            "run a 10 x\nrun a 13 z\nschedule a 9 12 13 2",
            expect![[r#"
                [4, 2, 2, 0, 0]
                a has no run for 11 (from 10 to 13)
                a has no run for 12 (from 10 to 13)"#]],
        );
    }

    #[test]
    fn two_runs_for_one_second_are_told() {
        check(
            "schedule a 9 10 10 2\nrun a 10 x\nrun a 10 y",
            expect![[r#"
                [1, 2, 0, 1, 0]
                a has 2 runs for 10: {"x", "y"}"#]],
        );
    }

    #[test]
    fn a_run_that_nobody_expects_is_told() {
        check(
            "schedule a 9 10 11 2\nrun a 9 x\nrun a 10 y\nrun b 10 z",
            expect![[r#"
                [1, 2, 0, 0, 0]
                a has a run for 9, which isn't from 10 to 10
                b is no schedule, and has runs"#]],
        );
    }
}
