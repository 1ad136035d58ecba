//! TLS between nodes.

use std::sync::Arc;

use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::crypto::ring;
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

impl PeerTls {
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
