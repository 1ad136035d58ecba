//! Writes files that may hold keys: readable by their owner only, and replaced atomically.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::Context;

/// Replaces the file atomically, with access for its owner only.
pub(crate) fn write_private(path: &Path, text: &str) -> anyhow::Result<()> {
    let failed = || format!("cannot write {}", path.display());
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).with_context(failed)?;
    }
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let new = Path::new(&new);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // One that an interrupted command left may have another mode.
    match fs::remove_file(new) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(failed);
        }
        Ok(()) | Err(_) => {}
    }
    let mut file = options.open(new).with_context(failed)?;
    file.write_all(text.as_bytes()).with_context(failed)?;
    file.sync_all().with_context(failed)?;
    fs::rename(new, path).with_context(failed)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn file_is_for_its_owner_whatever_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("profiles").join("temporal.toml");
        let left = folder.path().join("profiles").join("temporal.toml.new");
        fs::create_dir(folder.path().join("profiles")).unwrap();
        for file in [&path, &left] {
            fs::write(file, "old").unwrap();
            fs::set_permissions(file, fs::Permissions::from_mode(0o666)).unwrap();
        }
        write_private(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!left.exists());
    }
}
