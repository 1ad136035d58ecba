//! `cargo xtask test`: all checks and tests that a change must pass.

use std::fmt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::Result;
use perennial_test_postgres::TestPostgres;

use crate::dev_server::DevServer;
use crate::repository::Repository;
use crate::sdk_suites::{Found, Suite};
use crate::{crash, debian, process, python, sdk_suites, tools, usage};

pub(crate) const HELP: &str = "\
Run all checks and tests in order, and stop at the first failure.

Usage: cargo xtask test

Installs what the tests need: cargo-deny in the target folder, Python packages in .venv, Python itself and
PostgreSQL with apt-get (on Debian, as root), and the official SDKs with npm, Go, Maven and cargo. A step whose
toolchain is missing is skipped with a message. Downloads come from package registries only.

Exit code: 0 all passed or skipped, 1 something failed, 2 wrong command line.
";

/// The steps, cheapest first, so that mistakes show early.
const STEPS: &[Step] = &[
    Step { name: "format", run: format },
    Step { name: "clippy", run: clippy },
    Step { name: "workspace tests", run: workspace_tests },
    Step { name: "documentation", run: documentation },
    Step { name: "dependencies", run: dependencies },
    Step { name: "comparison with other crates", run: comparison },
    Step { name: "fuzz corpus replay", run: fuzz_corpus },
    Step { name: "python conformance", run: python_conformance },
    Step { name: "python conformance on a cluster", run: cluster_conformance },
    Step { name: "typescript conformance", run: |session| sdk_suite(session, Suite::typescript) },
    Step { name: "go conformance", run: |session| sdk_suite(session, Suite::go) },
    Step { name: "java conformance", run: |session| sdk_suite(session, Suite::java) },
    Step { name: "rust conformance", run: |session| sdk_suite(session, Suite::rust) },
    Step { name: "workflows across crashes", run: workflow_crashes },
    Step { name: "schedules across crashes", run: schedule_crashes },
    Step { name: "cluster across crashes", run: cluster_crashes },
    Step { name: "workflows on full disks", run: full_disks },
];

/// The three workspaces beside the product's own.
const COMPARISON: &str = "comparison/Cargo.toml";
const FUZZ: &str = "fuzz/Cargo.toml";
const RUST_SDK: &str = "conformance/rust/Cargo.toml";

struct Step {
    name: &'static str,
    run: fn(&mut Session<'_>) -> Result<Outcome>,
}

/// State shared by the steps of one run.
struct Session<'a> {
    repository: &'a Repository,
    /// The server for the suites of all SDKs, started by the first suite.
    server: Option<DevServer>,
}

/// How a step that didn't fail ended.
enum Outcome {
    Passed,
    /// The machine lacks the toolchain named here.
    Skipped(&'static str),
}

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> Result<ExitCode> {
    if let Some(unknown) = arguments.first() {
        return Ok(usage(&format!("`test` takes no argument, but got `{unknown}`"), HELP));
    }
    let tally = run_steps(STEPS, repository);
    println!("{tally}");
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the steps in order up to the first failure, announcing each.
fn run_steps(steps: &[Step], repository: &Repository) -> Tally {
    let mut tally = Tally { not_run: steps.len(), ..Tally::default() };
    let mut session = Session { repository, server: None };
    for (index, step) in steps.iter().enumerate() {
        println!("[{}/{}] {}", index + 1, steps.len(), step.name);
        let started = Instant::now();
        let result = (step.run)(&mut session);
        let took = seconds(started.elapsed());
        tally.not_run -= 1;
        match result {
            Ok(Outcome::Passed) => {
                tally.passed += 1;
                println!("      passed in {took}");
            }
            Ok(Outcome::Skipped(missing)) => {
                tally.skipped += 1;
                println!("skipped: {} — {missing}", step.name);
            }
            Err(error) => {
                tally.failed += 1;
                println!("failed after {took}: {} — {error:#}", step.name);
                break;
            }
        }
    }
    tally
}

/// The last line of the output, which people and machines read for the verdict.
#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    skipped: usize,
    not_run: usize,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, failed, skipped, not_run } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")?;
        if *not_run > 0 {
            write!(f, ", {not_run} not run")?;
        }
        Ok(())
    }
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

fn format(session: &mut Session<'_>) -> Result<Outcome> {
    for manifest in ["Cargo.toml", COMPARISON, FUZZ, RUST_SDK] {
        cargo(session.repository, &["fmt", "--all", "--check", "--manifest-path", manifest])?;
    }
    Ok(Outcome::Passed)
}

/// Without the Rust SDK's suite: Clippy would compile three hundred crates a second time for it.
fn clippy(session: &mut Session<'_>) -> Result<Outcome> {
    for manifest in ["Cargo.toml", COMPARISON, FUZZ] {
        let command = ["clippy", "--workspace", "--all-targets", "--manifest-path", manifest];
        cargo(session.repository, &[&command[..], &["--", "-D", "warnings"]].concat())?;
    }
    Ok(Outcome::Passed)
}

fn workspace_tests(session: &mut Session<'_>) -> Result<Outcome> {
    if !TestPostgres::is_installed() {
        debian::install(&["postgresql"]);
    }
    cargo(session.repository, &["test", "--workspace"])
}

fn documentation(session: &mut Session<'_>) -> Result<Outcome> {
    let mut doc = process::cargo(&session.repository.root);
    doc.args(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-Dwarnings");
    passed(&mut doc)
}

fn dependencies(session: &mut Session<'_>) -> Result<Outcome> {
    let cargo_deny = tools::CARGO_DENY.ensure(session.repository)?;
    println!(
        "      bans, licences and sources; advisories need GitHub: `cargo deny check advisories`"
    );
    let mut deny = Command::new(cargo_deny);
    deny.current_dir(&session.repository.root).args(["check", "bans", "licenses", "sources"]);
    passed(&mut deny)
}

fn comparison(session: &mut Session<'_>) -> Result<Outcome> {
    cargo(session.repository, &["test", "--manifest-path", COMPARISON])
}

fn fuzz_corpus(session: &mut Session<'_>) -> Result<Outcome> {
    cargo(session.repository, &["test", "--manifest-path", FUZZ])
}

fn python_conformance(session: &mut Session<'_>) -> Result<Outcome> {
    let python = match python::find() {
        Ok(python) => python,
        Err(missing) => return Ok(Outcome::Skipped(missing)),
    };
    let repository = session.repository;
    let python = python::conformance_environment(repository, python)?;
    let mut pytest = Command::new(python);
    pytest
        .current_dir(&repository.root)
        .args(["-m", "pytest", "conformance", "-q"])
        .env("PERENNIAL_BIN", binary(repository)?);
    passed(&mut pytest)
}

/// A choice of the suite, against three nodes on one PostgreSQL database. `CONFORMANCE_NODES` runs all of it.
fn cluster_conformance(session: &mut Session<'_>) -> Result<Outcome> {
    const WORKFLOWS: [&str; 6] = ["batch", "chains", "children", "queries", "signals", "updates"];
    const SCHEDULES: [&str; 2] = ["operations", "runs"];
    let python = match python::find() {
        Ok(python) => python,
        Err(missing) => return Ok(Outcome::Skipped(missing)),
    };
    if !TestPostgres::is_installed() {
        return Ok(Outcome::Skipped("no PostgreSQL on this machine"));
    }
    let repository = session.repository;
    let python = python::conformance_environment(repository, python)?;
    let postgres = TestPostgres::start()?;
    let server = postgres.url("");
    let workflows = WORKFLOWS.map(|name| format!("conformance/workflows/test_{name}.py"));
    let schedules = SCHEDULES.map(|name| format!("conformance/schedules/test_schedule_{name}.py"));
    let mut pytest = Command::new(python);
    pytest
        .current_dir(&repository.root)
        .args(["-m", "pytest", "-q"])
        .args(workflows.iter().chain(&schedules))
        .env("CONFORMANCE_POSTGRES", server.trim_end_matches('/'))
        .env("CONFORMANCE_NODES", "3")
        .env("PERENNIAL_BIN", binary(repository)?);
    passed(&mut pytest)
}

/// A few; `cargo xtask crash workflows` has more.
fn workflow_crashes(session: &mut Session<'_>) -> Result<Outcome> {
    const KILLS: u32 = 10;
    let said = crash::workflows::crash(session.repository, &binary(session.repository)?, KILLS)?;
    println!("      {said}");
    Ok(Outcome::Passed)
}

/// A few of each; `cargo xtask crash schedules` has more.
fn schedule_crashes(session: &mut Session<'_>) -> Result<Outcome> {
    const PLAN: crash::schedules::Plan =
        crash::schedules::Plan { schedules: 100, lasting: Duration::from_secs(20), kills: 5 };
    let binary = binary(session.repository)?;
    let load = sdk_suites::build_load(session.repository, "dev")?;
    let said = crash::schedules::crash(session.repository, &binary, &load, &PLAN)?;
    println!("      {said}");
    Ok(Outcome::Passed)
}

/// One of each fault; `cargo xtask crash cluster` has more.
fn cluster_crashes(session: &mut Session<'_>) -> Result<Outcome> {
    use crash::cluster::{Length, Plan, crash};
    if !TestPostgres::is_installed() {
        return Ok(Outcome::Skipped("no PostgreSQL on this machine"));
    }
    let binary = binary(session.repository)?;
    let load = sdk_suites::build_load(session.repository, "dev")?;
    let plan = Plan { length: Length::Rounds(1), schedules: 100 };
    println!("      {}", crash(session.repository, &binary, &load, &plan)?);
    Ok(Outcome::Passed)
}

/// A few; `cargo xtask crash disk` has more.
fn full_disks(session: &mut Session<'_>) -> Result<Outcome> {
    const ROUNDS: u32 = 3;
    let binary = binary(session.repository)?;
    match crash::disk::crash(session.repository, &binary, ROUNDS)? {
        Some(said) => println!("      {said}"),
        None => return Ok(Outcome::Skipped("a small file system, which needs root to mount")),
    }
    Ok(Outcome::Passed)
}

/// Runs one of the suites against the server that all of them share.
fn sdk_suite(session: &mut Session<'_>, find: fn(&Repository) -> Result<Found>) -> Result<Outcome> {
    let suite = match find(session.repository)? {
        Ok(suite) => suite,
        Err(missing) => return Ok(Outcome::Skipped(missing)),
    };
    let server = match session.server.take() {
        Some(server) => server,
        None => DevServer::start_secured(session.repository, &binary(session.repository)?)?,
    };
    let server = session.server.insert(server);
    let result = suite.run(server);
    server.check_alive()?;
    result.map(|()| Outcome::Passed)
}

/// The product, as it is now.
fn binary(repository: &Repository) -> Result<PathBuf> {
    cargo(repository, &["build", "--package", "perennial-cli", "--bin", "perennial"])?;
    Ok(repository.target.join("debug").join("perennial"))
}

fn cargo(repository: &Repository, arguments: &[&str]) -> Result<Outcome> {
    let mut cargo = process::cargo(&repository.root);
    passed(cargo.args(arguments).env("CARGO_TARGET_DIR", &repository.target))
}

fn passed(command: &mut Command) -> Result<Outcome> {
    process::run(command)?;
    Ok(Outcome::Passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(steps: &[Step]) -> String {
        run_steps(steps, &Repository::here().unwrap()).to_string()
    }

    const PASSES: Step = Step { name: "passes", run: |_| Ok(Outcome::Passed) };
    const FAILS: Step = Step { name: "fails", run: |_| anyhow::bail!("as it should") };
    const SKIPS: Step = Step { name: "skips", run: |_| Ok(Outcome::Skipped("no such toolchain")) };

    #[test]
    fn the_summary_counts_every_step() {
        assert_eq!(tally(&[PASSES, SKIPS, PASSES]), "2 passed, 0 failed, 1 skipped");
    }

    #[test]
    fn nothing_runs_after_the_first_failure() {
        let never = Step { name: "never", run: |_| unreachable!("the step before it failed") };
        assert_eq!(tally(&[PASSES, FAILS, never]), "1 passed, 1 failed, 0 skipped, 1 not run");
    }
}
