//! `perennial workflow count`.

use perennial_proto::json::{Payloads, to_json};
use perennial_proto::temporal::workflowservice::v1::CountWorkflowExecutionsRequest;
use perennial_proto::temporal::workflowservice::v1::count_workflow_executions_response::AggregationGroup;
use serde_json::Value;

use crate::output::{Column, Row, thousands};
use crate::session::Session;

/// Count workflows
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Only workflows that match this list filter; may have a GROUP BY
    #[arg(long, short, value_name = "FILTER", default_value = "")]
    query: String,
}

const EXAMPLES: &str = r#"Examples:
  perennial workflow count
  perennial workflow count --query 'WorkflowType = "Order" GROUP BY ExecutionStatus'
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let request = CountWorkflowExecutionsRequest {
        namespace: session.client.namespace.clone(),
        query: args.query,
    };
    let answer = session.client.workflow().count_workflow_executions(request).await?;
    let mut answer = answer.into_inner();
    for payload in answer.groups.iter_mut().flat_map(|group| &mut group.group_values) {
        // The payload's metadata also has the type of the search attribute: show only the value.
        payload.metadata.remove("type");
    }
    session.output.message(&answer, |output| {
        output.line(format!("Total: {}", number(answer.count)))?;
        if answer.groups.is_empty() {
            return Ok(());
        }
        let columns = ["Count", "Values"].map(Column::new).to_vec();
        let rows =
            answer.groups.iter().map(|group| Row::from([number(group.count), values(group)]));
        Ok(output.table(columns, rows)?)
    })
}

fn values(group: &AggregationGroup) -> String {
    let texts = group.group_values.iter().map(|value| match to_json(value, Payloads::Shorthand) {
        Value::String(text) => text,
        other => other.to_string(),
    });
    texts.collect::<Vec<_>>().join(", ")
}

fn number(count: i64) -> String {
    u64::try_from(count).map(thousands).unwrap_or_else(|_| count.to_string())
}
