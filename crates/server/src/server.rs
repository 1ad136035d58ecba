//! The server: its listeners, the services, and how they stop.

use std::sync::Arc;
use std::time::Duration;

use perennial_runtime::{Refusal, Runtime};
use tokio::net::TcpListener;
use tokio::sync::{OnceCell, watch};

use crate::grpc;
use crate::http::{self, HttpConfig};
use crate::listen::ConnectionLimits;
use crate::services::Services;
use crate::tokens::Keys;

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

/// What all requests share.
pub(crate) struct Shared {
    pub(crate) runtime: Runtime,
    pub(crate) config: ServerConfig,
    /// Made or read when the first token is given out or comes back.
    pub(crate) token_keys: OnceCell<Keys>,
    /// Becomes true when the server is to stop: long polls then end, empty.
    pub(crate) stopping: watch::Receiver<bool>,
}

impl Shared {
    /// The keys of tokens, from memory but for the first time.
    pub(crate) async fn token_keys(&self) -> Result<&Keys, Refusal> {
        self.token_keys.get_or_try_init(|| Keys::open(&self.runtime)).await
    }
}

/// Where the server listens.
#[derive(Debug)]
pub struct Listeners {
    /// For gRPC.
    pub grpc: TcpListener,
    /// For JSON over HTTP, if it is wanted.
    pub http: Option<TcpListener>,
}

/// Serves the API on `listeners` until `shutdown` is done.
///
/// It then takes no more requests, ends long polls, and returns when the requests under way have their
/// answers, or after [`ServerConfig::grace`].
pub async fn serve(
    runtime: Runtime,
    config: ServerConfig,
    listeners: Listeners,
    shutdown: impl Future<Output = ()> + Send + 'static,
) {
    let (stop, stopping) = watch::channel(false);
    let (grace, http_config) = (config.grace, config.http.clone());
    let limits = config.connections.clone();
    let token_keys = OnceCell::new();
    let shared = Shared { runtime, config, token_keys, stopping: stopping.clone() };
    resume(&shared).await;

    let services = Arc::new(Services::new(shared));
    let over_http = async {
        if let Some(listener) = listeners.http {
            let services = Arc::clone(&services);
            http::serve(listener, services, &http_config, &limits, stopping.clone()).await;
        }
    };
    let over_grpc =
        grpc::serve(listeners.grpc, Arc::clone(&services), limits.clone(), stopping.clone());
    let told_to_stop = async {
        shutdown.await;
        // The receivers live in the requests; there may be none.
        let _ = stop.send(true);
    };
    let serving = async { tokio::join!(told_to_stop, over_grpc, over_http) };

    let out_of_grace = async {
        let _ = stopping.clone().wait_for(|stopping| *stopping).await;
        tokio::time::sleep(grace).await;
    };
    tokio::select! {
        _ = serving => {}
        () = out_of_grace => {
            tracing::warn!("requests were still under way {grace:?} after the server was told to stop");
        }
    }
}

/// Takes up what was under way when the last server ended.
async fn resume(shared: &Shared) {
    if let Err(refusal) = shared.token_keys().await {
        tracing::error!("workers get no tasks before the keys of task tokens are there: {refusal}");
    }
    if let Err(refusal) = shared.runtime.resume_batches().await {
        tracing::error!("batch jobs that were under way don't go on: {refusal}");
    }
    if let Err(refusal) = shared.runtime.resume_purges().await {
        tracing::error!("what deleted namespaces held isn't deleted: {refusal}");
    }
    let runtime = shared.runtime.clone();
    tokio::spawn(async move {
        if let Err(refusal) = runtime.take_up_zones().await {
            tracing::error!("schedules aren't adapted to the zone database: {refusal}");
        }
    });
}
