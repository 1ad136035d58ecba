//! `perennial workflow update start`.

use clap::ValueEnum;
use perennial_proto::temporal::enums::v1::UpdateWorkflowExecutionLifecycleStage as Stage;
use serde::Serialize;

use super::send::{SendArgs, failed, returned, send};
use crate::output::Card;
use crate::session::Session;

/// Send an update and wait until it is accepted
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    send: SendArgs,

    /// Stage to wait for
    #[arg(long, value_name = "STAGE", value_enum, ignore_case = true, default_value = "accepted")]
    wait_for_stage: WaitFor,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(in super::super) enum WaitFor {
    Accepted,
}

const EXAMPLES: &str = r#"Examples:
  perennial workflow update start order-42 --name addItem --input '{"sku": 7}' --update-id add-7
  perennial workflow update result order-42 --update-id add-7
"#;

/// JSON output, with the field names of Temporal's command line.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Started {
    name: String,
    update_id: String,
}

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let WaitFor::Accepted = args.wait_for_stage;
    let client = session.client.clone();
    let request = args.send.request(&client, Stage::Accepted)?;
    let (update, outcome) = send(&client, request).await?;
    if let Some(outcome) = &outcome {
        // A rejected update has failed already.
        returned(outcome, session.output.payloads).map_err(failed)?;
    }
    let started = Started { name: args.send.name, update_id: update.update_id };
    session.output.record(&started, |output| {
        let mut card = Card::default();
        card.field("Name", &started.name).field("UpdateId", &started.update_id);
        Ok(output.card(&card)?)
    })
}
