//! `perennial server`: the server itself.

mod access_args;
mod dynamic_config;
mod http_callers;
mod launch;
mod limits_file;
mod metrics_port;
mod node_args;
mod pair;
mod settings;
mod shutdown;
mod size;
mod start_dev;
mod tls_args;
mod trace_args;

use std::io::Write;

use clap::Subcommand;

/// Run a server
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, after_help = AFTER_HELP)]
// The long help would repeat every global flag of the client commands, over several screens.
#[command(disable_help_flag = true)]
#[group(id = "server-settings")]
pub(crate) struct Args {
    /// Print help
    #[arg(long, short, global = true, action = clap::ArgAction::HelpShort)]
    help: Option<bool>,

    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    settings: settings::Settings,
}

#[derive(Debug, Subcommand)]
enum Command {
    StartDev(Box<start_dev::Args>),
}

const AFTER_HELP: &str = r#"Settings:
  Flags override environment variables (PERENNIAL_DB for --db), and those override the file
  given by --config (db = "perennial.db").

Examples:
  perennial server start-dev                 for development, in memory
  perennial server --db perennial.db         stores its state in a file
  perennial server --config perennial.toml   reads its settings from a file
  perennial server --tls-cert server.pem --tls-key server.key --tls-client-ca clients.pem
                                             serves clients with a certificate only (mTLS)
"#;

/// Completes when the process is told to stop. Listens from this call on.
pub(crate) fn shutdown_signal() -> std::io::Result<impl Future<Output = ()>> {
    shutdown::listen()
}

/// Runs a server until a shutdown signal.
pub(crate) fn run(args: Args, out: &mut impl Write) -> anyhow::Result<()> {
    let plan = match args.command {
        Some(Command::StartDev(args)) => args.plan()?,
        None => args.settings.plan()?,
    };
    launch::launch(plan, out)
}
