//! A certificate authority for a test.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use perennial_server::CertificateFiles;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair,
};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A certificate authority, and the folder it writes to.
pub(crate) struct Authority {
    folder: PathBuf,
    pub(crate) certificate: rcgen::Certificate,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate with its key.
pub(crate) struct Identity {
    pub(crate) certificate: rcgen::Certificate,
    pub(crate) key: KeyPair,
}

impl Authority {
    pub(crate) fn new(folder: &Path, name: &str) -> Self {
        Self::with(folder, ca_params(name))
    }

    pub(crate) fn with(folder: &Path, params: CertificateParams) -> Self {
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self { folder: folder.to_owned(), certificate, issuer: Issuer::new(params, key) }
    }

    pub(crate) fn issue(&self, params: &CertificateParams) -> Identity {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Identity { certificate, key }
    }

    /// The files of a new server certificate with these names.
    pub(crate) fn server(&self, file: &str, names: &[&str]) -> CertificateFiles {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        self.issue(&CertificateParams::new(names).unwrap()).write(&self.folder, file)
    }

    /// A certificate for a client.
    pub(crate) fn client(&self, name: &str) -> Identity {
        self.issue(&params(name))
    }

    /// The file of a bundle with the certificates of these authorities.
    pub(crate) fn bundle(&self, file: &str, others: &[&Self]) -> PathBuf {
        let all = std::iter::once(&self).chain(others);
        let pem: Vec<_> = all.map(|authority| authority.certificate.pem()).collect();
        replace(&self.folder.join(file), &pem.concat());
        self.folder.join(file)
    }
}

impl Identity {
    pub(crate) fn write(&self, folder: &Path, file: &str) -> CertificateFiles {
        let files = CertificateFiles {
            certificate: folder.join(format!("{file}.pem")),
            key: folder.join(format!("{file}.key")),
        };
        replace(&files.certificate, &self.certificate.pem());
        replace(&files.key, &self.key.serialize_pem());
        files
    }

    pub(crate) fn chain(&self) -> Vec<CertificateDer<'static>> {
        vec![self.certificate.der().clone()]
    }

    pub(crate) fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::try_from(self.key.serialize_der()).unwrap()
    }
}

/// The parameters of a certificate with this common name.
pub(crate) fn params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

pub(crate) fn ca_params(name: &str) -> CertificateParams {
    let mut params = params(name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
}

/// Replaces a file at once. Only its owner may read it.
pub(crate) fn replace(path: &Path, text: &str) {
    let new = path.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::set_permissions(&new, fs::Permissions::from_mode(0o600)).unwrap();
    fs::rename(&new, path).unwrap();
}
