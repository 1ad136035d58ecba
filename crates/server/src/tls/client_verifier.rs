//! Verifies the certificates of clients.

use std::sync::Arc;

use jiff::Timestamp;
use tokio_rustls::rustls::client::danger::HandshakeSignatureValid;
use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::pki_types::{CertificateDer, UnixTime};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use tokio_rustls::rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore,
    SignatureScheme, crypto,
};

use super::config::ClientAuth;

/// Accepts the certificates that one of the CAs has issued, while that CA itself is valid.
///
/// rustls takes CAs for valid at all times. So each CA has a verifier of its own, which is asked only while the CA's
/// own certificate is valid.
#[derive(Debug)]
pub(super) struct ClientVerifier {
    cas: Vec<ClientCa>,
    subjects: Vec<DistinguishedName>,
    auth: ClientAuth,
    provider: Arc<CryptoProvider>,
}

/// A CA of clients.
#[derive(Debug)]
pub(super) struct ClientCa {
    verifier: Arc<dyn ClientCertVerifier>,
    not_before: Timestamp,
    not_after: Timestamp,
}

impl ClientCa {
    pub(super) fn new(
        certificate: CertificateDer<'static>,
        not_before: Timestamp,
        not_after: Timestamp,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        roots.add(certificate).map_err(|error| error.to_string())?;
        let verifier =
            WebPkiClientVerifier::builder_with_provider(roots.into(), Arc::clone(provider))
                .build()
                .map_err(|error| error.to_string())?;
        Ok(Self { verifier, not_before, not_after })
    }

    fn is_valid_at(&self, now: UnixTime) -> bool {
        let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        (self.not_before.as_second()..=self.not_after.as_second()).contains(&now)
    }
}

impl ClientVerifier {
    pub(super) fn new(cas: Vec<ClientCa>, auth: ClientAuth, provider: Arc<CryptoProvider>) -> Self {
        let subjects =
            cas.iter().flat_map(|ca| ca.verifier.root_hint_subjects()).cloned().collect();
        Self { cas, subjects, auth, provider }
    }
}

impl ClientCertVerifier for ClientVerifier {
    fn client_auth_mandatory(&self) -> bool {
        match self.auth {
            ClientAuth::Required => true,
            ClientAuth::Optional => false,
        }
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.subjects
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let mut refusal = Error::InvalidCertificate(CertificateError::UnknownIssuer);
        for ca in &self.cas {
            match ca.verifier.verify_client_cert(certificate, intermediates, now) {
                Ok(verified) if ca.is_valid_at(now) => return Ok(verified),
                Ok(_) => {
                    refusal = Error::General("the CA of the certificate isn't valid".to_owned())
                }
                Err(Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {}
                Err(error) => refusal = error,
            }
        }
        Err(refusal)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

    use super::super::x509;
    use super::*;

    #[test]
    fn certificate_of_a_ca_is_refused_while_the_ca_is_not_valid() {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2030, 1, 1);
        let key = KeyPair::generate().unwrap();
        let ca = params.self_signed(&key).unwrap();
        let issuer = Issuer::new(params, key);
        let client =
            CertificateParams::default().signed_by(&KeyPair::generate().unwrap(), &issuer).unwrap();

        let provider = Arc::new(crypto::ring::default_provider());
        let (not_before, not_after) = {
            let parsed = x509::parse(ca.der()).unwrap();
            (x509::not_before(&parsed), x509::not_after(&parsed))
        };
        let ca = ClientCa::new(ca.der().clone(), not_before, not_after, &provider).unwrap();
        let verifier = ClientVerifier::new(vec![ca], ClientAuth::Required, provider);
        let verify = |seconds: i64| {
            let at = Duration::from_secs(u64::try_from(seconds).unwrap());
            verifier.verify_client_cert(client.der(), &[], UnixTime::since_unix_epoch(at)).is_ok()
        };
        assert!(verify(not_before.as_second()) && verify(not_after.as_second()));
        assert!(!verify(not_before.as_second() - 1) && !verify(not_after.as_second() + 1));
    }
}
