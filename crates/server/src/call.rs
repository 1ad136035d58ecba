//! One request: its context, its namespace, and access to the runtime.

use std::sync::Arc;
use std::time::Duration;

use perennial_engine::NamespaceKey;
use perennial_engine::run::{Command, Run};
use perennial_proto::perennial::CommandContext;
use perennial_proto::store::{NamespaceRecord, RunName};
use perennial_proto::temporal::common::v1::WorkflowExecution;
use perennial_runtime::{Runtime, Sent};
use tokio::time::Instant;
use tonic::Status;

use crate::call_context::{CallContext, Face};
use crate::errors::{RpcResult, namespace_not_found, refused, refused_about};
use crate::services::Shared;
use crate::tokens::Keys;
use crate::validate;

/// One request. Each RPC is a method on it, in the file of its group.
pub(crate) struct Call<'a> {
    shared: &'a Shared,
    context: CallContext,
}

impl<'a> Call<'a> {
    pub(crate) fn new(shared: &'a Shared, context: CallContext) -> Self {
        Self { shared, context }
    }

    pub(crate) fn runtime(&self) -> &'a Runtime {
        &self.shared.runtime
    }

    pub(crate) fn shared(&self) -> &'a Shared {
        self.shared
    }

    /// The client's program, as in `temporal-python`.
    pub(crate) fn client_name(&self) -> &str {
        &self.context.client_name
    }

    /// The context of a command for a schedule's audit stream: as given in the request, with the request id and the
    /// face filled in. A gRPC request without one stays without one.
    pub(crate) fn command_context(
        &self,
        given: Option<CommandContext>,
        request_id: &str,
    ) -> Option<CommandContext> {
        let mut context = match self.context.face {
            Face::Grpc | Face::InProcess => given?,
            Face::Http => given.unwrap_or_default(),
        };
        if context.request_id.is_empty() {
            request_id.clone_into(&mut context.request_id);
        }
        if context.source.is_empty() {
            self.context.face.name().clone_into(&mut context.source);
        }
        Some(context)
    }

    /// Whether the client follows the run id in any close event. Others know it only from continued-as-new.
    pub(crate) fn follows_next_run_id(&self) -> bool {
        self.context.features.follows_next_run_id
    }

    /// How long a long poll may last: `at_most`, and short enough that an empty response reaches the client before its
    /// deadline.
    pub(crate) fn poll_time(&self, at_most: Duration) -> Duration {
        /// Time for the response to travel, and to pass the client's queues.
        const TAIL_ROOM: Duration = Duration::from_secs(1);
        match self.context.deadline {
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                at_most.min(left.saturating_sub(TAIL_ROOM))
            }
            None => at_most,
        }
    }

    /// Waits for `work`, but no longer than [`poll_time`](Self::poll_time), and not while the server stops.
    pub(crate) async fn wait<T>(
        &self,
        at_most: Duration,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let mut stopping = self.shared.stop_signal();
        tokio::select! {
            biased;
            done = work => Some(done),
            () = tokio::time::sleep(self.poll_time(at_most)) => None,
            () = stopping.wait() => None,
        }
    }

    /// The namespace with this name.
    pub(crate) fn namespace(&self, name: &str) -> RpcResult<Arc<NamespaceRecord>> {
        if name.is_empty() {
            return Err(Status::invalid_argument("Namespace is empty."));
        }
        let namespaces = self.runtime().namespaces();
        namespaces.by_name(name).cloned().ok_or_else(|| namespace_not_found(name))
    }

    /// The key of the namespace with this name.
    pub(crate) fn namespace_key(&self, name: &str) -> RpcResult<NamespaceKey> {
        Ok(NamespaceKey(self.namespace(name)?.key))
    }

    /// The current name of a namespace. Empty if it is deleted.
    pub(crate) fn namespace_name(&self, key: i64) -> String {
        let namespaces = self.runtime().namespaces();
        namespaces.by_key(NamespaceKey(key)).map(|record| record.name.clone()).unwrap_or_default()
    }

    /// The run that a request names.
    pub(crate) fn run_name(
        &self,
        namespace: &str,
        execution: Option<WorkflowExecution>,
    ) -> RpcResult<RunName> {
        let namespace = self.namespace_key(namespace)?.0;
        let execution = validate::execution(execution)?;
        Ok(RunName {
            namespace,
            workflow_id: execution.workflow_id,
            run_id: execution.run_id,
            first_run_id: String::new(),
        })
    }

    /// Sends a command to a run.
    pub(crate) async fn send(&self, target: RunName, command: Command) -> RpcResult<Sent> {
        let sent = self.runtime().send(target.clone(), command).await;
        sent.map_err(|refusal| refused_about(refusal, &target))
    }

    /// The current state of a run.
    pub(crate) async fn read(&self, target: RunName) -> RpcResult<Arc<Run>> {
        let run = self.runtime().read(target.clone()).await;
        run.map_err(|refusal| refused_about(refusal, &target))
    }

    /// The keys that tokens are authenticated with.
    pub(crate) async fn token_keys(&self) -> RpcResult<&'a Keys> {
        self.shared.token_keys().await.map_err(refused)
    }

    /// The id of a request, or a new one if the client sent none.
    pub(crate) fn request_id(&self, given: String) -> RpcResult<String> {
        if given.len() > validate::ID_BYTES_MAX {
            return Err(Status::invalid_argument("RequestId length exceeds limit."));
        }
        Ok(if given.is_empty() { self.runtime().fresh_id() } else { given })
    }
}
