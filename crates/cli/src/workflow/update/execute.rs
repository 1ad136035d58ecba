//! `perennial workflow update execute`.

use perennial_proto::temporal::enums::v1::UpdateWorkflowExecutionLifecycleStage as Stage;
use serde::Serialize;
use serde_json::Value;

use super::send::{SendArgs, failed, returned, send, wait};
use crate::output::Card;
use crate::session::Session;

/// Send an update and wait for its result
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    send: SendArgs,
}

const EXAMPLES: &str = r#"Examples:
  perennial workflow update execute order-42 --name addItem --input '{"sku": 7}'
"#;

/// JSON output, with the field names of Temporal's command line.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Updated {
    name: String,
    update_id: String,
    result: Value,
}

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let client = session.client.clone();
    let request = args.send.request(&client, Stage::Completed)?;
    let (update, outcome) = send(&client, request).await?;
    let outcome = match outcome {
        Some(outcome) => outcome,
        None => wait(&client, update.clone()).await?,
    };
    let result = returned(&outcome, session.output.payloads).map_err(failed)?;
    let updated = Updated { name: args.send.name, update_id: update.update_id, result };
    session.output.record(&updated, |output| {
        let mut card = Card::default();
        card.field("Name", &updated.name)
            .field("UpdateId", &updated.update_id)
            .field("Result", updated.result.to_string());
        Ok(output.card(&card)?)
    })
}
