//! The `perennial` command.
//!
//! The command turns arguments into RPCs and responses into text: tables for people, JSON for
//! programs. For the calendar, it reads the clock, the environment and the system's time zone database
//! and passes them in. It must never compute when a schedule fires (the `calendar` crate does), never
//! hold a response of unbounded length in memory, and never print anything but the response on
//! standard output.
//!
//! Start reading at [`calendar::run`], a command without a server, or at [`session::run`], which connects
//! to one. [`help`] keeps the help of command groups to one screen.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command talks through its standard streams"
)]

mod activity;
mod arguments;
mod batch;
mod calendar;
mod client;
mod cluster;
mod completion;
mod config;
mod confirm;
mod database;
mod demo;
mod doctor;
mod env;
mod failure;
mod help;
mod input;
mod logging;
mod operator;
mod output;
mod schedule;
mod server;
mod session;
mod system_zones;
mod task_queue;
mod terminal;
mod unsupported;
mod user;
mod workflow;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use session::GlobalArgs;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Durable workflows and schedules, compatible with Temporal's API
#[derive(Debug, Parser)]
#[command(name = "perennial", version, arg_required_else_help = true, after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,

    #[command(flatten)]
    global: GlobalArgs,
}

const AFTER_HELP: &str = r#"Examples:
  perennial demo
  perennial server start-dev --db-filename perennial.db
  perennial schedule create nightly --cron '0 2 * * *' --type Report --task-queue main
  perennial workflow list --query 'ExecutionStatus = "Running"'

Exit codes: 0 success, 1 failure, 2 invalid argument, 3 not found, 4 conflict,
  5 server unreachable, 6 timeout, 7 permission denied
"#;

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Args),
    Server(Box<server::Args>),
    #[command(visible_alias = "wf")]
    Workflow(Box<workflow::Args>),
    Schedule(Box<schedule::Args>),
    Calendar(Box<calendar::Args>),
    Activity(Box<activity::Args>),
    Batch(Box<batch::Args>),
    #[command(visible_alias = "tq", alias = "taskqueue")]
    TaskQueue(Box<task_queue::Args>),
    Operator(Box<operator::Args>),
    #[command(hide = true)]
    Namespace(Box<operator::NamespaceArgs>),
    Doctor(Box<doctor::Args>),
    Database(database::Args),
    Cluster(Box<cluster::Args>),
    Config(config::Args),
    Env(env::Args),
    Completion(completion::Args),
}

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let presets = match arguments::presets(&arguments) {
        Ok(presets) => presets,
        Err(error) => return failure::report(&error),
    };
    let cli = match read(arguments, &presets) {
        Ok(cli) => cli,
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // A command without arguments is a request for help, not a mistake.
            return finish(write!(io::stdout(), "{}", error.render()).map_err(Into::into));
        }
        Err(error) => error.exit(),
    };
    let global = &cli.global;
    finish(match cli.command {
        Command::Schedule(args) => schedule::run(*args, global),
        Command::Calendar(args) => with_stdout(|out| calendar::run(*args, global, out)),
        Command::Workflow(args) => workflow::run(*args, global),
        Command::Activity(args) => activity::run(*args, global),
        Command::Batch(args) => batch::run(*args, global),
        Command::TaskQueue(args) => task_queue::run(*args, global),
        Command::Server(args) => with_stdout(|out| server::run(*args, out)),
        Command::Operator(args) => operator::run(*args, global),
        Command::Namespace(args) => operator::run_namespace(*args, global),
        Command::Demo(args) => demo::run(args, global),
        Command::Doctor(args) => doctor::run(*args, global),
        Command::Database(args) => database::run(args, global),
        Command::Cluster(args) => cluster::run(*args, global),
        Command::Config(args) => config::run(args, global),
        Command::Env(args) => env::run(args, global),
        Command::Completion(args) => with_stdout(|out| completion::run(&args, Cli::command(), out)),
    })
}

fn read(arguments: Vec<OsString>, presets: &BTreeMap<String, String>) -> Result<Cli, clap::Error> {
    let command = arguments::with_presets(Cli::command(), presets);
    let mut command = help::shorten_groups(command);
    let arguments = arguments::split_group(arguments::dash_flags(arguments), &command);
    let mut matches = command.try_get_matches_from_mut(arguments)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

fn with_stdout(
    run: impl FnOnce(&mut BufWriter<io::StdoutLock<'static>>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    run(&mut out)?;
    Ok(out.flush()?)
}

fn finish(done: anyhow::Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::report(&error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_do_not_contradict_each_other() {
        Cli::command().debug_assert();
    }
}
