//! Calls and their answers.

use std::sync::Arc;

use bytes::Bytes;
use perennial_peer::{CallError, PeerAnswer, PeerLimits, Peers};
use tokio::sync::Notify;

use crate::proxy::Proxy;
use crate::server::{Seen, Server, call, echo, identity, limits, peers, waiting};

#[tokio::test(flavor = "multi_thread")]
async fn heads_and_bodies_of_every_size_arrive_and_come_back() {
    let server = Server::start(echo).await;
    let peers = peers();
    for (head, body) in [(0, 0), (5, 0), (0, 5), (70_000, 20_000), (100, 40 << 20)] {
        let (head, body) = (Bytes::from(vec![1; head]), Bytes::from(vec![2; body]));
        let answer = peers.call(&server.address, call("/echo", head.clone(), body.clone())).await;
        assert_eq!(answer.unwrap(), PeerAnswer { head, body });
    }
}

#[tokio::test]
async fn the_handler_is_told_the_path_and_the_caller() {
    let server =
        Server::start(async |node: perennial_peer::PeerNode, call: perennial_peer::PeerCall| {
            PeerAnswer { head: Bytes::from(call.path), body: Bytes::from(node.id.to_string()) }
        })
        .await;
    let peers = peers();
    let answer = peers.call(&server.address, call("/a.B/C?d=e", "", "")).await.unwrap();
    assert_eq!(answer, PeerAnswer { head: "/a.B/C?d=e".into(), body: "a".into() });
    assert_eq!(&*peers.node(&server.address).unwrap().id, "b");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_call_each_other_with_many_calls_at_a_time() {
    let (a, b) = (Server::start(echo).await, Server::start(echo).await);
    let (from_a, from_b) = (peers(), peers());
    let proxy = Proxy::to(&b.address).await;
    let calls: Vec<_> = (0..200)
        .map(|n: u32| {
            let (from_a, from_b) = (from_a.clone(), from_b.clone());
            let (to_a, to_b) = (a.address.clone(), proxy.address.clone());
            tokio::spawn(async move {
                let body = Bytes::from(n.to_string());
                let there = from_a.call(&to_b, call("/", "", body.clone())).await.unwrap();
                let back = from_b.call(&to_a, call("/", "", there.body)).await.unwrap();
                assert_eq!(back.body, body);
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
    assert_eq!(proxy.accepted(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_a_call_drops_its_handler_and_no_other() {
    let (handler, mut seen) = waiting();
    let server = Server::start(handler).await;
    let peers = peers();
    let begin = |body: Bytes| {
        let (peers, address) = (peers.clone(), server.address.clone());
        tokio::spawn(async move { peers.call(&address, call("/poll", "", body)).await })
    };
    let stays = begin("stays".into());
    assert_eq!(seen.recv().await, Some(Seen::Started));
    let goes = begin("goes".into());
    assert_eq!(seen.recv().await, Some(Seen::Started));
    goes.abort();
    assert_eq!(seen.recv().await, Some(Seen::Dropped));
    assert!(!stays.is_finished() && seen.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_of_cancelled_calls_leaves_the_connection_usable() {
    let (waits, mut seen) = waiting();
    let server = Server::start(move |node, call: perennial_peer::PeerCall| {
        let waits = waits.clone();
        async move {
            match &*call.path {
                "/wait" => waits(node, call).await,
                _ => echo(node, call).await,
            }
        }
    })
    .await;
    let proxy = Proxy::to(&server.address).await;
    let peers = peers();
    let begin = || {
        let (peers, address) = (peers.clone(), proxy.address.clone());
        tokio::spawn(async move { peers.call(&address, call("/wait", "", "")).await })
    };
    let calls: Vec<_> = (0..2_000).map(|_| begin()).collect();
    assert_eq!(seen.recv().await, Some(Seen::Started));
    calls.iter().for_each(|call| call.abort());
    let answer = peers.call(&proxy.address, call("/", "", "ok")).await;
    assert_eq!(answer.unwrap().body, "ok");
    assert_eq!(proxy.accepted(), 1);
}

#[tokio::test]
async fn a_panic_ends_its_own_call_only() {
    let release = Arc::new(Notify::new());
    let released = Arc::clone(&release);
    let server = Server::start(move |_, call: perennial_peer::PeerCall| {
        assert_ne!(call.path, "/panics-at-once");
        let released = Arc::clone(&released);
        async move {
            assert_ne!(call.path, "/panics");
            released.notified().await;
            PeerAnswer { head: Bytes::new(), body: call.body }
        }
    })
    .await;
    let (peers, address) = (peers(), server.address.clone());
    let waits = {
        let (peers, address) = (peers.clone(), address.clone());
        tokio::spawn(async move { peers.call(&address, call("/waits", "", "waited")).await })
    };
    for path in ["/panics", "/panics-at-once"] {
        let error = peers.call(&address, call(path, "", "")).await.unwrap_err();
        assert!(
            matches!(&error, CallError::Lost(text) if text.contains("handler failed")),
            "{error}"
        );
    }
    release.notify_one();
    assert_eq!(waits.await.unwrap().unwrap().body, "waited");
}

#[tokio::test]
async fn a_message_over_the_limit_is_refused_at_both_ends() {
    let small = || PeerLimits { message_bytes_max: 1_000, ..limits() };
    let server = Server::with(identity("b"), None, small(), echo).await;
    let careful = Peers::new(identity("a"), None, small());
    let peers = peers();
    assert!(careful.call(&server.address, call("/", vec![0; 500], vec![0; 500])).await.is_ok());
    for (peers, body) in [(&careful, 1_000), (&peers, 1_000), (&peers, 30 << 20)] {
        let error = peers.call(&server.address, call("/", "h", vec![0; body])).await.unwrap_err();
        assert!(matches!(&error, CallError::TooLarge(text) if text.contains("1000")), "{error}");
    }
    assert!(careful.call(&server.address, call("/", "", "still open")).await.is_ok());
}

#[tokio::test]
async fn an_answer_over_the_limit_is_lost_because_the_call_was_carried_out() {
    let long = async |_, _| PeerAnswer { head: Bytes::new(), body: vec![0; 100_000].into() };
    let small = || PeerLimits { message_bytes_max: 1_000, ..limits() };
    let careful_server = Server::with(identity("b"), None, small(), long).await;
    let server = Server::start(long).await;
    for (peers, address) in [
        (peers(), &careful_server.address),
        (Peers::new(identity("a"), None, small()), &server.address),
    ] {
        let error = peers.call(address, call("/", "", "")).await.unwrap_err();
        assert!(matches!(&error, CallError::Lost(text) if text.contains("1000")), "{error}");
    }
}

#[tokio::test]
async fn more_calls_at_a_time_than_allowed_are_not_delivered() {
    let (handler, mut seen) = waiting();
    let server = Server::start(handler).await;
    let peers = Peers::new(identity("a"), None, PeerLimits { calls_max: 1, ..limits() });
    let address = server.address.clone();
    let first = {
        let (peers, address) = (peers.clone(), address.clone());
        tokio::spawn(async move { peers.call(&address, call("/", "", "")).await })
    };
    assert_eq!(seen.recv().await, Some(Seen::Started));
    let error = peers.call(&address, call("/", "", "")).await.unwrap_err();
    assert!(matches!(&error, CallError::NotDelivered(text) if text.contains("1 calls")), "{error}");
    first.abort();
}
