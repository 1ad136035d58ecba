//! The report of a simulation.

use std::fmt;

use crate::audit::Violation;
use crate::sabotage::Sabotage;

/// The result of a simulation.
#[derive(Debug, Clone)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// The protection that was removed.
    pub sabotage: Sabotage,
    /// Whether all promises held.
    pub outcome: Outcome,
    /// The number of turns.
    pub turns: usize,
    /// How often a server crashed or was replaced.
    pub crashes: usize,
    /// The number of runs.
    pub runs: usize,
    /// A hash of the trace: equal only for equal courses of events.
    pub fingerprint: u64,
}

/// Whether all promises held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// All promises held.
    Held,
    /// A promise was broken.
    Broken {
        /// The violation.
        violation: Violation,
        /// The part of the trace that concerns the workflow.
        trace: String,
    },
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, sabotage, outcome, turns, crashes, runs, .. } = self;
        match outcome {
            Outcome::Held => {
                write!(f, "seed {seed}: {turns} turns, {crashes} crashes, {runs} runs")
            }
            Outcome::Broken { violation, trace } => write!(
                f,
                "seed {seed} breaks a promise\n  {violation}\n\nwhat happened before:\n{trace}\n\
                 again: cargo xtask simulate --seed {seed}{sabotage}"
            ),
        }
    }
}
