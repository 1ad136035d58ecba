//! TLS connections.

use std::sync::Arc;

use anyhow::Context;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

use super::settings::Tls;
use crate::failure::Usage;

/// A connector for these TLS settings and an application protocol.
pub(super) fn connector(tls: &Tls, protocol: &[u8]) -> anyhow::Result<TlsConnector> {
    let provider = Arc::new(ring::default_provider());
    let versions = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .context("cannot set up TLS")?;
    let verifier: Arc<dyn ServerCertVerifier> = match tls.any_certificate {
        true => Arc::new(AnyCertificate(provider)),
        false => WebPkiServerVerifier::builder_with_provider(Arc::new(trusted(tls)?), provider)
            .build()?,
    };
    let verified = versions.dangerous().with_custom_certificate_verifier(verifier);
    let mut config = match &tls.client {
        None => verified.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = certificates(certificate, "the client's certificate")?;
            let key = PrivateKeyDer::from_pem_slice(key.reveal().as_bytes()).map_err(|error| {
                Usage::new(format!("the client's private key isn't PEM: {error}"))
            })?;
            verified.with_client_auth_cert(chain, key).map_err(|error| {
                Usage::new(format!("the client's certificate and key don't fit: {error}"))
            })?
        }
    };
    config.alpn_protocols = vec![protocol.to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

fn trusted(tls: &Tls) -> anyhow::Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    if let Some(ca) = &tls.server_ca {
        for certificate in certificates(ca, "the server's CA certificate")? {
            roots.add(certificate).map_err(|error| {
                Usage::new(format!("the server's CA certificate can't be used: {error}"))
            })?;
        }
        return Ok(roots);
    }
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        return Err(Usage::new(
            "this system has no trusted CA certificates; give one with --tls-ca-path",
        )
        .into());
    }
    Ok(roots)
}

fn certificates(pem: &str, what: &str) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    let certificates = read.map_err(|error| Usage::new(format!("{what} isn't PEM: {error}")))?;
    if certificates.is_empty() {
        return Err(Usage::new(format!("there is no certificate in {what}")).into());
    }
    Ok(certificates)
}

/// Accepts any server certificate, for `--tls-disable-host-verification`.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        tokio_rustls::rustls::crypto::verify_tls12_signature(
            message,
            certificate,
            signed,
            algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        tokio_rustls::rustls::crypto::verify_tls13_signature(
            message,
            certificate,
            signed,
            algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(tls: &Tls) -> String {
        connector(tls, b"h2").err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn what_isnt_pem_is_named() {
        let ca = Tls { server_ca: Some("no PEM".to_owned()), ..Tls::default() };
        assert_eq!(refused(&ca), "there is no certificate in the server's CA certificate");
        let client = Some(("no PEM".to_owned(), "no key".to_owned().into()));
        let client = Tls { client, any_certificate: true, ..Tls::default() };
        assert_eq!(refused(&client), "there is no certificate in the client's certificate");
    }

    #[test]
    fn any_certificate_needs_nobody_to_vouch_for_it() {
        assert_eq!(refused(&Tls { any_certificate: true, ..Tls::default() }), "");
    }
}
