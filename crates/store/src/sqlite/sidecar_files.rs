//! Paths of the files that belong to a database and have its name with a suffix.

use std::path::{Path, PathBuf};

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

fn with_suffix(database: &Path, suffix: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}
