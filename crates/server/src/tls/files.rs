//! Reads the files of certificates and keys.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::config::TlsConfig;
use super::error::TlsError;

/// Larger than any bundle of certificates.
const FILE_BYTES_MAX: usize = 1024 * 1024;

/// The contents of all files of a [`TlsConfig`], or why they can't be read, in the order of the config.
pub(super) struct Files {
    /// Certificate and key of each pair.
    pub(super) certificates: Vec<(Contents, Contents)>,
    pub(super) client_cas: Vec<Contents>,
}

pub(super) type Contents = Result<Vec<u8>, TlsError>;

/// Is equal if and only if nothing in the files has changed.
///
/// Contents are compared, not times of modification: they follow symbolic links, as those of Kubernetes secrets, and
/// notice copies that keep the time. The files are small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Version([u8; 32]);

impl Files {
    pub(super) fn read(config: &TlsConfig) -> Self {
        let certificates = config.certificates.iter();
        Self {
            certificates: certificates
                .map(|files| (read(&files.certificate), read_key(&files.key)))
                .collect(),
            client_cas: config.client_cas.iter().map(|file| read(file)).collect(),
        }
    }

    pub(super) fn version(&self) -> Version {
        let mut digest = Sha256::new();
        let pairs = self.certificates.iter().flat_map(|(certificate, key)| [certificate, key]);
        for contents in pairs.chain(&self.client_cas) {
            let (is_read, bytes) = match contents {
                Ok(bytes) => (1, bytes.clone()),
                Err(error) => (0, error.to_string().into_bytes()),
            };
            digest.update([is_read]);
            digest.update(bytes.len().to_be_bytes());
            digest.update(&bytes);
        }
        Version(digest.finalize().into())
    }
}

fn read_key(path: &Path) -> Contents {
    let contents = read(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let metadata = path.metadata().map_err(|error| unreadable(path, &error))?;
        let mode = metadata.permissions().mode() & 0o7777;
        if mode & 0o007 != 0 {
            return Err(TlsError::ExposedKey { file: path.to_owned(), mode });
        }
    }
    Ok(contents)
}

fn read(path: &Path) -> Contents {
    let failed = |error: std::io::Error| unreadable(path, &error);
    // A pipe would block, and a device might never end.
    let metadata = path.metadata().map_err(failed)?;
    if !metadata.is_file() {
        let problem = "it is not a file".to_owned();
        return Err(TlsError::Unreadable { file: path.to_owned(), problem });
    }
    let mut contents = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut contents).map_err(failed)?;
    if contents.len() > FILE_BYTES_MAX {
        return Err(TlsError::TooLarge { file: path.to_owned(), max: FILE_BYTES_MAX });
    }
    Ok(contents)
}

fn unreadable(path: &Path, error: &std::io::Error) -> TlsError {
    TlsError::Unreadable { file: path.to_owned(), problem: error.to_string() }
}
