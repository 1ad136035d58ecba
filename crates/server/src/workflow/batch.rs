//! Batch operations: one operation on every workflow that a query finds.

use perennial_engine::{NamespaceKey, Time};
use perennial_proto::store::batch_job::Operation as Stored;
use perennial_proto::store::batch_reset::Point;
use perennial_proto::store::{
    BatchCancel, BatchDelete, BatchJob, BatchReset, BatchResetFirst, BatchResetLast, BatchSignal,
    BatchTerminate,
};
use perennial_proto::temporal::batch::v1::{BatchOperationInfo, BatchOperationReset};
use perennial_proto::temporal::common::v1::reset_options::Target;
use perennial_proto::temporal::enums::v1::{BatchOperationType, ResetType};
use perennial_proto::temporal::workflowservice::v1::start_batch_operation_request::Operation;
use perennial_proto::temporal::workflowservice::v1::{
    DescribeBatchOperationRequest, DescribeBatchOperationResponse, ListBatchOperationsRequest,
    ListBatchOperationsResponse, StartBatchOperationRequest, StartBatchOperationResponse,
    StopBatchOperationRequest, StopBatchOperationResponse,
};

use super::reset::Excluded;
use crate::access::rights;
use crate::call::Call;
use crate::errors::{RpcResult, not_implemented, refused};
use crate::tokens::{PageTokens, Purpose};
use crate::validate::{self, invalid};

impl Call<'_> {
    #[allow(deprecated, reason = "older clients name runs this way")]
    pub(crate) async fn start_batch_operation(
        &self,
        request: StartBatchOperationRequest,
    ) -> RpcResult<StartBatchOperationResponse> {
        let namespace = self.namespace_key(&request.namespace)?;
        let ways_to_select = [
            !request.visibility_query.is_empty(),
            !request.executions.is_empty(),
            !request.target_executions.is_empty(),
        ];
        let ways_to_select = ways_to_select.into_iter().filter(|used| *used).count();
        let Some(operation) =
            request.operation.filter(|_| !request.reason.is_empty() && ways_to_select > 0)
        else {
            return invalid(
                "must provide required parameters: BatchType,Reason,Namespace, AND one of (Query OR \
                 Executions OR TargetExecutions)",
            );
        };
        if request.job_id.is_empty() {
            return invalid("JobId is not set on request.");
        }
        validate::no_longer_than_an_id(&request.job_id, "JobId")?;
        if ways_to_select > 1 {
            return invalid(
                "visibility query, executions, and target executions are mutually exclusive",
            );
        }
        if !request.target_executions.is_empty() {
            return Err(not_implemented("StartBatchOperation with TargetExecutions"));
        }
        self.require(rights::of_batch_operation(&operation), &request.namespace)?;
        let (operation, identity) = stored(operation)?;
        let job = BatchJob {
            namespace: namespace.0,
            job_id: request.job_id,
            query: restricted_to_changeable(request.visibility_query, &operation),
            executions: request.executions,
            reason: request.reason,
            identity,
            operations_per_second_max: request.max_operations_per_second,
            operation: Some(operation),
            ..BatchJob::default()
        };
        self.runtime().start_batch(job).await.map_err(refused)?;
        Ok(StartBatchOperationResponse {})
    }

    pub(crate) async fn stop_batch_operation(
        &self,
        request: StopBatchOperationRequest,
    ) -> RpcResult<StopBatchOperationResponse> {
        let namespace = self.job(&request.namespace, &request.job_id)?;
        if request.reason.is_empty() {
            return invalid("Reason is not set on request.");
        }
        let stopped = self.runtime().stop_batch(namespace, &request.job_id).await;
        stopped.map_err(refused)?;
        Ok(StopBatchOperationResponse {})
    }

    pub(crate) async fn describe_batch_operation(
        &self,
        request: DescribeBatchOperationRequest,
    ) -> RpcResult<DescribeBatchOperationResponse> {
        let namespace = self.job(&request.namespace, &request.job_id)?;
        let job = self.runtime().batch(namespace, &request.job_id).await.map_err(refused)?;
        Ok(DescribeBatchOperationResponse {
            operation_type: kind(&job).into(),
            state: job.state,
            start_time: Time(job.started_at).get().map(Into::into),
            close_time: Time(job.closed_at).get().map(Into::into),
            total_operation_count: job.total,
            complete_operation_count: job.completed,
            failure_operation_count: job.failed,
            job_id: job.job_id,
            identity: job.identity,
            reason: job.reason,
            query: job.query,
            ..DescribeBatchOperationResponse::default()
        })
    }

    pub(crate) async fn list_batch_operations(
        &self,
        request: ListBatchOperationsRequest,
    ) -> RpcResult<ListBatchOperationsResponse> {
        const PAGE_MAX: usize = 1_000;
        let namespace = self.namespace_key(&request.namespace)?;
        let requested = usize::try_from(request.page_size).ok().filter(|size| *size > 0);
        let size = requested.map_or(PAGE_MAX, |size| size.min(PAGE_MAX));
        // The token holds the id of the page's last job.
        let keys = self.token_keys().await?;
        let pages = PageTokens::of_filter(keys, Purpose::ListBatches, namespace, "");
        let after = pages.after_name(&request.next_page_token)?;
        let jobs = self.runtime().batches(namespace, &after, size).await.map_err(refused)?;
        let last = jobs.last().filter(|_| jobs.len() == size);
        let next_page_token = pages.next(last.map(|job| job.job_id.clone().into_bytes()));
        let info = |job: BatchJob| BatchOperationInfo {
            state: job.state,
            start_time: Time(job.started_at).get().map(Into::into),
            close_time: Time(job.closed_at).get().map(Into::into),
            operation_type: kind(&job).into(),
            job_id: job.job_id,
        };
        Ok(ListBatchOperationsResponse {
            operation_info: jobs.into_iter().map(info).collect(),
            next_page_token,
        })
    }

    fn job(&self, namespace: &str, job_id: &str) -> RpcResult<NamespaceKey> {
        if job_id.is_empty() {
            return invalid("JobId is not set on request.");
        }
        self.namespace_key(namespace)
    }
}

fn kind(job: &BatchJob) -> BatchOperationType {
    match &job.operation {
        None => BatchOperationType::Unspecified,
        Some(Stored::Terminate(_)) => BatchOperationType::TerminateWorkflow,
        Some(Stored::Signal(_)) => BatchOperationType::SignalWorkflow,
        Some(Stored::Cancel(_)) => BatchOperationType::CancelWorkflow,
        Some(Stored::Delete(_)) => BatchOperationType::DeleteWorkflow,
        Some(Stored::Reset(_)) => BatchOperationType::ResetWorkflow,
    }
}

/// Restricts a query to open runs if the operation can't change closed ones.
fn restricted_to_changeable(query: String, operation: &Stored) -> String {
    match operation {
        Stored::Terminate(_) | Stored::Signal(_) | Stored::Cancel(_) if !query.is_empty() => {
            format!("({query}) AND ExecutionStatus = 'Running'")
        }
        _ => query,
    }
}

/// The stored form of an operation, and the identity of its caller.
fn stored(operation: Operation) -> RpcResult<(Stored, String)> {
    Ok(match operation {
        Operation::TerminationOperation(terminate) => {
            (Stored::Terminate(BatchTerminate { details: terminate.details }), terminate.identity)
        }
        Operation::SignalOperation(signal) => {
            if signal.signal.is_empty() {
                return invalid("must provide signal name");
            }
            let stored =
                BatchSignal { name: signal.signal, input: signal.input, header: signal.header };
            (Stored::Signal(stored), signal.identity)
        }
        Operation::CancellationOperation(cancel) => {
            (Stored::Cancel(BatchCancel {}), cancel.identity)
        }
        Operation::DeletionOperation(delete) => (Stored::Delete(BatchDelete {}), delete.identity),
        Operation::ResetOperation(reset) => {
            let identity = reset.identity.clone();
            (Stored::Reset(stored_reset(reset)?), identity)
        }
        Operation::UpdateWorkflowOptionsOperation(_)
        | Operation::UnpauseActivitiesOperation(_)
        | Operation::ResetActivitiesOperation(_)
        | Operation::UpdateActivityOptionsOperation(_)
        | Operation::CancelActivitiesOperation(_)
        | Operation::TerminateActivitiesOperation(_)
        | Operation::DeleteActivitiesOperation(_) => {
            return Err(not_implemented("StartBatchOperation with this operation"));
        }
    })
}

#[allow(deprecated, reason = "older clients say it only this way")]
fn stored_reset(reset: BatchOperationReset) -> RpcResult<BatchReset> {
    let current_run_only = reset.options.as_ref().is_some_and(|options| options.current_run_only);
    let (point, excluded) = match reset.options {
        Some(options) => {
            let point = match options.target.clone() {
                Some(Target::FirstWorkflowTask(())) => Point::First(BatchResetFirst {}),
                Some(Target::LastWorkflowTask(())) => Point::Last(BatchResetLast {}),
                Some(Target::WorkflowTaskId(event_id)) => Point::EventId(event_id),
                Some(Target::BuildId(build_id)) => Point::BuildId(build_id),
                None => return invalid("batch reset missing target"),
            };
            let excluded = options.reset_reapply_exclude_types();
            (point, Excluded::from(options.reset_reapply_type(), excluded))
        }
        None => {
            let point = match reset.reset_type() {
                ResetType::FirstWorkflowTask => Point::First(BatchResetFirst {}),
                ResetType::LastWorkflowTask => Point::Last(BatchResetLast {}),
                ResetType::Unspecified => {
                    return invalid("unknown batch reset type Unspecified");
                }
            };
            (point, Excluded::from(reset.reset_reapply_type(), [].into_iter()))
        }
    };
    Ok(BatchReset {
        point: Some(point),
        exclude_signals: excluded.signals,
        exclude_updates: excluded.updates,
        current_run_only,
    })
}
