//! Connections: made when they are needed, shared, and made again.

use std::time::Duration;

use perennial_peer::{CallError, PeerLimits, Peers};
use tokio::net::TcpListener;

use crate::proxy::Proxy;
use crate::server::{Seen, Server, call, echo, identity, limits, peers, waiting};

#[tokio::test]
async fn a_call_to_a_closed_port_is_not_delivered() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let error = peers().call(&address, call("/", "", "")).await.unwrap_err();
    assert!(
        matches!(&error, CallError::NotDelivered(text) if text.contains("can't be reached")),
        "{error}"
    );
}

#[tokio::test]
async fn callers_share_an_attempt_and_the_pause_after_its_failure() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = closed.local_addr().unwrap().to_string();
    let (attempts, mut attempted) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            drop(closed.accept().await.unwrap());
            attempts.send(()).unwrap();
        }
    });
    let pause = Duration::from_secs(3600);
    let peers = Peers::new(identity("a"), None, PeerLimits { retry_pause: pause, ..limits() });
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let (peers, address) = (peers.clone(), address.clone());
            tokio::spawn(async move { peers.call(&address, call("/", "", "")).await })
        })
        .collect();
    for call in calls {
        assert!(matches!(call.await.unwrap(), Err(CallError::NotDelivered(_))));
    }
    assert!(matches!(
        peers.call(&address, call("/", "", "")).await,
        Err(CallError::NotDelivered(_))
    ));
    attempted.recv().await.unwrap();
    assert!(attempted.is_empty());
}

#[tokio::test]
async fn a_caller_that_gives_up_does_not_end_the_attempt_of_others() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let peers = peers();
    let begin = || {
        let (peers, address) = (peers.clone(), address.clone());
        tokio::spawn(async move { peers.call(&address, call("/", "", "ok")).await })
    };
    let (first, second) = (begin(), begin());
    // The listener's backlog has taken the connection; nobody has answered the handshake yet.
    tokio::task::yield_now().await;
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    let _server = Server::on(listener, identity("b"), None, limits(), echo);
    assert_eq!(second.await.unwrap().unwrap().body, "ok");
}

#[tokio::test]
async fn a_node_that_was_restarted_is_called_over_a_new_connection() {
    let server = Server::start(echo).await;
    let (peers, address) = (peers(), server.address.clone());
    peers.call(&address, call("/", "", "")).await.unwrap();
    server.stop().await;
    let listener = TcpListener::bind(&address).await.unwrap();
    let _server = Server::on(listener, identity("c"), None, limits(), echo);
    peers.call(&address, call("/", "", "")).await.unwrap();
    assert_eq!(&*peers.node(&address).unwrap().id, "c");
}

#[tokio::test]
async fn forgetting_a_node_ends_its_calls_and_its_connection() {
    let (handler, mut seen) = waiting();
    let server = Server::start(handler).await;
    let proxy = Proxy::to(&server.address).await;
    let (peers, address) = (peers(), proxy.address.clone());
    let waits = {
        let (peers, address) = (peers.clone(), address.clone());
        tokio::spawn(async move { peers.call(&address, call("/", "", "")).await })
    };
    assert_eq!(seen.recv().await, Some(Seen::Started));
    peers.forget(&address);
    assert!(matches!(waits.await.unwrap(), Err(CallError::Lost(_))));
    assert_eq!(seen.recv().await, Some(Seen::Dropped));
    assert_eq!(peers.node(&address), None);
}

#[tokio::test]
async fn connections_beyond_the_limit_are_refused_at_both_ends() {
    let few = || PeerLimits { connections_max: 1, ..limits() };
    let (server, other) =
        (Server::with(identity("b"), None, few(), echo).await, Server::start(echo).await);
    let first = Peers::new(identity("a"), None, few());
    first.call(&server.address, call("/", "", "")).await.unwrap();
    let error = first.call(&other.address, call("/", "", "")).await.unwrap_err();
    assert!(matches!(&error, CallError::NotDelivered(text) if text.contains("1 nodes")), "{error}");
    let error = peers().call(&server.address, call("/", "", "")).await.unwrap_err();
    assert!(matches!(&error, CallError::NotDelivered(text) if text.contains("as many")), "{error}");
}
