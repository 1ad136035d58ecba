//! A server for a test, and a minimal HTTP client.

use std::net::SocketAddr;
use std::time::Duration;

use perennial_library::{Config, Perennial, Storage};
use perennial_server::{HttpConfig, Listeners, ServerConfig};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

/// An HTTP response.
#[derive(Debug)]
pub(crate) struct HttpReply {
    pub(crate) code: u16,
    head: String,
    pub(crate) body: String,
}

impl TestServer {
    pub(crate) async fn new() -> Self {
        Self::with(ServerConfig::default()).await
    }

    /// A server with a long grace period.
    pub(crate) async fn patient() -> Self {
        let grace = Duration::from_secs(24 * 3_600);
        Self::with(ServerConfig { grace, ..ServerConfig::default() }).await
    }

    pub(crate) async fn for_callers(http: HttpConfig) -> Self {
        Self::with(ServerConfig { http, ..ServerConfig::default() }).await
    }

    pub(crate) async fn with(server: ServerConfig) -> Self {
        let config = Config {
            server,
            namespaces: ["default", "other"].map(str::to_owned).into(),
            ..Config::new(Storage::Memory)
        };
        let perennial = Perennial::open(config).await.unwrap();
        let http = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = http.local_addr().unwrap();
        let grpc = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (stop, told) = oneshot::channel::<()>();
        let serving = tokio::spawn(async move {
            let told = async { drop(told.await) };
            let listeners = Listeners::tcp(grpc, Some(http));
            perennial.serve(listeners, told).await;
            perennial.close().await.unwrap();
        });
        Self { address, stop, serving }
    }

    pub(crate) async fn get(&self, path: &str) -> HttpReply {
        self.ask("GET", path, &[], "").await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> HttpReply {
        self.ask("POST", path, &[], &body.to_string()).await
    }

    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> HttpReply {
        let mut stream = self.send(method, path, headers, body).await;
        read(&mut stream).await
    }

    /// Sends a request, and returns the connection for its response.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> TcpStream {
        send(self.address, method, path, headers, body).await
    }

    /// Starts a workflow without a worker.
    pub(crate) async fn start(&self, id: &str, body: Value) -> Value {
        let mut whole = serde_json::json!({
            "workflowType": {"name": "Order"}, "taskQueue": {"name": "queue"},
        });
        whole.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        self.post(&format!("/api/v1/namespaces/default/workflows/{id}"), whole).await.done()
    }

    pub(crate) async fn stop(self) {
        self.stop.send(()).unwrap();
        self.serving.await.unwrap();
    }
}

/// Asks the server at an address.
pub(crate) async fn ask(address: SocketAddr, method: &str, path: &str) -> HttpReply {
    ask_with(address, method, path, "").await
}

/// Asks the server at an address, with a body.
pub(crate) async fn ask_with(
    address: SocketAddr,
    method: &str,
    path: &str,
    body: &str,
) -> HttpReply {
    read(&mut send(address, method, path, &[], body).await).await
}

async fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "Host") {
        head += &format!("Host: {address}\r\n");
    }
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += &format!("Content-Length: {}\r\n\r\n", body.len());
    stream.write_all((head + body).as_bytes()).await.unwrap();
    stream
}

pub(crate) async fn read(stream: &mut TcpStream) -> HttpReply {
    let mut text = Vec::new();
    stream.read_to_end(&mut text).await.unwrap();
    let text = String::from_utf8(text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").expect("an answer has a head");
    let code = head.split(' ').nth(1).unwrap().parse().unwrap();
    HttpReply { code, head: head.to_owned(), body: body.to_owned() }
}

impl HttpReply {
    /// The body of a successful response.
    pub(crate) fn done(self) -> Value {
        assert_eq!(self.code, 200, "{}", self.body);
        self.json()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {:?}", self.body))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (given, value) = line.split_once(": ")?;
            given.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}
