//! `perennial workflow update result`.

use serde::Serialize;
use serde_json::Value;

use super::UpdateRefArgs;
use super::send::{failed, failure_value, returned, wait};
use crate::output::Card;
use crate::session::Session;

/// Wait for an update's result
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    update: UpdateRefArgs,
}

const EXAMPLES: &str = r#"Examples:
  perennial workflow update result order-42 --update-id add-7
"#;

/// JSON output, with the field names of Temporal's command line.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Ended {
    update_id: String,
    #[serde(skip_serializing_if = "Value::is_null")]
    result: Value,
    #[serde(skip_serializing_if = "Value::is_null")]
    failure: Value,
}

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let client = session.client.clone();
    let outcome = wait(&client, args.update.get()?).await?;
    let payloads = session.output.payloads;
    let returned = returned(&outcome, payloads);
    let (result, failure) = match &returned {
        Ok(result) => (result.clone(), Value::Null),
        Err(failure) => (Value::Null, failure_value(failure, payloads)),
    };
    let ended = Ended { update_id: args.update.update_id, result, failure };
    session.output.record(&ended, |output| {
        let mut card = Card::default();
        card.field("UpdateId", &ended.update_id);
        match &returned {
            Ok(result) => card.field("Result", result.to_string()),
            Err(failure) => card.field("Failure", &failure.message),
        };
        Ok(output.card(&card)?)
    })?;
    returned.map(|_| ()).map_err(failed)
}
