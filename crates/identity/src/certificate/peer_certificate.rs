//! The certificate that a client has presented.

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use x509_parser::extensions::GeneralName;

use super::{distinguished_name, x509};

/// The certificate that a client has presented in the TLS handshake. A CA of clients has issued it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerCertificate {
    /// The subject as in RFC 4514: `CN=worker,O=Shop`. Empty if only alternative names say who it is.
    pub subject: String,
    /// The common name in the subject. `None` unless there is exactly one.
    pub common_name: Option<String>,
    /// Alternative names that are URIs, such as SPIFFE ids.
    pub uris: Vec<String>,
    /// Alternative names that are DNS names.
    pub dns_names: Vec<String>,
    /// Alternative names that are e-mail addresses.
    pub emails: Vec<String>,
    /// The last second in which the certificate is valid. The connection ends then.
    pub not_after: Timestamp,
    /// The SHA-256 digest of the whole certificate.
    pub fingerprint: [u8; 32],
}

impl PeerCertificate {
    /// Parses a certificate in DER.
    pub fn parse(der: &[u8]) -> Result<Self, String> {
        let certificate = x509::parse(der)?;
        let mut parsed = Self {
            subject: distinguished_name::to_text(certificate.subject()),
            common_name: None,
            uris: Vec::new(),
            dns_names: Vec::new(),
            emails: Vec::new(),
            not_after: x509::not_after(&certificate),
            fingerprint: Sha256::digest(der).into(),
        };
        let mut common_names = certificate.subject().iter_common_name();
        if let (Some(name), None) = (common_names.next(), common_names.next()) {
            parsed.common_name = name.as_str().ok().map(str::to_owned);
        }
        for name in x509::alternative_names(&certificate)? {
            match name {
                GeneralName::URI(uri) => parsed.uris.push((*uri).to_owned()),
                GeneralName::DNSName(name) => parsed.dns_names.push((*name).to_owned()),
                GeneralName::RFC822Name(email) => parsed.emails.push((*email).to_owned()),
                _ => {}
            }
        }
        Ok(parsed)
    }

    /// All names in it: the subject, the common name, and the alternative ones.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let alternative = self.uris.iter().chain(&self.dns_names).chain(&self.emails);
        let subject = std::iter::once(&self.subject).chain(&self.common_name);
        subject.chain(alternative).map(String::as_str).filter(|name| !name.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, SanType};

    use super::*;

    #[test]
    fn names_are_read_by_their_kind() {
        let mut params = CertificateParams::new(["shop.example".to_owned()]).unwrap();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "worker");
        params.not_after = rcgen::date_time_ymd(2030, 1, 2);
        params.subject_alt_names.extend([
            SanType::URI("spiffe://shop/worker".try_into().unwrap()),
            SanType::Rfc822Name("ops@shop.example".try_into().unwrap()),
            SanType::IpAddress("127.0.0.1".parse().unwrap()),
        ]);
        let der = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let parsed = PeerCertificate::parse(der.der()).unwrap();
        assert_eq!(parsed.subject, "CN=worker");
        assert_eq!(parsed.common_name.as_deref(), Some("worker"));
        assert_eq!(parsed.dns_names, ["shop.example"]);
        assert_eq!(parsed.uris, ["spiffe://shop/worker"]);
        assert_eq!(parsed.emails, ["ops@shop.example"]);
        assert_eq!(parsed.not_after.to_string(), "2030-01-02T00:00:00Z");
        let cut_off = &der.der()[..100];
        assert!(PeerCertificate::parse(cut_off).is_err());
        assert!(PeerCertificate::parse(&[&der.der()[..], b"more"].concat()).is_err());
    }

    #[test]
    fn damaged_certificates_are_refused_or_read_and_never_panic() {
        let mut params = CertificateParams::new(["shop.example".to_owned()]).unwrap();
        params.subject_alt_names.push(SanType::URI("spiffe://shop/worker".try_into().unwrap()));
        let der = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let (der, mut refused) = (der.der(), 0);
        for at in 0..der.len() {
            refused += usize::from(PeerCertificate::parse(&der[..at]).is_err());
            for mask in [0x01, 0x02, 0x20, 0x80, 0xff] {
                let mut damaged = der.to_vec();
                damaged[at] ^= mask;
                refused += usize::from(PeerCertificate::parse(&damaged).is_err());
            }
        }
        assert!(refused > der.len(), "at least what is cut off: {refused}");
    }

    #[test]
    fn certificate_with_two_common_names_has_no_single_one() {
        use DnType::{CommonName, OrganizationName};
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(CommonName, "worker");
        params.distinguished_name.push(OrganizationName, "Shop");
        let der = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let mut der = der.der().to_vec();
        // The organization becomes a second common name: its object identifier is replaced in place.
        let organization = [0x06, 0x03, 0x55, 0x04, 0x0a];
        while let Some(at) = der.windows(5).position(|bytes| bytes == organization) {
            der[at + 4] = 0x03;
        }
        let parsed = PeerCertificate::parse(&der).unwrap();
        assert_eq!((parsed.subject.as_str(), parsed.common_name), ("CN=Shop,CN=worker", None));
    }
}
