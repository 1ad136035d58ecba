//! `perennial workflow result`.

use super::describe::describe;
use super::history::close_event;
use super::outcome::{Ended, Outcome};
use crate::input::ExecutionArgs;
use crate::session::Session;

/// Wait for a workflow's result
///
/// Follows a workflow that continues as new or is retried. Fails if the workflow doesn't complete.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    execution: ExecutionArgs,
}

const EXAMPLES: &str = r#"Examples:
  perennial workflow result order-42
  perennial workflow result order-42 -o json | jq .result
  perennial workflow result order-42 --command-timeout 10s
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    // Fix the run now: a new run may start under this id while we wait.
    let described = describe(&session.client, args.execution.get()?).await?;
    let info = described.workflow_execution_info.unwrap_or_default();
    let execution = info.execution.unwrap_or_default();
    let event = close_event(&session.client, execution.clone()).await?;
    let Some(outcome) = Outcome::of(&event) else { return Ok(()) };
    let payloads = session.output.payloads;
    let ended = Ended {
        workflow_id: execution.workflow_id,
        run_id: execution.run_id,
        workflow_type: String::new(),
        namespace: session.client.namespace.clone(),
        task_queue: String::new(),
        duration_millis: 0,
        status: outcome.status,
        close_event: outcome.close_event(payloads),
        result: outcome.result(payloads),
        history: None,
    };
    session.output.record(&ended, |output| outcome.write(output, String::new()))?;
    outcome.check()
}
