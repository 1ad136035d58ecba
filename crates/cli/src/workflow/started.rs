//! Starts a workflow and shows the new run.

use perennial_proto::Any;
use perennial_proto::temporal::errordetails::v1::WorkflowExecutionAlreadyStartedFailure;
use perennial_proto::temporal::workflowservice::v1::StartWorkflowExecutionRequest;
use prost::{Message, Name};
use serde::Serialize;
use tonic::{Code, Status};

use crate::client::Client;
use crate::output::{Card, Output};

/// A started workflow; its JSON has the field names of Temporal's command line.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Started {
    pub(super) workflow_id: String,
    pub(super) run_id: String,
    #[serde(rename = "type")]
    pub(super) workflow_type: String,
    pub(super) namespace: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) task_queue: Option<String>,
}

impl Started {
    pub(super) fn of(request: &StartWorkflowExecutionRequest, run_id: String) -> Self {
        Started {
            workflow_id: request.workflow_id.clone(),
            run_id,
            workflow_type: request.workflow_type.clone().unwrap_or_default().name,
            namespace: request.namespace.clone(),
            task_queue: request.task_queue.clone().map(|queue| queue.name),
        }
    }

    pub(super) fn write(&self, output: &mut Output) -> anyhow::Result<()> {
        let mut card = Card::default();
        self.fill(&mut card);
        Ok(output.card(&card)?)
    }

    pub(super) fn fill(&self, card: &mut Card) {
        card.heading("Running execution:")
            .field("WorkflowId", &self.workflow_id)
            .field("RunId", &self.run_id)
            .field("Type", &self.workflow_type)
            .field("Namespace", &self.namespace)
            .field("TaskQueue", self.task_queue.clone().unwrap_or_default());
    }
}

/// Starts the workflow. If the id is taken, returns the run that has it, perhaps a closed one, with the type and task
/// queue of the request, unless `--fail-existing` is given.
pub(super) async fn start(
    client: &Client,
    request: &StartWorkflowExecutionRequest,
    fail_existing: bool,
) -> anyhow::Result<Started> {
    match client.workflow().start_workflow_execution(request.clone()).await {
        Ok(response) => Ok(Started::of(request, response.into_inner().run_id)),
        Err(status) => match already_started(&status).filter(|_| !fail_existing) {
            Some(run_id) => Ok(Started::of(request, run_id)),
            None => Err(status.into()),
        },
    }
}

/// The run that has the id; it may be closed.
fn already_started(status: &Status) -> Option<String> {
    if status.code() != Code::AlreadyExists {
        return None;
    }
    let failure: WorkflowExecutionAlreadyStartedFailure = detail(status)?;
    Some(failure.run_id).filter(|id| !id.is_empty())
}

/// The error detail of this type, if the status has one.
pub(super) fn detail<M: Message + Name + Default>(status: &Status) -> Option<M> {
    let details = RpcStatus::decode(status.details()).ok()?.details;
    let found = details.into_iter().find(|detail| detail.type_url.ends_with(&M::full_name()))?;
    M::decode(found.value.as_slice()).ok()
}

/// `google.rpc.Status`: what `grpc-status-details-bin` holds.
#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}
