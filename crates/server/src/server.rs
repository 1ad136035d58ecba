//! The server: its listeners, the services, and how they stop.

use std::time::Duration;

use tokio::net::TcpListener;

use crate::grpc;
use crate::http::{self, HttpConfig};
use crate::listen::ConnectionLimits;
use crate::services::Services;
use crate::transport::Accept;

/// How the server behaves. The default is Temporal's.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Tells this cluster from others; shown to clients.
    pub cluster_id: String,
    /// Shown to clients as the store that is used.
    pub store_name: String,
    /// A request may be this large. A worker whose request is larger fails its task for that reason,
    /// instead of trying for ever.
    pub request_bytes_max: usize,
    /// A poll for a task waits this long.
    pub poll_time: Duration,
    /// A wait for history or for an update lasts this long before the client asks again.
    pub long_poll_time: Duration,
    /// A worker that says it goes leaves the end of its polls to the server, which tells workers so.
    pub ends_polls_of_leaving_workers: bool,
    /// Requests that are under way when the server stops have this long to end.
    pub grace: Duration,
    /// Who may call over HTTP.
    pub http: HttpConfig,
    /// How many may be connected, and how long they may take.
    pub connections: ConnectionLimits,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            cluster_id: String::new(),
            store_name: "sqlite".to_owned(),
            request_bytes_max: 4 * 1024 * 1024,
            poll_time: Duration::from_secs(60),
            long_poll_time: Duration::from_secs(20),
            ends_polls_of_leaving_workers: true,
            grace: Duration::from_secs(10),
            http: HttpConfig::default(),
            connections: ConnectionLimits::default(),
        }
    }
}

/// Where the server accepts connections.
pub struct Listeners {
    /// For gRPC.
    pub grpc: Box<dyn Accept>,
    /// For JSON over HTTP, unless HTTP isn't served.
    pub http: Option<Box<dyn Accept>>,
}

impl Listeners {
    /// Listeners on TCP sockets.
    pub fn tcp(grpc: TcpListener, http: Option<TcpListener>) -> Self {
        let boxed = |http: TcpListener| -> Box<dyn Accept> { Box::new(http) };
        Self { grpc: Box::new(grpc), http: http.map(boxed) }
    }
}

/// Serves the API on `listeners` until `shutdown` completes.
///
/// Then it accepts no more requests, ends long polls, and returns when all requests in progress have their responses,
/// or after [`ServerConfig::grace`].
pub async fn serve(
    services: Services,
    listeners: Listeners,
    shutdown: impl Future<Output = ()> + Send + 'static,
) {
    let mut stopping = services.shared().stop_signal();
    let grace = services.config().grace;
    let for_http = stopping.clone();
    let over_http = async {
        if let Some(listener) = listeners.http {
            http::serve(listener, services.clone(), for_http).await;
        }
    };
    let over_grpc = grpc::serve(listeners.grpc, services.clone(), stopping.clone());
    let stop = async {
        shutdown.await;
        services.stop();
    };
    let serving = async { tokio::join!(stop, over_grpc, over_http) };

    let out_of_grace = async {
        stopping.wait().await;
        tokio::time::sleep(grace).await;
    };
    tokio::select! {
        _ = serving => {}
        () = out_of_grace => {
            tracing::warn!("requests were still in progress {grace:?} after the server was told to stop");
        }
    }
}
