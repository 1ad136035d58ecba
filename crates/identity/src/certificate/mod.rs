//! Client certificates: who they name, and until when they are valid.
//!
//! The server's TLS has verified the chain before anything here is asked.

pub mod distinguished_name;
mod peer_certificate;
pub mod x509;

pub use peer_certificate::PeerCertificate;
