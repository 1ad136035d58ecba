//! gRPC over real connections: responses, errors and shutdown.

use std::io;
use std::pin::Pin;
use std::time::Duration;

use http_body_util::Full;
use hyper_util::rt::TokioIo;
use perennial_library::{Config, Perennial, Storage};
use perennial_proto::service::workflow::workflow_service_client::WorkflowServiceClient;
use perennial_proto::temporal::enums::v1::TaskQueueType;
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use perennial_proto::temporal::workflowservice::v1::{
    DescribeTaskQueueRequest, GetSystemInfoRequest, PollWorkflowTaskQueueRequest,
    SignalWorkflowExecutionRequest,
};
use perennial_server::{Accept, Accepted, Connection, Listeners, Stream};
use tokio::io::DuplexStream;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tonic::codec::CompressionEncoding;
use tonic::codegen::http::{Method, Request, StatusCode};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tower::{ServiceExt, service_fn};

struct TestServer {
    channel: Channel,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl TestServer {
    async fn new() -> Self {
        let mut config = Config::new(Storage::Memory);
        let grpc = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = grpc.local_addr().unwrap();
        let (stop, told) = oneshot::channel::<()>();
        // Long, so that a request that doesn't end makes the test hang.
        config.server.grace = Duration::from_secs(24 * 3_600);
        let perennial = Perennial::open(config).await.unwrap();
        let serving = tokio::spawn(async move {
            let told = async { drop(told.await) };
            perennial.serve(Listeners::tcp(grpc, None), told).await;
            perennial.close().await.unwrap();
        });
        let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
        Self { channel: endpoint.connect().await.unwrap(), stop, serving }
    }

    fn client(&self) -> WorkflowServiceClient<Channel> {
        WorkflowServiceClient::new(self.channel.clone())
    }

    /// The error for a call with an empty message.
    async fn refusal(&self, path: &str) -> Status {
        let request = Request::post(path)
            .header("content-type", "application/grpc")
            .body(tonic::body::Body::new(Full::from([0; 5].as_slice())))
            .unwrap();
        let response = self.channel.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        Status::from_header_map(response.headers()).unwrap()
    }
}

fn queue() -> Option<TaskQueue> {
    Some(TaskQueue { name: "queue".to_owned(), ..TaskQueue::default() })
}

#[tokio::test]
async fn calls_work_with_and_without_compression() {
    let server = TestServer::new().await;
    let compressing = server
        .client()
        .send_compressed(CompressionEncoding::Gzip)
        .accept_compressed(CompressionEncoding::Gzip);
    for mut client in [server.client(), compressing] {
        let info = client.get_system_info(GetSystemInfoRequest::default()).await.unwrap();
        assert!(info.into_inner().capabilities.is_some());
        let signal = SignalWorkflowExecutionRequest {
            namespace: "nowhere".repeat(20),
            ..SignalWorkflowExecutionRequest::default()
        };
        let refusal = client.signal_workflow_execution(signal).await.unwrap_err();
        assert_eq!(refusal.code(), Code::NotFound);
        assert!(!refusal.details().is_empty());
    }
}

#[tokio::test]
async fn unknown_rpcs_are_unimplemented() {
    let server = TestServer::new().await;
    for path in [
        "/temporal.api.workflowservice.v1.WorkflowService/Nothing",
        "/temporal.api.nothing.v1.Nothing/GetSystemInfo",
        "/",
    ] {
        assert_eq!(server.refusal(path).await.code(), Code::Unimplemented, "{path}");
    }
    let later = "/temporal.api.workflowservice.v1.WorkflowService/PollNexusTaskQueue";
    let refusal = server.refusal(later).await;
    assert_eq!(refusal.code(), Code::Unimplemented);
    assert_eq!(refusal.message(), "PollNexusTaskQueue is not implemented by this server");
}

#[tokio::test]
async fn request_that_is_not_grpc_is_unsupported() {
    let server = TestServer::new().await;
    for (method, content_type) in
        [(Method::GET, "application/grpc"), (Method::POST, "application/json")]
    {
        let request = Request::builder()
            .method(method)
            .uri("/temporal.api.workflowservice.v1.WorkflowService/GetSystemInfo")
            .header("content-type", content_type)
            .body(tonic::body::Body::empty())
            .unwrap();
        let response = server.channel.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
}

#[tokio::test]
async fn health_service_reports_serving() {
    let server = TestServer::new().await;
    let mut health = HealthClient::new(server.channel.clone());
    let mut of = async |service: &str| {
        let request = HealthCheckRequest { service: service.to_owned() };
        health.check(request).await.map(|status| status.into_inner().status)
    };
    let serving = tonic_health::ServingStatus::Serving as i32;
    assert_eq!(of("temporal.api.workflowservice.v1.WorkflowService").await.unwrap(), serving);
    assert_eq!(of("nothing").await.unwrap_err().code(), Code::NotFound);
    // Anybody may call it, so it takes no more than it needs.
    let long = HealthCheckRequest { service: "x".repeat(2_000) };
    let refused = HealthClient::new(server.channel.clone()).check(long).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
}

#[tokio::test]
async fn waiting_poll_gets_an_empty_response_at_shutdown() {
    let server = TestServer::new().await;
    let (mut polling, mut asking) = (server.client(), server.client());
    let poll = tokio::spawn(async move {
        let poll = PollWorkflowTaskQueueRequest {
            namespace: "default".to_owned(),
            task_queue: queue(),
            identity: "worker".to_owned(),
            ..PollWorkflowTaskQueueRequest::default()
        };
        polling.poll_workflow_task_queue(poll).await
    });
    loop {
        let describe = DescribeTaskQueueRequest {
            namespace: "default".to_owned(),
            task_queue: queue(),
            task_queue_type: TaskQueueType::Workflow.into(),
            ..DescribeTaskQueueRequest::default()
        };
        let described = asking.describe_task_queue(describe).await.unwrap().into_inner();
        if !described.pollers.is_empty() {
            break;
        }
    }
    server.stop.send(()).unwrap();
    let answer = poll.await.unwrap().unwrap().into_inner();
    assert!(answer.task_token.is_empty());
    server.serving.await.unwrap();
}

/// Accepts connections within this process.
struct InMemoryListener(mpsc::Receiver<DuplexStream>);

impl Accept for InMemoryListener {
    fn accept(&mut self) -> Pin<Box<dyn Future<Output = io::Result<Accepted>> + Send + '_>> {
        Box::pin(async {
            match self.0.recv().await {
                Some(stream) => {
                    let stream = Stream::Other(Box::new(stream));
                    Ok(Accepted::Ready(Connection::new(stream, "memory".to_owned())))
                }
                None => std::future::pending().await,
            }
        })
    }

    fn is_local(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn calls_are_answered_over_streams_in_memory() {
    let (connections, listener) = mpsc::channel(1);
    let listeners = Listeners {
        grpc: Box::new(InMemoryListener(listener)),
        http: None,
        tls: None,
        metrics: None,
    };
    let perennial = Perennial::open(Config::new(Storage::Memory)).await.unwrap();
    let (stop, told) = oneshot::channel::<()>();
    let serving = tokio::spawn(async move {
        perennial.serve(listeners, async { drop(told.await) }).await;
        perennial.close().await.unwrap();
    });
    let connector = service_fn(move |_| {
        let connections = connections.clone();
        async move {
            // Small, so that messages take several reads and writes.
            let (client, server) = tokio::io::duplex(512);
            connections.send(server).await.map_err(|_| io::ErrorKind::ConnectionRefused)?;
            Ok::<_, io::Error>(TokioIo::new(client))
        }
    });
    let endpoint = Endpoint::from_static("http://memory");
    let channel = endpoint.connect_with_connector(connector).await.unwrap();
    let mut client = WorkflowServiceClient::new(channel);
    let info = client.get_system_info(GetSystemInfoRequest::default()).await.unwrap();
    assert!(info.into_inner().capabilities.is_some());
    let signal = SignalWorkflowExecutionRequest {
        namespace: "nowhere".repeat(300),
        ..SignalWorkflowExecutionRequest::default()
    };
    let refusal = client.signal_workflow_execution(signal).await.unwrap_err();
    assert_eq!(refusal.code(), Code::NotFound);
    stop.send(()).unwrap();
    serving.await.unwrap();
}
