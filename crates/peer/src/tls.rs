//! TLS between nodes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use tokio_rustls::rustls::{ClientConfig, Error, RootCertStore, ServerConfig};

/// TLS between nodes: it encrypts the calls. The name that a node's certificate needs is the host of the address that
/// other nodes call it by.
#[derive(Debug, Clone)]
pub struct PeerTls {
    /// For connections to other nodes.
    pub client: Arc<ClientConfig>,
    /// For connections from other nodes.
    pub server: Arc<ServerConfig>,
}

/// The files for mutual TLS between nodes, all PEM.
#[derive(Debug, Clone)]
pub struct PeerTlsFiles {
    /// The certificates of the authorities that issue the nodes' certificates.
    pub authorities: PathBuf,
    /// The node's own certificate, then those that lead to an authority.
    pub certificate: PathBuf,
    /// The private key of the node's certificate.
    pub key: PathBuf,
}

/// Files for TLS between nodes can't be used.
#[derive(Debug, thiserror::Error)]
#[error("TLS between nodes: {}: {problem}", file.display())]
pub struct PeerTlsError {
    file: PathBuf,
    problem: String,
}

impl PeerTls {
    /// Mutual TLS with the certificates and the key in files.
    pub fn read(files: &PeerTlsFiles) -> Result<Self, PeerTlsError> {
        let error = |file: &Path, problem: String| PeerTlsError { file: file.to_owned(), problem };
        let certificates = |file: &Path| {
            let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
            let read: Vec<CertificateDer<'static>> =
                read.map_err(|why| error(file, why.to_string()))?;
            match read.is_empty() {
                true => Err(error(file, "has no certificate in PEM format".to_owned())),
                false => Ok(read),
            }
        };
        let mut roots = RootCertStore::empty();
        for authority in certificates(&files.authorities)? {
            roots.add(authority).map_err(|why| error(&files.authorities, why.to_string()))?;
        }
        let key = PrivateKeyDer::from_pem_file(&files.key);
        let key = key.map_err(|why| error(&files.key, why.to_string()))?;
        let chain = certificates(&files.certificate)?;
        Self::mutual(roots, chain, key).map_err(|why| error(&files.certificate, why.to_string()))
    }

    /// Mutual TLS: a node presents `chain`, and accepts nodes whose certificates are issued by `roots`.
    ///
    /// Sessions are never resumed: a resumed one would skip the verification of the certificates.
    pub fn mutual(
        roots: RootCertStore,
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, Error> {
        let (roots, provider) = (Arc::new(roots), Arc::new(ring::default_provider()));
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
                .build()
                .map_err(|error| Error::General(error.to_string()))?;
        let mut server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain.clone(), key.clone_key())?;
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.send_tls13_tickets = 0;
        let mut client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, key)?;
        client.resumption = Resumption::disabled();
        Ok(Self { client: Arc::new(client), server: Arc::new(server) })
    }
}
