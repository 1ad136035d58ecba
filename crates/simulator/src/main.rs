//! `cargo xtask simulate` from within: simulates seeds and says which break a promise.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool speaks through the terminal"
)]

use std::process::ExitCode;
use std::time::Instant;

use perennial_simulator::{Outcome, Sabotage, simulate};

const HELP: &str = "\
Simulate worlds and audit them.

  --seeds N       How many seeds (default: 100)
  --from S        The first of them (default: 1)
  --seed S        This one alone, and its course of events
  --sabotage W    Without a protection: fence, deduplication, wait-for-commit, progress, watermark or
                  running
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match Request::parse(&arguments) {
        Ok(request) => run(&request),
        Err(wrong) => {
            eprint!("error: {wrong}\n\n{HELP}");
            ExitCode::from(2)
        }
    }
}

fn run(request: &Request) -> ExitCode {
    let began = Instant::now();
    let (mut turns, mut crashes, mut runs, mut broken) = (0, 0, 0, 0);
    for seed in request.from..request.from.saturating_add(request.seeds) {
        let report = simulate(seed, request.sabotage);
        turns += report.turns;
        crashes += report.crashes;
        runs += report.runs;
        match report.outcome {
            Outcome::Held => {}
            Outcome::Broken { .. } if broken < request.shown => {
                broken += 1;
                println!("{report}\n");
            }
            Outcome::Broken { violation, .. } => {
                broken += 1;
                println!("seed {seed}: {violation}");
            }
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{} seeds in {seconds:.1} s: {turns} turns, {crashes} crashes, {runs} runs; broken: {broken}",
        request.seeds
    );
    if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[derive(Debug)]
struct Request {
    from: u64,
    seeds: u64,
    sabotage: Sabotage,
    /// The number of broken seeds that are shown in full.
    shown: usize,
}

impl Request {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut request = Self { from: 1, seeds: 100, sabotage: Sabotage::None, shown: 1 };
        let mut arguments = arguments.iter();
        while let Some(option) = arguments.next() {
            let value = arguments.next().ok_or(format!("`{option}` needs a value"))?;
            let number = || {
                value
                    .parse::<u64>()
                    .map_err(|_| format!("`{option} {value}` is not a whole number"))
            };
            match option.as_str() {
                "--seeds" => request.seeds = number()?,
                "--from" => request.from = number()?,
                "--seed" => (request.from, request.seeds) = (number()?, 1),
                "--sabotage" => {
                    request.sabotage = match value.as_str() {
                        "fence" => Sabotage::Fence,
                        "deduplication" => Sabotage::Deduplication,
                        "wait-for-commit" => Sabotage::WaitForCommit,
                        "progress" => Sabotage::Progress,
                        "watermark" => Sabotage::Watermark,
                        "running" => Sabotage::Running,
                        _ => return Err(format!("there is no protection `{value}`")),
                    };
                }
                _ => return Err(format!("there is no option `{option}`")),
            }
        }
        Ok(request)
    }
}
