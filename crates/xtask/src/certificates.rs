//! Certificates for a server and its clients on this machine, so that suites connect with mTLS.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair,
};

/// The PEM files of a CA, and of the certificates it has issued for a server on loopback and for a client.
pub(crate) struct Certificates {
    pub(crate) ca: PathBuf,
    pub(crate) server: CertificateFiles,
    pub(crate) client: CertificateFiles,
}

/// The files of a certificate and its key.
pub(crate) struct CertificateFiles {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Certificates {
    /// Creates them in this folder.
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let mut params = params("ca", &[])?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().context("cannot generate a key")?;
        let certificate = params.self_signed(&key).context("cannot issue a certificate")?;
        let ca = folder.join("ca.pem");
        write(&ca, &certificate.pem())?;
        let issuer = Issuer::new(params, key);
        Ok(Self {
            ca,
            server: issue(folder, "server", &["localhost", "127.0.0.1"], &issuer)?,
            client: issue(folder, "client", &[], &issuer)?,
        })
    }
}

fn issue(
    folder: &Path,
    name: &str,
    hosts: &[&str],
    issuer: &Issuer<'_, KeyPair>,
) -> Result<CertificateFiles> {
    let key = KeyPair::generate().context("cannot generate a key")?;
    let certificate =
        params(name, hosts)?.signed_by(&key, issuer).context("cannot issue a certificate")?;
    let files = CertificateFiles {
        certificate: folder.join(format!("{name}.pem")),
        key: folder.join(format!("{name}.key")),
    };
    write(&files.certificate, &certificate.pem())?;
    write(&files.key, &key.serialize_pem())?;
    Ok(files)
}

fn params(name: &str, hosts: &[&str]) -> Result<CertificateParams> {
    let hosts: Vec<_> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let mut params = CertificateParams::new(hosts).context("a host's name is invalid")?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}

/// Writes a file that only its owner may read.
fn write(path: &Path, text: &str) -> Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("cannot write {}", path.display()))
}
