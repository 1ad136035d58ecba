//! `DescribeServer`: what a server says of itself.

use std::sync::Arc;

use perennial_engine::Time;
use perennial_identity::{Credential, Permission, Principal};
use perennial_library::{Config, NewApiKey, Perennial, Storage};
use perennial_proto::perennial::{
    DescribeServerRequest, DescribeServerResponse, ExpiringApiKey, UnpolledTaskQueue,
};
use perennial_proto::temporal::enums::v1::TaskQueueType;
use perennial_proto::temporal::workflowservice::v1::{
    GetSystemInfoRequest, PollWorkflowTaskQueueRequest,
};
use perennial_runtime::create_api_key;
use perennial_server::{AccessConfig, CallContext, Credentials, Listeners, ServerConfig, Services};
use perennial_store::{SqliteStore, Store};
use prost::Message;
use tempfile::tempdir;
use tokio::net::TcpListener;
use tonic::transport::Endpoint;
use tonic::{Code, Request, Status};

use crate::api::test_server::{Client, queue, start};

async fn describe_as(
    services: &Services,
    principal: Principal,
) -> Result<DescribeServerResponse, Status> {
    let mut context = CallContext::in_process();
    context.principal = Arc::new(principal);
    let request = DescribeServerRequest {}.encode_to_vec();
    let path = "/perennial.v1.AdminService/DescribeServer";
    let response = services.call(path, context, request.into()).await?;
    Ok(DescribeServerResponse::decode(response).unwrap())
}

async fn describe(services: &Services) -> DescribeServerResponse {
    describe_as(services, Principal::anonymous()).await.unwrap()
}

async fn call(services: &Services, rpc: &str, request: impl Message) {
    let path = format!("/temporal.api.workflowservice.v1.WorkflowService/{rpc}");
    let context = CallContext::in_process();
    services.call(&path, context, request.encode_to_vec().into()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn server_describes_its_files_and_its_commits() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("perennial.db");
    let storage = Storage::File { path: path.clone(), options: Default::default() };
    let perennial = Perennial::open(Config::new(storage)).await.unwrap();
    let services = perennial.services();
    call(services, "StartWorkflowExecution", start("order-7")).await;
    let server = describe(services).await;
    assert!(server.ready, "{}", server.not_ready_reason);
    assert!(server.started_at.unwrap().seconds <= server.time.unwrap().seconds);
    let storage = server.storage.unwrap();
    assert_eq!((storage.kind.as_str(), storage.path.as_str()), ("sqlite", path.to_str().unwrap()));
    assert!(storage.bytes > 0 && storage.disk_bytes > storage.disk_free_bytes, "{storage:?}");
    assert!(server.recent_commits.unwrap().count > 0);
    assert_eq!(server.certificates, []);

    let in_memory = Perennial::open(Config::new(Storage::Memory)).await.unwrap();
    let storage = describe(in_memory.services()).await.storage.unwrap();
    assert_eq!((storage.path.as_str(), storage.bytes, storage.disk_bytes), ("", 0, 0));
    in_memory.close().await.unwrap();
    perennial.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn task_queue_with_tasks_and_without_workers_is_named() {
    let perennial = Perennial::open(Config::new(Storage::Memory)).await.unwrap();
    let services = perennial.services();
    call(services, "StartWorkflowExecution", start("order-7")).await;
    call(services, "StartWorkflowExecution", start("order-8")).await;
    // A task enters its queue just after its workflow's start is answered.
    let mut unpolled = Vec::new();
    while unpolled.iter().map(|queue: &UnpolledTaskQueue| queue.backlog).sum::<i64>() < 2 {
        unpolled = describe(services).await.unpolled_task_queues;
    }
    let [queue_of_orders] = unpolled.as_slice() else { panic!("{unpolled:?}") };
    assert!(queue_of_orders.oldest_task_at.is_some());
    let expected = UnpolledTaskQueue {
        namespace: "default".to_owned(),
        name: "queue".to_owned(),
        kind: TaskQueueType::Workflow.into(),
        backlog: 2,
        oldest_task_at: queue_of_orders.oldest_task_at,
    };
    assert_eq!(*queue_of_orders, expected);
    let poll = PollWorkflowTaskQueueRequest {
        namespace: "default".to_owned(),
        task_queue: queue(),
        ..PollWorkflowTaskQueueRequest::default()
    };
    call(services, "PollWorkflowTaskQueue", poll).await;
    assert_eq!(describe(services).await.unpolled_task_queues, []);
    perennial.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn role_in_a_namespace_is_not_enough_to_describe_the_server() {
    let perennial = Perennial::open(Config::new(Storage::Memory)).await.unwrap();
    let with = |permission: &str| {
        let grants = permission.parse::<Permission>().into_iter().collect();
        Principal::new(Credential::ApiKey, "ci", grants)
    };
    let services = perennial.services();
    assert!(describe_as(services, with("*:read")).await.is_ok());
    let refused = describe_as(services, with("default:admin")).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    perennial.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_expire_and_expired_ones_that_are_still_shown_are_named() {
    const DAY: i64 = 24 * 60 * 60 * 1_000_000_000;
    let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory().unwrap());
    let now = i64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap();
    let mut secrets = Vec::new();
    for (name, expires_at) in [
        ("soon", Some(now + DAY)),
        ("later", Some(now + 60 * DAY)),
        ("never", None),
        ("expired", Some(now - DAY)),
        ("forgotten", Some(now - DAY)),
    ] {
        let new = NewApiKey {
            name: name.to_owned(),
            permissions: vec!["*:read".to_owned()],
            expires_at: expires_at.map(Time),
        };
        let (record, key) = new.issue(name.to_owned(), Time(now - 2 * DAY), "test").unwrap();
        create_api_key(store.as_ref(), &record).unwrap();
        secrets.push(key);
    }
    let access = AccessConfig { credentials: Credentials::Required, ..AccessConfig::default() };
    let server = ServerConfig { access, ..ServerConfig::default() };
    let config = Config { server, ..Config::new(Storage::Store(store)) };
    let perennial = Arc::new(Perennial::open(config).await.unwrap());
    let services = perennial.services().clone();
    let grpc = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = grpc.local_addr().unwrap();
    tokio::spawn(async move {
        perennial.serve(Listeners::tcp(grpc, None), std::future::pending()).await;
    });
    let named = async || {
        let expiring = describe(&services).await.expiring_api_keys;
        let is_shown = |key: &ExpiringApiKey| (key.name.clone(), key.last_refused_at.is_some());
        expiring.iter().map(is_shown).collect::<Vec<_>>()
    };
    assert_eq!(named().await, [("soon".to_owned(), false)]);

    let channel = Endpoint::from_shared(format!("http://{address}")).unwrap();
    let mut client = Client::new(channel.connect().await.unwrap());
    let mut request = Request::new(GetSystemInfoRequest {});
    let bearer = format!("Bearer {}", secrets[3].reveal());
    request.metadata_mut().insert("authorization", bearer.parse().unwrap());
    let refused = client.get_system_info(request).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated);
    assert_eq!(named().await, [("expired".to_owned(), true), ("soon".to_owned(), false)]);
}
