//! A server for a test, and clients that send arbitrary bytes.

use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use perennial_library::{Config, Perennial, Storage};
use perennial_server::{Listeners, ServerConfig};
use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::codegen::http::{Request, Response};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use tower::ServiceExt;

pub(crate) const WORKFLOW_SERVICE: &str = "temporal.api.workflowservice.v1.WorkflowService";

pub(crate) struct TestServer {
    pub(crate) grpc: SocketAddr,
    pub(crate) http: SocketAddr,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl TestServer {
    pub(crate) async fn new() -> Self {
        Self::with(ServerConfig::default()).await
    }

    /// A server with a long grace period, so that a request that doesn't end makes the test hang.
    pub(crate) async fn with(server: ServerConfig) -> Self {
        let server = ServerConfig { grace: Duration::from_secs(24 * 3_600), ..server };
        let config = Config {
            server,
            namespaces: ["default", "doomed"].map(str::to_owned).into(),
            ..Config::new(Storage::Memory)
        };
        let perennial = Perennial::open(config).await.unwrap();
        let (grpc, http) = (listener().await, listener().await);
        let addresses = (grpc.local_addr().unwrap(), http.local_addr().unwrap());
        let (stop, told) = oneshot::channel::<()>();
        let serving = tokio::spawn(async move {
            let told = async { drop(told.await) };
            perennial.serve(Listeners::tcp(grpc, Some(http)), told).await;
            perennial.close().await.unwrap();
        });
        Self { grpc: addresses.0, http: addresses.1, stop, serving }
    }

    pub(crate) async fn channel(&self) -> Channel {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.grpc)).unwrap();
        endpoint.connect().await.unwrap()
    }

    /// The status of a call of the workflow service.
    pub(crate) async fn ask(&self, rpc: &str, request: &impl Message) -> Status {
        let path = format!("/{WORKFLOW_SERVICE}/{rpc}");
        call(self.channel().await, &path, &request.encode_to_vec(), None).await
    }

    /// Checks that the server still answers valid requests.
    pub(crate) async fn assert_well(&self) {
        use perennial_proto::temporal::workflowservice::v1::ListWorkflowExecutionsRequest;
        let list = ListWorkflowExecutionsRequest {
            namespace: "default".to_owned(),
            ..ListWorkflowExecutionsRequest::default()
        };
        assert_eq!(self.ask("ListWorkflowExecutions", &list).await.code(), Code::Ok);
        assert_eq!(self.get("/api/v1/namespaces/default/workflows").await.0, 200);
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, String) {
        self.send("GET", path, "").await
    }

    pub(crate) async fn post(&self, path: &str, body: &str) -> (u16, String) {
        self.send("POST", path, body).await
    }

    async fn send(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.http).await.unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        // The server may close the connection before it has read everything.
        let _ = stream.write_all(body.as_bytes()).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").expect("an answer has a head");
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    pub(crate) async fn stop(self) {
        self.stop.send(()).unwrap();
        self.serving.await.unwrap();
    }
}

async fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.unwrap()
}

/// Calls an RPC with arbitrary bytes as its message.
pub(crate) async fn call(
    channel: Channel,
    path: &str,
    message: &[u8],
    timeout: Option<&str>,
) -> Status {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    let body = Bytes::from([&[0][..], &length, message].concat());
    let body = tonic::body::Body::new(Full::new(body));
    let mut request =
        Request::post(path).header("content-type", "application/grpc").body(body).unwrap();
    if let Some(timeout) = timeout {
        request.headers_mut().insert("grpc-timeout", timeout.parse().unwrap());
    }
    match channel.oneshot(request).await {
        Ok(answer) => status_of(&answer),
        // The connection or the stream broke, which no request may cause.
        Err(error) => Status::unknown(format!("no answer: {error:?}")),
    }
}

/// The status in the headers. A successful response has none there.
pub(crate) fn status_of<B>(answer: &Response<B>) -> Status {
    Status::from_header_map(answer.headers()).unwrap_or_else(|| Status::new(Code::Ok, ""))
}

/// The peak memory of this process, in megabytes.
pub(crate) fn peak_megabytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() / 1024
}
