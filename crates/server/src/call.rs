//! One request: its context, its namespace, and access to the runtime.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use perennial_engine::NamespaceKey;
use perennial_engine::run::{Command, Run};
use perennial_identity::{Principal, RoleSet};
use perennial_proto::perennial::CommandContext;
use perennial_proto::store::{NamespaceRecord, RunName};
use perennial_proto::temporal::common::v1::{self as common, WorkflowExecution};
use perennial_runtime::{LentPoll, Runtime, Sent};
use perennial_telemetry::{LongPoll, RefusalReason, WaitTime, WaitingPoll};
use tokio::time::Instant;
use tonic::Status;

use crate::access::api_keys::ApiKeys;
use crate::access::limits::Place;
use crate::access::rights::{self, Needs, Target};
use crate::call_context::{CallContext, Face};
use crate::errors::{RpcResult, namespace_not_found, refused, refused_about};
use crate::services::Shared;
use crate::tokens::Keys;
use crate::validate;

/// One request. Each RPC is a method on it, in the file of its group.
pub(crate) struct Call<'a> {
    shared: &'a Shared,
    /// Called by the principal of this request.
    runtime: Cow<'a, Runtime>,
    context: CallContext,
    /// The namespace that the request names, if it exists.
    admitted_to: Option<Arc<NamespaceRecord>>,
    /// The length of the message.
    bytes: usize,
}

impl<'a> Call<'a> {
    pub(crate) fn new(shared: &'a Shared, context: CallContext) -> Self {
        let runtime = match recorded(&context.principal) {
            None => Cow::Borrowed(&shared.runtime),
            by => Cow::Owned(shared.runtime.called_by(by)),
        };
        Self { shared, runtime, context, admitted_to: None, bytes: 0 }
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    pub(crate) fn shared(&self) -> &'a Shared {
        self.shared
    }

    /// Who makes the request.
    pub(crate) fn principal(&self) -> &Principal {
        &self.context.principal
    }

    /// Lets in a caller that may make this call, and whose namespace has calls left. `bytes` is the length of the message.
    pub(crate) fn admit(
        &mut self,
        needs: Needs,
        target: Target<'_>,
        bytes: usize,
    ) -> RpcResult<()> {
        self.bytes = bytes;
        let roles = match needs {
            Needs::Credentials => return Ok(()),
            Needs::OnServer(roles) => return rights::check_on_server(self.principal(), roles),
            Needs::InNamespace(roles) => roles,
        };
        let namespaces = self.runtime().namespaces();
        let name = match target {
            Target::TokenOr("") => return Ok(()),
            Target::Namespace(name) | Target::TokenOr(name) => name,
            Target::NamespaceOrId("", id) => match namespaces.by_id(id) {
                Some(found) if self.require(roles, &found.name).is_ok() => &found.name,
                // The answer doesn't tell which namespace has the id, or whether any has.
                Some(_) | None => "",
            },
            Target::NamespaceOrId(name, _) => name,
        };
        let metrics = self.runtime().metrics();
        self.require(roles, name).inspect_err(|_| metrics.refused(RefusalReason::Rights))?;
        if let Some(record) = namespaces.by_name(name) {
            self.count_call(record)?;
            self.admitted_to = Some(Arc::clone(record));
        }
        Ok(())
    }

    /// Counts the call against the limits of a namespace.
    pub(crate) fn count_call(&self, namespace: &NamespaceRecord) -> RpcResult<()> {
        let counted = self.shared.limits().call_in(namespace, self.bytes);
        counted.inspect_err(|_| self.runtime().metrics().refused(RefusalReason::Limit))
    }

    /// Refuses a caller without any of `roles` in a namespace.
    pub(crate) fn require(&self, roles: RoleSet, namespace: &str) -> RpcResult<()> {
        rights::check_in_namespace(self.principal(), roles, namespace)
    }

    /// The client's program, as in `temporal-python`.
    pub(crate) fn client_name(&self) -> &str {
        &self.context.client_name
    }

    /// The trace of the call, as it is stored with a run. Empty if there is none.
    pub(crate) fn traceparent(&self) -> String {
        self.context.trace.map(|trace| trace.to_string()).unwrap_or_default()
    }

    /// The context of a command for a schedule's audit stream: as given in the request, with the request id, the face
    /// and the principal filled in. A principal with credentials replaces whatever the request says. A gRPC request
    /// without a context or a principal stays without one.
    pub(crate) fn command_context(
        &self,
        given: Option<CommandContext>,
        request_id: &str,
    ) -> Option<CommandContext> {
        let is_known = !self.principal().is_anonymous();
        let mut context = match self.context.face {
            Face::Grpc | Face::InProcess if !is_known => given?,
            Face::Grpc | Face::InProcess | Face::Http => given.unwrap_or_default(),
        };
        if is_known {
            context.principal = self.principal().to_string();
        }
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

    /// Waits for `work`, but no longer than [`poll_time`](Self::poll_time), not while the server stops, and not when
    /// the caller's credentials have ended.
    pub(crate) async fn wait<T>(
        &self,
        kind: LongPoll,
        at_most: Duration,
        work: impl Future<Output = T>,
    ) -> RpcResult<Option<T>> {
        let mut stopping = self.shared.stop_signal();
        let _places = self.poll_places(kind)?;
        let waiting = self.runtime().metrics().wait(kind);
        let _wait = Wait { waiting, total: &self.context.waited };
        tokio::select! {
            biased;
            ended = self.principal().wait_for_end() => Err(Status::unauthenticated(ended.to_string())),
            done = work => Ok(Some(done)),
            () = tokio::time::sleep(self.poll_time(at_most)) => Ok(None),
            () = stopping.wait() => Ok(None),
        }
    }

    /// Counts a poll for tasks against the limits of its caller and its namespace.
    fn poll_places(&self, kind: LongPoll) -> RpcResult<[Option<Place>; 2]> {
        match (kind, &self.admitted_to) {
            (LongPoll::WorkflowTask | LongPoll::ActivityTask, Some(namespace)) => {
                let places = self.shared.limits().poll(self.principal(), namespace);
                places.inspect_err(|_| self.runtime().metrics().refused(RefusalReason::Limit))
            }
            (LongPoll::WorkflowTask | LongPoll::ActivityTask, None)
            | (LongPoll::History | LongPoll::Update | LongPoll::Query, _) => Ok([None, None]),
        }
    }

    /// Whether the poll may go on at another node of the cluster.
    pub(crate) fn may_be_lent(&self) -> bool {
        self.context.lent.is_some()
    }

    /// The poll goes on at another node: whoever made it possible passes it on.
    pub(crate) fn goes_on_elsewhere(&self, lent: LentPoll) {
        if let Some(slot) = &self.context.lent {
            slot.set(lent);
        }
    }

    /// The keys that this server has issued.
    pub(crate) fn api_keys(&self) -> &'a Arc<ApiKeys> {
        self.shared.access().api_keys()
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

/// A principal as events show it. An anonymous caller has none.
fn recorded(principal: &Principal) -> Option<common::Principal> {
    let Principal { credential, name, .. } = principal;
    (!principal.is_anonymous())
        .then(|| common::Principal { r#type: credential.kind().to_owned(), name: name.clone() })
}

/// A call that waits, also if it is canceled meanwhile.
struct Wait<'a> {
    waiting: WaitingPoll,
    total: &'a WaitTime,
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.total.add(self.waiting.elapsed());
    }
}
