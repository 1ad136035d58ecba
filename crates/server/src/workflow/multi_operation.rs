//! Update-with-start: a start and an update that succeed or fail together.

use perennial_engine::run::StartRun;
use perennial_engine::{NamespaceKey, Span};
use perennial_proto::store::{NamespaceRecord, RunName};
use perennial_proto::temporal::enums::v1::UpdateWorkflowExecutionLifecycleStage as Stage;
use perennial_proto::temporal::update::v1::Request;
use perennial_proto::temporal::workflowservice::v1::execute_multi_operation_request::operation::Operation as Asked;
use perennial_proto::temporal::workflowservice::v1::execute_multi_operation_response::{
    Response, response::Response as Answered,
};
use perennial_proto::temporal::workflowservice::v1::{
    ExecuteMultiOperationRequest, ExecuteMultiOperationResponse, StartWorkflowExecutionRequest,
    UpdateWorkflowExecutionRequest, UpdateWorkflowExecutionResponse,
};
use perennial_runtime::{Refusal, Started, UpdateStatus};
use perennial_telemetry::LongPoll;
use tonic::Status;

use super::update::{update_link, update_response};
use crate::call::Call;
use crate::errors::{Operation, RpcResult, multi_operation_failed, refused};
use crate::validate::invalid;

impl Call<'_> {
    pub(crate) async fn execute_multi_operation(
        &self,
        request: ExecuteMultiOperationRequest,
    ) -> RpcResult<ExecuteMultiOperationResponse> {
        let namespace = self.namespace(&request.namespace)?;
        let (start, update) = start_and_update(request)?;
        let workflow_id = start.workflow_id.clone();
        let updated_id = update.workflow_execution.clone().unwrap_or_default().workflow_id;

        let start = self.start_operation(start, &namespace);
        let update = self.update_operation(update, &namespace);
        let (start, (update, stage)) = match (start, update) {
            (Ok(start), Ok(update)) => (start, update),
            (start, update) => return Err(multi_operation_failed([of(start), of(update)])),
        };
        if workflow_id != updated_id {
            let inconsistent = Status::invalid_argument(
                "WorkflowId is not consistent with previous operation(s).",
            );
            return Err(multi_operation_failed([
                Operation::Aborted,
                Operation::Failed(inconsistent),
            ]));
        }

        let namespace_key = NamespaceKey(namespace.key);
        let ids = (start.request_id.clone(), update_id(&update));
        let target = RunName {
            namespace: namespace.key,
            workflow_id: workflow_id.clone(),
            ..RunName::default()
        };
        let request_id = update.request_id.clone();
        let both =
            self.runtime().start_with_update(namespace_key, workflow_id, start, update, stage);
        let both =
            match self.wait(LongPoll::Update, self.shared().config.long_poll_time, both).await? {
                Some(both) => both,
                // The client polls the update from now on.
                None => self.current_state(target, ids).await,
            };
        let (started, updated) = match both {
            Ok(both) => both,
            Err(refusal) => {
                let start = Operation::Failed(refused(refusal));
                return Err(multi_operation_failed([start, Operation::Aborted]));
            }
        };
        let updated = match updated {
            Ok(status) => {
                let link = update_link(&status, &namespace.name, request_id);
                UpdateWorkflowExecutionResponse { link, ..update_response(status) }
            }
            Err(refusal) => {
                let start = if started.is_new { Operation::Done } else { Operation::Aborted };
                let update = Operation::Failed(refused(refusal));
                return Err(multi_operation_failed([start, update]));
            }
        };
        let started = self.start_response(started, &namespace.name).await?;
        let response = |response| Response { response: Some(response) };
        Ok(ExecuteMultiOperationResponse {
            responses: vec![
                response(Answered::StartWorkflow(started)),
                response(Answered::UpdateWorkflow(updated)),
            ],
        })
    }

    /// The state of a start and its update when the long poll ends.
    async fn current_state(
        &self,
        target: RunName,
        (request_id, update_id): (String, String),
    ) -> Result<(Started, Result<UpdateStatus, Refusal>), Refusal> {
        let polled = self.runtime().poll_update(target, update_id, Stage::Unspecified).await;
        // The update was just removed. A retry of the request gets its result at once.
        let status = polled
            .map_err(|_| Refusal::Unavailable("the update has just ended; try again".to_owned()))?;
        let run = self.runtime().read(status.run.clone()).await?;
        let is_new = run.head.start_request_id == request_id;
        Ok((Started { run, is_new, eager_task: None }, Ok(status)))
    }

    fn start_operation(
        &self,
        request: StartWorkflowExecutionRequest,
        namespace: &NamespaceRecord,
    ) -> RpcResult<StartRun> {
        same_namespace(&request.namespace, namespace)?;
        let has_cron = !request.cron_schedule.is_empty();
        let is_eager = request.request_eager_execution;
        let start = self.start_of(request, namespace)?;
        if has_cron {
            return invalid("CronSchedule is not allowed.");
        }
        if is_eager {
            return invalid("RequestEagerExecution is not supported.");
        }
        if start.delay > Span::ZERO {
            return invalid("WorkflowStartDelay is not supported.");
        }
        Ok(start)
    }

    fn update_operation(
        &self,
        request: UpdateWorkflowExecutionRequest,
        namespace: &NamespaceRecord,
    ) -> RpcResult<(Request, Stage)> {
        same_namespace(&request.namespace, namespace)?;
        let has_first_run_id = !request.first_execution_run_id.is_empty();
        let has_run_id =
            request.workflow_execution.as_ref().is_some_and(|named| !named.run_id.is_empty());
        let update = self.update_of(request)?;
        if has_first_run_id {
            return invalid("FirstExecutionRunId is not allowed.");
        }
        if has_run_id {
            return invalid("RunId is not allowed.");
        }
        Ok(update)
    }
}

/// The two operations, which have to be a start and an update, in this order.
fn start_and_update(
    request: ExecuteMultiOperationRequest,
) -> RpcResult<(StartWorkflowExecutionRequest, UpdateWorkflowExecutionRequest)> {
    let operations = request.operations.into_iter().map(|it| it.operation);
    let operations: Result<[_; 2], _> = operations.collect::<Vec<_>>().try_into();
    match operations {
        Ok([Some(Asked::StartWorkflow(start)), Some(Asked::UpdateWorkflow(update))]) => {
            Ok((start, update))
        }
        _ => invalid("Operations have to be exactly [Start, Update]."),
    }
}

fn update_id(update: &Request) -> String {
    update.meta.as_ref().map(|meta| meta.update_id.clone()).unwrap_or_default()
}

/// The outcome of an operation that was only validated.
fn of<T>(checked: RpcResult<T>) -> Operation {
    match checked {
        Ok(_) => Operation::Aborted,
        Err(status) => Operation::Failed(status),
    }
}

fn same_namespace(name: &str, namespace: &NamespaceRecord) -> RpcResult<()> {
    if !name.is_empty() && name != namespace.name {
        return invalid("Operation namespace did not match request's namespace.");
    }
    Ok(())
}
