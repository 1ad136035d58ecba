//! The table of all RPCs: what each takes and gives, and which ones don't work yet.
//!
//! An RPC that works is a method of the same name on [`Call`].

use perennial_proto::perennial;
use perennial_proto::perennial::schedule_service_server::ScheduleService;
use perennial_proto::service::operator::operator_service_server::OperatorService;
use perennial_proto::service::workflow::workflow_service_server::WorkflowService;
use perennial_proto::temporal::{operatorservice, workflowservice};
use prost::Message;
use tonic::{Request, Response, Status};

use crate::call::Call;
use crate::errors::not_implemented;
use crate::schedules::ScheduleCall;
use crate::server::Shared;

/// `temporal.api.workflowservice.v1.WorkflowService`.
pub(crate) struct Workflow(pub(crate) Shared);

/// `temporal.api.operatorservice.v1.OperatorService`.
pub(crate) struct Operator(pub(crate) Shared);

/// `perennial.v1.ScheduleService`.
pub(crate) struct Schedules(pub(crate) Shared);

/// Writes the implementation of a service's trait from a table of its RPCs.
macro_rules! service {
    (
        $trait:ident for $type:ident, messages of $messages:ident,
        answered { $($rpc:ident($request:ident) -> $response:ident;)* }
        refused { $($later:ident($later_request:ident) -> $later_response:ident = $name:literal;)* }
    ) => {
        #[tonic::async_trait]
        impl $trait for $type {
            $(async fn $rpc(
                &self,
                request: Request<$messages::v1::$request>,
            ) -> Result<Response<$messages::v1::$response>, Status> {
                let call = Call::new(&self.0, request.metadata());
                call.$rpc(request.into_inner()).await.map(answered)
            })*
            $(async fn $later(
                &self,
                _: Request<$messages::v1::$later_request>,
            ) -> Result<Response<$messages::v1::$later_response>, Status> {
                Err(not_implemented($name))
            })*
        }
    };
}

/// Below this, compressing an answer costs more than it saves, even on a slow link.
const COMPRESSED_FROM: usize = 8 * 1024;

fn answered<T: Message>(message: T) -> Response<T> {
    let is_small = message.encoded_len() < COMPRESSED_FROM;
    let mut response = Response::new(message);
    if is_small {
        response.disable_compression();
    }
    response
}

service! {
    WorkflowService for Workflow, messages of workflowservice,
    answered {
        register_namespace(RegisterNamespaceRequest) -> RegisterNamespaceResponse;
        describe_namespace(DescribeNamespaceRequest) -> DescribeNamespaceResponse;
        list_namespaces(ListNamespacesRequest) -> ListNamespacesResponse;
        update_namespace(UpdateNamespaceRequest) -> UpdateNamespaceResponse;
        deprecate_namespace(DeprecateNamespaceRequest) -> DeprecateNamespaceResponse;
        start_workflow_execution(StartWorkflowExecutionRequest) -> StartWorkflowExecutionResponse;
        execute_multi_operation(ExecuteMultiOperationRequest) -> ExecuteMultiOperationResponse;
        get_workflow_execution_history(GetWorkflowExecutionHistoryRequest) -> GetWorkflowExecutionHistoryResponse;
        get_workflow_execution_history_reverse(GetWorkflowExecutionHistoryReverseRequest) -> GetWorkflowExecutionHistoryReverseResponse;
        poll_workflow_task_queue(PollWorkflowTaskQueueRequest) -> PollWorkflowTaskQueueResponse;
        respond_workflow_task_completed(RespondWorkflowTaskCompletedRequest) -> RespondWorkflowTaskCompletedResponse;
        respond_workflow_task_failed(RespondWorkflowTaskFailedRequest) -> RespondWorkflowTaskFailedResponse;
        poll_activity_task_queue(PollActivityTaskQueueRequest) -> PollActivityTaskQueueResponse;
        record_activity_task_heartbeat(RecordActivityTaskHeartbeatRequest) -> RecordActivityTaskHeartbeatResponse;
        record_activity_task_heartbeat_by_id(RecordActivityTaskHeartbeatByIdRequest) -> RecordActivityTaskHeartbeatByIdResponse;
        respond_activity_task_completed(RespondActivityTaskCompletedRequest) -> RespondActivityTaskCompletedResponse;
        respond_activity_task_completed_by_id(RespondActivityTaskCompletedByIdRequest) -> RespondActivityTaskCompletedByIdResponse;
        respond_activity_task_failed(RespondActivityTaskFailedRequest) -> RespondActivityTaskFailedResponse;
        respond_activity_task_failed_by_id(RespondActivityTaskFailedByIdRequest) -> RespondActivityTaskFailedByIdResponse;
        respond_activity_task_canceled(RespondActivityTaskCanceledRequest) -> RespondActivityTaskCanceledResponse;
        respond_activity_task_canceled_by_id(RespondActivityTaskCanceledByIdRequest) -> RespondActivityTaskCanceledByIdResponse;
        request_cancel_workflow_execution(RequestCancelWorkflowExecutionRequest) -> RequestCancelWorkflowExecutionResponse;
        signal_workflow_execution(SignalWorkflowExecutionRequest) -> SignalWorkflowExecutionResponse;
        signal_with_start_workflow_execution(SignalWithStartWorkflowExecutionRequest) -> SignalWithStartWorkflowExecutionResponse;
        reset_workflow_execution(ResetWorkflowExecutionRequest) -> ResetWorkflowExecutionResponse;
        terminate_workflow_execution(TerminateWorkflowExecutionRequest) -> TerminateWorkflowExecutionResponse;
        delete_workflow_execution(DeleteWorkflowExecutionRequest) -> DeleteWorkflowExecutionResponse;
        list_open_workflow_executions(ListOpenWorkflowExecutionsRequest) -> ListOpenWorkflowExecutionsResponse;
        list_closed_workflow_executions(ListClosedWorkflowExecutionsRequest) -> ListClosedWorkflowExecutionsResponse;
        list_workflow_executions(ListWorkflowExecutionsRequest) -> ListWorkflowExecutionsResponse;
        list_archived_workflow_executions(ListArchivedWorkflowExecutionsRequest) -> ListArchivedWorkflowExecutionsResponse;
        scan_workflow_executions(ScanWorkflowExecutionsRequest) -> ScanWorkflowExecutionsResponse;
        count_workflow_executions(CountWorkflowExecutionsRequest) -> CountWorkflowExecutionsResponse;
        get_search_attributes(GetSearchAttributesRequest) -> GetSearchAttributesResponse;
        respond_query_task_completed(RespondQueryTaskCompletedRequest) -> RespondQueryTaskCompletedResponse;
        reset_sticky_task_queue(ResetStickyTaskQueueRequest) -> ResetStickyTaskQueueResponse;
        shutdown_worker(ShutdownWorkerRequest) -> ShutdownWorkerResponse;
        query_workflow(QueryWorkflowRequest) -> QueryWorkflowResponse;
        describe_workflow_execution(DescribeWorkflowExecutionRequest) -> DescribeWorkflowExecutionResponse;
        describe_task_queue(DescribeTaskQueueRequest) -> DescribeTaskQueueResponse;
        get_cluster_info(GetClusterInfoRequest) -> GetClusterInfoResponse;
        get_system_info(GetSystemInfoRequest) -> GetSystemInfoResponse;
        list_task_queue_partitions(ListTaskQueuePartitionsRequest) -> ListTaskQueuePartitionsResponse;
        update_workflow_execution(UpdateWorkflowExecutionRequest) -> UpdateWorkflowExecutionResponse;
        poll_workflow_execution_update(PollWorkflowExecutionUpdateRequest) -> PollWorkflowExecutionUpdateResponse;
        start_batch_operation(StartBatchOperationRequest) -> StartBatchOperationResponse;
        stop_batch_operation(StopBatchOperationRequest) -> StopBatchOperationResponse;
        describe_batch_operation(DescribeBatchOperationRequest) -> DescribeBatchOperationResponse;
        list_batch_operations(ListBatchOperationsRequest) -> ListBatchOperationsResponse;
        create_schedule(CreateScheduleRequest) -> CreateScheduleResponse;
        describe_schedule(DescribeScheduleRequest) -> DescribeScheduleResponse;
        update_schedule(UpdateScheduleRequest) -> UpdateScheduleResponse;
        patch_schedule(PatchScheduleRequest) -> PatchScheduleResponse;
        list_schedule_matching_times(ListScheduleMatchingTimesRequest) -> ListScheduleMatchingTimesResponse;
        delete_schedule(DeleteScheduleRequest) -> DeleteScheduleResponse;
        list_schedules(ListSchedulesRequest) -> ListSchedulesResponse;
        count_schedules(CountSchedulesRequest) -> CountSchedulesResponse;
        update_activity_options(UpdateActivityOptionsRequest) -> UpdateActivityOptionsResponse;
        update_workflow_execution_options(UpdateWorkflowExecutionOptionsRequest) -> UpdateWorkflowExecutionOptionsResponse;
        pause_activity(PauseActivityRequest) -> PauseActivityResponse;
        unpause_activity(UnpauseActivityRequest) -> UnpauseActivityResponse;
        reset_activity(ResetActivityRequest) -> ResetActivityResponse;
        update_activity_execution_options(UpdateActivityExecutionOptionsRequest) -> UpdateActivityExecutionOptionsResponse;
        unpause_activity_execution(UnpauseActivityExecutionRequest) -> UnpauseActivityExecutionResponse;
        reset_activity_execution(ResetActivityExecutionRequest) -> ResetActivityExecutionResponse;
        pause_activity_execution(PauseActivityExecutionRequest) -> PauseActivityExecutionResponse;
        pause_workflow_execution(PauseWorkflowExecutionRequest) -> PauseWorkflowExecutionResponse;
        unpause_workflow_execution(UnpauseWorkflowExecutionRequest) -> UnpauseWorkflowExecutionResponse;
    }
    refused {
        update_worker_build_id_compatibility(UpdateWorkerBuildIdCompatibilityRequest) -> UpdateWorkerBuildIdCompatibilityResponse = "UpdateWorkerBuildIdCompatibility";
        get_worker_build_id_compatibility(GetWorkerBuildIdCompatibilityRequest) -> GetWorkerBuildIdCompatibilityResponse = "GetWorkerBuildIdCompatibility";
        update_worker_versioning_rules(UpdateWorkerVersioningRulesRequest) -> UpdateWorkerVersioningRulesResponse = "UpdateWorkerVersioningRules";
        get_worker_versioning_rules(GetWorkerVersioningRulesRequest) -> GetWorkerVersioningRulesResponse = "GetWorkerVersioningRules";
        get_worker_task_reachability(GetWorkerTaskReachabilityRequest) -> GetWorkerTaskReachabilityResponse = "GetWorkerTaskReachability";
        describe_deployment(DescribeDeploymentRequest) -> DescribeDeploymentResponse = "DescribeDeployment";
        describe_worker_deployment_version(DescribeWorkerDeploymentVersionRequest) -> DescribeWorkerDeploymentVersionResponse = "DescribeWorkerDeploymentVersion";
        list_deployments(ListDeploymentsRequest) -> ListDeploymentsResponse = "ListDeployments";
        get_deployment_reachability(GetDeploymentReachabilityRequest) -> GetDeploymentReachabilityResponse = "GetDeploymentReachability";
        get_current_deployment(GetCurrentDeploymentRequest) -> GetCurrentDeploymentResponse = "GetCurrentDeployment";
        set_current_deployment(SetCurrentDeploymentRequest) -> SetCurrentDeploymentResponse = "SetCurrentDeployment";
        set_worker_deployment_current_version(SetWorkerDeploymentCurrentVersionRequest) -> SetWorkerDeploymentCurrentVersionResponse = "SetWorkerDeploymentCurrentVersion";
        describe_worker_deployment(DescribeWorkerDeploymentRequest) -> DescribeWorkerDeploymentResponse = "DescribeWorkerDeployment";
        delete_worker_deployment(DeleteWorkerDeploymentRequest) -> DeleteWorkerDeploymentResponse = "DeleteWorkerDeployment";
        delete_worker_deployment_version(DeleteWorkerDeploymentVersionRequest) -> DeleteWorkerDeploymentVersionResponse = "DeleteWorkerDeploymentVersion";
        set_worker_deployment_ramping_version(SetWorkerDeploymentRampingVersionRequest) -> SetWorkerDeploymentRampingVersionResponse = "SetWorkerDeploymentRampingVersion";
        list_worker_deployments(ListWorkerDeploymentsRequest) -> ListWorkerDeploymentsResponse = "ListWorkerDeployments";
        create_worker_deployment(CreateWorkerDeploymentRequest) -> CreateWorkerDeploymentResponse = "CreateWorkerDeployment";
        create_worker_deployment_version(CreateWorkerDeploymentVersionRequest) -> CreateWorkerDeploymentVersionResponse = "CreateWorkerDeploymentVersion";
        update_worker_deployment_version_compute_config(UpdateWorkerDeploymentVersionComputeConfigRequest) -> UpdateWorkerDeploymentVersionComputeConfigResponse = "UpdateWorkerDeploymentVersionComputeConfig";
        validate_worker_deployment_version_compute_config(ValidateWorkerDeploymentVersionComputeConfigRequest) -> ValidateWorkerDeploymentVersionComputeConfigResponse = "ValidateWorkerDeploymentVersionComputeConfig";
        update_worker_deployment_version_metadata(UpdateWorkerDeploymentVersionMetadataRequest) -> UpdateWorkerDeploymentVersionMetadataResponse = "UpdateWorkerDeploymentVersionMetadata";
        set_worker_deployment_manager(SetWorkerDeploymentManagerRequest) -> SetWorkerDeploymentManagerResponse = "SetWorkerDeploymentManager";
        poll_nexus_task_queue(PollNexusTaskQueueRequest) -> PollNexusTaskQueueResponse = "PollNexusTaskQueue";
        respond_nexus_task_completed(RespondNexusTaskCompletedRequest) -> RespondNexusTaskCompletedResponse = "RespondNexusTaskCompleted";
        respond_nexus_task_failed(RespondNexusTaskFailedRequest) -> RespondNexusTaskFailedResponse = "RespondNexusTaskFailed";
        create_workflow_rule(CreateWorkflowRuleRequest) -> CreateWorkflowRuleResponse = "CreateWorkflowRule";
        describe_workflow_rule(DescribeWorkflowRuleRequest) -> DescribeWorkflowRuleResponse = "DescribeWorkflowRule";
        delete_workflow_rule(DeleteWorkflowRuleRequest) -> DeleteWorkflowRuleResponse = "DeleteWorkflowRule";
        list_workflow_rules(ListWorkflowRulesRequest) -> ListWorkflowRulesResponse = "ListWorkflowRules";
        trigger_workflow_rule(TriggerWorkflowRuleRequest) -> TriggerWorkflowRuleResponse = "TriggerWorkflowRule";
        record_worker_heartbeat(RecordWorkerHeartbeatRequest) -> RecordWorkerHeartbeatResponse = "RecordWorkerHeartbeat";
        list_workers(ListWorkersRequest) -> ListWorkersResponse = "ListWorkers";
        count_workers(CountWorkersRequest) -> CountWorkersResponse = "CountWorkers";
        update_task_queue_config(UpdateTaskQueueConfigRequest) -> UpdateTaskQueueConfigResponse = "UpdateTaskQueueConfig";
        fetch_worker_config(FetchWorkerConfigRequest) -> FetchWorkerConfigResponse = "FetchWorkerConfig";
        update_worker_config(UpdateWorkerConfigRequest) -> UpdateWorkerConfigResponse = "UpdateWorkerConfig";
        describe_worker(DescribeWorkerRequest) -> DescribeWorkerResponse = "DescribeWorker";
        start_activity_execution(StartActivityExecutionRequest) -> StartActivityExecutionResponse = "StartActivityExecution";
        start_nexus_operation_execution(StartNexusOperationExecutionRequest) -> StartNexusOperationExecutionResponse = "StartNexusOperationExecution";
        describe_activity_execution(DescribeActivityExecutionRequest) -> DescribeActivityExecutionResponse = "DescribeActivityExecution";
        describe_nexus_operation_execution(DescribeNexusOperationExecutionRequest) -> DescribeNexusOperationExecutionResponse = "DescribeNexusOperationExecution";
        poll_activity_execution(PollActivityExecutionRequest) -> PollActivityExecutionResponse = "PollActivityExecution";
        poll_nexus_operation_execution(PollNexusOperationExecutionRequest) -> PollNexusOperationExecutionResponse = "PollNexusOperationExecution";
        list_activity_executions(ListActivityExecutionsRequest) -> ListActivityExecutionsResponse = "ListActivityExecutions";
        list_nexus_operation_executions(ListNexusOperationExecutionsRequest) -> ListNexusOperationExecutionsResponse = "ListNexusOperationExecutions";
        count_activity_executions(CountActivityExecutionsRequest) -> CountActivityExecutionsResponse = "CountActivityExecutions";
        count_nexus_operation_executions(CountNexusOperationExecutionsRequest) -> CountNexusOperationExecutionsResponse = "CountNexusOperationExecutions";
        request_cancel_activity_execution(RequestCancelActivityExecutionRequest) -> RequestCancelActivityExecutionResponse = "RequestCancelActivityExecution";
        request_cancel_nexus_operation_execution(RequestCancelNexusOperationExecutionRequest) -> RequestCancelNexusOperationExecutionResponse = "RequestCancelNexusOperationExecution";
        terminate_activity_execution(TerminateActivityExecutionRequest) -> TerminateActivityExecutionResponse = "TerminateActivityExecution";
        delete_activity_execution(DeleteActivityExecutionRequest) -> DeleteActivityExecutionResponse = "DeleteActivityExecution";
        terminate_nexus_operation_execution(TerminateNexusOperationExecutionRequest) -> TerminateNexusOperationExecutionResponse = "TerminateNexusOperationExecution";
        delete_nexus_operation_execution(DeleteNexusOperationExecutionRequest) -> DeleteNexusOperationExecutionResponse = "DeleteNexusOperationExecution";
        poll_workflow_execution_time_skipping(PollWorkflowExecutionTimeSkippingRequest) -> PollWorkflowExecutionTimeSkippingResponse = "PollWorkflowExecutionTimeSkipping";
    }
}

service! {
    OperatorService for Operator, messages of operatorservice,
    answered {
        add_search_attributes(AddSearchAttributesRequest) -> AddSearchAttributesResponse;
        remove_search_attributes(RemoveSearchAttributesRequest) -> RemoveSearchAttributesResponse;
        list_search_attributes(ListSearchAttributesRequest) -> ListSearchAttributesResponse;
        delete_namespace(DeleteNamespaceRequest) -> DeleteNamespaceResponse;
        list_clusters(ListClustersRequest) -> ListClustersResponse;
    }
    refused {
        add_or_update_remote_cluster(AddOrUpdateRemoteClusterRequest) -> AddOrUpdateRemoteClusterResponse = "AddOrUpdateRemoteCluster";
        remove_remote_cluster(RemoveRemoteClusterRequest) -> RemoveRemoteClusterResponse = "RemoveRemoteCluster";
        get_nexus_endpoint(GetNexusEndpointRequest) -> GetNexusEndpointResponse = "GetNexusEndpoint";
        create_nexus_endpoint(CreateNexusEndpointRequest) -> CreateNexusEndpointResponse = "CreateNexusEndpoint";
        update_nexus_endpoint(UpdateNexusEndpointRequest) -> UpdateNexusEndpointResponse = "UpdateNexusEndpoint";
        delete_nexus_endpoint(DeleteNexusEndpointRequest) -> DeleteNexusEndpointResponse = "DeleteNexusEndpoint";
        list_nexus_endpoints(ListNexusEndpointsRequest) -> ListNexusEndpointsResponse = "ListNexusEndpoints";
    }
}

/// Writes the implementation of our own service from a table of its RPCs.
macro_rules! schedule_service {
    ($($rpc:ident($request:ident) -> $response:ident;)*) => {
        #[tonic::async_trait]
        impl ScheduleService for Schedules {
            $(async fn $rpc(
                &self,
                request: Request<perennial::$request>,
            ) -> Result<Response<perennial::$response>, Status> {
                let call = ScheduleCall(Call::new(&self.0, request.metadata()));
                call.$rpc(request.into_inner()).await.map(answered)
            })*
        }
    };
}

schedule_service! {
    create_schedule(CreateScheduleRequest) -> CreateScheduleResponse;
    describe_schedule(DescribeScheduleRequest) -> DescribeScheduleResponse;
    list_schedules(ListSchedulesRequest) -> ListSchedulesResponse;
    update_schedule(UpdateScheduleRequest) -> UpdateScheduleResponse;
    trigger_schedule(TriggerScheduleRequest) -> TriggerScheduleResponse;
    pause_schedule(PauseScheduleRequest) -> PauseScheduleResponse;
    resume_schedule(ResumeScheduleRequest) -> ResumeScheduleResponse;
    delete_schedule(DeleteScheduleRequest) -> DeleteScheduleResponse;
    backfill_schedule(BackfillScheduleRequest) -> BackfillScheduleResponse;
    list_backfills(ListBackfillsRequest) -> ListBackfillsResponse;
    cancel_backfill(CancelBackfillRequest) -> CancelBackfillResponse;
    list_schedule_events(ListScheduleEventsRequest) -> ListScheduleEventsResponse;
    list_occurrences(ListOccurrencesRequest) -> ListOccurrencesResponse;
    explain_occurrence(ExplainOccurrenceRequest) -> ExplainOccurrenceResponse;
    evaluate_schedules(EvaluateSchedulesRequest) -> EvaluateSchedulesResponse;
}
