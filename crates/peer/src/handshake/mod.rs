//! The handshake before HTTP/2: both nodes prove that they know the cluster's secret.
//!
//! ```text
//! connecting node                    accepting node
//!   hello                  ──►
//!                          ◄──         hello
//!   proof                  ──►
//!                          ◄──         verdict, and if it is `accepted` its proof
//! ```
//!
//! A proof is an HMAC over both hellos, so over both challenges, ids and lists of versions: nobody can replay it or
//! make the nodes choose an older version. The two directions have labels of their own, so a proof that is sent back
//! proves nothing. Both nodes check ids and versions by themselves: each can say what is wrong.

mod error;
mod hello;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

pub(crate) use self::error::HandshakeError;
use self::hello::{Hello, Parsed};
use crate::call::PeerNode;
use crate::identity::{PeerIdentity, PeerSecret};

const PROOF_BYTES: usize = 32;
const CONNECTING: &[u8] = b"perennial peer: connecting node";
const ACCEPTING: &[u8] = b"perennial peer: accepting node";

/// The accepting node's verdict about the other one's proof. The numbers are the same in all versions.
const ACCEPTED: u8 = 0;
const WRONG_SECRET: u8 = 1;
const FULL: u8 = 2;

/// The handshake of the node that connects. Returns the node at the other end.
pub(crate) async fn connect(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    identity: &PeerIdentity,
) -> Result<PeerNode, HandshakeError> {
    let ours = Hello::new(identity)?.encode();
    send(stream, &ours).await?;
    let (hello, theirs) = read_hello(stream).await?;
    let node = check(identity, hello)?;
    let transcript = Transcript { connecting: &ours, accepting: &theirs };
    send(stream, &transcript.proof(CONNECTING, &identity.secret)).await?;
    match stream.read_u8().await? {
        ACCEPTED => {}
        WRONG_SECRET => return Err(HandshakeError::WrongSecret),
        FULL => return Err(HandshakeError::Full),
        _ => return Err(HandshakeError::Malformed("it answered with an unknown verdict")),
    }
    let mut proof = [0; PROOF_BYTES];
    stream.read_exact(&mut proof).await?;
    transcript.verify(ACCEPTING, &identity.secret, &proof)?;
    Ok(node)
}

/// The handshake of the node that accepts. `admit` takes a place for a node that has proved itself. Returns the node
/// at the other end and its place.
pub(crate) async fn accept<P>(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    identity: &PeerIdentity,
    admit: impl FnOnce() -> Option<P>,
) -> Result<(PeerNode, P), HandshakeError> {
    let (hello, theirs) = read_hello(stream).await?;
    let ours = Hello::new(identity)?.encode();
    send(stream, &ours).await?;
    let node = check(identity, hello)?;
    let transcript = Transcript { connecting: &theirs, accepting: &ours };
    let mut proof = [0; PROOF_BYTES];
    stream.read_exact(&mut proof).await?;
    if let Err(error) = transcript.verify(CONNECTING, &identity.secret, &proof) {
        send(stream, &[WRONG_SECRET]).await?;
        return Err(error);
    }
    let Some(place) = admit() else {
        send(stream, &[FULL]).await?;
        return Err(HandshakeError::Full);
    };
    let proof = transcript.proof(ACCEPTING, &identity.secret);
    send(stream, &[&[ACCEPTED][..], &proof].concat()).await?;
    Ok((node, place))
}

/// Both hellos as they were sent.
struct Transcript<'a> {
    connecting: &'a [u8],
    accepting: &'a [u8],
}

impl Transcript<'_> {
    fn proof(&self, label: &[u8], secret: &PeerSecret) -> [u8; PROOF_BYTES] {
        self.mac(label, secret).finalize().into_bytes().into()
    }

    /// Compares in constant time.
    fn verify(
        &self,
        label: &[u8],
        secret: &PeerSecret,
        proof: &[u8; PROOF_BYTES],
    ) -> Result<(), HandshakeError> {
        let verified = self.mac(label, secret).verify_slice(proof);
        verified.map_err(|_| HandshakeError::WrongSecret)
    }

    /// Hellos contain their own lengths, and no label is the beginning of the other: the bytes can be divided in one
    /// way only.
    fn mac(&self, label: &[u8], secret: &PeerSecret) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.bytes())
            .expect("HMAC accepts keys of every length");
        mac.update(label);
        mac.update(self.connecting);
        mac.update(self.accepting);
        mac
    }
}

fn check(identity: &PeerIdentity, hello: Hello) -> Result<PeerNode, HandshakeError> {
    if *hello.cluster_id != *identity.cluster_id {
        let (ours, theirs) = (identity.cluster_id.to_string(), hello.cluster_id);
        return Err(HandshakeError::OtherCluster { ours, theirs });
    }
    let (ours, theirs) = (&identity.versions, hello.versions);
    let version = *ours.end().min(theirs.end());
    if !ours.contains(&version) || !theirs.contains(&version) {
        return Err(HandshakeError::NoCommonVersion { ours: ours.clone(), theirs });
    }
    Ok(PeerNode { id: hello.node_id.into(), version })
}

async fn send(
    stream: &mut (impl AsyncWrite + Unpin),
    message: &[u8],
) -> Result<(), HandshakeError> {
    stream.write_all(message).await?;
    Ok(stream.flush().await?)
}

/// Reads a hello and nothing after it. Returns its bytes too, for the proofs.
async fn read_hello(
    stream: &mut (impl AsyncRead + Unpin),
) -> Result<(Hello, Vec<u8>), HandshakeError> {
    let mut bytes = Vec::new();
    loop {
        match Hello::parse(&bytes)? {
            Parsed::Whole(hello) => return Ok((hello, bytes)),
            Parsed::Needs(total) => {
                let read = bytes.len();
                bytes.resize(total, 0);
                stream.read_exact(&mut bytes[read..]).await?;
            }
        }
    }
}
