//! Queries, and the results of queries that workers get without a workflow task.

use std::time::Duration;

use perennial_proto::temporal::enums::v1::{QueryRejectCondition, QueryResultType};
use perennial_proto::temporal::query::v1::{QueryRejected, WorkflowQueryResult};
use perennial_proto::temporal::workflowservice::v1::{
    QueryWorkflowRequest, QueryWorkflowResponse, RespondQueryTaskCompletedRequest,
    RespondQueryTaskCompletedResponse,
};
use perennial_runtime::QueryOutcome;
use perennial_telemetry::LongPoll;
use tonic::Status;

use crate::call::Call;
use crate::errors::{RpcResult, query_failed, refused};
use crate::failures;
use crate::tokens;
use crate::validate::{self, invalid};

/// The timeout of a query without a deadline.
const QUERY_TIME: Duration = Duration::from_secs(60);

impl Call<'_> {
    pub(crate) async fn query_workflow(
        &self,
        request: QueryWorkflowRequest,
    ) -> RpcResult<QueryWorkflowResponse> {
        let reject = match request.query_reject_condition() {
            QueryRejectCondition::Unspecified => QueryRejectCondition::None,
            given => given,
        };
        let target = self.run_name(&request.namespace, request.execution)?;
        let Some(query) = request.query else {
            return invalid("WorkflowQuery is not set on request.");
        };
        if query.query_type.is_empty() {
            return invalid("QueryType is not set on request.");
        }
        validate::blob(query.query_args.as_ref(), self.runtime().limits().payload_bytes)?;
        let query = self.runtime().query(target, query, reject);
        let Some(outcome) = self.wait(LongPoll::Query, QUERY_TIME, query).await? else {
            return Err(Status::deadline_exceeded(
                "query timed out before a worker could process it",
            ));
        };
        match outcome.map_err(refused)? {
            QueryOutcome::Answered(query_result) => {
                Ok(QueryWorkflowResponse { query_result, ..QueryWorkflowResponse::default() })
            }
            QueryOutcome::Failed(message, failure) => Err(query_failed(message, failure)),
            QueryOutcome::Rejected(status) => Ok(QueryWorkflowResponse {
                query_rejected: Some(QueryRejected { status: status.into() }),
                ..QueryWorkflowResponse::default()
            }),
        }
    }

    pub(crate) async fn respond_query_task_completed(
        &self,
        request: RespondQueryTaskCompletedRequest,
    ) -> RpcResult<RespondQueryTaskCompletedResponse> {
        let token = self.task_token(&request.namespace, &request.task_token).await?;
        if token.query_id.is_empty() {
            return invalid("Invalid TaskToken.");
        }
        failures::check(request.failure.as_ref(), "failure")?;
        let too_large =
            validate::blob(request.query_result.as_ref(), self.runtime().limits().payload_bytes);
        let result = match too_large {
            Ok(()) => WorkflowQueryResult {
                result_type: request.completed_type,
                answer: request.query_result,
                error_message: request.error_message,
                failure: request.failure,
            },
            Err(status) => WorkflowQueryResult {
                result_type: QueryResultType::Failed.into(),
                error_message: status.message().to_owned(),
                ..WorkflowQueryResult::default()
            },
        };
        let target = tokens::run_of(&token);
        self.runtime().answer_query(target, token.query_id, result).await.map_err(refused)?;
        Ok(RespondQueryTaskCompletedResponse {})
    }
}
