//! What is said of a world that was simulated.

use std::fmt;

use crate::audit::Violation;
use crate::sabotage::Sabotage;

/// What became of a world.
#[derive(Debug, Clone)]
pub struct Report {
    /// What it was made from.
    pub seed: u64,
    /// Which protection it lacked.
    pub sabotage: Sabotage,
    /// Whether all promises held.
    pub outcome: Outcome,
    /// Turns taken.
    pub turns: usize,
    /// Times a server crashed or was replaced.
    pub crashes: usize,
    /// Runs there were.
    pub runs: usize,
    /// Equal only for equal courses of events.
    pub fingerprint: u64,
}

/// Whether all promises held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// They did.
    Held,
    /// One didn't.
    Broken {
        /// Which.
        violation: Violation,
        /// What happened before to the workflow concerned.
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
