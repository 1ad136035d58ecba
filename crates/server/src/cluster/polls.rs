//! Polls for tasks: they wait at the node of the client, and go on at another node that has tasks.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use perennial_runtime::LentPoll;
use tokio::time::Instant;

use super::forwarding;
use crate::call_context::CallContext;
use crate::encoded_message::EncodedMessage;
use crate::errors::RpcResult;
use crate::rpcs::WORKFLOW_SERVICE;
use crate::services::{Rpc, Services};

/// The end of a poll's wait, before the client's deadline.
const TAIL_ROOM: Duration = Duration::from_secs(1);

/// A poll isn't lent for less.
const LENT_FOR_MIN: Duration = Duration::from_millis(100);

/// How long a poll waits after it was lent to a node that didn't answer.
const PAUSE: Duration = Duration::from_millis(200);

/// Where a poll that waits at this node learns that it goes on at another one.
#[derive(Debug, Clone, Default)]
pub(crate) struct LentSlot(Arc<Mutex<Option<LentPoll>>>);

impl LentSlot {
    pub(crate) fn set(&self, lent: LentPoll) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(lent);
    }

    fn take(&self) -> Option<LentPoll> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Whether the RPC at a path waits for a task.
pub(super) fn is_poll(path: &str) -> bool {
    let name = path.strip_prefix('/').and_then(|path| path.strip_prefix(WORKFLOW_SERVICE));
    matches!(name, Some("/PollWorkflowTaskQueue" | "/PollActivityTaskQueue"))
}

/// Answers a poll: waits here, and at other nodes whenever they have tasks for it.
pub(super) async fn answer(
    services: Services,
    path: &str,
    rpc: Rpc,
    mut context: CallContext,
    message: Bytes,
) -> RpcResult<EncodedMessage> {
    let ends = Instant::now() + services.config().poll_time + TAIL_ROOM;
    let ends = context.deadline.map_or(ends, |deadline| deadline.min(ends));
    context.deadline = Some(ends);
    loop {
        let slot = LentSlot::default();
        context.lent = Some(slot.clone());
        let here = (rpc.handler)(services.clone(), rpc.needs, context.clone(), message.clone());
        let result = here.await;
        let Some(lent) = slot.take() else { return result };
        let left = ends.saturating_duration_since(Instant::now()).saturating_sub(TAIL_ROOM);
        let wait = lent.wait().map_or(left, |wait| wait.min(left));
        if wait < LENT_FOR_MIN {
            return result;
        }
        let there = CallContext {
            deadline: Some(Instant::now() + wait + TAIL_ROOM),
            lent: None,
            ..context.clone()
        };
        let called = forwarding::pass_on(&services, lent.address(), path, &there, &message);
        match while_valid(&services, &context, called).await? {
            Some(Ok(task)) if !task.as_message().is_empty() => return Ok(task),
            // Nothing found there: the poll comes home.
            Some(Ok(_)) => {}
            // The node was lost. Until that is known here, the poll would be lent to it again and again.
            Some(Err(_)) => tokio::time::sleep(PAUSE).await,
            None => return result,
        }
        if ends.saturating_duration_since(Instant::now()) <= TAIL_ROOM {
            return result;
        }
    }
}

/// Waits while the server runs and the caller's credentials hold. `None` if the server stops.
async fn while_valid<T>(
    services: &Services,
    context: &CallContext,
    work: impl Future<Output = T>,
) -> RpcResult<Option<T>> {
    let mut stopping = services.shared().stop_signal();
    tokio::select! {
        biased;
        done = work => Ok(Some(done)),
        ended = context.principal.wait_for_end() => {
            Err(tonic::Status::unauthenticated(ended.to_string()))
        }
        () = stopping.wait() => Ok(None),
    }
}
