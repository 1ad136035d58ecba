//! Serves the API on listeners, and shuts down gracefully.

use std::sync::Arc;
use std::time::Duration;

use perennial_telemetry::LogLevels;
use tokio::net::TcpListener;

use crate::access::{AccessConfig, UsageLimits};
use crate::grpc;
use crate::http::{self, HttpConfig};
use crate::listen::ConnectionLimits;
use crate::services::Services;
use crate::tls::{Protocol, Tls, TlsListener};
use crate::transport::Accept;

/// How requests are served. The defaults are those of Temporal's server.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// The id of this cluster, shown to clients.
    pub cluster_id: String,
    /// The name of the store, shown to clients.
    pub store_name: String,
    /// The largest request that is read. A worker whose request is larger fails its task, instead of retrying for
    /// ever.
    pub request_bytes_max: usize,
    /// How long a poll for a task waits.
    pub poll_time: Duration,
    /// How long a wait for history or for an update lasts before the client has to ask again.
    pub long_poll_time: Duration,
    /// Whether the server ends the polls of a worker that shuts down. Workers are told, and rely on it.
    pub ends_polls_of_leaving_workers: bool,
    /// How long requests in progress have to end when the server stops.
    pub grace: Duration,
    /// How callers are known.
    pub access: AccessConfig,
    /// What a namespace or a principal may use.
    pub limits: UsageLimits,
    /// Which web pages may call over HTTP.
    pub http: HttpConfig,
    /// Limits on connections and on slow clients.
    pub connections: ConnectionLimits,
    /// Changes the levels of the log, if the program that writes it allows that.
    pub log_levels: Option<LogLevels>,
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
            access: AccessConfig::default(),
            limits: UsageLimits::default(),
            http: HttpConfig::default(),
            connections: ConnectionLimits::default(),
            log_levels: None,
        }
    }
}

/// Where the server accepts connections.
pub struct Listeners {
    /// For gRPC.
    pub grpc: Box<dyn Accept>,
    /// For JSON over HTTP, unless HTTP isn't served.
    pub http: Option<Box<dyn Accept>>,
    /// The certificates of these listeners. Their files are watched while the server serves.
    pub tls: Option<Arc<Tls>>,
    /// For metrics and health over HTTP, unless they aren't served.
    pub metrics: Option<Box<dyn Accept>>,
}

impl Listeners {
    /// Listeners on TCP sockets, without one for metrics.
    pub fn tcp(grpc: TcpListener, http: Option<TcpListener>) -> Self {
        let boxed = |http: TcpListener| -> Box<dyn Accept> { Box::new(http) };
        Self { grpc: Box::new(grpc), http: http.map(boxed), tls: None, metrics: None }
    }

    /// Listeners on TCP sockets that speak TLS alone.
    pub fn tls(grpc: TcpListener, http: Option<TcpListener>, tls: Arc<Tls>) -> Self {
        let listener = |tcp, protocol| -> Box<dyn Accept> {
            Box::new(TlsListener::new(tcp, Arc::clone(&tls), protocol))
        };
        Self {
            grpc: listener(grpc, Protocol::Grpc),
            http: http.map(|tcp| listener(tcp, Protocol::Http)),
            tls: Some(tls),
            metrics: None,
        }
    }

    /// Adds a listener for metrics and health. The server has none to show unless its runtime records them.
    pub fn with_metrics(mut self, metrics: Option<TcpListener>) -> Self {
        let boxed = |metrics: TcpListener| -> Box<dyn Accept> { Box::new(metrics) };
        self.metrics = metrics.map(boxed);
        self
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
    services.shared().set_tls(listeners.tls.clone());
    let mut stopping = services.shared().stop_signal();
    let grace = services.config().grace;
    let for_http = stopping.clone();
    let over_http = async {
        if let Some(listener) = listeners.http {
            http::serve(listener, services.clone(), for_http).await;
        }
    };
    let for_metrics = stopping.clone();
    let over_metrics = async {
        if let Some(listener) = listeners.metrics {
            http::serve_metrics(listener, services.clone(), for_metrics).await;
        }
    };
    let over_grpc = grpc::serve(listeners.grpc, services.clone(), stopping.clone());
    let stop = async {
        shutdown.await;
        services.stop();
    };
    let serving = async { tokio::join!(stop, over_grpc, over_http, over_metrics) };
    let watching_certificates = async {
        match listeners.tls {
            Some(tls) => tls.watch().await,
            None => std::future::pending().await,
        }
    };

    let out_of_grace = async {
        stopping.wait().await;
        tokio::time::sleep(grace).await;
    };
    tokio::select! {
        _ = serving => {}
        never = watching_certificates => match never {},
        () = out_of_grace => {
            tracing::warn!("requests were still in progress {grace:?} after the server was told to stop");
        }
    }
}
