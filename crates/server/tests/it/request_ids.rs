//! The ids of calls, by which their lines in the log are found.

use http_body_util::Full;
use perennial_library::{Config, Perennial, Storage};
use perennial_server::{Credentials, Listeners, RequestId, ServerConfig};
use tokio::net::TcpListener;
use tonic::codegen::http::Request;
use tonic::transport::{Channel, Endpoint};
use tower::ServiceExt;

use crate::http::test_server::TestServer;

/// The id that a server tells a gRPC client, which may have chosen one. `None` if the call isn't refused.
async fn told(channel: &Channel, rpc: &str, chosen: Option<&str>) -> Option<String> {
    let path = format!("/temporal.api.workflowservice.v1.WorkflowService/{rpc}");
    let mut request = Request::post(path).header("content-type", "application/grpc");
    if let Some(chosen) = chosen {
        request = request.header("x-request-id", chosen);
    }
    let request = request.body(tonic::body::Body::new(Full::from([0; 5].as_slice()))).unwrap();
    let response = channel.clone().oneshot(request).await.unwrap();
    let id = response.headers().get("perennial-request-id");
    id.map(|id| id.to_str().unwrap().to_owned())
}

/// A server, as a gRPC client sees it.
async fn serve(server: ServerConfig) -> Channel {
    let config = Config { server, ..Config::new(Storage::Memory) };
    let perennial = Perennial::open(config).await.unwrap();
    let grpc = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = grpc.local_addr().unwrap();
    tokio::spawn(async move {
        perennial.serve(Listeners::tcp(grpc, None), std::future::pending()).await;
    });
    Endpoint::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap()
}

fn asks_for_credentials() -> ServerConfig {
    let mut config = ServerConfig::default();
    config.access.credentials = Credentials::Required;
    config
}

#[tokio::test]
async fn refused_grpc_call_tells_its_id() {
    let channel = serve(ServerConfig::default()).await;
    let refused = async |chosen| told(&channel, "DescribeNamespace", chosen).await.unwrap();
    assert_eq!(refused(Some("order-7")).await, "order-7");
    let random = refused(None).await;
    assert_eq!(random.len(), RequestId::random().to_string().len());
    assert_ne!(refused(None).await, random);
    assert_ne!(refused(Some("two words")).await, "two words");
    let answered = told(&channel, "GetSystemInfo", Some("order-7")).await;
    assert_eq!(answered, None, "it is no error");
}

#[tokio::test]
async fn call_of_an_unknown_caller_tells_its_id_too() {
    let channel = serve(asks_for_credentials()).await;
    let refused = told(&channel, "GetSystemInfo", Some("order-7")).await;
    assert_eq!(refused.as_deref(), Some("order-7"));
    let server = TestServer::with(asks_for_credentials()).await;
    let headers = [("x-request-id", "order-7")];
    let refused = server.ask("GET", "/api/v1/system-info", &headers, "").await;
    assert_eq!(refused.code, 401);
    assert_eq!(refused.header("perennial-request-id"), Some("order-7"));
    server.stop().await;
}

#[tokio::test]
async fn refused_http_call_tells_its_id() {
    let server = TestServer::new().await;
    let headers = [("x-request-id", "order-7")];
    let refused = server.ask("GET", "/api/v1/namespaces/nowhere", &headers, "").await;
    assert_eq!(refused.code, 404);
    assert_eq!(refused.header("perennial-request-id"), Some("order-7"));
    server.stop().await;
}
