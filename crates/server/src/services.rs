//! The table of all RPCs: what each takes, and which ones don't work yet.
//!
//! An RPC that works is a method of the same name on [`Call`], or on [`ScheduleCall`] for those of our own
//! service. Whoever has its message as bytes finds it by its path ([`Services::find`]): gRPC and HTTP alike.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use perennial_proto::perennial;
use perennial_proto::temporal::{operatorservice, workflowservice};
use perennial_runtime::{Admitted, Runtime};
use prost::Message;
use tonic::Status;
use tonic::metadata::MetadataMap;

use crate::call::Call;
use crate::encoded_message::EncodedMessage;
use crate::errors::{RpcResult, message_too_large, not_implemented, refused};
use crate::schedules::ScheduleCall;
use crate::server::Shared;

/// The name by which clients ask for its health.
pub(crate) const WORKFLOW_SERVICE: &str = "temporal.api.workflowservice.v1.WorkflowService";
const OPERATOR_SERVICE: &str = "temporal.api.operatorservice.v1.OperatorService";
const SCHEDULE_SERVICE: &str = "perennial.v1.ScheduleService";

/// All RPCs of the API.
pub(crate) struct Services {
    shared: Shared,
    /// By their paths, as in `/perennial.v1.ScheduleService/ListBackfills`.
    rpcs: HashMap<String, Rpc>,
}

/// Answers one RPC, given what it shares with others, what came beside its message, and the message.
type Rpc = fn(Arc<Services>, MetadataMap, Bytes) -> Answering;

/// A call that goes on while it is polled, and is canceled by dropping it.
pub(crate) type Answering = Pin<Box<dyn Future<Output = RpcResult<EncodedMessage>> + Send>>;

impl Services {
    pub(crate) fn new(shared: Shared) -> Self {
        Self { shared, rpcs: table() }
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.shared.runtime
    }

    /// The largest message that is read.
    pub(crate) fn request_bytes_max(&self) -> usize {
        self.shared.config.request_bytes_max
    }

    /// Makes room in memory for a message of so many bytes, as long as the call takes.
    pub(crate) fn admit(&self, bytes: usize) -> RpcResult<Admitted> {
        self.shared.runtime.admit(bytes).map_err(refused)
    }

    /// The RPC at a path.
    pub(crate) fn find(self: &Arc<Self>, path: &str) -> Option<RpcHandle> {
        let rpc = *self.rpcs.get(path)?;
        Some(RpcHandle { rpc, services: Arc::clone(self) })
    }
}

/// An RPC found by its path.
pub(crate) struct RpcHandle {
    rpc: Rpc,
    services: Arc<Services>,
}

impl RpcHandle {
    /// Calls it with a message and what came beside it.
    pub(crate) fn call(self, metadata: MetadataMap, message: Bytes) -> Answering {
        let bytes_max = self.services.request_bytes_max();
        if message.len() > bytes_max {
            return Box::pin(async move { Err(message_too_large(bytes_max)) });
        }
        (self.rpc)(self.services, metadata, message)
    }
}

fn table() -> HashMap<String, Rpc> {
    let mut rpcs = HashMap::new();
    workflow_service(&mut rpcs);
    operator_service(&mut rpcs);
    schedule_service(&mut rpcs);
    rpcs
}

fn decoded<T: Message + Default>(message: Bytes) -> RpcResult<T> {
    // Not INTERNAL, which gRPC libraries have for it: clients would send the same bytes again and again.
    T::decode(message).map_err(|error| {
        Status::invalid_argument(format!("grpc: error unmarshalling request: {error}"))
    })
}

/// The path of an RPC by its name, or by the name of its request.
fn path(service: &str, name: &str) -> String {
    format!("/{service}/{}", name.strip_suffix("Request").unwrap_or(name))
}

/// Writes a function that adds the RPCs of a service from a table of them.
macro_rules! service {
    (
        $add:ident: $service:ident, messages of $messages:path, methods of $call:expr,
        answered { $($rpc:ident($request:ident))* }
        refused { $($later:ident)* }
    ) => {
        fn $add(rpcs: &mut HashMap<String, Rpc>) {
            use $messages as messages;

            $(rpcs.insert(path($service, stringify!($request)), |services, metadata, message| {
                Box::pin(async move {
                    let request = decoded::<messages::$request>(message)?;
                    let call = $call(&services.shared, &metadata);
                    call.$rpc(request).await.map(|answer| EncodedMessage::of(&answer))
                })
            });)*
            $(rpcs.insert(path($service, stringify!($later)), |_, _, _| {
                Box::pin(async { Err(not_implemented(stringify!($later))) })
            });)*
        }
    };
}

service! {
    workflow_service: WORKFLOW_SERVICE, messages of workflowservice::v1, methods of Call::new,
    answered {
        register_namespace(RegisterNamespaceRequest)
        describe_namespace(DescribeNamespaceRequest)
        list_namespaces(ListNamespacesRequest)
        update_namespace(UpdateNamespaceRequest)
        deprecate_namespace(DeprecateNamespaceRequest)
        start_workflow_execution(StartWorkflowExecutionRequest)
        execute_multi_operation(ExecuteMultiOperationRequest)
        get_workflow_execution_history(GetWorkflowExecutionHistoryRequest)
        get_workflow_execution_history_reverse(GetWorkflowExecutionHistoryReverseRequest)
        poll_workflow_task_queue(PollWorkflowTaskQueueRequest)
        respond_workflow_task_completed(RespondWorkflowTaskCompletedRequest)
        respond_workflow_task_failed(RespondWorkflowTaskFailedRequest)
        poll_activity_task_queue(PollActivityTaskQueueRequest)
        record_activity_task_heartbeat(RecordActivityTaskHeartbeatRequest)
        record_activity_task_heartbeat_by_id(RecordActivityTaskHeartbeatByIdRequest)
        respond_activity_task_completed(RespondActivityTaskCompletedRequest)
        respond_activity_task_completed_by_id(RespondActivityTaskCompletedByIdRequest)
        respond_activity_task_failed(RespondActivityTaskFailedRequest)
        respond_activity_task_failed_by_id(RespondActivityTaskFailedByIdRequest)
        respond_activity_task_canceled(RespondActivityTaskCanceledRequest)
        respond_activity_task_canceled_by_id(RespondActivityTaskCanceledByIdRequest)
        request_cancel_workflow_execution(RequestCancelWorkflowExecutionRequest)
        signal_workflow_execution(SignalWorkflowExecutionRequest)
        signal_with_start_workflow_execution(SignalWithStartWorkflowExecutionRequest)
        reset_workflow_execution(ResetWorkflowExecutionRequest)
        terminate_workflow_execution(TerminateWorkflowExecutionRequest)
        delete_workflow_execution(DeleteWorkflowExecutionRequest)
        list_open_workflow_executions(ListOpenWorkflowExecutionsRequest)
        list_closed_workflow_executions(ListClosedWorkflowExecutionsRequest)
        list_workflow_executions(ListWorkflowExecutionsRequest)
        list_archived_workflow_executions(ListArchivedWorkflowExecutionsRequest)
        scan_workflow_executions(ScanWorkflowExecutionsRequest)
        count_workflow_executions(CountWorkflowExecutionsRequest)
        get_search_attributes(GetSearchAttributesRequest)
        respond_query_task_completed(RespondQueryTaskCompletedRequest)
        reset_sticky_task_queue(ResetStickyTaskQueueRequest)
        shutdown_worker(ShutdownWorkerRequest)
        query_workflow(QueryWorkflowRequest)
        describe_workflow_execution(DescribeWorkflowExecutionRequest)
        describe_task_queue(DescribeTaskQueueRequest)
        get_cluster_info(GetClusterInfoRequest)
        get_system_info(GetSystemInfoRequest)
        list_task_queue_partitions(ListTaskQueuePartitionsRequest)
        update_workflow_execution(UpdateWorkflowExecutionRequest)
        poll_workflow_execution_update(PollWorkflowExecutionUpdateRequest)
        start_batch_operation(StartBatchOperationRequest)
        stop_batch_operation(StopBatchOperationRequest)
        describe_batch_operation(DescribeBatchOperationRequest)
        list_batch_operations(ListBatchOperationsRequest)
        create_schedule(CreateScheduleRequest)
        describe_schedule(DescribeScheduleRequest)
        update_schedule(UpdateScheduleRequest)
        patch_schedule(PatchScheduleRequest)
        list_schedule_matching_times(ListScheduleMatchingTimesRequest)
        delete_schedule(DeleteScheduleRequest)
        list_schedules(ListSchedulesRequest)
        count_schedules(CountSchedulesRequest)
        update_activity_options(UpdateActivityOptionsRequest)
        update_workflow_execution_options(UpdateWorkflowExecutionOptionsRequest)
        pause_activity(PauseActivityRequest)
        unpause_activity(UnpauseActivityRequest)
        reset_activity(ResetActivityRequest)
        update_activity_execution_options(UpdateActivityExecutionOptionsRequest)
        unpause_activity_execution(UnpauseActivityExecutionRequest)
        reset_activity_execution(ResetActivityExecutionRequest)
        pause_activity_execution(PauseActivityExecutionRequest)
        pause_workflow_execution(PauseWorkflowExecutionRequest)
        unpause_workflow_execution(UnpauseWorkflowExecutionRequest)
    }
    refused {
        UpdateWorkerBuildIdCompatibility
        GetWorkerBuildIdCompatibility
        UpdateWorkerVersioningRules
        GetWorkerVersioningRules
        GetWorkerTaskReachability
        DescribeDeployment
        DescribeWorkerDeploymentVersion
        ListDeployments
        GetDeploymentReachability
        GetCurrentDeployment
        SetCurrentDeployment
        SetWorkerDeploymentCurrentVersion
        DescribeWorkerDeployment
        DeleteWorkerDeployment
        DeleteWorkerDeploymentVersion
        SetWorkerDeploymentRampingVersion
        ListWorkerDeployments
        CreateWorkerDeployment
        CreateWorkerDeploymentVersion
        UpdateWorkerDeploymentVersionComputeConfig
        ValidateWorkerDeploymentVersionComputeConfig
        UpdateWorkerDeploymentVersionMetadata
        SetWorkerDeploymentManager
        PollNexusTaskQueue
        RespondNexusTaskCompleted
        RespondNexusTaskFailed
        CreateWorkflowRule
        DescribeWorkflowRule
        DeleteWorkflowRule
        ListWorkflowRules
        TriggerWorkflowRule
        RecordWorkerHeartbeat
        ListWorkers
        CountWorkers
        UpdateTaskQueueConfig
        FetchWorkerConfig
        UpdateWorkerConfig
        DescribeWorker
        StartActivityExecution
        StartNexusOperationExecution
        DescribeActivityExecution
        DescribeNexusOperationExecution
        PollActivityExecution
        PollNexusOperationExecution
        ListActivityExecutions
        ListNexusOperationExecutions
        CountActivityExecutions
        CountNexusOperationExecutions
        RequestCancelActivityExecution
        RequestCancelNexusOperationExecution
        TerminateActivityExecution
        DeleteActivityExecution
        TerminateNexusOperationExecution
        DeleteNexusOperationExecution
        PollWorkflowExecutionTimeSkipping
    }
}

service! {
    operator_service: OPERATOR_SERVICE, messages of operatorservice::v1, methods of Call::new,
    answered {
        add_search_attributes(AddSearchAttributesRequest)
        remove_search_attributes(RemoveSearchAttributesRequest)
        list_search_attributes(ListSearchAttributesRequest)
        delete_namespace(DeleteNamespaceRequest)
        list_clusters(ListClustersRequest)
    }
    refused {
        AddOrUpdateRemoteCluster
        RemoveRemoteCluster
        GetNexusEndpoint
        CreateNexusEndpoint
        UpdateNexusEndpoint
        DeleteNexusEndpoint
        ListNexusEndpoints
    }
}

service! {
    schedule_service: SCHEDULE_SERVICE, messages of perennial, methods of ScheduleCall::new,
    answered {
        create_schedule(CreateScheduleRequest)
        describe_schedule(DescribeScheduleRequest)
        list_schedules(ListSchedulesRequest)
        update_schedule(UpdateScheduleRequest)
        trigger_schedule(TriggerScheduleRequest)
        pause_schedule(PauseScheduleRequest)
        resume_schedule(ResumeScheduleRequest)
        delete_schedule(DeleteScheduleRequest)
        backfill_schedule(BackfillScheduleRequest)
        list_backfills(ListBackfillsRequest)
        list_backfill_occurrences(ListBackfillOccurrencesRequest)
        cancel_backfill(CancelBackfillRequest)
        list_schedule_events(ListScheduleEventsRequest)
        list_occurrences(ListOccurrencesRequest)
        explain_occurrence(ExplainOccurrenceRequest)
        evaluate_schedules(EvaluateSchedulesRequest)
    }
    refused {}
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use perennial_proto::descriptors;

    use super::*;

    #[test]
    fn every_rpc_of_the_services_is_in_the_table_and_nothing_else() {
        let listed: BTreeSet<_> = table().into_keys().collect();
        let services = [WORKFLOW_SERVICE, OPERATOR_SERVICE, SCHEDULE_SERVICE];
        let described: BTreeSet<_> = services
            .iter()
            .flat_map(|name| {
                let service = descriptors().get_service_by_name(name).unwrap();
                service.methods().map(|it| format!("/{name}/{}", it.name())).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(listed, described);
    }
}
