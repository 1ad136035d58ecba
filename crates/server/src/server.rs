//! The server: its listeners, the services, and how they stop.

use std::future::Future;
use std::time::Duration;

use perennial_proto::DESCRIPTORS;
use perennial_proto::perennial::schedule_service_server::ScheduleServiceServer;
use perennial_proto::service::operator::operator_service_server::OperatorServiceServer;
use perennial_proto::service::workflow::workflow_service_server::WorkflowServiceServer;
use perennial_runtime::Runtime;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tonic::codec::CompressionEncoding;
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tower::util::MapResponseLayer;

use crate::http::{self, HttpConfig};
use crate::lazily::Lazily;
use crate::services::{Operator, Schedules, Workflow};
use crate::transport::too_large_as_temporal_says_it;

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
    /// Requests that are under way when the server stops have this long to end.
    pub grace: Duration,
    /// Who may call over HTTP.
    pub http: HttpConfig,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            cluster_id: String::new(),
            store_name: "sqlite".to_owned(),
            request_bytes_max: 4 * 1024 * 1024,
            poll_time: Duration::from_secs(60),
            long_poll_time: Duration::from_secs(20),
            grace: Duration::from_secs(10),
            http: HttpConfig::default(),
        }
    }
}

/// Why serving ended before it was told to.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The listener or a connection.
    #[error("the gRPC server stopped: {0}")]
    Transport(#[from] tonic::transport::Error),
}

/// What all requests share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) runtime: Runtime,
    pub(crate) config: ServerConfig,
    /// Becomes true when the server is to stop: long polls then end, empty.
    pub(crate) stopping: watch::Receiver<bool>,
}

/// What one request may send before it is read: the largest one takes a few turns.
const STREAM_WINDOW: u32 = 1024 * 1024;
/// What all requests of a connection may send before they are read. The transport also takes its measure of
/// small requests at once from it, and hangs up on a client that has more: with the usual 64 KB some hundreds.
const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;

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
) -> Result<(), ServeError> {
    let (stop, stopping) = watch::channel(false);
    let grace = config.grace;
    let shared = Shared { runtime, config, stopping: stopping.clone() };
    resume(&shared).await;

    let services = services(&shared);
    let over_http = {
        let (services, config) = (services.clone(), shared.config.clone());
        let stopping = stopping.clone();
        async move {
            if let Some(listener) = listeners.http {
                let bytes_max = config.request_bytes_max;
                http::serve(listener, services, &config.http, bytes_max, stopping).await;
            }
        }
    };
    let over_grpc = Server::builder()
        .http2_keepalive_interval(Some(Duration::from_secs(60)))
        .http2_keepalive_timeout(Some(Duration::from_secs(20)))
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .layer(MapResponseLayer::new(too_large_as_temporal_says_it(
            shared.config.request_bytes_max,
        )))
        .add_routes(with_health_and_reflection(services).await)
        .serve_with_incoming_shutdown(
            TcpIncoming::from(listeners.grpc).with_nodelay(Some(true)),
            async move {
                shutdown.await;
                // The receivers live in the requests; there may be none.
                let _ = stop.send(true);
            },
        );
    let serving = async { tokio::join!(over_grpc, over_http).0 };

    let mut stopping = stopping;
    let out_of_grace = async move {
        let _ = stopping.wait_for(|stopping| *stopping).await;
        tokio::time::sleep(grace).await;
    };
    tokio::select! {
        served = serving => Ok(served?),
        () = out_of_grace => {
            tracing::warn!("requests were still under way {grace:?} after the server was told to stop");
            Ok(())
        }
    }
}

/// Takes up what was under way when the last server ended.
async fn resume(shared: &Shared) {
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

/// The services of the API, for gRPC and for HTTP alike.
fn services(shared: &Shared) -> Routes {
    let request_bytes_max = shared.config.request_bytes_max;
    let workflow = WorkflowServiceServer::new(Workflow(shared.clone()))
        .accept_compressed(CompressionEncoding::Gzip)
        .send_compressed(CompressionEncoding::Gzip)
        .max_decoding_message_size(request_bytes_max);
    let schedules = ScheduleServiceServer::new(Schedules(shared.clone()))
        .accept_compressed(CompressionEncoding::Gzip)
        .send_compressed(CompressionEncoding::Gzip)
        .max_decoding_message_size(request_bytes_max);
    let operator = OperatorServiceServer::new(Operator(shared.clone()))
        .accept_compressed(CompressionEncoding::Gzip)
        .send_compressed(CompressionEncoding::Gzip)
        .max_decoding_message_size(request_bytes_max);
    Routes::new(operator).add_service(schedules).add_service(workflow)
}

/// What gRPC clients ask a server about itself.
async fn with_health_and_reflection(services: Routes) -> Routes {
    let (health_reporter, health) = tonic_health::server::health_reporter();
    health_reporter.set_serving::<WorkflowServiceServer<Workflow>>().await;
    let health = health
        .accept_compressed(CompressionEncoding::Gzip)
        .send_compressed(CompressionEncoding::Gzip);
    // Many clients still ask in the first version's words.
    services
        .add_service(health)
        .add_service(Lazily::new(|| described().build_v1().expect(DESCRIBED)))
        .add_service(Lazily::new(|| described().build_v1alpha().expect(DESCRIBED)))
}

/// Why it can't fail.
const DESCRIBED: &str = "the descriptors are those this was built with";

/// What reflection shows.
fn described() -> tonic_reflection::server::Builder<'static> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reflection_can_be_made_of_the_descriptors() {
        assert!(described().build_v1().is_ok());
        assert!(described().build_v1alpha().is_ok());
    }
}
