//! Chooses the server's certificate by the name that a client asks for (SNI).

use std::sync::Arc;

use tokio_rustls::rustls::SignatureScheme;
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;

/// The server's certificates, in the order of the settings.
///
/// A certificate with the exact name comes before one with a matching wildcard, and that before the first one. Among
/// equals the first counts whose kind of key the client supports.
#[derive(Debug)]
pub(super) struct CertificateChoice(pub(super) Vec<NamedCertificate>);

/// A certificate with its DNS names.
#[derive(Debug)]
pub(super) struct NamedCertificate {
    /// In lower case.
    pub(super) names: Vec<String>,
    pub(super) certificate: Arc<CertifiedKey>,
}

impl CertificateChoice {
    fn choose(&self, name: Option<&str>, schemes: &[SignatureScheme]) -> Option<&NamedCertificate> {
        let name = name.map(|name| name.trim_end_matches('.').to_ascii_lowercase());
        // `*.shop.example` stands for one label: `a.shop.example`, but not for `b.a.shop.example`.
        let wildcard =
            name.as_deref().and_then(|name| Some(format!("*.{}", name.split_once('.')?.1)));
        let having = |wanted: Option<String>| {
            self.0
                .iter()
                .filter(move |it| wanted.as_ref().is_some_and(|name| it.names.contains(name)))
        };
        having(name)
            .chain(having(wildcard))
            .chain(&self.0)
            .find(|it| it.certificate.key.choose_scheme(schemes).is_some())
    }
}

impl ResolvesServerCert for CertificateChoice {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let chosen = self.choose(hello.server_name(), hello.signature_schemes())?;
        Some(Arc::clone(&chosen.certificate))
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ED25519, SignatureAlgorithm};
    use tokio_rustls::rustls::crypto::ring;
    use tokio_rustls::rustls::pki_types::PrivateKeyDer;

    use super::*;

    const P256: SignatureScheme = SignatureScheme::ECDSA_NISTP256_SHA256;

    fn named(names: &[&str], kind: &'static SignatureAlgorithm) -> NamedCertificate {
        let key = KeyPair::generate_for(kind).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let key = ring::default_provider().key_provider.load_private_key(key).unwrap();
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        NamedCertificate { names, certificate: Arc::new(CertifiedKey::new(Vec::new(), key)) }
    }

    fn chosen<'a>(
        choice: &'a CertificateChoice,
        name: Option<&str>,
        scheme: SignatureScheme,
    ) -> Option<&'a str> {
        choice.choose(name, &[scheme]).map(|it| it.names[0].as_str())
    }

    #[test]
    fn exact_name_comes_before_wildcard_and_wildcard_before_default() {
        let choice = CertificateChoice(vec![
            named(&["default.example"], &PKCS_ECDSA_P256_SHA256),
            named(&["*.shop.example"], &PKCS_ECDSA_P256_SHA256),
            named(&["a.shop.example"], &PKCS_ECDSA_P256_SHA256),
        ]);
        let chosen = |name| chosen(&choice, name, P256).unwrap();
        assert_eq!(chosen(Some("A.shop.example")), "a.shop.example");
        assert_eq!(chosen(Some("b.shop.example")), "*.shop.example");
        assert_eq!(chosen(Some("c.b.shop.example")), "default.example");
        assert_eq!(chosen(Some("shop.example")), "default.example");
        assert_eq!(chosen(Some("localhost")), "default.example");
        assert_eq!(chosen(None), "default.example");
    }

    #[test]
    fn certificate_whose_kind_the_client_does_not_support_is_passed_over() {
        let choice = CertificateChoice(vec![
            named(&["ed25519.example", "shop.example"], &PKCS_ED25519),
            named(&["p256.example", "shop.example"], &PKCS_ECDSA_P256_SHA256),
        ]);
        let chosen = |name, scheme| chosen(&choice, name, scheme);
        assert_eq!(chosen(Some("shop.example"), P256), Some("p256.example"));
        let ed25519 = SignatureScheme::ED25519;
        assert_eq!(chosen(Some("shop.example"), ed25519), Some("ed25519.example"));
        assert_eq!(chosen(None, SignatureScheme::RSA_PSS_SHA256), None);
    }
}
