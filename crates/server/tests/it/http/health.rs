//! `/healthz` and `/readyz`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use perennial_library::{Config, Perennial, Storage};
use perennial_proto::perennial::{DescribeServerRequest, DescribeServerResponse};
use perennial_proto::temporal::common::v1::WorkflowType;
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use perennial_proto::temporal::workflowservice::v1::StartWorkflowExecutionRequest;
use perennial_server::{CallContext, Listeners, Services};
use perennial_store::{Batch, Error, MemoryStore, Store, StoreWrapper};
use prost::Message;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tonic::transport::{Channel, Endpoint};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use super::test_server::{TestServer, ask};

/// A store whose disk is full, or hangs, while the test wants it.
#[derive(Default)]
struct TroubledStore {
    inner: MemoryStore,
    is_full: AtomicBool,
    hangs: AtomicBool,
}

impl StoreWrapper for TroubledStore {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    fn on_commit(&self, batches: &[Batch]) -> Result<(), Error> {
        while self.hangs.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        self.inner.commit(batches)
    }

    fn on_health(&self) -> Result<(), Error> {
        match self.is_full.load(Ordering::Relaxed) {
            true => Err(Error::Full("no room".to_owned())),
            false => Ok(()),
        }
    }
}

#[tokio::test]
async fn healthy_server_is_alive_and_ready() {
    let server = TestServer::new().await;
    for path in ["/healthz", "/readyz"] {
        assert_eq!(server.get(path).await.done(), json!({ "status": "ok" }));
        let refused = server.post(path, json!({})).await;
        assert_eq!((refused.code, refused.header("allow")), (405, Some("GET")));
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn server_whose_disk_is_full_or_hangs_is_alive_and_not_ready_by_all_faces() {
    let store = Arc::new(TroubledStore::default());
    let mut config = Config::new(Storage::Store(store.clone()));
    config.runtime.commit_stalled_after = Duration::from_secs(1);
    let perennial = Perennial::open(config).await.unwrap();
    let services = perennial.services().clone();
    let grpc = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let grpc_address = grpc.local_addr().unwrap();
    let metrics = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = metrics.local_addr().unwrap();
    let (stop, told) = oneshot::channel::<()>();
    let serving = tokio::spawn(async move {
        let listeners = Listeners::tcp(grpc, None).with_metrics(Some(metrics));
        perennial.serve(listeners, async { drop(told.await) }).await;
        perennial.close().await.unwrap();
    });
    let channel = Endpoint::from_shared(format!("http://{grpc_address}")).unwrap();
    let health = HealthClient::new(channel.connect().await.unwrap());
    let faces = Faces { address, health, services: services.clone() };
    faces.until_ready().await;

    store.is_full.store(true, Ordering::Relaxed);
    assert_eq!(faces.until_not_ready().await, "the store is full: no room");
    assert_eq!(ask(address, "GET", "/healthz").await.code, 200);
    store.is_full.store(false, Ordering::Relaxed);
    faces.until_ready().await;

    store.hangs.store(true, Ordering::Relaxed);
    let start = StartWorkflowExecutionRequest {
        namespace: "default".to_owned(),
        workflow_id: "order".to_owned(),
        workflow_type: Some(WorkflowType { name: "Order".to_owned() }),
        task_queue: Some(TaskQueue { name: "orders".to_owned(), ..TaskQueue::default() }),
        request_id: "order".to_owned(),
        ..StartWorkflowExecutionRequest::default()
    };
    let started = tokio::spawn(async move {
        let path = "/temporal.api.workflowservice.v1.WorkflowService/StartWorkflowExecution";
        services.call(path, CallContext::in_process(), start.encode_to_vec().into()).await
    });
    let reason = faces.until_not_ready().await;
    assert!(reason.starts_with("a commit has waited for the disk for"), "{reason}");
    store.hangs.store(false, Ordering::Relaxed);
    started.await.unwrap().unwrap();
    faces.until_ready().await;

    assert_eq!(ask(address, "GET", "/").await.code, 404);
    assert_eq!(ask(address, "POST", "/metrics").await.code, 405);
    stop.send(()).unwrap();
    serving.await.unwrap();
}

/// Where a server says whether it is ready.
struct Faces {
    address: SocketAddr,
    health: HealthClient<Channel>,
    services: Services,
}

impl Faces {
    /// Asks until all faces say that the server is ready.
    async fn until_ready(&self) {
        while self.readyz().await.is_some() {}
        while !self.is_serving().await {}
        let described = self.described().await;
        assert!(described.ready && described.not_ready_reason.is_empty(), "{described:?}");
    }

    /// Asks until all faces say that the server isn't ready, and returns why.
    async fn until_not_ready(&self) -> String {
        let reason = loop {
            if let Some(reason) = self.readyz().await {
                break reason;
            }
        };
        while self.is_serving().await {}
        let described = self.described().await;
        assert!(!described.ready);
        // The number of seconds that it has lasted grows.
        let kind = |text: &str| text.split(" for ").next().map(str::to_owned);
        assert_eq!(kind(&described.not_ready_reason), kind(&reason));
        described.not_ready_reason
    }

    /// The reason, if `/readyz` says that the server isn't ready.
    async fn readyz(&self) -> Option<String> {
        let reply = ask(self.address, "GET", "/readyz").await;
        match reply.code {
            200 => None,
            code => {
                assert_eq!(code, 503);
                Some(reply.json()["reason"].as_str().unwrap().to_owned())
            }
        }
    }

    async fn is_serving(&self) -> bool {
        let checked = self.health.clone().check(HealthCheckRequest::default()).await.unwrap();
        checked.get_ref().status() == ServingStatus::Serving
    }

    async fn described(&self) -> DescribeServerResponse {
        let path = "/perennial.v1.AdminService/DescribeServer";
        let request = DescribeServerRequest {}.encode_to_vec();
        let response = self.services.call(path, CallContext::in_process(), request.into()).await;
        DescribeServerResponse::decode(response.unwrap()).unwrap()
    }
}
