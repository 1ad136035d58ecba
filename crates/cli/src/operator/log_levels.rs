//! `perennial operator log-levels`.

use perennial_proto::perennial::SetLogLevelsRequest;

use crate::session::Session;

/// Set what the server logs, until it stops
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// A level (never, error, warn, info, debug or trace), and levels of parts of the server
    #[arg(value_name = "LEVELS")]
    levels: String,
}

const EXAMPLES: &str = r#"Examples:
  perennial operator log-levels debug
  perennial operator log-levels info,perennial_server=debug
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let request = SetLogLevelsRequest { levels: args.levels.clone() };
    session.client.admin().set_log_levels(request).await?;
    session.output.success(format!("The server logs {} from now on", args.levels))
}
