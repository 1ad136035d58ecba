//! Names of the files that stand beside a database and belong to it.

use std::path::{Path, PathBuf};

/// SQLite's own log.
pub(super) fn wal(database: &Path) -> PathBuf {
    beside(database, "-wal")
}

/// Batches that aren't in the tables yet.
pub(super) fn redo(database: &Path) -> PathBuf {
    beside(database, "-redo")
}

/// The same before it has its name.
pub(super) fn new_redo(database: &Path) -> PathBuf {
    beside(database, "-redo.new")
}

/// A damaged one that was put aside.
pub(super) fn damaged_redo(database: &Path, record: u64) -> PathBuf {
    beside(database, &format!("-redo.damaged-{record}"))
}

/// Disk space that is given up when the disk is full.
pub(super) fn reserve(database: &Path) -> PathBuf {
    beside(database, "-reserve")
}

fn beside(database: &Path, ending: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(ending);
    path.into()
}
