//! How callers are known.

use perennial_identity::jwt::JwtConfig;
use perennial_identity::{Grants, Permission};

use crate::tls::PeerCertificate;

/// How callers are known. By default nobody is asked, and everybody may do everything.
#[derive(Debug, Clone, Default)]
pub struct AccessConfig {
    /// Whether callers have to show credentials.
    pub credentials: Credentials,
    /// What the holders of client certificates may do. All rules that match a certificate count.
    pub certificates: Vec<CertificateRule>,
    /// Whose tokens are accepted.
    pub tokens: JwtConfig,
}

/// Whether callers have to show credentials.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Credentials {
    /// Everybody may do everything.
    #[default]
    NotAsked,
    /// Calls without valid credentials are refused.
    Required,
}

/// What the holder of a client certificate may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateRule {
    /// Whom it is for: `CN=billing,O=Shop` is a whole subject, `spiffe://example.com/billing` an alternative name that is a
    /// URI, `ops@example.com` one that is an e-mail address, `billing` a common name or a DNS name; `*` is every
    /// certificate. A name of one kind never stands for another: who chooses the common name may not choose the rest.
    pub name: String,
    /// What it grants.
    pub permissions: Vec<Permission>,
}

impl AccessConfig {
    /// What a certificate grants.
    pub(crate) fn grants_of(&self, certificate: &PeerCertificate) -> Grants {
        let rules = self.certificates.iter().filter(|rule| rule.matches(certificate));
        rules.flat_map(|rule| rule.permissions.iter().cloned()).collect()
    }
}

impl CertificateRule {
    fn matches(&self, certificate: &PeerCertificate) -> bool {
        let name = &self.name;
        match name.as_str() {
            "*" => true,
            subject if subject.contains('=') => certificate.subject == subject,
            uri if uri.contains("://") => certificate.uris.contains(name),
            email if email.contains('@') => certificate.emails.contains(name),
            _ => {
                certificate.common_name.as_ref() == Some(name)
                    || certificate.dns_names.contains(name)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_one_kind_never_stands_for_another() {
        let mut certificate = PeerCertificate {
            subject: "CN=billing,O=Shop".to_owned(),
            common_name: Some("billing".to_owned()),
            uris: vec!["spiffe://shop/billing".to_owned()],
            dns_names: vec!["billing.shop".to_owned()],
            emails: vec!["ops@shop".to_owned()],
            not_after: jiff::Timestamp::MAX,
            fingerprint: [0; 32],
        };
        let matches = |certificate: &PeerCertificate, name: &str| {
            CertificateRule { name: name.to_owned(), permissions: Vec::new() }.matches(certificate)
        };
        for name in [
            "CN=billing,O=Shop",
            "billing",
            "billing.shop",
            "spiffe://shop/billing",
            "ops@shop",
            "*",
        ] {
            assert!(matches(&certificate, name), "{name}");
        }
        assert!(!matches(&certificate, "other") && !matches(&certificate, ""));
        // Whoever chooses a common name chooses nothing else.
        for name in ["CN=ops,O=Admins", "spiffe://shop/ops", "admin@shop"] {
            certificate.common_name = Some(name.to_owned());
            certificate.dns_names = vec![name.to_owned()];
            assert!(!matches(&certificate, name), "{name}");
        }
    }
}
