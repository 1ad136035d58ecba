//! Why certificates and keys can't be used.

use std::path::PathBuf;

use jiff::Timestamp;

/// Why certificates and keys can't be used. The message names the file and the repair.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// There are client CAs, and no certificate of the server.
    #[error(
        "client certificates need TLS, and there is no server certificate; give one with --tls-cert and --tls-key"
    )]
    NoServerCertificate,
    /// A file can't be read.
    #[error("cannot read {}: {problem}; check the path, and that the server's user may read it", .file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The operating system's error.
        problem: String,
    },
    /// A file is larger than any certificate or key.
    #[error("{} is larger than {max} bytes: it holds no PEM certificates or key", .file.display())]
    TooLarge {
        /// The file.
        file: PathBuf,
        /// The limit.
        max: usize,
    },
    /// Users other than the owner and its group may access a private key.
    #[error(
        "the private key {} is accessible to every user (mode {mode:04o}); run `chmod o-rwx`, or set defaultMode: 0440 \
         for a Kubernetes secret",
        .file.display()
    )]
    ExposedKey {
        /// The file.
        file: PathBuf,
        /// The permission bits.
        mode: u32,
    },
    /// A file isn't valid PEM.
    #[error("{} is not valid PEM: {problem}", .file.display())]
    NotPem {
        /// The file.
        file: PathBuf,
        /// The parser's error.
        problem: String,
    },
    /// There is no certificate in a file.
    #[error("there is no certificate in {}; it needs a PEM block `BEGIN CERTIFICATE`", .file.display())]
    NoCertificate {
        /// The file.
        file: PathBuf,
    },
    /// There is no private key in a file.
    #[error(
        "there is no private key in {}; it needs a PEM block `BEGIN PRIVATE KEY`, not encrypted", .file.display()
    )]
    NoKey {
        /// The file.
        file: PathBuf,
    },
    /// A private key can't be used.
    #[error("the private key in {} can't be used: {problem}; use an ECDSA, Ed25519 or RSA key", .file.display())]
    UnusableKey {
        /// The file.
        file: PathBuf,
        /// Why not.
        problem: String,
    },
    /// A private key doesn't belong to its certificate.
    #[error(
        "the private key in {} does not fit the certificate in {}; the server's certificate comes first in its file",
        .key.display(), .certificate.display()
    )]
    KeyMismatch {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
    },
    /// A certificate can't be used.
    #[error("a certificate in {} can't be used: {problem}", .file.display())]
    UnusableCertificate {
        /// The file.
        file: PathBuf,
        /// Why not.
        problem: String,
    },
    /// A certificate has expired.
    #[error(
        "the certificate of `{subject}` in {} has expired at {not_after}; renew or remove it, or check this machine's \
         clock",
        .file.display()
    )]
    Expired {
        /// The file.
        file: PathBuf,
        /// The subject of the certificate.
        subject: String,
        /// When it expired.
        not_after: Timestamp,
    },
    /// A certificate among the CAs of clients isn't that of a CA.
    #[error(
        "the certificate of `{subject}` in {} is not a CA certificate; give the CA that issued the certificates of clients",
        .file.display()
    )]
    NotCa {
        /// The file.
        file: PathBuf,
        /// The subject of the certificate.
        subject: String,
    },
}
