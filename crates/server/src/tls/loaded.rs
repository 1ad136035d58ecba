//! What is made of the files: configurations of rustls.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use tokio_rustls::rustls::server::danger::ClientCertVerifier;
use tokio_rustls::rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{Error, ServerConfig};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::x509::X509Version;

use super::certificate_choice::{CertificateChoice, NamedCertificate};
use super::client_verifier::{ClientCa, ClientVerifier};
use super::config::TlsConfig;
use super::error::TlsError;
use super::expiry::TlsStatus;
use super::files::{Contents, Files, Version};
use super::listener::Protocol;
use super::{distinguished_name, x509};

/// What is made of one version of the files. All of it is valid at the time it is made.
pub(super) struct Loaded {
    pub(super) version: Version,
    pub(super) status: Vec<TlsStatus>,
    grpc: Arc<ServerConfig>,
    http: Arc<ServerConfig>,
    client_verifier: Option<Arc<ClientVerifier>>,
}

impl Loaded {
    pub(super) fn new(config: &TlsConfig, files: &Files, now: UnixTime) -> Result<Self, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let mut reader = Reader { provider: &provider, now: timestamp(now), status: Vec::new() };
        let mut certificates = Vec::new();
        for (names, (chain, key)) in config.certificates.iter().zip(&files.certificates) {
            certificates.push(reader.certificate(&names.certificate, chain, &names.key, key)?);
        }
        if certificates.is_empty() {
            return Err(TlsError::NoServerCertificate);
        }
        let mut cas = Vec::new();
        for (file, contents) in config.client_cas.iter().zip(&files.client_cas) {
            cas.extend(reader.client_cas(file, contents)?);
        }
        let status = reader.status;
        let client_verifier = (!config.client_cas.is_empty())
            .then(|| Arc::new(ClientVerifier::new(cas, config.client_auth, Arc::clone(&provider))));

        let choice = Arc::new(CertificateChoice(certificates));
        let server_config = |protocol: Protocol| {
            let verifier: Arc<dyn ClientCertVerifier> = match &client_verifier {
                Some(verifier) => Arc::clone(verifier) as _,
                None => WebPkiClientVerifier::no_client_auth(),
            };
            let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
                .with_protocol_versions(&[&TLS13, &TLS12])
                .expect("the provider has cipher suites of both versions")
                .with_client_cert_verifier(verifier)
                .with_cert_resolver(Arc::clone(&choice) as _);
            config.alpn_protocols = vec![protocol.alpn().to_vec()];
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
            Arc::new(config)
        };
        Ok(Self {
            version: files.version(),
            status,
            grpc: server_config(Protocol::Grpc),
            http: server_config(Protocol::Http),
            client_verifier,
        })
    }

    pub(super) fn server_config(&self, protocol: Protocol) -> Arc<ServerConfig> {
        match protocol {
            Protocol::Grpc => Arc::clone(&self.grpc),
            Protocol::Http => Arc::clone(&self.http),
        }
    }

    /// Verifies a client's certificate, with the intermediate ones that the client sent.
    pub(super) fn verify_client(
        &self,
        chain: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Error> {
        let (certificate, intermediates) =
            chain.split_first().ok_or(Error::NoCertificatesPresented)?;
        match &self.client_verifier {
            Some(verifier) => {
                verifier.verify_client_cert(certificate, intermediates, now).map(|_| ())
            }
            None => Err(Error::General("there are no CAs of clients".to_owned())),
        }
    }
}

/// Reads certificates and notes their expiry.
struct Reader<'a> {
    provider: &'a Arc<CryptoProvider>,
    now: Timestamp,
    status: Vec<TlsStatus>,
}

impl Reader<'_> {
    fn certificate(
        &mut self,
        file: &Path,
        chain: &Contents,
        key_file: &Path,
        key: &Contents,
    ) -> Result<NamedCertificate, TlsError> {
        let chain = pem_certificates(file, chain)?;
        let mut names = Vec::new();
        for (index, der) in chain.iter().enumerate() {
            let certificate = self.check(file, der)?;
            if index == 0 {
                let all = x509::alternative_names(&certificate)
                    .map_err(|problem| unusable(file, problem))?;
                names.extend(all.iter().filter_map(|name| match name {
                    GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
                    _ => None,
                }));
            }
        }
        let key = key.as_ref().map_err(Clone::clone)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| match error {
            pem::Error::NoItemsFound => TlsError::NoKey { file: key_file.to_owned() },
            error => not_pem(key_file, &error),
        })?;
        let key = self.provider.key_provider.load_private_key(key).map_err(|error| {
            TlsError::UnusableKey { file: key_file.to_owned(), problem: error.to_string() }
        })?;
        let certificate = CertifiedKey::new(chain, key);
        match certificate.keys_match() {
            Ok(()) => Ok(NamedCertificate { names, certificate: Arc::new(certificate) }),
            Err(Error::InconsistentKeys(_)) => Err(TlsError::KeyMismatch {
                certificate: file.to_owned(),
                key: key_file.to_owned(),
            }),
            Err(error) => Err(unusable(file, error.to_string())),
        }
    }

    fn client_cas(&mut self, file: &Path, contents: &Contents) -> Result<Vec<ClientCa>, TlsError> {
        let mut cas = Vec::new();
        for der in pem_certificates(file, contents)? {
            let certificate = self.check(file, &der)?;
            // Certificates of version 1 can't say whether they are those of a CA.
            if certificate.version() == X509Version::V3 && !certificate.is_ca() {
                let subject = distinguished_name::to_text(certificate.subject());
                return Err(TlsError::NotCa { file: file.to_owned(), subject });
            }
            let validity = (x509::not_before(&certificate), x509::not_after(&certificate));
            let ca = ClientCa::new(der.clone(), validity.0, validity.1, self.provider);
            cas.push(ca.map_err(|problem| unusable(file, problem))?);
        }
        Ok(cas)
    }

    /// Refuses a certificate that isn't valid X.509, or has expired.
    fn check<'a>(
        &mut self,
        file: &Path,
        der: &'a CertificateDer<'_>,
    ) -> Result<X509Certificate<'a>, TlsError> {
        let certificate = x509::parse(der).map_err(|problem| unusable(file, problem))?;
        let status = TlsStatus {
            file: file.to_owned(),
            subject: distinguished_name::to_text(certificate.subject()),
            not_before: x509::not_before(&certificate),
            not_after: x509::not_after(&certificate),
        };
        if status.not_after < self.now {
            let TlsStatus { file, subject, not_after, .. } = status;
            return Err(TlsError::Expired { file, subject, not_after });
        }
        self.status.push(status);
        Ok(certificate)
    }
}

fn pem_certificates(
    file: &Path,
    contents: &Contents,
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let contents = contents.as_ref().map_err(Clone::clone)?;
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(contents)
        .collect::<Result<_, _>>()
        .map_err(|error| not_pem(file, &error))?;
    match certificates.is_empty() {
        true => Err(TlsError::NoCertificate { file: file.to_owned() }),
        false => Ok(certificates),
    }
}

fn not_pem(file: &Path, error: &pem::Error) -> TlsError {
    TlsError::NotPem { file: file.to_owned(), problem: error.to_string() }
}

fn unusable(file: &Path, problem: String) -> TlsError {
    TlsError::UnusableCertificate { file: file.to_owned(), problem }
}

fn timestamp(time: UnixTime) -> Timestamp {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX)
}
