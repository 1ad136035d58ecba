//! `perennial workflow start-update-with-start` and `execute-update-with-start`.

use std::path::PathBuf;

use perennial_proto::temporal::common::v1::WorkflowExecution;
use perennial_proto::temporal::enums::v1::UpdateWorkflowExecutionLifecycleStage as Stage;
use perennial_proto::temporal::errordetails::v1::MultiOperationExecutionFailure;
use perennial_proto::temporal::update::v1::{Input, Outcome, UpdateRef, WaitPolicy};
use perennial_proto::temporal::workflowservice::v1::execute_multi_operation_request::{
    Operation, operation,
};
use perennial_proto::temporal::workflowservice::v1::execute_multi_operation_response::response;
use perennial_proto::temporal::workflowservice::v1::{
    ExecuteMultiOperationRequest, UpdateWorkflowExecutionRequest,
};
use serde::Serialize;
use serde_json::Value;
use tonic::{Code, Status};

use super::start_args::StartArgs;
use super::started::{Started, detail};
use super::update::send::{failed, returned, update, wait};
use crate::client::{Client, long_poll};
use crate::failure::Usage;
use crate::input::{InputArgs, text_pair};
use crate::output::Card;
use crate::session::Session;

/// Send an update, starting the workflow if needed; wait for acceptance
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct StartArguments {
    #[command(flatten)]
    common: CommonArgs,

    /// Stage to wait for
    #[arg(long, value_name = "STAGE", value_parser = ["accepted"], ignore_case = true)]
    #[arg(default_value = "accepted", help_heading = "Update")]
    update_wait_for_stage: String,
}

/// Send an update, starting the workflow if needed; wait for the result
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ExecuteArguments {
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Debug, clap::Args)]
struct CommonArgs {
    #[command(flatten)]
    start: StartArgs,

    /// Run that gets the update, if it is running
    #[arg(long, short, alias = "rid", value_name = "ID", help_heading = "Update")]
    run_id: Option<String>,

    /// Update name
    #[arg(long, alias = "update-type", value_name = "NAME", help_heading = "Update")]
    update_name: String,

    /// Update id, for deduplication [default: a new UUID]
    #[arg(long, value_name = "ID", help_heading = "Update")]
    update_id: Option<String>,

    /// Update input as JSON; repeatable
    #[arg(long, value_name = "JSON", help_heading = "Update", allow_hyphen_values = true)]
    #[arg(conflicts_with = "update_input_file")]
    update_input: Vec<String>,

    /// File with an update input; repeatable
    #[arg(long, value_name = "FILE", help_heading = "Update")]
    update_input_file: Vec<PathBuf>,

    /// Payload metadata of the update inputs; repeat it for each value
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Update", value_parser = text_pair)]
    update_input_meta: Vec<(String, String)>,

    /// Update inputs are base64
    #[arg(long, help_heading = "Update")]
    update_input_base64: bool,

    /// Only if this is the first run of the workflow's chain
    #[arg(long, value_name = "ID", help_heading = "Update")]
    update_first_execution_run_id: Option<String>,
}

const EXAMPLES: &str = r#"Examples:
  perennial workflow execute-update-with-start -w cart-7 --type Cart -t shop \
    --id-conflict-policy UseExisting --update-name add --update-input '{"sku": 7}'
"#;

/// JSON output, with the field names of Temporal's command line.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Updated {
    #[serde(flatten)]
    started: Started,
    update_name: String,
    update_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    update_result: Option<Value>,
}

pub(super) async fn start(args: StartArguments, session: &mut Session) -> anyhow::Result<()> {
    let sent = send(&args.common, Stage::Accepted, session).await?;
    if let Some(outcome) = &sent.outcome {
        returned(outcome, session.output.payloads).map_err(failed)?;
    }
    write(sent, None, session)
}

pub(super) async fn execute(args: ExecuteArguments, session: &mut Session) -> anyhow::Result<()> {
    let sent = send(&args.common, Stage::Completed, session).await?;
    let outcome = match &sent.outcome {
        Some(outcome) => outcome.clone(),
        None => wait(&session.client, sent.update.clone()).await?,
    };
    let result = returned(&outcome, session.output.payloads).map_err(failed)?;
    write(sent, Some(result), session)
}

/// The accepted update.
struct Sent {
    started: Started,
    name: String,
    update: UpdateRef,
    outcome: Option<Outcome>,
}

async fn send(args: &CommonArgs, stage: Stage, session: &mut Session) -> anyhow::Result<Sent> {
    if !args.start.has_id() {
        return Err(Usage::new("missing workflow id: --workflow-id ID").into());
    }
    if !args.start.has_conflict_policy() {
        let message =
            "missing policy for a running workflow: --id-conflict-policy UseExisting or Fail";
        return Err(Usage::new(message).into());
    }
    let client: Client = session.client.clone();
    let start = args.start.request(&client)?;
    let input = InputArgs::new(
        args.update_input.clone(),
        args.update_input_file.clone(),
        args.update_input_meta.clone(),
        args.update_input_base64,
    );
    let input = Input {
        header: start.header.clone(),
        name: args.update_name.clone(),
        args: input.payloads()?,
    };
    let request = update(&client, args.update_id.clone(), input);
    let named = UpdateRef {
        workflow_execution: Some(WorkflowExecution {
            workflow_id: start.workflow_id.clone(),
            run_id: args.run_id.clone().unwrap_or_default(),
        }),
        update_id: request.meta.clone().unwrap_or_default().update_id,
    };
    let update = UpdateWorkflowExecutionRequest {
        namespace: client.namespace.clone(),
        workflow_execution: named.workflow_execution.clone(),
        first_execution_run_id: args.update_first_execution_run_id.clone().unwrap_or_default(),
        wait_policy: Some(WaitPolicy { lifecycle_stage: stage.into() }),
        request: Some(request),
    };
    let both = [
        operation::Operation::StartWorkflow(start.clone()),
        operation::Operation::UpdateWorkflow(update),
    ];
    let request = ExecuteMultiOperationRequest {
        namespace: client.namespace.clone(),
        operations: both.map(|operation| Operation { operation: Some(operation) }).into(),
        ..ExecuteMultiOperationRequest::default()
    };
    let mut sent = Sent {
        started: Started { task_queue: None, ..Started::of(&start, String::new()) },
        name: args.update_name.clone(),
        update: named,
        outcome: None,
    };
    loop {
        let answer = long_poll(request.clone(), async |request| {
            client.workflow().execute_multi_operation(request).await
        })
        .await
        .map_err(|status| cause(&status).unwrap_or(status))?;
        let mut taken = false;
        for answer in answer.responses.into_iter().filter_map(|answer| answer.response) {
            match answer {
                response::Response::StartWorkflow(start) => sent.started.run_id = start.run_id,
                response::Response::UpdateWorkflow(update) => {
                    taken = update.outcome.is_some() || update.stage >= Stage::Accepted.into();
                    sent.update = update.update_ref.unwrap_or(sent.update);
                    sent.outcome = update.outcome;
                }
            }
        }
        if taken {
            return Ok(sent);
        }
    }
}

/// The status of the operation that failed. The server's message doesn't say which one did.
fn cause(status: &Status) -> Option<Status> {
    let failure: MultiOperationExecutionFailure = detail(status)?;
    let mut failures = failure.statuses.into_iter();
    let aborted = i32::from(Code::Aborted);
    let failed = failures.find(|it| it.code != i32::from(Code::Ok) && it.code != aborted)?;
    Some(Status::new(Code::from(failed.code), failed.message))
}

fn write(sent: Sent, result: Option<Value>, session: &mut Session) -> anyhow::Result<()> {
    let updated = Updated {
        started: sent.started,
        update_name: sent.name,
        update_id: sent.update.update_id,
        update_result: result,
    };
    session.output.record(&updated, |output| {
        let mut card = Card::default();
        updated.started.fill(&mut card);
        card.field("UpdateName", &updated.update_name).field("UpdateId", &updated.update_id);
        let result = updated.update_result.as_ref().map(Value::to_string);
        card.field("UpdateResult", result.unwrap_or_default());
        Ok(output.card(&card)?)
    })
}
