//! `cargo xtask fuzz`: attacks every parser with random input, for a bounded time.

use std::env;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::repository::Repository;
use crate::{process, tools, usage};

pub(crate) const HELP: &str = "\
Fuzz every parser for a limited time, and keep new inputs.

Usage: cargo xtask fuzz [--seconds N] [target]

  --seconds N    Time for each target (default: 60)
  target         Only this target, by its name in `fuzz/`

Needs the nightly toolchain and cargo-fuzz; installs them if missing. New inputs are minimised
into fuzz/corpus/<target>; commit them, and `cargo xtask test` replays them on the stable toolchain.
An input that breaks a target is saved under fuzz/artifacts/.
";

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> Result<ExitCode> {
    let request = match Request::parse(arguments) {
        Ok(request) => request,
        Err(wrong) => return Ok(usage(&wrong, HELP)),
    };
    ensure_nightly()?;
    tools::CARGO_FUZZ.ensure(repository)?;

    let listed = process::output(&mut cargo_fuzz(repository, "list", &[])?)?;
    let mut targets: Vec<&str> = listed.split_whitespace().collect();
    if let Some(only) = &request.target {
        if !targets.contains(&only.as_str()) {
            bail!("there is no fuzz target `{only}`; there are: {}", targets.join(", "));
        }
        targets = vec![only];
    }
    for target in targets {
        println!("fuzzing {target} for {} s", request.seconds);
        let limit = format!("-max_total_time={}", request.seconds);
        // An input that takes this long hangs the parser for whoever sends it.
        let run = [target, "--", "-timeout=5", &limit];
        process::run(&mut cargo_fuzz(repository, "run", &run)?)?;
        // One input for each new branch, not for each number of times one was taken: enough to
        // replay, and few enough to keep.
        let keep = [target, "--", "-set_cover_merge=1", "-use_counters=0", "-use_cmp=0"];
        process::run(&mut cargo_fuzz(repository, "cmin", &keep)?)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The parsed command line.
#[derive(Debug, PartialEq)]
struct Request {
    /// For each target.
    seconds: u32,
    /// All of them when `None`.
    target: Option<String>,
}

impl Request {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut request = Self { seconds: 60, target: None };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            if argument == "--seconds" {
                let seconds = arguments.next().ok_or("`--seconds` needs a number")?;
                request.seconds = seconds.parse().ok().filter(|&seconds| seconds > 0).ok_or(
                    format!("`--seconds {seconds}` is not a positive whole number of seconds"),
                )?;
            } else if argument.starts_with('-') {
                return Err(format!("`fuzz` has no option `{argument}`"));
            } else if let Some(target) = request.target.replace(argument.clone()) {
                return Err(format!(
                    "`fuzz` takes one target, but got `{target}` and `{argument}`"
                ));
            }
        }
        Ok(request)
    }
}

/// libFuzzer's instrumentation is reachable from the nightly compiler only.
fn ensure_nightly() -> Result<()> {
    let mut rustc = Command::new("rustup");
    if process::probe(rustc.args(["run", "nightly", "rustc", "--version"])).is_some() {
        return Ok(());
    }
    println!("installing the nightly toolchain (once)");
    let mut install = Command::new("rustup");
    process::run(install.args(["toolchain", "install", "nightly", "--profile", "minimal"]))
        .context("fuzzing needs a nightly toolchain; install one with rustup and try again")
}

fn cargo_fuzz(repository: &Repository, action: &str, arguments: &[&str]) -> Result<Command> {
    let tools = repository.tools().join("bin");
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(std::iter::once(tools).chain(env::split_paths(&path)))
        .context("the PATH can't be extended by the folder of the installed tools")?;
    let mut command = Command::new("rustup");
    command
        .args(["run", "nightly", "cargo", "fuzz", action, "--fuzz-dir", "fuzz"])
        .current_dir(&repository.root)
        .env("PATH", path)
        .env("CARGO_TARGET_DIR", repository.target.join("fuzz"))
        // Cargo told us about the stable toolchain that runs us; here it would win over nightly.
        .env_remove("CARGO")
        .env_remove("RUSTC");
    if action != "list" {
        // Unsafe code is forbidden in our crates: the address sanitizer would only halve the speed.
        command.args(["--sanitizer", "none", "--features", "libfuzzer"]);
    }
    command.args(arguments);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Request, String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Request::parse(&arguments)
    }

    #[test]
    fn every_target_gets_a_minute_unless_told_otherwise() {
        assert_eq!(parse(""), Ok(Request { seconds: 60, target: None }));
        assert_eq!(
            parse("--seconds 5 cron"),
            Ok(Request { seconds: 5, target: Some("cron".to_owned()) })
        );
    }

    #[test]
    fn a_wrong_command_line_says_what_is_wrong() {
        for (line, wrong) in [
            ("--seconds", "`--seconds` needs a number"),
            ("--seconds 0", "`--seconds 0` is not a positive whole number of seconds"),
            ("--fast", "`fuzz` has no option `--fast`"),
            ("cron rrule", "`fuzz` takes one target, but got `cron` and `rrule`"),
        ] {
            assert_eq!(parse(line), Err(wrong.to_owned()));
        }
    }
}
