//! The stop of a serving node.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use perennial_peer::{CallError, PeerAnswer, PeerLimits};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc};

use crate::server::{Seen, Server, call, echo, identity, limits, peers, waiting};

#[tokio::test(flavor = "multi_thread")]
async fn a_call_in_progress_is_answered_after_the_stop() {
    let (release, (starts, mut started)) = (Arc::new(Notify::new()), mpsc::unbounded_channel());
    let released = Arc::clone(&release);
    let mut server = Server::start(move |_, call: perennial_peer::PeerCall| {
        let (released, starts) = (Arc::clone(&released), starts.clone());
        async move {
            starts.send(()).unwrap();
            released.notified().await;
            PeerAnswer { head: Bytes::new(), body: call.body }
        }
    })
    .await;
    let (peers, address) = (peers(), server.address.clone());
    let waits = {
        let (peers, address) = (peers.clone(), address.clone());
        tokio::spawn(async move { peers.call(&address, call("/", "", "answered")).await })
    };
    started.recv().await.unwrap();
    server.begin_stop();
    // Nothing new is accepted.
    while TcpStream::connect(&address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    release.notify_one();
    assert_eq!(waits.await.unwrap().unwrap().body, "answered");
    server.stop().await;
    let error = peers.call(&address, call("/", "", "")).await.unwrap_err();
    assert!(matches!(error, CallError::NotDelivered(_)), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_outlast_the_grace_are_lost_and_their_handlers_dropped() {
    let (handler, mut seen) = waiting();
    let short = PeerLimits { stop_grace: Duration::from_millis(20), ..limits() };
    let server = Server::with(identity("b"), None, short, handler).await;
    let (peers, address) = (peers(), server.address.clone());
    let waits = tokio::spawn(async move { peers.call(&address, call("/", "", "")).await });
    assert_eq!(seen.recv().await, Some(Seen::Started));
    server.stop().await;
    assert_eq!(seen.try_recv(), Ok(Seen::Dropped));
    assert!(matches!(waits.await.unwrap(), Err(CallError::Lost(_))));
}

#[tokio::test]
async fn idle_connections_and_strangers_do_not_hold_up_the_stop() {
    let server = Server::start(echo).await;
    let peers = peers();
    peers.call(&server.address, call("/", "", "")).await.unwrap();
    let _stranger = TcpStream::connect(&server.address).await.unwrap();
    server.stop().await;
}
