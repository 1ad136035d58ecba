//! Connections that break, and nodes that hang.

use std::time::Duration;

use perennial_peer::{CallError, PeerLimits, Peers};

use crate::proxy::Proxy;
use crate::server::{Seen, Server, call, identity, limits, peers, waiting};

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_lost_when_its_connection_is_cut_and_its_handler_is_dropped() {
    let (handler, mut seen) = waiting();
    let server = Server::start(handler).await;
    let proxy = Proxy::to(&server.address).await;
    let (peers, address) = (peers(), proxy.address.clone());
    let waits = tokio::spawn(async move { peers.call(&address, call("/", "", "")).await });
    assert_eq!(seen.recv().await, Some(Seen::Started));
    proxy.cut();
    assert!(matches!(waits.await.unwrap(), Err(CallError::Lost(_))));
    assert_eq!(seen.recv().await, Some(Seen::Dropped));
}

#[tokio::test]
async fn both_ends_notice_a_silent_node() {
    let quick = PeerLimits {
        ping_interval: Duration::from_millis(50),
        ping_timeout: Duration::from_secs(1),
        ..limits()
    };
    let (handler, mut seen) = waiting();
    let server = Server::with(identity("b"), None, quick.clone(), handler).await;
    let proxy = Proxy::to(&server.address).await;
    let peers = Peers::new(identity("a"), None, quick);
    let (caller, address) = (peers.clone(), proxy.address.clone());
    let waits = tokio::spawn(async move { caller.call(&address, call("/", "", "")).await });
    assert_eq!(seen.recv().await, Some(Seen::Started));
    proxy.pause();
    let error = waits.await.unwrap().unwrap_err();
    assert!(matches!(&error, CallError::Lost(text) if text.contains("keep-alive")), "{error}");
    assert_eq!(seen.recv().await, Some(Seen::Dropped));
    assert_eq!(peers.node(&proxy.address), None);
}
