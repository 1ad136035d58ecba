//! The port at which the other nodes of a cluster call this one.

use bytes::Bytes;
use perennial_peer::{PeerAnswer, PeerCall, PeerLimits, PeerNode, serve_peers};
use perennial_proto::node::{
    CellsReleased, Confirmed, EntityRequest, PolledQueues, RecordsChanged, SharedRecords, TaskHint,
};
use perennial_runtime::cluster::{
    CELLS_RELEASED, ENTITY_REQUEST, POLLED_QUEUES, RECORDS_CHANGED, TASK_HINT, serve_entity_request,
};
use prost::Message;
use tokio::net::TcpListener;
use tonic::Status;

use super::call_head;
use crate::encoded_message::EncodedMessage;
use crate::errors::{RpcResult, refused};
use crate::services::Services;

/// Serves other nodes until `stop` completes and the calls in progress have their answers. Does nothing on a server
/// without a cluster.
pub async fn serve_node_port(
    services: Services,
    listener: TcpListener,
    stop: impl Future<Output = ()>,
) {
    let Some((identity, tls)) = services.runtime().peer_identity() else { return };
    let handler = move |node: PeerNode, call: PeerCall| {
        let services = services.clone();
        async move { answer(services, node, call).await }
    };
    serve_peers(listener, identity, tls, PeerLimits::default(), handler, stop).await;
}

async fn answer(services: Services, node: PeerNode, call: PeerCall) -> PeerAnswer {
    let PeerCall { path, head, body } = call;
    let result = match internal(&services, &path, body.clone()).await {
        Some(result) => result,
        None => pass_in(services, &path, &head, body).await,
    };
    if let Err(status) = &result {
        tracing::trace!(node = %node.id, path, code = ?status.code(), "a call of another node failed");
    }
    call_head::answer(result)
}

/// Answers a call that another node passes on.
async fn pass_in(
    services: Services,
    path: &str,
    head: &[u8],
    body: Bytes,
) -> RpcResult<EncodedMessage> {
    let context = call_head::context(head)?;
    let rpc = services.find(path);
    let rpc = rpc.ok_or_else(|| Status::unimplemented(format!("unknown method {path}")))?;
    rpc.call(context, body).await
}

/// Answers a message between nodes. `None` if the path is one of the API.
async fn internal(
    services: &Services,
    path: &str,
    body: Bytes,
) -> Option<RpcResult<EncodedMessage>> {
    let runtime = services.runtime();
    let confirmed = || Ok(EncodedMessage::of(&Confirmed {}));
    Some(match path {
        ENTITY_REQUEST => match decoded::<EntityRequest>(body) {
            Ok(request) => Ok(EncodedMessage::of(&serve_entity_request(runtime, request).await)),
            Err(status) => Err(status),
        },
        POLLED_QUEUES => decoded::<PolledQueues>(body).and_then(|announced| {
            runtime.hear_polled_queues(announced);
            confirmed()
        }),
        TASK_HINT => {
            decoded::<TaskHint>(body).map(|hint| EncodedMessage::of(&runtime.lend_polls(hint)))
        }
        RECORDS_CHANGED => match decoded::<RecordsChanged>(body) {
            Ok(changed) => reload(services, changed.records()).await.and_then(|()| confirmed()),
            Err(status) => Err(status),
        },
        CELLS_RELEASED => decoded::<CellsReleased>(body).and_then(|CellsReleased {}| {
            runtime.look_for_cells();
            confirmed()
        }),
        _ => return None,
    })
}

async fn reload(services: &Services, records: SharedRecords) -> RpcResult<()> {
    match records {
        SharedRecords::Namespaces => services.runtime().reload_namespaces().await.map_err(refused),
        SharedRecords::ApiKeys => {
            services.shared().access().api_keys().reload().await.map_err(refused)
        }
        SharedRecords::Unspecified => Err(Status::unimplemented("unknown kind of records")),
    }
}

fn decoded<T: Message + Default>(body: Bytes) -> RpcResult<T> {
    T::decode(body).map_err(|error| {
        Status::invalid_argument(format!("a message of another node can't be read: {error}"))
    })
}
