//! Files that stand beside a database and belong to it.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

/// The database's own name with this after it.
pub(super) fn path(database: &Path, ending: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

/// Opens a file to read and write it, or makes it; what it holds stays.
pub(super) fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

/// Makes a file's place in its folder durable: not every file system does that when the file is synced.
#[cfg(unix)]
pub(super) fn sync_name(path: &Path) -> std::io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// A folder can't be synced here, and needn't be.
#[cfg(not(unix))]
pub(super) fn sync_name(_: &Path) -> std::io::Result<()> {
    Ok(())
}
