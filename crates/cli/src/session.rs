//! Runs a command that talks to a server: connects, calls it, writes its output.

use std::time::Duration;

use perennial_proto::json::Payloads;

use crate::client::{Client, ConfigArgs, ConnectionArgs, Environment, Settings};
use crate::failure::{Exit, ExitError};
use crate::logging::{self, LogFormat, LogLevel};
use crate::output::{Format, Output, TimeFormat, Times};
use crate::terminal::{Color, Look};

/// Flags that every command has. They may also precede the command.
#[derive(Debug, Default, Clone, clap::Args)]
#[group(id = "global-args")]
pub(crate) struct GlobalArgs {
    /// When to colour the output
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t)]
    #[arg(help_heading = "Output")]
    pub(crate) color: Color,

    /// Output format
    #[arg(long, short, global = true, value_enum, value_name = "FORMAT", default_value_t)]
    #[arg(help_heading = "Output")]
    pub(crate) output: Format,

    /// Time format in tables
    #[arg(long, global = true, value_enum, value_name = "FORMAT", default_value_t)]
    #[arg(help_heading = "Output", hide_short_help = true)]
    pub(crate) time_format: TimeFormat,

    /// Show payloads in JSON as stored, with metadata and base64 data
    #[arg(long, global = true, help_heading = "Output", hide_short_help = true)]
    pub(crate) no_json_shorthand_payloads: bool,

    /// Log level; the log goes to standard error [default: never]
    #[arg(long, global = true, value_enum, value_name = "LEVEL", help_heading = "Log")]
    #[arg(hide_short_help = true)]
    pub(crate) log_level: Option<LogLevel>,

    /// Log format [default: text]
    #[arg(long, global = true, value_enum, value_name = "FORMAT", help_heading = "Log")]
    #[arg(hide_short_help = true)]
    pub(crate) log_format: Option<LogFormat>,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

impl GlobalArgs {
    /// The output that these flags describe, on standard output.
    pub(crate) fn output(&self) -> Output {
        let look = Look::of_stdout(self.color);
        let times = Times::here(self.time_format);
        let payloads = match self.no_json_shorthand_payloads {
            true => Payloads::Full,
            false => Payloads::Shorthand,
        };
        Output::to_stdout(self.output, look, times, payloads)
    }
}

/// The context of a command: a connection to a server, and the output.
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) output: Output,
}

/// Connects, runs the command and flushes its output.
pub(crate) fn run(
    global: &GlobalArgs,
    connection: ConnectionArgs,
    command: impl AsyncFnOnce(&mut Session) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    if let Some(level) = global.log_level {
        logging::start(level, global.log_format.unwrap_or_default())?;
    }
    let settings = Settings::resolve(connection, &global.config, &Environment::of_process())?;
    let mut output = global.output();
    let connect_timeout = global.config.client_connect_timeout;
    block_on(global.config.command_timeout, async {
        let client = Client::connect(settings, connect_timeout).await?;
        let mut session = Session { client, output };
        let done = command(&mut session).await;
        output = session.output;
        // A command that fails half-way has written part of its output: show that part too.
        output.flush()?;
        done
    })
}

/// Runs `work` to its end, or until `--command-timeout` has passed.
pub(crate) fn block_on(
    timeout: Option<Duration>,
    work: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<()> {
    let threads = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    threads.block_on(async {
        let Some(timeout) = timeout.filter(|timeout| !timeout.is_zero()) else {
            return work.await;
        };
        match tokio::time::timeout(timeout, work).await {
            Ok(done) => done,
            Err(_) => Err(ExitError {
                exit: Exit::TimedOut,
                message: format!(
                    "timed out after {timeout:?} (--command-timeout); the server may still complete the request"
                ),
            }
            .into()),
        }
    })
}
