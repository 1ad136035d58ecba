//! The handshake: who is refused, and what the caller is told.

use std::ops::RangeInclusive;
use std::time::Duration;

use perennial_peer::{CallError, PeerIdentity, PeerLimits, PeerSecret, Peers};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::server::{Server, call, echo, identity, limits, peers};

/// Calls a server, and returns why the call wasn't delivered.
async fn refusal(caller: PeerIdentity, server: PeerIdentity) -> String {
    let server = Server::with(server, None, limits(), echo).await;
    let peers = Peers::new(caller, None, limits());
    not_delivered(peers.call(&server.address, call("/", "", "")).await.unwrap_err())
}

fn not_delivered(error: CallError) -> String {
    match error {
        CallError::NotDelivered(text) => text,
        CallError::TooLarge(_) | CallError::Lost(_) => panic!("{error:?}"),
    }
}

#[tokio::test]
async fn a_wrong_secret_is_refused_with_advice() {
    let stranger = PeerIdentity::new("cluster", "a", PeerSecret::new([8; 32])).unwrap();
    let refused = refusal(stranger, identity("b")).await;
    assert!(
        refused.ends_with("it has another secret: give all nodes of the cluster the same secret"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_node_of_another_cluster_is_refused_by_name() {
    let other = PeerIdentity::new("other", "a", PeerSecret::new([7; 32])).unwrap();
    let refused = refusal(other, identity("b")).await;
    assert!(
        refused.contains("it belongs to the cluster `cluster` and this node to `other`"),
        "{refused}"
    );
}

#[tokio::test]
async fn nodes_without_a_common_version_refuse_each_other() {
    for (ours, theirs) in [(1..=2, 3..=4), (3..=4, 1..=2)] {
        let text = format!(
            "it speaks versions {} to {} of the protocol between nodes and this node {} to {}",
            theirs.start(),
            theirs.end(),
            ours.start(),
            ours.end()
        );
        let refused =
            refusal(identity("a").with_versions(ours), identity("b").with_versions(theirs)).await;
        assert!(refused.contains(&text), "{refused}");
    }
}

#[tokio::test]
async fn the_highest_common_version_is_spoken() {
    let version = async |caller: RangeInclusive<u8>, server: RangeInclusive<u8>| {
        let report = async |node: perennial_peer::PeerNode, _| perennial_peer::PeerAnswer {
            head: vec![node.version].into(),
            body: bytes::Bytes::new(),
        };
        let server = identity("b").with_versions(server);
        let server = Server::with(server, None, limits(), report).await;
        let peers = Peers::new(identity("a").with_versions(caller), None, limits());
        let answer = peers.call(&server.address, call("/", "", "")).await.unwrap();
        let spoken = peers.node(&server.address).unwrap().version;
        assert_eq!(answer.head, [spoken][..]);
        spoken
    };
    assert_eq!(version(1..=2, 1..=2).await, 2);
    assert_eq!(version(1..=2, 1..=1).await, 1);
    assert_eq!(version(1..=1, 1..=2).await, 1);
    assert_eq!(version(2..=3, 1..=2).await, 2);
}

#[tokio::test]
async fn clients_of_other_protocols_are_refused_at_once() {
    let server = Server::start(echo).await;
    for garbage in [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], b"GET / HTTP/1.1\r\n\r\n", &[0; 8]] {
        let mut stream = TcpStream::connect(&server.address).await.unwrap();
        stream.write_all(garbage).await.unwrap();
        let mut answer = Vec::new();
        // Closed, or reset because the server hasn't read everything.
        let _ = stream.read_to_end(&mut answer).await;
        assert!(answer.is_empty());
    }
    assert!(peers().call(&server.address, call("/", "", "")).await.is_ok());
}

#[tokio::test]
async fn a_server_of_another_protocol_is_called_no_node() {
    let address = raw_server(async |mut stream| {
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        stream.read_to_end(&mut Vec::new()).await.unwrap();
    })
    .await;
    let refused = not_delivered(peers().call(&address, call("/", "", "")).await.unwrap_err());
    assert!(refused.contains("doesn't speak the protocol between nodes"), "{refused}");
}

#[tokio::test]
async fn a_proof_that_is_sent_back_proves_nothing() {
    let address = raw_server(async |mut stream| {
        // The ids are `cluster` and `a`.
        let mut hello = [0; 44 + 8];
        stream.read_exact(&mut hello).await.unwrap();
        stream.write_all(&hello).await.unwrap();
        let mut proof = [0; 32];
        stream.read_exact(&mut proof).await.unwrap();
        stream.write_all(&[&[0][..], &proof].concat()).await.unwrap();
        stream.read_to_end(&mut Vec::new()).await.unwrap();
    })
    .await;
    let refused = not_delivered(peers().call(&address, call("/", "", "")).await.unwrap_err());
    assert!(refused.contains("another secret"), "{refused}");
}

#[tokio::test]
async fn a_recorded_handshake_cannot_be_replayed() {
    let server = Server::start(echo).await;
    let target = server.address.clone();
    let (recorded, mut recording) = tokio::sync::mpsc::unbounded_channel();
    let address = raw_server(async move |mut stream| {
        // Passes the handshake on: two messages there, two back.
        let mut server = TcpStream::connect(&target).await.unwrap();
        let (mut ours, mut theirs, mut sent) = ([0; 52], [0; 52], Vec::new());
        stream.read_exact(&mut ours).await.unwrap();
        server.write_all(&ours).await.unwrap();
        server.read_exact(&mut theirs).await.unwrap();
        stream.write_all(&theirs).await.unwrap();
        sent.extend(ours);
        let mut proof = [0; 32];
        stream.read_exact(&mut proof).await.unwrap();
        sent.extend(proof);
        recorded.send(sent).unwrap();
    })
    .await;
    not_delivered(peers().call(&address, call("/", "", "")).await.unwrap_err());
    let sent = recording.recv().await.unwrap();
    let mut stream = TcpStream::connect(&server.address).await.unwrap();
    stream.write_all(&sent).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    // Its hello with a new challenge, and the verdict that the proof is wrong.
    assert_eq!((answer.len(), answer.last()), (53, Some(&1)));
}

#[tokio::test]
async fn a_node_that_says_nothing_in_the_handshake_is_given_up() {
    let address = raw_server(async |_stream| std::future::pending().await).await;
    let limits = PeerLimits { handshake_time: Duration::from_millis(50), ..limits() };
    let peers = Peers::new(identity("a"), None, limits.clone());
    let refused = not_delivered(peers.call(&address, call("/", "", "")).await.unwrap_err());
    assert!(refused.contains("took longer than 50ms"), "{refused}");

    let server = Server::with(identity("b"), None, limits, echo).await;
    let mut stream = TcpStream::connect(&server.address).await.unwrap();
    assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
}

/// Serves one connection with a function, and returns the address.
async fn raw_server<F>(serve: impl FnOnce(TcpStream) -> F + Send + 'static) -> String
where
    F: Future<Output = ()> + Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { serve(listener.accept().await.unwrap().0).await });
    address
}
