//! The table of all RPCs: the message that each takes, its routing in a cluster, what its caller needs, and which ones
//! aren't implemented.
//!
//! A row is the name of a method of [`Call`] (or of [`ScheduleCall`] or [`AdminCall`], for our own services), the message
//! it takes, its routing and its rights.
//!
//! The routing is `by workflow`, `by schedule` or `by job` with the fields that hold the id, `by token` with the field
//! that holds a task token, `anywhere`, or `on every node`. Fields are written `name = number`, the outermost first. The
//! namespace is field 1, unless a second path says where it is.
//!
//! The rights are the roles of which the caller needs one in the namespace of the request, or `of server`, or just
//! `credentials`. Where the namespace isn't simply the request's: `by id` with the field that holds the id of a
//! namespace without a name, `by token` if the request may leave it to the task token, `in` a field of the request.

use std::collections::HashMap;

use bytes::Bytes;
use perennial_identity::{Role, RoleSet};
use perennial_proto::perennial;
use perennial_proto::temporal::{operatorservice, workflowservice};
use prost::Message;
use tonic::Status;

use crate::access::rights::{Needs, Target};
use crate::admin::AdminCall;
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
const ADMIN_SERVICE: &str = "perennial.v1.AdminService";

/// All services, in the order of the documentation.
pub(crate) const SERVICES: [&str; 4] =
    [WORKFLOW_SERVICE, OPERATOR_SERVICE, SCHEDULE_SERVICE, ADMIN_SERVICE];

/// All RPCs by their paths, as in `/perennial.v1.ScheduleService/ListBackfills`.
pub(crate) fn table() -> HashMap<String, Rpc> {
    let mut rpcs = HashMap::new();
    workflow_service(&mut rpcs);
    operator_service(&mut rpcs);
    schedule_service(&mut rpcs);
    admin_service(&mut rpcs);
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

/// Turns the routing of a row into its [`Routing`].
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

/// Turns the rights of a row into its [`Needs`].
macro_rules! needs {
    (credentials) => { Needs::Credentials };
    (read of server) => { Needs::OnServer(needs!(@roles read)) };
    (admin of server) => { Needs::OnServer(needs!(@roles admin)) };
    ($first:ident $(or $other:ident)? $(, $($place:tt)+)?) => {
        Needs::InNamespace(needs!(@roles $first $($other)?))
    };
    (@roles $($role:ident)+) => { RoleSet::of(&[$(needs!(@role $role)),+]) };
    (@role read) => { Role::Read };
    (@role worker) => { Role::Worker };
    (@role write) => { Role::Write };
    (@role admin) => { Role::Admin };
}

/// Turns the rights of a row into the [`Target`] of its request.
macro_rules! target {
    ($request:ident, credentials) => {
        Target::Namespace("")
    };
    ($request:ident, $role:ident of server) => {
        Target::Namespace("")
    };
    ($request:ident, $first:ident $(or $other:ident)?) => {
        Target::Namespace(&$request.namespace)
    };
    ($request:ident, $first:ident $(or $other:ident)?, by token) => {
        Target::TokenOr(&$request.namespace)
    };
    ($request:ident, $first:ident $(or $other:ident)?, by id($id:ident)) => {
        Target::NamespaceOrId(&$request.namespace, &$request.$id)
    };
    ($request:ident, $first:ident $(or $other:ident)?, in $field:ident) => {
        Target::Namespace($request.$field.as_ref().map_or("", |it| &it.namespace))
    };
}

/// Writes a function that adds the RPCs of a service from a table of them.
macro_rules! service {
    (
        $add:ident: $service:ident, messages of $messages:path, methods of $call:expr,
        implemented { $($rpc:ident($request:ident) [$($routing:tt)+] [$($rights:tt)+])* }
        not_implemented { $($later:ident)* }
    ) => {
        fn $add(rpcs: &mut HashMap<String, Rpc>) {
            use $messages as messages;

            $({
                let handler: Handler = |services, needs, context, message| {
                    Box::pin(async move {
                        let bytes = message.len();
                        let request = decoded::<messages::$request>(message)?;
                        let mut call = Call::new(services.shared(), context);
                        call.admit(needs, target!(request, $($rights)+), bytes)?;
                        $call(call).$rpc(request).await.map(|response| EncodedMessage::of(&response))
                    })
                };
                let routing = routing!($($routing)+);
                let rpc = Rpc { handler, routing, needs: needs!($($rights)+) };
                rpcs.insert(path($service, stringify!($request)), rpc);
            })*
            $({
                let handler: Handler =
                    |_, _, _, _| Box::pin(async { Err(not_implemented(stringify!($later))) });
                let rpc = Rpc { handler, routing: Routing::AnyNode, needs: Needs::Credentials };
                rpcs.insert(path($service, stringify!($later)), rpc);
            })*
        }
    };
}

service! {
    workflow_service: WORKFLOW_SERVICE, messages of workflowservice::v1, methods of std::convert::identity,
    implemented {
        register_namespace(RegisterNamespaceRequest) [anywhere] [admin]
        describe_namespace(DescribeNamespaceRequest) [anywhere] [read or worker, by id(id)]
        list_namespaces(ListNamespacesRequest) [anywhere] [credentials]
        update_namespace(UpdateNamespaceRequest) [anywhere] [admin]
        deprecate_namespace(DeprecateNamespaceRequest) [anywhere] [admin]
        start_workflow_execution(StartWorkflowExecutionRequest)
            [by workflow(workflow_id = 2)] [write]
        execute_multi_operation(ExecuteMultiOperationRequest)
            [by workflow(operations = 2, start_workflow = 1, workflow_id = 2)] [write]
        get_workflow_execution_history(GetWorkflowExecutionHistoryRequest)
            [by workflow(execution = 2, workflow_id = 1)] [read or worker]
        get_workflow_execution_history_reverse(GetWorkflowExecutionHistoryReverseRequest)
            [by workflow(execution = 2, workflow_id = 1)] [read]
        poll_workflow_task_queue(PollWorkflowTaskQueueRequest) [anywhere] [worker]
        respond_workflow_task_completed(RespondWorkflowTaskCompletedRequest)
            [by token(task_token = 1)] [worker, by token]
        respond_workflow_task_failed(RespondWorkflowTaskFailedRequest)
            [by token(task_token = 1)] [worker, by token]
        poll_activity_task_queue(PollActivityTaskQueueRequest) [anywhere] [worker]
        record_activity_task_heartbeat(RecordActivityTaskHeartbeatRequest)
            [by token(task_token = 1)] [worker, by token]
        record_activity_task_heartbeat_by_id(RecordActivityTaskHeartbeatByIdRequest)
            [by workflow(workflow_id = 2)] [worker]
        respond_activity_task_completed(RespondActivityTaskCompletedRequest)
            [by token(task_token = 1)] [worker, by token]
        respond_activity_task_completed_by_id(RespondActivityTaskCompletedByIdRequest)
            [by workflow(workflow_id = 2)] [worker]
        respond_activity_task_failed(RespondActivityTaskFailedRequest)
            [by token(task_token = 1)] [worker, by token]
        respond_activity_task_failed_by_id(RespondActivityTaskFailedByIdRequest)
            [by workflow(workflow_id = 2)] [worker]
        respond_activity_task_canceled(RespondActivityTaskCanceledRequest)
            [by token(task_token = 1)] [worker, by token]
        respond_activity_task_canceled_by_id(RespondActivityTaskCanceledByIdRequest)
            [by workflow(workflow_id = 2)] [worker]
        request_cancel_workflow_execution(RequestCancelWorkflowExecutionRequest)
            [by workflow(workflow_execution = 2, workflow_id = 1)] [write]
        signal_workflow_execution(SignalWorkflowExecutionRequest)
            [by workflow(workflow_execution = 2, workflow_id = 1)] [write]
        signal_with_start_workflow_execution(SignalWithStartWorkflowExecutionRequest)
            [by workflow(workflow_id = 2)] [write]
        reset_workflow_execution(ResetWorkflowExecutionRequest)
            [by workflow(workflow_execution = 2, workflow_id = 1)] [write]
        terminate_workflow_execution(TerminateWorkflowExecutionRequest)
            [by workflow(workflow_execution = 2, workflow_id = 1)] [write]
        delete_workflow_execution(DeleteWorkflowExecutionRequest)
            [by workflow(workflow_execution = 2, workflow_id = 1)] [write]
        list_open_workflow_executions(ListOpenWorkflowExecutionsRequest) [anywhere] [read]
        list_closed_workflow_executions(ListClosedWorkflowExecutionsRequest) [anywhere] [read]
        list_workflow_executions(ListWorkflowExecutionsRequest) [anywhere] [read]
        list_archived_workflow_executions(ListArchivedWorkflowExecutionsRequest) [anywhere] [read]
        scan_workflow_executions(ScanWorkflowExecutionsRequest) [anywhere] [read]
        count_workflow_executions(CountWorkflowExecutionsRequest) [anywhere] [read]
        get_search_attributes(GetSearchAttributesRequest) [anywhere] [credentials]
        respond_query_task_completed(RespondQueryTaskCompletedRequest)
            [by token(task_token = 1)] [worker, by token]
        reset_sticky_task_queue(ResetStickyTaskQueueRequest)
            [by workflow(execution = 2, workflow_id = 1)] [worker]
        shutdown_worker(ShutdownWorkerRequest) [on every node] [worker]
        query_workflow(QueryWorkflowRequest) [by workflow(execution = 2, workflow_id = 1)] [read]
        describe_workflow_execution(DescribeWorkflowExecutionRequest)
            [by workflow(execution = 2, workflow_id = 1)] [read]
        describe_task_queue(DescribeTaskQueueRequest) [on every node] [read]
        get_cluster_info(GetClusterInfoRequest) [anywhere] [credentials]
        get_system_info(GetSystemInfoRequest) [anywhere] [credentials]
        list_task_queue_partitions(ListTaskQueuePartitionsRequest) [anywhere] [read]
        update_workflow_execution(UpdateWorkflowExecutionRequest)
            [by workflow(workflow_execution = 2, workflow_id = 1)] [write]
        poll_workflow_execution_update(PollWorkflowExecutionUpdateRequest)
            [by workflow(update_ref = 2, workflow_execution = 1, workflow_id = 1)] [read]
        start_batch_operation(StartBatchOperationRequest) [by job(job_id = 3)] [write]
        stop_batch_operation(StopBatchOperationRequest) [by job(job_id = 2)] [write]
        describe_batch_operation(DescribeBatchOperationRequest) [by job(job_id = 2)] [read]
        list_batch_operations(ListBatchOperationsRequest) [anywhere] [read]
        create_schedule(CreateScheduleRequest) [by schedule(schedule_id = 2)] [write]
        describe_schedule(DescribeScheduleRequest) [by schedule(schedule_id = 2)] [read]
        update_schedule(UpdateScheduleRequest) [by schedule(schedule_id = 2)] [write]
        patch_schedule(PatchScheduleRequest) [by schedule(schedule_id = 2)] [write]
        list_schedule_matching_times(ListScheduleMatchingTimesRequest)
            [by schedule(schedule_id = 2)] [read]
        delete_schedule(DeleteScheduleRequest) [by schedule(schedule_id = 2)] [write]
        list_schedules(ListSchedulesRequest) [anywhere] [read]
        count_schedules(CountSchedulesRequest) [anywhere] [read]
        update_activity_options(UpdateActivityOptionsRequest)
            [by workflow(execution = 2, workflow_id = 1)] [write]
        update_workflow_execution_options(UpdateWorkflowExecutionOptionsRequest)
            [by workflow(workflow_execution = 2, workflow_id = 1)] [write]
        pause_activity(PauseActivityRequest) [by workflow(execution = 2, workflow_id = 1)] [write]
        unpause_activity(UnpauseActivityRequest)
            [by workflow(execution = 2, workflow_id = 1)] [write]
        reset_activity(ResetActivityRequest) [by workflow(execution = 2, workflow_id = 1)] [write]
        update_activity_execution_options(UpdateActivityExecutionOptionsRequest)
            [by workflow(workflow_id = 2)] [write]
        unpause_activity_execution(UnpauseActivityExecutionRequest)
            [by workflow(workflow_id = 2)] [write]
        reset_activity_execution(ResetActivityExecutionRequest)
            [by workflow(workflow_id = 2)] [write]
        pause_activity_execution(PauseActivityExecutionRequest)
            [by workflow(workflow_id = 2)] [write]
        pause_workflow_execution(PauseWorkflowExecutionRequest)
            [by workflow(workflow_id = 2)] [write]
        unpause_workflow_execution(UnpauseWorkflowExecutionRequest)
            [by workflow(workflow_id = 2)] [write]
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
    operator_service: OPERATOR_SERVICE, messages of operatorservice::v1, methods of std::convert::identity,
    implemented {
        add_search_attributes(AddSearchAttributesRequest) [anywhere] [admin]
        remove_search_attributes(RemoveSearchAttributesRequest) [anywhere] [admin]
        list_search_attributes(ListSearchAttributesRequest) [anywhere] [read]
        delete_namespace(DeleteNamespaceRequest) [anywhere] [admin, by id(namespace_id)]
        list_clusters(ListClustersRequest) [anywhere] [read of server]
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
    schedule_service: SCHEDULE_SERVICE, messages of perennial, methods of ScheduleCall,
    implemented {
        create_schedule(CreateScheduleRequest)
            [by schedule(schedule = 1, schedule_id = 2; schedule = 1, namespace = 1)]
            [write, in schedule]
        describe_schedule(DescribeScheduleRequest) [by schedule(schedule_id = 2)] [read]
        list_schedules(ListSchedulesRequest) [anywhere] [read]
        update_schedule(UpdateScheduleRequest) [by schedule(schedule_id = 2)] [write]
        trigger_schedule(TriggerScheduleRequest) [by schedule(schedule_id = 2)] [write]
        pause_schedule(PauseScheduleRequest) [by schedule(schedule_id = 2)] [write]
        resume_schedule(ResumeScheduleRequest) [by schedule(schedule_id = 2)] [write]
        delete_schedule(DeleteScheduleRequest) [by schedule(schedule_id = 2)] [write]
        backfill_schedule(BackfillScheduleRequest) [by schedule(schedule_id = 2)] [write]
        list_backfills(ListBackfillsRequest) [by schedule(schedule_id = 2)] [read]
        list_backfill_occurrences(ListBackfillOccurrencesRequest)
            [by schedule(schedule_id = 2)] [read]
        cancel_backfill(CancelBackfillRequest) [by schedule(schedule_id = 2)] [write]
        list_schedule_events(ListScheduleEventsRequest) [by schedule(schedule_id = 2)] [read]
        list_occurrences(ListOccurrencesRequest) [by schedule(schedule_id = 2)] [read]
        explain_occurrence(ExplainOccurrenceRequest) [by schedule(schedule_id = 2)] [read]
        evaluate_schedules(EvaluateSchedulesRequest) [on every node] [write]
    }
    not_implemented {}
}

service! {
    admin_service: ADMIN_SERVICE, messages of perennial, methods of AdminCall,
    implemented {
        create_api_key(CreateApiKeyRequest) [anywhere] [credentials]
        list_api_keys(ListApiKeysRequest) [anywhere] [credentials]
        revoke_api_key(RevokeApiKeyRequest) [anywhere] [credentials]
        set_log_levels(SetLogLevelsRequest) [on every node] [admin of server]
        describe_server(DescribeServerRequest) [on every node] [read of server]
        describe_cluster(DescribeClusterRequest) [anywhere] [read of server]
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
