//! The error that a caller gets when the other node ends a call in one of the ways of HTTP/2.

use bytes::Bytes;
use h2::Reason;
use tokio::net::TcpListener;

use super::*;
use crate::identity::PeerSecret;
use crate::peers::Peers;

/// Calls a node that completes the handshakes, and then does as `node` says.
async fn call<F>(node: impl FnOnce(h2::server::Connection<TcpStream, Bytes>) -> F) -> CallError
where
    F: Future<Output = ()> + Send + 'static,
{
    let identity = PeerIdentity::new("c", "a", PeerSecret::new([7; 32])).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let peers = Peers::new(identity.clone(), None, PeerLimits::default());
    let calling = tokio::spawn(async move {
        let call = PeerCall { path: "/".to_owned(), head: Bytes::new(), body: Bytes::new() };
        peers.call(&address, call).await
    });
    let (mut tcp, _) = listener.accept().await.unwrap();
    drop(listener);
    handshake::accept(&mut tcp, &identity, || Some(())).await.unwrap();
    tokio::spawn(node(h2::server::handshake(tcp).await.unwrap()));
    calling.await.unwrap().unwrap_err()
}

async fn call_that_is_reset(reason: Reason) -> CallError {
    call(async move |mut connection| {
        let (_request, mut response) = connection.accept().await.unwrap().unwrap();
        response.send_reset(reason);
        while connection.accept().await.is_some() {}
    })
    .await
}

#[tokio::test]
async fn a_refused_stream_is_not_delivered() {
    let error = call_that_is_reset(Reason::REFUSED_STREAM).await;
    assert!(matches!(error, CallError::NotDelivered(_)), "{error}");
}

#[tokio::test]
async fn a_stream_that_is_reset_for_another_reason_is_lost() {
    for reason in [Reason::CANCEL, Reason::INTERNAL_ERROR, Reason::ENHANCE_YOUR_CALM] {
        let error = call_that_is_reset(reason).await;
        assert!(matches!(error, CallError::Lost(_)), "{reason}: {error}");
    }
}

#[tokio::test]
async fn a_call_after_the_last_one_of_a_stopping_node_is_not_delivered() {
    let error = call(async |mut connection| {
        // It names no call as begun.
        connection.abrupt_shutdown(Reason::NO_ERROR);
        while connection.accept().await.is_some() {}
    })
    .await;
    assert!(matches!(error, CallError::NotDelivered(_)), "{error}");
}

#[tokio::test]
async fn a_call_that_a_failing_node_has_begun_is_lost() {
    let error = call(async |mut connection| {
        let _begun = connection.accept().await.unwrap().unwrap();
        connection.abrupt_shutdown(Reason::INTERNAL_ERROR);
        while connection.accept().await.is_some() {}
    })
    .await;
    assert!(matches!(error, CallError::Lost(_)), "{error}");
}
