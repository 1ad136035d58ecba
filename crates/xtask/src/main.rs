//! The repository's own commands, run as `cargo xtask <command>`.
//!
//! It builds in seconds, because it is the first thing to run on a fresh machine: it uses only the standard
//! library, `anyhow` and `serde_json`. It must never be a dependency of the product.
//!
//! Start reading at [`mod@test`], the list of steps of `cargo xtask test`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool speaks through the terminal"
)]

mod bench;
mod certificates;
mod crash;
mod debian;
mod dev_server;
mod fuzz;
mod process;
mod python;
mod repository;
mod sbom;
mod sdk_suites;
mod simulate;
mod test;
mod tidy;
mod tools;

use std::process::ExitCode;

use anyhow::Result;

use crate::repository::Repository;

const HELP: &str = "\
The repository's own commands.

Usage: cargo xtask <command> [options]

Commands:
  test        Run all checks and tests, and install what they need
  tidy        Check rules of the repository that the compiler doesn't check
  bench       Run a benchmark and write its report to docs/benchmarks/
  crash       Kill servers and nodes under load repeatedly, and search for lost work
  fuzz        Fuzz every parser for a limited time
  sbom        List what is in the binary, with licences (CycloneDX)
  simulate    Run seeded simulations with crashes and faults, and audit them
  help        Show this text

`cargo xtask <command> --help` shows the options of a command.
";

/// The command line was wrong: distinct from 1, which means that a check failed.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<ExitCode> {
    let Some((command, rest)) = arguments.split_first() else {
        eprint!("{HELP}");
        return Ok(ExitCode::from(EXIT_USAGE));
    };
    if matches!(command.as_str(), "help" | "--help" | "-h") {
        print!("{HELP}");
        return Ok(ExitCode::SUCCESS);
    }
    let command = match command.as_str() {
        "test" => Command { help: test::HELP, run: test::run },
        "tidy" => Command { help: tidy::HELP, run: tidy::run },
        "bench" => Command { help: bench::HELP, run: bench::run },
        "crash" => Command { help: crash::HELP, run: crash::run },
        "fuzz" => Command { help: fuzz::HELP, run: fuzz::run },
        "sbom" => Command { help: sbom::HELP, run: sbom::run },
        "simulate" => Command { help: simulate::HELP, run: simulate::run },
        unknown => return Ok(usage(&format!("there is no command `{unknown}`"), HELP)),
    };
    if rest.iter().any(|argument| argument == "--help" || argument == "-h") {
        print!("{}", command.help);
        return Ok(ExitCode::SUCCESS);
    }
    (command.run)(&Repository::here()?, rest)
}

struct Command {
    help: &'static str,
    run: fn(&Repository, &[String]) -> Result<ExitCode>,
}

/// Answers a command line that can't be understood: what was wrong, then how it is written.
fn usage(wrong: &str, help: &str) -> ExitCode {
    eprint!("error: {wrong}\n\n{help}");
    ExitCode::from(EXIT_USAGE)
}
