//! `perennial workflow query`, and the two queries that every SDK answers: `stack` and `metadata`.

use std::time::Duration;

use clap::ValueEnum;
use perennial_proto::json::{Payloads as PayloadsAs, from_json, to_json};
use perennial_proto::temporal::common::v1::{Payloads, WorkflowExecution};
use perennial_proto::temporal::enums::v1::QueryRejectCondition;
use perennial_proto::temporal::query::v1::WorkflowQuery;
use perennial_proto::temporal::sdk::v1::{WorkflowInteractionDefinition, WorkflowMetadata};
use perennial_proto::temporal::workflowservice::v1::{QueryWorkflowRequest, QueryWorkflowResponse};
use serde_json::Value;
use tonic::Request;

use super::list::status_name;
use super::outcome::friendly;
use crate::failure::{Exit, ExitError};
use crate::input::{ExecutionArgs, InputArgs, headers, json_pair};
use crate::output::{Card, Output};
use crate::session::Session;

/// Queries that SDKs answer by themselves.
const STACK_TRACE: &str = "__stack_trace";
const METADATA: &str = "__temporal_workflow_metadata";

/// Timeout of a query: the worker may have to replay a long history first.
const QUERY_TIMEOUT: Duration = Duration::from_secs(60);

/// Query a workflow's state, without side effects
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    common: CommonArgs,

    /// Query name
    #[arg(long, alias = "type", alias = "query-type", alias = "qt", value_name = "NAME")]
    name: String,

    #[command(flatten)]
    input: InputArgs,

    /// Header that workflow code sees; repeatable
    #[arg(long, value_name = "KEY=JSON", value_parser = json_pair)]
    headers: Vec<(String, Value)>,
}

/// Show a workflow's stack trace
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  perennial workflow stack order-42\n")]
pub(super) struct StackArgs {
    #[command(flatten)]
    common: CommonArgs,
}

/// Show a workflow's queries, signals and updates
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  perennial workflow metadata order-42\n")]
pub(super) struct MetadataArgs {
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Debug, clap::Args)]
struct CommonArgs {
    #[command(flatten)]
    execution: ExecutionArgs,

    /// Reject the query if the workflow has this status
    #[arg(long, value_name = "STATE", value_enum, ignore_case = true)]
    reject_condition: Option<Reject>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Reject {
    #[value(alias = "not-open")]
    NotOpen,
    #[value(alias = "not-completed-cleanly")]
    NotCompletedCleanly,
}

const EXAMPLES: &str = r#"Examples:
  perennial workflow query order-42 --name status
  perennial workflow query order-42 --name items --input '{"from": 10}' -o json | jq .queryResult
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let query = WorkflowQuery {
        query_type: args.name,
        query_args: args.input.payloads()?,
        header: headers(&args.headers),
    };
    let answer = ask(&args.common, query, session).await?;
    write_answer(&answer, session)
}

pub(super) async fn stack(args: StackArgs, session: &mut Session) -> anyhow::Result<()> {
    let answer = ask(&args.common, named(STACK_TRACE), session).await?;
    write_answer(&answer, session)
}

pub(super) async fn metadata(args: MetadataArgs, session: &mut Session) -> anyhow::Result<()> {
    let answer = ask(&args.common, named(METADATA), session).await?;
    let known = answer.query_result.as_ref().and_then(metadata_of);
    match known {
        Some(known) => session.output.message(&answer, |output| write_metadata(&known, output)),
        // The worker's answer isn't the usual metadata: show it as it is.
        None => write_answer(&answer, session),
    }
}

async fn ask(
    common: &CommonArgs,
    query: WorkflowQuery,
    session: &mut Session,
) -> anyhow::Result<QueryWorkflowResponse> {
    let execution: WorkflowExecution = common.execution.get()?;
    let condition = match common.reject_condition {
        None => QueryRejectCondition::Unspecified,
        Some(Reject::NotOpen) => QueryRejectCondition::NotOpen,
        Some(Reject::NotCompletedCleanly) => QueryRejectCondition::NotCompletedCleanly,
    };
    let mut request = Request::new(QueryWorkflowRequest {
        namespace: session.client.namespace.clone(),
        execution: Some(execution),
        query: Some(query),
        query_reject_condition: condition.into(),
    });
    request.set_timeout(QUERY_TIMEOUT);
    let answer = session.client.workflow().query_workflow(request).await?.into_inner();
    match &answer.query_rejected {
        None => Ok(answer),
        Some(rejected) => Err(ExitError {
            exit: Exit::Conflict,
            message: format!(
                "query was rejected, workflow has status: {}",
                status_name(rejected.status())
            ),
        }
        .into()),
    }
}

fn named(query_type: &str) -> WorkflowQuery {
    WorkflowQuery { query_type: query_type.to_owned(), ..WorkflowQuery::default() }
}

/// Writes the result. A text is shown without quotes and escapes: a stack trace has many lines.
fn write_answer(answer: &QueryWorkflowResponse, session: &mut Session) -> anyhow::Result<()> {
    session.output.message(answer, |output| {
        let result = answer.query_result.clone().unwrap_or_default();
        let text = match friendly(&result, PayloadsAs::Shorthand) {
            Value::String(text) => text,
            other => serde_json::to_string_pretty(&other)?,
        };
        let mut card = Card::default();
        card.heading("Query result:").field("QueryResult", text);
        Ok(output.card(&card)?)
    })
}

fn metadata_of(result: &Payloads) -> Option<WorkflowMetadata> {
    let value = to_json(result.payloads.first()?, PayloadsAs::Shorthand);
    let Value::Object(mut fields) = value else { return None };
    fields.remove("_protoMessageType");
    from_json(&Value::Object(fields), PayloadsAs::Shorthand).ok()
}

fn write_metadata(metadata: &WorkflowMetadata, output: &mut Output) -> anyhow::Result<()> {
    let definition = metadata.definition.clone().unwrap_or_default();
    let mut card = Card::default();
    card.heading("Metadata:").field("Type", definition.r#type);
    let groups: [(&str, Vec<WorkflowInteractionDefinition>); 3] = [
        ("Query Definitions:", definition.query_definitions),
        ("Signal Definitions:", definition.signal_definitions),
        ("Update Definitions:", definition.update_definitions),
    ];
    for (heading, definitions) in groups {
        card.heading(heading);
        for definition in definitions {
            let description = match definition.description.is_empty() {
                true => "-".to_owned(),
                false => definition.description,
            };
            card.field(definition.name, description);
        }
    }
    card.heading("Current Details:").field("", metadata.current_details.clone());
    Ok(output.card(&card)?)
}
