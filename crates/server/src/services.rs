//! All RPCs, called with bytes: gRPC, HTTP and callers in the same process use the same table.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use perennial_engine::NamespaceKey;
use perennial_runtime::{Refusal, Runtime};
use tokio::sync::OnceCell;
use tokio::task::JoinHandle;
use tonic::Status;

use crate::call_context::CallContext;
use crate::encoded_message::EncodedMessage;
use crate::errors::{RpcResult, message_too_large, refused};
use crate::routing::{Destination, Routing};
use crate::rpcs;
use crate::server::ServerConfig;
use crate::stop_signal::{StopSignal, StopSwitch};
use crate::tokens::Keys;

/// The API: every RPC of it, called with its message as bytes. A clone calls the same services.
///
/// gRPC and HTTP listeners ([`serve`](crate::serve)) call it, and so can any code in the same process:
///
/// ```
/// use perennial_proto::temporal::workflowservice::v1::{ListNamespacesRequest, ListNamespacesResponse};
/// use perennial_server::{CallContext, Services};
/// use prost::Message;
///
/// # async fn example(services: Services) -> Result<(), Box<dyn std::error::Error>> {
/// let path = "/temporal.api.workflowservice.v1.WorkflowService/ListNamespaces";
/// let request = ListNamespacesRequest { page_size: 10, ..Default::default() };
/// let response =
///     services.call(path, CallContext::in_process(), request.encode_to_vec().into()).await?;
/// let response = ListNamespacesResponse::decode(response)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Services {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Shared,
    /// By their paths, as in `/perennial.v1.ScheduleService/ListBackfills`.
    rpcs: HashMap<String, Rpc>,
    zone_update: Mutex<Option<JoinHandle<()>>>,
}

/// A row of the table of RPCs.
#[derive(Clone, Copy)]
pub(crate) struct Rpc {
    pub(crate) handler: Handler,
    pub(crate) routing: Routing,
}

/// Answers a call of one RPC.
pub(crate) type Handler = fn(Services, CallContext, Bytes) -> RpcFuture;

/// A call in progress. Dropping it cancels the call.
pub(crate) type RpcFuture = Pin<Box<dyn Future<Output = RpcResult<EncodedMessage>> + Send>>;

/// State that all calls share.
pub(crate) struct Shared {
    pub(crate) runtime: Runtime,
    pub(crate) config: ServerConfig,
    /// Read from the store, or made, when the first token is needed.
    token_keys: OnceCell<Keys>,
    stop: StopSwitch,
}

impl Shared {
    pub(crate) async fn token_keys(&self) -> Result<&Keys, Refusal> {
        self.token_keys.get_or_try_init(|| Keys::open(&self.runtime)).await
    }

    pub(crate) fn stop_signal(&self) -> StopSignal {
        self.stop.signal()
    }
}

impl Services {
    /// The services in front of `runtime`. Resumes the background work that was in progress when the last server
    /// stopped.
    pub async fn open(runtime: Runtime, config: ServerConfig) -> Self {
        let stop = StopSwitch::new();
        let shared = Shared { runtime, config, token_keys: OnceCell::new(), stop };
        resume(&shared).await;
        let zone_update = tokio::spawn(update_zones(shared.runtime.clone(), shared.stop_signal()));
        let zone_update = Mutex::new(Some(zone_update));
        Self { inner: Arc::new(Inner { shared, rpcs: rpcs::table(), zone_update }) }
    }

    /// Calls the RPC at `path` with a message, and returns the response's message. Dropping the future cancels the
    /// call. The deadline in `context` ends long polls early; to enforce it for other RPCs is up to the caller.
    pub async fn call(
        &self,
        path: &str,
        context: CallContext,
        message: Bytes,
    ) -> Result<Bytes, Status> {
        let rpc = self.find(path);
        let rpc = rpc.ok_or_else(|| Status::unimplemented(format!("unknown method {path}")))?;
        Ok(rpc.call(context, message).await?.into_message())
    }

    /// The nodes of a cluster that have to answer a call of the RPC at `path`. `None` if there is no such RPC.
    pub fn route(&self, path: &str, message: &[u8]) -> Option<Destination> {
        let rpc = self.inner.rpcs.get(path)?;
        let namespaces = self.runtime().namespaces();
        let key_of = |name: &str| namespaces.by_name(name).map(|record| NamespaceKey(record.key));
        Some(rpc.routing.destination(message, key_of))
    }

    /// Ends long polls, now and from now on: they return empty, so that their clients ask again.
    pub fn stop(&self) {
        self.inner.shared.stop.stop();
    }

    /// Ends long polls and the runtime. Everything that was acknowledged is durable when it returns; calls after it
    /// fail.
    pub async fn close(&self) {
        self.stop();
        let runtime = self.runtime().clone();
        let stopped = tokio::task::spawn_blocking(move || runtime.stop()).await;
        stopped.expect("stopping a runtime doesn't panic, and nobody cancels it");
        // Ends soon: the runtime refuses its commands now.
        let update = self.inner.zone_update.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(update) = update
            && let Err(error) = update.await
        {
            tracing::error!("the update of time zones ended early: {error}");
        }
    }

    /// The runtime behind the services.
    pub fn runtime(&self) -> &Runtime {
        &self.inner.shared.runtime
    }

    /// The RPC at a path.
    pub(crate) fn find(&self, path: &str) -> Option<RpcHandle> {
        let rpc = *self.inner.rpcs.get(path)?;
        Some(RpcHandle { rpc, services: self.clone() })
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.inner.shared
    }

    pub(crate) fn config(&self) -> &ServerConfig {
        &self.inner.shared.config
    }
}

/// An RPC that can be called.
pub(crate) struct RpcHandle {
    rpc: Rpc,
    services: Services,
}

impl RpcHandle {
    pub(crate) async fn call(
        self,
        context: CallContext,
        message: Bytes,
    ) -> RpcResult<EncodedMessage> {
        let Self { rpc, services } = self;
        let bytes_max = services.config().request_bytes_max;
        if message.len() > bytes_max {
            return Err(message_too_large(bytes_max));
        }
        // The message's share of the memory budget, held until the call ends.
        let _admitted = services.runtime().admit(message.len()).map_err(refused)?;
        (rpc.handler)(services, context, message).await
    }
}

/// Resumes background work that was in progress when the last server stopped.
async fn resume(shared: &Shared) {
    if let Err(refusal) = shared.token_keys().await {
        tracing::error!(
            "workers get no tasks until the keys of task tokens can be read: {refusal}"
        );
    }
    if let Err(refusal) = shared.runtime.resume_batches().await {
        tracing::error!("batch jobs that were in progress aren't resumed: {refusal}");
    }
    if let Err(refusal) = shared.runtime.resume_purges().await {
        tracing::error!("the data of deleted namespaces isn't removed: {refusal}");
    }
}

/// Adapts schedules to the time zone database, which may have changed since the last server. It takes a while if there
/// are many.
async fn update_zones(runtime: Runtime, stopping: StopSignal) {
    match runtime.take_up_zones().await {
        Err(refusal) if !stopping.is_set() => {
            tracing::error!("schedules aren't adapted to the new time zone database: {refusal}");
        }
        // The next server takes it up again.
        Err(_) | Ok(()) => {}
    }
}
