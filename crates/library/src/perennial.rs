//! Store, runtime and services, opened and closed together.

use std::net::SocketAddr;
use std::sync::Arc;

use perennial_runtime::{ClusterConfig, Isolation, Refusal, Runtime};
use perennial_server::{
    Credentials, Listeners, ServerConfig, Services, ServicesError, ensure_namespace, serve,
    serve_node_port,
};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::config::{Config, NodeConfig, Storage};

/// An open Perennial: its store, its runtime and its services.
///
/// Call its RPCs in the same process through [`services`](Self::services), or let clients connect with
/// [`serve`](Self::serve). [`close`](Self::close) it at the end: dropping it leaves its threads running.
///
/// ```
/// use perennial_library::{CallContext, Config, Perennial, Storage};
/// use perennial_proto::temporal::workflowservice::v1::{ListNamespacesRequest, ListNamespacesResponse};
/// use prost::Message;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let perennial = Perennial::open(Config::new(Storage::Memory)).await?;
/// let path = "/temporal.api.workflowservice.v1.WorkflowService/ListNamespaces";
/// let request = ListNamespacesRequest { page_size: 10, ..Default::default() };
/// let context = CallContext::in_process();
/// let response = perennial.services().call(path, context, request.encode_to_vec().into()).await?;
/// let response = ListNamespacesResponse::decode(response)?;
/// let names: Vec<_> =
///     response.namespaces.iter().flat_map(|it| &it.namespace_info).map(|it| &it.name).collect();
/// assert_eq!(names, ["default"]);
/// perennial.close().await?;
/// # Ok(())
/// # }
/// ```
pub struct Perennial {
    services: Services,
    /// Serves the other nodes of a cluster.
    node_port: Option<NodePort>,
}

/// The listener for the other nodes of a cluster.
struct NodePort {
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

/// Why Perennial can't be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store refuses to open.
    #[error("cannot open the database")]
    Store(#[source] perennial_store::Error),
    /// The server can't listen for the other nodes.
    #[error("cannot listen for other nodes at {address}")]
    NodePort {
        /// Where it should listen.
        address: SocketAddr,
        /// Why it can't.
        #[source]
        error: std::io::Error,
    },
    /// The runtime doesn't start.
    #[error("cannot start the runtime")]
    Runtime(#[source] perennial_runtime::OpenError),
    /// A namespace of [`Config::namespaces`] can't be created.
    #[error("cannot set up the namespace `{name}`")]
    Namespace {
        /// The name of the namespace.
        name: String,
        /// Why the runtime refuses it.
        #[source]
        refusal: Refusal,
    },
    /// The record with the cluster id can't be read.
    #[error("cannot read the database")]
    Read(#[source] Refusal),
    /// Callers couldn't be known.
    #[error(transparent)]
    Services(ServicesError),
}

/// Perennial had to stop by itself. Everything that was acknowledged is durable.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct Failed {
    reason: Arc<str>,
}

impl Perennial {
    /// Opens the store, starts the runtime, creates namespaces and resumes background work.
    pub async fn open(config: Config) -> Result<Self, OpenError> {
        let store_name = config.storage.name();
        let is_shared = matches!(config.storage, Storage::Postgres(_));
        let store = config.storage.open().map_err(OpenError::Store)?;
        let mut runtime = config.runtime;
        let listener = if is_shared { Some(listen(&config.node).await?) } else { None };
        runtime.cluster = listener.as_ref().map(|(_, address)| ClusterConfig {
            address: address.clone(),
            lease: config.node.lease,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            tls: config.node.tls.clone(),
        });
        if config.server.access.credentials == Credentials::Required {
            // A role in one namespace would otherwise reach into all others.
            runtime.isolation = Isolation::Isolated;
        }
        // Blocks: a node of a cluster waits for its cells.
        let opened = tokio::task::spawn_blocking(move || Runtime::open(store, &runtime)).await;
        let opened = opened.expect("opening a runtime doesn't panic, and nobody cancels it");
        let runtime = opened.map_err(OpenError::Runtime)?;
        let services = async {
            let cluster_id = runtime.cluster_id().await.map_err(OpenError::Read)?;
            let store_name = store_name.to_owned();
            let server = ServerConfig { cluster_id, store_name, ..config.server };
            Services::open(runtime.clone(), server).await.map_err(OpenError::Services)
        };
        let services = match services.await {
            Ok(services) => services,
            Err(error) => {
                let stopped = tokio::task::spawn_blocking(move || runtime.stop()).await;
                stopped.expect("stopping a runtime doesn't panic, and nobody cancels it");
                return Err(error);
            }
        };
        // Other nodes confirm changes of namespaces, and so does this one.
        let node_port = listener.map(|(listener, _)| NodePort::start(&services, listener));
        let perennial = Self { services, node_port };
        for name in &config.namespaces {
            let ensured = ensure_namespace(&runtime, name, &config.search_attributes).await;
            if let Err(refusal) = ensured {
                // The reason to report is the refusal.
                let _ = perennial.close().await;
                return Err(OpenError::Namespace { name: name.clone(), refusal });
            }
        }
        Ok(perennial)
    }

    /// The RPCs, for callers in this process.
    pub fn services(&self) -> &Services {
        &self.services
    }

    /// The runtime.
    pub fn runtime(&self) -> &Runtime {
        self.services.runtime()
    }

    /// Serves clients until `shutdown` completes or the runtime fails, and the requests in progress have their
    /// responses. Long polls end from then on, also those in this process.
    pub async fn serve(
        &self,
        listeners: Listeners,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) {
        let runtime = self.runtime().clone();
        let shutdown = async move {
            tokio::select! {
                () = shutdown => leave_cluster(&runtime).await,
                _ = runtime.failed() => {}
            }
        };
        serve(self.services.clone(), listeners, shutdown).await;
    }

    /// Ends. Everything that was acknowledged is durable when it returns, also if it returns an error. The database
    /// file is released then, unless a clone of the services or of the runtime is still in use.
    pub async fn close(self) -> Result<(), Failed> {
        leave_cluster(self.runtime()).await;
        self.services.close().await;
        if let Some(NodePort { stop, serving }) = self.node_port {
            // Ends the calls of other nodes.
            drop(stop);
            serving.await.expect("serving other nodes doesn't panic, and nobody cancels it");
        }
        match self.services.runtime().failure() {
            Some(reason) => Err(Failed { reason }),
            None => Ok(()),
        }
    }
}

impl NodePort {
    fn start(services: &Services, listener: TcpListener) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async move { drop(stopped.await) };
        let serving = tokio::spawn(serve_node_port(services.clone(), listener, stopped));
        Self { stop, serving }
    }
}

/// Listens for other nodes. Returns the address at which they reach this one too.
async fn listen(config: &NodeConfig) -> Result<(TcpListener, String), OpenError> {
    let failed = |error| OpenError::NodePort { address: config.listen, error };
    let listener = TcpListener::bind(config.listen).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, config.address.clone().unwrap_or_else(|| bound.to_string())))
}

/// Gives all cells to other nodes. Calls are passed on to them meanwhile.
async fn leave_cluster(runtime: &Runtime) {
    let runtime = runtime.clone();
    let left = tokio::task::spawn_blocking(move || runtime.leave_cluster()).await;
    left.expect("leaving a cluster doesn't panic, and nobody cancels it");
}
