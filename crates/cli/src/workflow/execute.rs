//! `perennial workflow execute`.

use std::time::Instant;

use perennial_proto::json::{Payloads, to_json};
use perennial_proto::temporal::common::v1::WorkflowExecution;
use perennial_proto::temporal::history::v1::History;

use super::history::{Events, ReadMode, close_event};
use super::outcome::{Ended, Outcome, run_time};
use super::show;
use super::start_args::StartArgs;
use super::started::start;
use crate::client::Client;
use crate::output::Format;
use crate::session::Session;

/// Start a workflow and wait for its result
///
/// Shows its history as it grows. Fails if the workflow doesn't complete.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    start: StartArgs,

    /// Show all details of each event; with JSON output, include the history
    #[arg(long)]
    detailed: bool,
}

const EXAMPLES: &str = r#"Examples:
  perennial workflow execute --type Greet --task-queue main --input '"Ada"'
  perennial workflow execute -w order-42 --type Order -t orders -o json | jq .result
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let request = args.start.request(&session.client)?;
    let began = Instant::now();
    let started = start(&session.client, &request, args.start.fail_existing()).await?;
    let execution = WorkflowExecution {
        workflow_id: started.workflow_id.clone(),
        run_id: started.run_id.clone(),
    };
    let client = session.client.clone();
    if session.output.format == Format::Table {
        started.write(&mut session.output)?;
        session.output.line("")?;
        let events = Events::of(&client, execution.clone(), ReadMode::Following);
        show::write(events, args.detailed, &mut session.output).await?;
        session.output.line("")?;
    }
    let event = close_event(&client, execution.clone()).await?;
    let Some(outcome) = Outcome::of(&event) else { return Ok(()) };
    let took = began.elapsed();
    let payloads = session.output.payloads;
    let history = match args.detailed && session.output.format != Format::Table {
        true => Some(to_json(&history(&client, execution).await?, Payloads::Full)),
        false => None,
    };
    let ended = Ended {
        workflow_id: started.workflow_id,
        run_id: started.run_id,
        workflow_type: started.workflow_type,
        namespace: started.namespace,
        task_queue: started.task_queue.unwrap_or_default(),
        duration_millis: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        status: outcome.status,
        close_event: outcome.close_event(payloads),
        result: outcome.result(payloads),
        history,
    };
    session
        .output
        .record(&ended, |output| outcome.write(output, run_time(ended.duration_millis)))?;
    outcome.check()
}

async fn history(client: &Client, execution: WorkflowExecution) -> anyhow::Result<History> {
    let mut events = Events::of(client, execution, ReadMode::Forwards);
    let mut history = History::default();
    while let Some(event) = events.next().await? {
        history.events.push(event);
    }
    Ok(history)
}
