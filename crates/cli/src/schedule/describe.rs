//! `perennial schedule describe`.

use perennial_proto::json::{Payloads, to_json};
use serde_json::Value;

use super::describe_text;
use super::fetch::{self, Described};
use super::id_args::ScheduleIdArgs;
use crate::session::Session;

/// Show a schedule: its settings, recent runs and next times
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    id: ScheduleIdArgs,
}

const EXAMPLES: &str = r#"Examples:
  perennial schedule describe payroll
  perennial schedule describe payroll --output json | jq -r '.info.futureActionTimes[0]'
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let described = fetch::describe(&session.client, &args.id.get()?).await?;
    let record = record(&described, session.output.payloads);
    session.output.record(&record, |output| describe_text::write(&described, output))
}

/// JSON in the format of Temporal's command line, with Perennial's additional fields.
fn record(described: &Described, payloads: Payloads) -> Value {
    let mut record = to_json(&described.schedule, payloads);
    let ours = described.ours.as_ref().map(|ours| to_json(ours, payloads));
    if let (Value::Object(record), Some(Value::Object(ours))) = (&mut record, ours) {
        record.extend(ours);
    }
    record
}
