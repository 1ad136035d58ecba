//! Certificates of clients.

use perennial_identity::certificate::PeerCertificate;

/// Certificates in DER. The same bytes have the same names, and no name is empty.
pub fn client_certificate(data: &[u8]) {
    match PeerCertificate::parse(data) {
        Ok(certificate) => {
            assert_eq!(PeerCertificate::parse(data).as_ref(), Ok(&certificate));
            assert!(certificate.names().all(|name| !name.is_empty()));
            let longer = [data, b"more"].concat();
            assert!(PeerCertificate::parse(&longer).is_err(), "bytes follow the certificate");
        }
        Err(problem) => assert!(!problem.is_empty()),
    }
}
