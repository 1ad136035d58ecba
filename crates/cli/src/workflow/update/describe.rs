//! `perennial workflow update describe`.

use perennial_proto::temporal::enums::v1::UpdateWorkflowExecutionLifecycleStage as Stage;
use serde::Serialize;
use serde_json::Value;

use super::UpdateRefArgs;
use super::send::{failure_value, poll, returned};
use crate::output::{Card, short_name};
use crate::session::Session;

/// Show the stage of an update
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    update: UpdateRefArgs,
}

const EXAMPLES: &str = r#"Examples:
  perennial workflow update describe order-42 --update-id add-7
"#;

/// JSON output, with the field names of Temporal's command line.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Described {
    update_id: String,
    #[serde(skip_serializing_if = "Value::is_null")]
    result: Value,
    #[serde(skip_serializing_if = "Value::is_null")]
    failure: Value,
    stage: String,
}

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let client = session.client.clone();
    let answer = poll(&client, args.update.get()?, Stage::Unspecified).await?;
    let stage = answer.stage().as_str_name();
    let stage = short_name(stage, "UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_");
    let outcome = answer.outcome.unwrap_or_default();
    let payloads = session.output.payloads;
    let (result, failure, message) = match returned(&outcome, payloads) {
        Ok(result) => (result, Value::Null, String::new()),
        Err(failure) => (Value::Null, failure_value(failure, payloads), failure.message.clone()),
    };
    let described = Described { update_id: args.update.update_id, result, failure, stage };
    session.output.record(&described, |output| {
        let mut card = Card::default();
        card.field("UpdateId", &described.update_id).field("Stage", &described.stage);
        if !described.result.is_null() {
            card.field("Result", described.result.to_string());
        }
        card.field("Failure", message);
        Ok(output.card(&card)?)
    })
}
