//! Paths of the files that belong to a database and have its name with a suffix.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{DiskUsage, FileSize};

/// SQLite's write-ahead log.
pub(super) fn wal(database: &Path) -> PathBuf {
    with_suffix(database, "-wal")
}

/// Batches that aren't in the tables yet.
pub(super) fn redo(database: &Path) -> PathBuf {
    with_suffix(database, "-redo")
}

/// A redo file that is being created: it is renamed when it is whole.
pub(super) fn new_redo(database: &Path) -> PathBuf {
    with_suffix(database, "-redo.new")
}

/// A damaged redo file that was kept for an examination.
pub(super) fn damaged_redo(database: &Path, record: u64) -> PathBuf {
    with_suffix(database, &format!("-redo.damaged-{record}"))
}

/// Disk space that is released when the disk is full.
pub(super) fn reserve(database: &Path) -> PathBuf {
    with_suffix(database, "-reserve")
}

/// The sizes of the files that hold data. Files that don't exist, or can't be asked, are left out.
pub(super) fn sizes(database: &Path) -> Vec<FileSize> {
    let files =
        [("database", database.to_owned()), ("wal", wal(database)), ("redo", redo(database))];
    let size = |(name, path): (_, PathBuf)| {
        let bytes = fs::metadata(path).ok()?.len();
        Some(FileSize { name, bytes })
    };
    files.into_iter().filter_map(size).collect()
}

/// The disk that the files are on.
pub(super) fn disk_usage(database: &Path) -> Option<DiskUsage> {
    let disk = rustix::fs::statvfs(database).ok()?;
    Some(DiskUsage {
        total_bytes: disk.f_blocks.saturating_mul(disk.f_frsize),
        free_bytes: disk.f_bavail.saturating_mul(disk.f_frsize),
    })
}

fn with_suffix(database: &Path, suffix: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}
