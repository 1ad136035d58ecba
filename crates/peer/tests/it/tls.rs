//! Mutual TLS between nodes.

use perennial_peer::{CallError, PeerTls, PeerTlsFiles, Peers};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::server::{Server, call, echo, identity, limits, peers};

/// A CA of its own, and a certificate for `127.0.0.1` that it has issued.
fn tls() -> PeerTls {
    let mut ca_params = CertificateParams::new([]).unwrap();
    ca_params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca_key = KeyPair::generate().unwrap();
    let ca = ca_params.self_signed(&ca_key).unwrap();
    let issuer = Issuer::new(ca_params, ca_key);
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(ca.der().clone()).unwrap();
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    PeerTls::mutual(roots, vec![certificate.der().clone()], key).unwrap()
}

#[tokio::test]
async fn calls_go_over_mutual_tls() {
    let tls = tls();
    let server = Server::with(identity("b"), Some(tls.clone()), limits(), echo).await;
    let peers = Peers::new(identity("a"), Some(tls), limits());
    let answer = peers.call(&server.address, call("/", "h", vec![1; 10 << 20])).await.unwrap();
    assert_eq!(answer.body.len(), 10 << 20);
}

#[tokio::test]
async fn nodes_without_a_certificate_of_the_cluster_and_without_tls_are_refused() {
    let server = Server::with(identity("b"), Some(tls()), limits(), echo).await;
    let plain_server = Server::start(echo).await;
    let stranger = Peers::new(identity("a"), Some(tls()), limits());
    for (peers, address) in [
        (&stranger, &server.address),
        (&peers(), &server.address),
        (&stranger, &plain_server.address),
    ] {
        let error = peers.call(address, call("/", "", "")).await.unwrap_err();
        assert!(matches!(&error, CallError::NotDelivered(text) if text.contains("TLS")), "{error}");
    }
}

#[tokio::test]
async fn files_are_read_and_bad_ones_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap().pem();
    let files = PeerTlsFiles {
        authorities: write("ca.pem", &certificate),
        certificate: write("node.pem", &certificate),
        key: write("node.key", &key.serialize_pem()),
    };
    PeerTls::read(&files).unwrap();

    let other_key = write("other.key", &KeyPair::generate().unwrap().serialize_pem());
    let empty = write("empty.pem", "");
    let missing = folder.path().join("missing.pem");
    for (bad, named) in [
        (PeerTlsFiles { key: other_key, ..files.clone() }, "node.pem"),
        (PeerTlsFiles { key: missing.clone(), ..files.clone() }, "missing.pem"),
        (PeerTlsFiles { authorities: empty.clone(), ..files.clone() }, "empty.pem"),
        (PeerTlsFiles { certificate: empty, ..files }, "empty.pem"),
    ] {
        let error = PeerTls::read(&bad).unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
    }
}
