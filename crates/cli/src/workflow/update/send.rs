//! Sends an update and waits for its result.

use perennial_proto::json::{Payloads, to_json};
use perennial_proto::temporal::enums::v1::UpdateWorkflowExecutionLifecycleStage as Stage;
use perennial_proto::temporal::failure::v1::Failure;
use perennial_proto::temporal::update::v1::{
    Input, Meta, Outcome, Request, UpdateRef, WaitPolicy, outcome,
};
use perennial_proto::temporal::workflowservice::v1::{
    PollWorkflowExecutionUpdateRequest, PollWorkflowExecutionUpdateResponse,
    UpdateWorkflowExecutionRequest,
};
use serde_json::Value;

use super::super::outcome::friendly;
use crate::client::{Client, long_poll};
use crate::failure::{Exit, ExitError};
use crate::input::{ExecutionArgs, InputArgs, headers, json_pair};

/// The update to send, and its workflow.
#[derive(Debug, clap::Args)]
pub(super) struct SendArgs {
    #[command(flatten)]
    execution: ExecutionArgs,

    /// Update name
    #[arg(long, alias = "type", value_name = "NAME")]
    pub(super) name: String,

    /// Update id, for deduplication [default: a new UUID]
    #[arg(long, value_name = "ID")]
    update_id: Option<String>,

    #[command(flatten)]
    input: InputArgs,

    /// Only if this is the first run of the workflow's chain
    #[arg(long, value_name = "ID")]
    first_execution_run_id: Option<String>,

    /// Header that workflow code sees; repeatable
    #[arg(long, value_name = "KEY=JSON", value_parser = json_pair)]
    headers: Vec<(String, Value)>,
}

impl SendArgs {
    pub(super) fn request(
        &self,
        client: &Client,
        stage: Stage,
    ) -> anyhow::Result<UpdateWorkflowExecutionRequest> {
        let input = Input {
            header: headers(&self.headers),
            name: self.name.clone(),
            args: self.input.payloads()?,
        };
        Ok(UpdateWorkflowExecutionRequest {
            namespace: client.namespace.clone(),
            workflow_execution: Some(self.execution.get()?),
            first_execution_run_id: self.first_execution_run_id.clone().unwrap_or_default(),
            wait_policy: Some(WaitPolicy { lifecycle_stage: stage.into() }),
            request: Some(update(client, self.update_id.clone(), input)),
        })
    }
}

/// An update request. The server executes each update id once, so it is safe to resend.
pub(in super::super) fn update(client: &Client, id: Option<String>, input: Input) -> Request {
    let update_id = id.filter(|id| !id.is_empty()).unwrap_or_else(Client::new_request_id);
    let meta = Meta { update_id, identity: client.identity.clone() };
    Request { meta: Some(meta), input: Some(input), ..Request::default() }
}

/// Sends the update until it has reached the stage, and returns its state.
pub(super) async fn send(
    client: &Client,
    request: UpdateWorkflowExecutionRequest,
) -> anyhow::Result<(UpdateRef, Option<Outcome>)> {
    let meta = request.request.clone().unwrap_or_default().meta.unwrap_or_default();
    let named = UpdateRef {
        workflow_execution: request.workflow_execution.clone(),
        update_id: meta.update_id,
    };
    loop {
        let answer = long_poll(request.clone(), async |request| {
            client.workflow().update_workflow_execution(request).await
        })
        .await?;
        // If the server stops waiting it returns the present stage: then send the same update again.
        if answer.outcome.is_some() || answer.stage >= Stage::Accepted.into() {
            return Ok((answer.update_ref.unwrap_or(named), answer.outcome));
        }
    }
}

/// Waits for the outcome of an update.
pub(in super::super) async fn wait(client: &Client, update: UpdateRef) -> anyhow::Result<Outcome> {
    loop {
        let answer = poll(client, update.clone(), Stage::Completed).await?;
        if let Some(outcome) = answer.outcome {
            return Ok(outcome);
        }
    }
}

pub(super) async fn poll(
    client: &Client,
    update: UpdateRef,
    stage: Stage,
) -> anyhow::Result<PollWorkflowExecutionUpdateResponse> {
    let wait_policy = match stage {
        Stage::Unspecified => None,
        stage => Some(WaitPolicy { lifecycle_stage: stage.into() }),
    };
    let request = PollWorkflowExecutionUpdateRequest {
        namespace: client.namespace.clone(),
        update_ref: Some(update),
        identity: client.identity.clone(),
        wait_policy,
    };
    Ok(long_poll(request, async |request| {
        client.workflow().poll_workflow_execution_update(request).await
    })
    .await?)
}

/// The result of an update, or its failure.
pub(in super::super) fn returned(outcome: &Outcome, payloads: Payloads) -> Result<Value, &Failure> {
    match &outcome.value {
        Some(outcome::Value::Success(values)) if values.payloads.is_empty() => Ok(Value::Null),
        Some(outcome::Value::Success(values)) => Ok(friendly(values, payloads)),
        Some(outcome::Value::Failure(failure)) => Err(failure),
        None => Ok(Value::Null),
    }
}

/// The command's error for a failed update.
pub(in super::super) fn failed(failure: &Failure) -> anyhow::Error {
    let message = format!("unable to update workflow: {}", failure.message);
    ExitError { exit: Exit::Failed, message }.into()
}

/// A failure in the output: the whole message in JSON, its text for people.
pub(super) fn failure_value(failure: &Failure, payloads: Payloads) -> Value {
    to_json(failure, payloads)
}
