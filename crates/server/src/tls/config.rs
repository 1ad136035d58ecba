//! Which files TLS uses.

use std::path::PathBuf;

/// The files of certificates and keys, all in PEM. Without certificates there is no TLS.
#[derive(Debug, Clone, Default)]
pub struct TlsConfig {
    /// The server's certificates. The name that a client asks for (SNI) chooses among them; the first is the default.
    pub certificates: Vec<CertificateFiles>,
    /// Bundles with the CAs of clients. Without any, clients aren't asked for a certificate.
    pub client_cas: Vec<PathBuf>,
    /// Whether a client needs a certificate, if there are CAs of clients.
    pub client_auth: ClientAuth,
}

/// The files of a certificate chain and its private key. They may be the same file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The certificate first, then the intermediate ones.
    pub certificate: PathBuf,
    /// The private key: PKCS #8, PKCS #1 or SEC 1, not encrypted.
    pub key: PathBuf,
}

/// Whether a client needs a certificate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ClientAuth {
    /// A client without a certificate is refused.
    #[default]
    Required,
    /// A client may come without a certificate, to authenticate by other means. An invalid one is refused.
    Optional,
}
