//! A server with TLS for a test, and its clients.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use perennial_library::{Config, Perennial, Storage};
use perennial_proto::service::workflow::workflow_service_client::WorkflowServiceClient;
use perennial_proto::temporal::workflowservice::v1::GetSystemInfoRequest;
use perennial_server::{Listeners, ServerConfig, Tls, TlsConfig};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tonic::Status;
use tonic::transport::{Channel, Endpoint};
use tower::service_fn;

use super::authority::{Authority, Identity};

pub(crate) struct TestServer {
    pub(crate) grpc: SocketAddr,
    pub(crate) http: SocketAddr,
    pub(crate) tls: Arc<Tls>,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl TestServer {
    pub(crate) async fn new(config: TlsConfig) -> Self {
        Self::with(config, ServerConfig::default()).await
    }

    pub(crate) async fn with(config: TlsConfig, server: ServerConfig) -> Self {
        let tls = Tls::load(config).unwrap();
        // Long, so that a request that doesn't end makes the test hang.
        let server = ServerConfig { grace: Duration::from_secs(24 * 3_600), ..server };
        let config = Config { server, ..Config::new(Storage::Memory) };
        let perennial = Perennial::open(config).await.unwrap();
        let grpc = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let http = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addresses = (grpc.local_addr().unwrap(), http.local_addr().unwrap());
        let listeners = Listeners::tls(grpc, Some(http), Arc::clone(&tls));
        let (stop, told) = oneshot::channel::<()>();
        let serving = tokio::spawn(async move {
            perennial.serve(listeners, async { drop(told.await) }).await;
            perennial.close().await.unwrap();
        });
        Self { grpc: addresses.0, http: addresses.1, tls, stop, serving }
    }

    pub(crate) async fn stop(self) {
        self.stop.send(()).unwrap();
        self.serving.await.unwrap();
    }
}

/// A client that trusts an authority.
#[derive(Clone)]
pub(crate) struct Client {
    config: Arc<ClientConfig>,
}

impl Client {
    pub(crate) fn new(server_ca: &Authority, identity: Option<&Identity>) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(server_ca.certificate.der().clone()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let mut config = match identity {
            Some(identity) => {
                builder.with_client_auth_cert(identity.chain(), identity.key()).unwrap()
            }
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![b"h2".to_vec()];
        Self { config: Arc::new(config) }
    }

    /// The same client for the HTTP API.
    pub(crate) fn for_http(&self) -> Self {
        let mut config = ClientConfig::clone(&self.config);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Self { config: Arc::new(config) }
    }

    pub(crate) async fn connect(
        &self,
        address: SocketAddr,
        name: &str,
    ) -> io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let stream = TcpStream::connect(address).await?;
        TlsConnector::from(Arc::clone(&self.config)).connect(name, stream).await
    }

    /// A gRPC connection.
    pub(crate) async fn channel(
        &self,
        server: &TestServer,
    ) -> Result<Channel, tonic::transport::Error> {
        let (client, address) = (self.clone(), server.grpc);
        let connector = service_fn(move |_| {
            let client = client.clone();
            async move { client.connect(address, "localhost").await.map(TokioIo::new) }
        });
        Endpoint::from_static("http://localhost").connect_with_connector(connector).await
    }

    /// Whether a call on a new connection succeeds.
    pub(crate) async fn call(&self, server: &TestServer) -> Result<(), String> {
        let channel = self.channel(server).await.map_err(|error| format!("{error:?}"))?;
        call(channel).await.map_err(|status| format!("{status:?}"))
    }
}

pub(crate) async fn call(channel: Channel) -> Result<(), Status> {
    let mut client = WorkflowServiceClient::new(channel);
    client.get_system_info(GetSystemInfoRequest::default()).await.map(|_| ())
}
