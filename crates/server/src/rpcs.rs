//! The table of all RPCs: the message that each takes, its routing in a cluster, and which ones aren't implemented.
//!
//! A row is the name of a method of [`Call`] (or of [`ScheduleCall`], for our own service), the message it takes, and its
//! routing: `by workflow`, `by schedule` or `by job` with the fields that hold the id, `by token` with the field that
//! holds a task token, `anywhere`, or `on every node`. Fields are written `name = number`, the outermost first. The
//! namespace is field 1, unless a second path says where it is.

use std::collections::HashMap;

use bytes::Bytes;
use perennial_proto::perennial;
use perennial_proto::temporal::{operatorservice, workflowservice};
use prost::Message;
use tonic::Status;

use crate::call::Call;
use crate::encoded_message::EncodedMessage;
use crate::errors::{RpcResult, not_implemented};
use crate::routing::{EntityFields, Field, Routing};
use crate::schedules::ScheduleCall;
use crate::services::{Handler, Rpc};

/// Clients ask for the server's health by this name.
pub(crate) const WORKFLOW_SERVICE: &str = "temporal.api.workflowservice.v1.WorkflowService";
const OPERATOR_SERVICE: &str = "temporal.api.operatorservice.v1.OperatorService";
const SCHEDULE_SERVICE: &str = "perennial.v1.ScheduleService";

/// All services, in the order of the documentation.
pub(crate) const SERVICES: [&str; 3] = [WORKFLOW_SERVICE, OPERATOR_SERVICE, SCHEDULE_SERVICE];

/// All RPCs by their paths, as in `/perennial.v1.ScheduleService/ListBackfills`.
pub(crate) fn table() -> HashMap<String, Rpc> {
    let mut rpcs = HashMap::new();
    workflow_service(&mut rpcs);
    operator_service(&mut rpcs);
    schedule_service(&mut rpcs);
    rpcs
}

fn decoded<T: Message + Default>(message: Bytes) -> RpcResult<T> {
    // INVALID_ARGUMENT, where gRPC libraries use INTERNAL: clients would retry that for ever.
    T::decode(message).map_err(|error| {
        Status::invalid_argument(format!("grpc: error unmarshalling request: {error}"))
    })
}

/// The path of an RPC by its name, or by the name of its request.
fn path(service: &str, name: &str) -> String {
    format!("/{service}/{}", name.strip_suffix("Request").unwrap_or(name))
}

/// Turns the last column of a row into its [`Routing`].
macro_rules! routing {
    (anywhere) => { Routing::AnyNode };
    (on every node) => { Routing::EveryNode };
    (by token($($id:ident = $number:literal),+)) => {
        Routing::TaskToken(&[$(Field { name: stringify!($id), number: $number }),+])
    };
    (by workflow($($fields:tt)+)) => { routing!(@entity $($fields)+) };
    (by schedule($($fields:tt)+)) => { routing!(@entity $($fields)+) };
    (by job($($fields:tt)+)) => { routing!(@entity $($fields)+) };
    (@entity $($id:ident = $number:literal),+) => {
        routing!(@entity $($id = $number),+; namespace = 1)
    };
    (
        @entity $($id:ident = $id_number:literal),+;
        $($namespace:ident = $namespace_number:literal),+
    ) => {
        Routing::Entity(EntityFields {
            namespace: &[$(Field { name: stringify!($namespace), number: $namespace_number }),+],
            id: &[$(Field { name: stringify!($id), number: $id_number }),+],
        })
    };
}

/// Writes a function that adds the RPCs of a service from a table of them.
macro_rules! service {
    (
        $add:ident: $service:ident, messages of $messages:path, methods of $call:expr,
        implemented { $($rpc:ident($request:ident) [$($routing:tt)+])* }
        not_implemented { $($later:ident)* }
    ) => {
        fn $add(rpcs: &mut HashMap<String, Rpc>) {
            use $messages as messages;

            $({
                let handler: Handler = |services, context, message| {
                    Box::pin(async move {
                        let request = decoded::<messages::$request>(message)?;
                        let call = $call(services.shared(), context);
                        call.$rpc(request).await.map(|response| EncodedMessage::of(&response))
                    })
                };
                let routing = routing!($($routing)+);
                rpcs.insert(path($service, stringify!($request)), Rpc { handler, routing });
            })*
            $({
                let handler: Handler =
                    |_, _, _| Box::pin(async { Err(not_implemented(stringify!($later))) });
                let rpc = Rpc { handler, routing: Routing::AnyNode };
                rpcs.insert(path($service, stringify!($later)), rpc);
            })*
        }
    };
}

service! {
    workflow_service: WORKFLOW_SERVICE, messages of workflowservice::v1, methods of Call::new,
    implemented {
        register_namespace(RegisterNamespaceRequest) [anywhere]
        describe_namespace(DescribeNamespaceRequest) [anywhere]
        list_namespaces(ListNamespacesRequest) [anywhere]
        update_namespace(UpdateNamespaceRequest) [anywhere]
        deprecate_namespace(DeprecateNamespaceRequest) [anywhere]
        start_workflow_execution(StartWorkflowExecutionRequest) [by workflow(workflow_id = 2)]
        execute_multi_operation(ExecuteMultiOperationRequest)
            [by workflow(operations = 2, start_workflow = 1, workflow_id = 2)]
        get_workflow_execution_history(GetWorkflowExecutionHistoryRequest)
            [by workflow(execution = 2, workflow_id = 1)]
        get_workflow_execution_history_reverse(GetWorkflowExecutionHistoryReverseRequest)
            [by workflow(execution = 2, workflow_id = 1)]
        poll_workflow_task_queue(PollWorkflowTaskQueueRequest) [anywhere]
        respond_workflow_task_completed(RespondWorkflowTaskCompletedRequest)
            [by token(task_token = 1)]
        respond_workflow_task_failed(RespondWorkflowTaskFailedRequest) [by token(task_token = 1)]
        poll_activity_task_queue(PollActivityTaskQueueRequest) [anywhere]
        record_activity_task_heartbeat(RecordActivityTaskHeartbeatRequest)
            [by token(task_token = 1)]
        record_activity_task_heartbeat_by_id(RecordActivityTaskHeartbeatByIdRequest)
            [by workflow(workflow_id = 2)]
        respond_activity_task_completed(RespondActivityTaskCompletedRequest)
            [by token(task_token = 1)]
        respond_activity_task_completed_by_id(RespondActivityTaskCompletedByIdRequest)
            [by workflow(workflow_id = 2)]
        respond_activity_task_failed(RespondActivityTaskFailedRequest) [by token(task_token = 1)]
        respond_activity_task_failed_by_id(RespondActivityTaskFailedByIdRequest)
            [by workflow(workflow_id = 2)]
        respond_activity_task_canceled(RespondActivityTaskCanceledRequest)
            [by token(task_token = 1)]
        respond_activity_task_canceled_by_id(RespondActivityTaskCanceledByIdRequest)
            [by workflow(workflow_id = 2)]
        request_cancel_workflow_execution(RequestCancelWorkflowExecutionRequest)
            [by workflow(workflow_execution = 2, workflow_id = 1)]
        signal_workflow_execution(SignalWorkflowExecutionRequest)
            [by workflow(workflow_execution = 2, workflow_id = 1)]
        signal_with_start_workflow_execution(SignalWithStartWorkflowExecutionRequest)
            [by workflow(workflow_id = 2)]
        reset_workflow_execution(ResetWorkflowExecutionRequest)
            [by workflow(workflow_execution = 2, workflow_id = 1)]
        terminate_workflow_execution(TerminateWorkflowExecutionRequest)
            [by workflow(workflow_execution = 2, workflow_id = 1)]
        delete_workflow_execution(DeleteWorkflowExecutionRequest)
            [by workflow(workflow_execution = 2, workflow_id = 1)]
        list_open_workflow_executions(ListOpenWorkflowExecutionsRequest) [anywhere]
        list_closed_workflow_executions(ListClosedWorkflowExecutionsRequest) [anywhere]
        list_workflow_executions(ListWorkflowExecutionsRequest) [anywhere]
        list_archived_workflow_executions(ListArchivedWorkflowExecutionsRequest) [anywhere]
        scan_workflow_executions(ScanWorkflowExecutionsRequest) [anywhere]
        count_workflow_executions(CountWorkflowExecutionsRequest) [anywhere]
        get_search_attributes(GetSearchAttributesRequest) [anywhere]
        respond_query_task_completed(RespondQueryTaskCompletedRequest) [by token(task_token = 1)]
        reset_sticky_task_queue(ResetStickyTaskQueueRequest)
            [by workflow(execution = 2, workflow_id = 1)]
        shutdown_worker(ShutdownWorkerRequest) [on every node]
        query_workflow(QueryWorkflowRequest) [by workflow(execution = 2, workflow_id = 1)]
        describe_workflow_execution(DescribeWorkflowExecutionRequest)
            [by workflow(execution = 2, workflow_id = 1)]
        describe_task_queue(DescribeTaskQueueRequest) [on every node]
        get_cluster_info(GetClusterInfoRequest) [anywhere]
        get_system_info(GetSystemInfoRequest) [anywhere]
        list_task_queue_partitions(ListTaskQueuePartitionsRequest) [anywhere]
        update_workflow_execution(UpdateWorkflowExecutionRequest)
            [by workflow(workflow_execution = 2, workflow_id = 1)]
        poll_workflow_execution_update(PollWorkflowExecutionUpdateRequest)
            [by workflow(update_ref = 2, workflow_execution = 1, workflow_id = 1)]
        start_batch_operation(StartBatchOperationRequest) [by job(job_id = 3)]
        stop_batch_operation(StopBatchOperationRequest) [by job(job_id = 2)]
        describe_batch_operation(DescribeBatchOperationRequest) [by job(job_id = 2)]
        list_batch_operations(ListBatchOperationsRequest) [anywhere]
        create_schedule(CreateScheduleRequest) [by schedule(schedule_id = 2)]
        describe_schedule(DescribeScheduleRequest) [by schedule(schedule_id = 2)]
        update_schedule(UpdateScheduleRequest) [by schedule(schedule_id = 2)]
        patch_schedule(PatchScheduleRequest) [by schedule(schedule_id = 2)]
        list_schedule_matching_times(ListScheduleMatchingTimesRequest)
            [by schedule(schedule_id = 2)]
        delete_schedule(DeleteScheduleRequest) [by schedule(schedule_id = 2)]
        list_schedules(ListSchedulesRequest) [anywhere]
        count_schedules(CountSchedulesRequest) [anywhere]
        update_activity_options(UpdateActivityOptionsRequest)
            [by workflow(execution = 2, workflow_id = 1)]
        update_workflow_execution_options(UpdateWorkflowExecutionOptionsRequest)
            [by workflow(workflow_execution = 2, workflow_id = 1)]
        pause_activity(PauseActivityRequest) [by workflow(execution = 2, workflow_id = 1)]
        unpause_activity(UnpauseActivityRequest) [by workflow(execution = 2, workflow_id = 1)]
        reset_activity(ResetActivityRequest) [by workflow(execution = 2, workflow_id = 1)]
        update_activity_execution_options(UpdateActivityExecutionOptionsRequest)
            [by workflow(workflow_id = 2)]
        unpause_activity_execution(UnpauseActivityExecutionRequest) [by workflow(workflow_id = 2)]
        reset_activity_execution(ResetActivityExecutionRequest) [by workflow(workflow_id = 2)]
        pause_activity_execution(PauseActivityExecutionRequest) [by workflow(workflow_id = 2)]
        pause_workflow_execution(PauseWorkflowExecutionRequest) [by workflow(workflow_id = 2)]
        unpause_workflow_execution(UnpauseWorkflowExecutionRequest) [by workflow(workflow_id = 2)]
    }
    not_implemented {
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
    implemented {
        add_search_attributes(AddSearchAttributesRequest) [anywhere]
        remove_search_attributes(RemoveSearchAttributesRequest) [anywhere]
        list_search_attributes(ListSearchAttributesRequest) [anywhere]
        delete_namespace(DeleteNamespaceRequest) [anywhere]
        list_clusters(ListClustersRequest) [anywhere]
    }
    not_implemented {
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
    implemented {
        create_schedule(CreateScheduleRequest)
            [by schedule(schedule = 1, schedule_id = 2; schedule = 1, namespace = 1)]
        describe_schedule(DescribeScheduleRequest) [by schedule(schedule_id = 2)]
        list_schedules(ListSchedulesRequest) [anywhere]
        update_schedule(UpdateScheduleRequest) [by schedule(schedule_id = 2)]
        trigger_schedule(TriggerScheduleRequest) [by schedule(schedule_id = 2)]
        pause_schedule(PauseScheduleRequest) [by schedule(schedule_id = 2)]
        resume_schedule(ResumeScheduleRequest) [by schedule(schedule_id = 2)]
        delete_schedule(DeleteScheduleRequest) [by schedule(schedule_id = 2)]
        backfill_schedule(BackfillScheduleRequest) [by schedule(schedule_id = 2)]
        list_backfills(ListBackfillsRequest) [by schedule(schedule_id = 2)]
        list_backfill_occurrences(ListBackfillOccurrencesRequest) [by schedule(schedule_id = 2)]
        cancel_backfill(CancelBackfillRequest) [by schedule(schedule_id = 2)]
        list_schedule_events(ListScheduleEventsRequest) [by schedule(schedule_id = 2)]
        list_occurrences(ListOccurrencesRequest) [by schedule(schedule_id = 2)]
        explain_occurrence(ExplainOccurrenceRequest) [by schedule(schedule_id = 2)]
        evaluate_schedules(EvaluateSchedulesRequest) [on every node]
    }
    not_implemented {}
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use perennial_engine::{NamespaceKey, Slot};
    use perennial_proto::descriptors;
    use perennial_proto::prost_reflect::{
        DynamicMessage, Kind, MethodDescriptor, ReflectMessage, Value,
    };
    use perennial_proto::store::TaskToken;

    use super::*;
    use crate::routing::Destination;

    const NAMESPACE: NamespaceKey = NamespaceKey(7);

    fn described() -> impl Iterator<Item = (String, MethodDescriptor)> {
        SERVICES.into_iter().flat_map(|name| {
            let service = descriptors().get_service_by_name(name).unwrap();
            let methods = service.methods().map(|rpc| (format!("/{name}/{}", rpc.name()), rpc));
            methods.collect::<Vec<_>>()
        })
    }

    /// Sets the field at a path of names, in the first element of a list.
    fn set(message: &mut DynamicMessage, path: &[Field], value: Value) {
        let (field, rest) = path.split_first().unwrap();
        let descriptor = message.descriptor().get_field_by_name(field.name);
        let descriptor = descriptor.unwrap_or_else(|| panic!("there is no field {}", field.name));
        assert_eq!(descriptor.number(), field.number, "{}", descriptor.full_name());
        if rest.is_empty() {
            message.set_field(&descriptor, value);
            return;
        }
        let Kind::Message(inner) = descriptor.kind() else {
            panic!("{} is no message", descriptor.full_name());
        };
        let mut inner = match message.get_field(&descriptor).as_message() {
            Some(present) => present.clone(),
            None => DynamicMessage::new(inner),
        };
        set(&mut inner, rest, value);
        let inner = Value::Message(inner);
        let is_list = descriptor.is_list();
        message.set_field(&descriptor, if is_list { Value::List(vec![inner]) } else { inner });
    }

    fn destination(routing: &Routing, message: &DynamicMessage) -> Destination {
        let namespace = |name: &str| (name == "shop").then_some(NAMESPACE);
        routing.destination(&message.encode_to_vec(), namespace)
    }

    #[test]
    fn every_rpc_of_the_services_is_in_the_table_and_nothing_else() {
        let listed: BTreeSet<_> = table().into_keys().collect();
        let described: BTreeSet<_> = described().map(|(path, _)| path).collect();
        assert_eq!(listed, described);
    }

    #[test]
    fn every_rpc_is_routed_by_the_fields_of_its_message() {
        let table = table();
        for (path, rpc) in described() {
            let routing = &table[&path].routing;
            let mut message = DynamicMessage::new(rpc.input());
            match routing {
                Routing::Entity(fields) => {
                    assert_eq!(destination(routing, &message), Destination::AnyNode, "{path}");
                    set(&mut message, fields.namespace, Value::String("shop".to_owned()));
                    set(&mut message, fields.id, Value::String("order-7".to_owned()));
                    let slot = Destination::Slot(Slot::of(NAMESPACE, "order-7"));
                    assert_eq!(destination(routing, &message), slot, "{path}");
                    set(&mut message, fields.namespace, Value::String("nowhere".to_owned()));
                    assert_eq!(destination(routing, &message), Destination::AnyNode, "{path}");
                }
                Routing::TaskToken(fields) => {
                    assert_eq!(destination(routing, &message), Destination::AnyNode, "{path}");
                    let token = TaskToken {
                        namespace: NAMESPACE.0,
                        workflow_id: "order-7".to_owned(),
                        run_id: "run".to_owned(),
                        ..TaskToken::default()
                    };
                    let keys = crate::tokens::test_keys(&[1]);
                    let token = crate::tokens::sign_task(&keys, &token);
                    set(&mut message, fields, Value::Bytes(token.into()));
                    let slot = Destination::Slot(Slot::of(NAMESPACE, "order-7"));
                    assert_eq!(destination(routing, &message), slot, "{path}");
                }
                Routing::AnyNode => {
                    assert_eq!(destination(routing, &message), Destination::AnyNode, "{path}");
                }
                Routing::EveryNode => {
                    assert_eq!(destination(routing, &message), Destination::EveryNode, "{path}");
                }
            }
        }
    }

    /// RPCs without an implementation whose message names an entity: any node refuses them.
    const NOT_IMPLEMENTED: [&str; 4] = [
        "PollWorkflowExecutionTimeSkipping",
        "RespondNexusTaskCompleted",
        "RespondNexusTaskFailed",
        "TriggerWorkflowRule",
    ];

    #[test]
    fn rpc_whose_message_names_an_entity_is_routed_by_it() {
        let keys = ["workflow_id", "schedule_id", "job_id", "task_token"];
        let holders = ["execution", "workflow_execution", "update_ref"];
        let table = table();
        for (path, rpc) in described() {
            let input = rpc.input();
            let names_entity = keys
                .iter()
                .chain(&holders)
                .filter_map(|name| input.get_field_by_name(name))
                .any(|field| !field.is_list());
            let is_routed =
                matches!(table[&path].routing, Routing::Entity(_) | Routing::TaskToken(_));
            if names_entity && !NOT_IMPLEMENTED.contains(&rpc.name()) {
                assert!(is_routed, "{path}");
            }
        }
    }

    #[test]
    fn rpcs_for_every_node_and_for_any_node_are_distinguished() {
        let table = table();
        let of = |rpc: &str| {
            let routing = &table[&format!("/{WORKFLOW_SERVICE}/{rpc}")].routing;
            routing.destination(&[], |_| Some(NAMESPACE))
        };
        assert_eq!(of("ShutdownWorker"), Destination::EveryNode);
        assert_eq!(of("DescribeTaskQueue"), Destination::EveryNode);
        assert_eq!(of("PollWorkflowTaskQueue"), Destination::AnyNode);
        assert_eq!(of("ListWorkflowExecutions"), Destination::AnyNode);
    }
}
