//! A long poll that waits for a task.

use std::sync::Arc;

use perennial_proto::temporal::common::v1::{Principal, WorkerVersionStamp};
use tokio::sync::oneshot;

use super::{LentOut, QueueKind, QueueName};
use crate::api::{self, ActivityGrant, WorkflowTaskGrant};

/// A task handed to a poller.
#[derive(Debug)]
pub(crate) enum Grant {
    Workflow(Box<WorkflowTaskGrant>),
    Activity(ActivityGrant),
    /// No task: the poll goes on at another node.
    Lent(LentOut),
}

/// A long poll. Dropped without a grant, it ends empty.
pub(crate) struct WaitingPoll {
    pub(crate) queue: QueueName,
    pub(crate) info: api::Poller,
    principal: Option<Arc<Principal>>,
    grant: oneshot::Sender<Grant>,
    may_be_lent: bool,
}

impl WaitingPoll {
    pub(crate) fn new(
        info: api::Poller,
        kind: QueueKind,
        principal: Option<Arc<Principal>>,
        may_be_lent: bool,
    ) -> (Self, oneshot::Receiver<Grant>) {
        let (grant, received) = oneshot::channel();
        let queue = QueueName { namespace: info.namespace, name: info.queue.clone(), kind };
        (Self { queue, info, principal, grant, may_be_lent }, received)
    }

    pub(crate) fn identity(&self) -> &str {
        &self.info.identity
    }

    /// Who polls, as proved by credentials.
    pub(crate) fn principal(&self) -> Option<&Principal> {
        self.principal.as_deref()
    }

    pub(crate) fn worker_version(&self) -> Option<&WorkerVersionStamp> {
        self.info.worker_version.as_ref()
    }

    pub(crate) fn is_sticky(&self) -> bool {
        self.info.normal_queue.is_some()
    }

    /// The queue's name; for a sticky queue, the name of its normal queue.
    pub(crate) fn normal_queue(&self) -> &str {
        self.info.normal_queue.as_deref().unwrap_or(&self.queue.name)
    }

    /// Whether the poll may be passed to another node. A poll that another node has lent may not.
    pub(crate) fn may_be_lent(&self) -> bool {
        self.may_be_lent
    }

    /// Whether the caller has disconnected.
    pub(crate) fn is_gone(&self) -> bool {
        self.grant.is_closed()
    }

    /// Sends the task. Returns it if the caller has disconnected.
    pub(crate) fn give(self, grant: Grant) -> Result<(), Grant> {
        self.grant.send(grant)
    }
}
