//! Passes a call on to the node that owns the entity.

use std::time::Duration;

use bytes::Bytes;
use perennial_engine::Slot;
use perennial_peer::CallError;
use perennial_runtime::{Owner, Place};
use tokio::time::Instant;
use tonic::Status;

use super::{call_head, every_node, polls};
use crate::call_context::CallContext;
use crate::encoded_message::EncodedMessage;
use crate::errors::{self, RpcResult};
use crate::routing::Destination;
use crate::services::{Rpc, Services};

/// How long a call waits for an owner, if its client has no deadline.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// A call isn't tried again this shortly before its deadline.
const TAIL_ROOM: Duration = Duration::from_millis(500);

/// How long a call that has been passed on may still take after this node was told to stop. Long polls take longer: the
/// node that has them doesn't know that this one stops.
const STOPPING_FOR: Duration = Duration::from_secs(1);

/// Time between two attempts while nothing is heard of a change.
const RETRY_DELAY: Duration = Duration::from_millis(50);

/// Answers a call of a client: here, or by passing it on.
pub(crate) async fn answer(
    services: Services,
    path: &str,
    rpc: Rpc,
    context: CallContext,
    message: Bytes,
) -> RpcResult<EncodedMessage> {
    if polls::is_poll(path) {
        return polls::answer(services, path, rpc, context, message).await;
    }
    match services.route(path, &message) {
        Some(Destination::Slot(slot)) => {
            at_owner(&services, path, rpc, &context, &message, slot).await
        }
        Some(Destination::EveryNode) => {
            every_node::answer(services, path, rpc, context, message).await
        }
        Some(Destination::AnyNode) | None => {
            (rpc.handler)(services, rpc.needs, context, message).await
        }
    }
}

/// Calls the node that owns the slot. Tries again while the owner is unknown or has just changed.
async fn at_owner(
    services: &Services,
    path: &str,
    rpc: Rpc,
    context: &CallContext,
    message: &Bytes,
    slot: Slot,
) -> RpcResult<EncodedMessage> {
    let runtime = services.runtime();
    let begun = Instant::now();
    let until = context.deadline.map_or(begun + WAIT_MAX, |deadline| {
        let last = deadline.checked_sub(TAIL_ROOM).unwrap_or(deadline);
        last.min(begun + WAIT_MAX)
    });
    // The first attempt may take as long as the client waits: a long poll does.
    loop {
        let result = match runtime.place_of(slot) {
            Place::Here => {
                let (services, message) = (services.clone(), message.clone());
                (rpc.handler)(services, rpc.needs, context.clone(), message).await
            }
            Place::Elsewhere(Owner::Node(address)) => {
                let passed_on = pass_on(services, &address, path, context, message);
                until_stopped(services, passed_on).await
            }
            Place::Elsewhere(Owner::Unknown) => Err(errors::moved()),
        };
        match result {
            Err(status) if errors::is_moved(&status) => {}
            result => return result,
        }
        // After a long poll that lost its cell there is time for another attempt, if the client still waits.
        let is_late = Instant::now() >= until
            && context.deadline.is_none_or(|deadline| deadline <= Instant::now() + TAIL_ROOM);
        if is_late {
            return Err(Status::unavailable(
                "the node that has this workflow or schedule is just being replaced; retry",
            ));
        }
        runtime.cluster_changes_within(RETRY_DELAY).await;
    }
}

/// Waits for the answer of another node, but not much longer than this node runs.
async fn until_stopped<T>(
    services: &Services,
    passed_on: impl Future<Output = RpcResult<T>>,
) -> RpcResult<T> {
    let mut stopping = services.shared().stop_signal();
    let stopped = async {
        stopping.wait().await;
        tokio::time::sleep(STOPPING_FOR).await;
    };
    tokio::select! {
        biased;
        result = passed_on => result,
        () = stopped => Err(Status::unavailable("the server is stopping; retry at another one")),
    }
}

/// Calls another node, once. The error is [`errors::moved`] if the call certainly did nothing there.
pub(super) async fn pass_on(
    services: &Services,
    address: &str,
    path: &str,
    context: &CallContext,
    message: &Bytes,
) -> RpcResult<EncodedMessage> {
    let head = call_head::of_context(context);
    match services.runtime().call_node(address, path, head, message.clone()).await {
        Ok(answer) => call_head::result(answer),
        Err(CallError::NotDelivered(why)) => {
            tracing::debug!(address, why, "a call wasn't delivered to another node");
            Err(errors::moved())
        }
        Err(CallError::TooLarge(why)) => Err(Status::resource_exhausted(why)),
        Err(CallError::Lost(why)) => {
            Err(Status::unavailable(format!("the node that had the call was lost: {why}")))
        }
    }
}
