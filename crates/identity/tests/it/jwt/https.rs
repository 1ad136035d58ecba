//! Keys over HTTPS.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use perennial_identity::jwt::JwksSource;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_rustls::rustls::{ServerConfig, crypto};

use super::key_server::{Shared, answer, serve};
use super::signer::key_set;
use super::*;

/// Serves keys as `localhost` with a certificate of a new authority. Returns the port.
async fn serve_tls(keys: &str, ca_file: &Path) -> u16 {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    fs::write(ca_file, authority.pem()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        )
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let shared = Shared::of(answer("200 OK", keys));
    tokio::spawn(async move {
        let acceptor = TlsAcceptor::from(Arc::new(config));
        loop {
            let (connection, _) = listener.accept().await.unwrap();
            // Clients that don't trust the certificate go away.
            if let Ok(connection) = acceptor.accept(connection).await {
                serve(connection, &shared).await;
            }
        }
    });
    port
}

#[tokio::test]
async fn only_a_server_with_a_trusted_certificate_provides_keys() {
    let signer = Signer::ed25519("k");
    let folder = tempfile::tempdir().unwrap();
    let (trusted, other) = (folder.path().join("ca.pem"), folder.path().join("other.pem"));
    let port = serve_tls(&key_set(&[&signer]), &trusted).await;
    serve_tls("", &other).await;
    let token = signer.token(&claims());
    for (host, ca_file, is_trusted) in [
        ("localhost", Some(trusted.clone()), true),
        ("localhost", Some(other), false),
        ("localhost", None, false),
        ("127.0.0.1", Some(trusted), false),
    ] {
        let url = format!("https://{host}:{port}/keys?v=1");
        let keys = JwksSource::Url { url, ca_file: ca_file.clone() };
        let verifier = verifier_of(vec![IssuerConfig::new(ISSUER, ["perennial"], keys)]).await;
        let verified = verifier.verify(&token, after(1)).await;
        assert_eq!(verified.is_ok(), is_trusted, "{host} {ca_file:?} {verified:?}");
        assert!(is_trusted || verified.unwrap_err() == unavailable());
    }
}

#[tokio::test]
async fn file_without_certificates_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.pem");
    fs::write(&empty, "").unwrap();
    for path in [empty, folder.path().join("missing.pem")] {
        let url = "https://localhost:1/keys".to_owned();
        let keys = JwksSource::Url { url, ca_file: Some(path.clone()) };
        let config = JwtConfig { issuers: vec![IssuerConfig::new(ISSUER, ["perennial"], keys)] };
        let refused = Verifier::open(config, start()).await.unwrap_err().to_string();
        assert!(refused.contains(&path.display().to_string()), "{refused}");
    }
}
