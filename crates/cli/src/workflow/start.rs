//! `perennial workflow start`.

use super::start_args::StartArgs;
use super::started::start;
use crate::session::Session;

/// Start a workflow without waiting for it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    start: StartArgs,
}

const EXAMPLES: &str = r#"Examples:
  perennial workflow start --type Greet --task-queue main --input '"Ada"'
  perennial workflow start -w order-42 --type Order -t orders --input-file order.json
  perennial workflow start --type Report -t main --search-attribute 'Customer="Ada"' -o json
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let request = args.start.request(&session.client)?;
    let started = start(&session.client, &request, args.start.fail_existing()).await?;
    session.output.record(&started, |output| started.write(output))
}
