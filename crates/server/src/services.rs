//! All RPCs, called with bytes: gRPC, HTTP and callers in the same process use the same table.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use perennial_engine::{NamespaceKey, Time};
use perennial_identity::Principal;
use perennial_identity::jwt::InvalidJwtConfig;
use perennial_runtime::{Refusal, Runtime};
use perennial_telemetry::{Metrics, RefusalReason, RpcMetrics, WaitTime};
use tokio::sync::OnceCell;
use tokio::task::JoinSet;
use tonic::{Code, Status};

use crate::access::api_keys::ApiKeys;
use crate::access::limits::UsageLimiter;
use crate::access::rights::Needs;
use crate::access::{Authenticator, Caller};
use crate::call_context::CallContext;
use crate::cluster;
use crate::encoded_message::EncodedMessage;
use crate::errors::{RpcResult, message_too_large, refused};
use crate::observed_call::{CallLabels, ObservedCall};
use crate::routing::{Destination, Routing};
use crate::server::ServerConfig;
use crate::stop_signal::{StopSignal, StopSwitch};
use crate::tls::Tls;
use crate::tokens::Keys;
use crate::{process_metrics, rpcs};

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
    rpcs: HashMap<String, MeteredRpc>,
    /// Work that goes on until the services stop.
    background: Mutex<JoinSet<()>>,
}

/// Why services can't be opened.
#[derive(Debug, thiserror::Error)]
pub enum ServicesError {
    /// The API keys can't be read.
    #[error("cannot read the API keys")]
    ApiKeys(#[from] Refusal),
    /// The issuers of tokens can't be used.
    #[error("cannot accept tokens")]
    Tokens(#[from] InvalidJwtConfig),
}

/// A row of the table of RPCs.
#[derive(Clone, Copy)]
pub(crate) struct Rpc {
    pub(crate) handler: Handler,
    pub(crate) routing: Routing,
    /// What its caller needs.
    pub(crate) needs: Needs,
}

/// An RPC, its metrics, and its names in logs and traces.
struct MeteredRpc {
    path: Arc<str>,
    rpc: Rpc,
    metrics: Arc<RpcMetrics>,
    labels: Arc<CallLabels>,
}

/// Answers a call of one RPC.
pub(crate) type Handler = fn(Services, Needs, CallContext, Bytes) -> RpcFuture;

/// A call in progress. Dropping it cancels the call.
pub(crate) type RpcFuture = Pin<Box<dyn Future<Output = RpcResult<EncodedMessage>> + Send>>;

/// State that all calls share.
pub(crate) struct Shared {
    pub(crate) runtime: Runtime,
    pub(crate) config: ServerConfig,
    /// Read from the store, or made, when the first token is needed.
    token_keys: OnceCell<Keys>,
    stop: StopSwitch,
    access: Authenticator,
    limits: UsageLimiter,
    pub(crate) started_at: Time,
    /// The certificates of the listeners.
    tls: Mutex<Option<Arc<Tls>>>,
}

impl Shared {
    pub(crate) async fn token_keys(&self) -> Result<&Keys, Refusal> {
        self.token_keys.get_or_try_init(|| Keys::open(&self.runtime)).await
    }

    /// Knows what namespaces and principals use.
    pub(crate) fn limits(&self) -> &UsageLimiter {
        &self.limits
    }

    /// Who calls. Refused without valid credentials, or with too many connections.
    pub(crate) async fn principal(&self, caller: Caller<'_>) -> RpcResult<Arc<Principal>> {
        let principal = self.access.principal(caller).await;
        let principal = principal.inspect_err(|_| {
            self.runtime.metrics().refused(RefusalReason::Credentials);
        })?;
        if let Some(peer) = caller.peer()
            && self.limits.counts_connections()
        {
            let counted = peer.count(&principal, &self.limits);
            counted.inspect_err(|_| self.runtime.metrics().refused(RefusalReason::Limit))?;
        }
        Ok(principal)
    }

    /// Knows who calls.
    pub(crate) fn access(&self) -> &Authenticator {
        &self.access
    }

    /// Whether the server takes requests: not while it stops, its store takes no writes, or its runtime has failed.
    /// `/readyz`, the health service of gRPC, the metrics and `DescribeServer` all ask here.
    pub(crate) fn readiness(&self) -> Result<(), String> {
        if self.stop_signal().is_set() {
            return Err("the server is stopping".to_owned());
        }
        self.runtime.health()
    }

    /// The certificates of the listeners, if they have any.
    pub(crate) fn tls(&self) -> Option<Arc<Tls>> {
        self.tls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The listeners use these certificates.
    pub(crate) fn set_tls(&self, tls: Option<Arc<Tls>>) {
        *self.tls.lock().unwrap_or_else(PoisonError::into_inner) = tls;
    }

    pub(crate) fn stop_signal(&self) -> StopSignal {
        self.stop.signal()
    }
}

impl Services {
    /// The services in front of `runtime`. Resumes the background work that was in progress when the last server
    /// stopped.
    ///
    /// Fails if the API keys can't be read, or the keys of an issuer of tokens can't be used.
    pub async fn open(runtime: Runtime, config: ServerConfig) -> Result<Self, ServicesError> {
        process_metrics::start();
        let stop = StopSwitch::new();
        let api_keys = Arc::new(ApiKeys::open(runtime.clone()).await?);
        let access = Authenticator::open(config.access.clone(), Arc::clone(&api_keys)).await?;
        let limits = UsageLimiter::new(config.limits.clone(), config.request_bytes_max);
        let shared = Shared {
            started_at: runtime.now(),
            runtime,
            config,
            token_keys: OnceCell::new(),
            stop,
            access,
            limits,
            tls: Mutex::default(),
        };
        resume(&shared).await;
        let mut background = JoinSet::new();
        background.spawn(update_zones(shared.runtime.clone(), shared.stop_signal()));
        background.spawn(follow_cells(shared.runtime.clone(), shared.stop_signal()));
        background.spawn(api_keys.keep_last_use(shared.stop_signal()));
        let metrics = Arc::clone(shared.runtime.metrics());
        let metered = |(path, rpc): (String, Rpc)| {
            let metrics = Arc::new(metrics.rpc(&path));
            let labels = Arc::new(CallLabels::of(&path));
            let shared_path = Arc::from(path.as_str());
            (path, MeteredRpc { path: shared_path, rpc, metrics, labels })
        };
        let rpcs = rpcs::table().into_iter().map(metered).collect();
        if metrics.is_enabled() {
            background.spawn(compact_metrics(metrics, shared.stop_signal()));
        }
        let background = Mutex::new(background);
        Ok(Self { inner: Arc::new(Inner { shared, rpcs, background }) })
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
        Some(rpc.rpc.routing.destination(message, key_of))
    }

    /// Ends long polls, now and from now on: they return empty, so that their clients ask again.
    pub fn stop(&self) {
        self.inner.shared.stop.stop();
    }

    /// Ends long polls and the runtime. Everything that was acknowledged is durable when it returns; calls after it
    /// fail.
    pub async fn close(&self) {
        self.stop();
        let mut background = std::mem::take(
            &mut *self.inner.background.lock().unwrap_or_else(PoisonError::into_inner),
        );
        let runtime = self.runtime().clone();
        let stopped = tokio::task::spawn_blocking(move || runtime.stop()).await;
        stopped.expect("stopping a runtime doesn't panic, and nobody cancels it");
        // The update of time zones ends soon: the runtime refuses its commands now.
        while let Some(ended) = background.join_next().await {
            if let Err(error) = ended {
                tracing::error!("work in the background ended early: {error}");
            }
        }
    }

    /// The runtime behind the services.
    pub fn runtime(&self) -> &Runtime {
        &self.inner.shared.runtime
    }

    /// Whether the server takes requests.
    pub(crate) fn readiness(&self) -> Result<(), String> {
        self.shared().readiness()
    }

    /// The RPC at a path.
    pub(crate) fn find(&self, path: &str) -> Option<RpcHandle> {
        let MeteredRpc { path, rpc, metrics, labels } = self.inner.rpcs.get(path)?;
        let (path, metrics, labels) = (Arc::clone(path), Arc::clone(metrics), Arc::clone(labels));
        Some(RpcHandle { path, rpc: *rpc, metrics, labels, services: self.clone() })
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
    path: Arc<str>,
    rpc: Rpc,
    metrics: Arc<RpcMetrics>,
    labels: Arc<CallLabels>,
    services: Services,
}

impl RpcHandle {
    pub(crate) async fn call(
        self,
        mut context: CallContext,
        message: Bytes,
    ) -> RpcResult<EncodedMessage> {
        let tracer = self.services.runtime().tracer();
        let observed = ObservedCall::begin(&self.labels, tracer, &mut context, &message);
        let deadline = context.deadline.map(|deadline| deadline.into_std());
        let timer = self.metrics.begin(message.len(), context.waited.clone(), deadline);
        let result = observed.run(self.answer(context, message)).await;
        match &result {
            Ok(response) => timer.end(Code::Ok.into(), response.as_message().len()),
            Err(status) => timer.end(status.code().into(), 0),
        }
        result
    }

    /// Records a call whose message can't be read, for this reason.
    pub(crate) fn record_unread(&self, status: &Status) {
        self.metrics.begin(0, WaitTime::default(), None).end(status.code().into(), 0);
        if status.code() == Code::ResourceExhausted {
            // Only the refusal for a lack of memory has a detail: its cause.
            let is_large = status.details().is_empty();
            let reason = if is_large { RefusalReason::MessageSize } else { RefusalReason::Memory };
            self.services.runtime().metrics().refused(reason);
        }
    }

    async fn answer(self, context: CallContext, message: Bytes) -> RpcResult<EncodedMessage> {
        let Self { path, rpc, services, .. } = self;
        let bytes_max = services.config().request_bytes_max;
        if message.len() > bytes_max {
            services.runtime().metrics().refused(RefusalReason::MessageSize);
            return Err(message_too_large(bytes_max));
        }
        // They may have ended while the message arrived.
        if let Some(ended) = context.principal.ended(SystemTime::now()) {
            services.runtime().metrics().refused(RefusalReason::Credentials);
            return Err(Status::unauthenticated(ended.to_string()));
        }
        let counted = services.shared().limits().call_by(&context.principal, message.len());
        counted.inspect_err(|_| services.runtime().metrics().refused(RefusalReason::Limit))?;
        // The message's share of the memory budget, held until the call ends.
        let _admitted = services.runtime().admit(message.len()).map_err(refused)?;
        if services.runtime().is_clustered() && !context.is_passed_on {
            return cluster::answer(services, &path, rpc, context, message).await;
        }
        (rpc.handler)(services, rpc.needs, context, message).await
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

/// How often recorded durations are added to their histograms.
const COMPACTION_INTERVAL: Duration = Duration::from_secs(1);

/// Bounds the memory of metrics that nobody scrapes.
async fn compact_metrics(metrics: Arc<Metrics>, mut stopping: StopSignal) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(COMPACTION_INTERVAL) => metrics.compact(),
            () = stopping.wait() => return,
        }
    }
}

/// Continues with background work of cells that this node takes.
async fn follow_cells(runtime: Runtime, mut stopping: StopSignal) {
    tokio::select! {
        () = runtime.follow_cells() => {}
        () = stopping.wait() => {}
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
