//! A file that reserves disk space for the case that the disk is full.
//!
//! A database on a full disk needs space to recover: acknowledged batches have to be applied to the tables before they
//! can be read. So a file takes some space from the beginning, and releases it when the disk is full.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::redo::about;
use super::sidecar_files;
use crate::Error;
use crate::file_system::{FileSystem, StoreFile};

const MIB: u64 = 1 << 20;
/// Enough to apply a full redo file of 16 MiB: the tables grow as much, and the pages of one segment are also in SQLite's
/// log until it is truncated.
const TARGET_MIB: u64 = 32;

/// The file that reserves disk space.
#[derive(Debug)]
pub(super) struct ReserveFile {
    files: Arc<dyn FileSystem>,
    path: PathBuf,
    file: Box<dyn StoreFile>,
    held_mib: u64,
}

impl ReserveFile {
    /// Creates the file, as large as the disk allows up to the target size.
    pub(super) fn open(files: &Arc<dyn FileSystem>, database: &Path) -> Result<Self, Error> {
        let path = sidecar_files::reserve(database);
        let file = files.open(&path).map_err(|error| about(&path, error))?;
        let mut reserve = Self { files: Arc::clone(files), path, file, held_mib: 0 };
        reserve.refill();
        Ok(reserve)
    }

    /// Releases the space, for the tables to use.
    pub(super) fn release(&mut self) -> Result<(), Error> {
        self.held_mib = 0;
        self.file.allocate(0).map_err(|error| about(&self.path, error))
    }

    /// Grows the file up to the target size, as far as the disk allows.
    pub(super) fn refill(&mut self) {
        while self.held_mib < TARGET_MIB && self.grow().is_ok() {}
    }

    /// Whether the disk has a free megabyte. The file keeps it while it is below the target size.
    pub(super) fn can_grow(&mut self) -> bool {
        let held_mib = self.held_mib;
        let can_grow = self.grow().is_ok();
        if held_mib >= TARGET_MIB {
            self.held_mib = held_mib;
            // A file that shrinks doesn't fail for lack of space.
            let _ = self.file.allocate(held_mib * MIB);
        }
        can_grow
    }

    /// Grows the file by a megabyte, if the disk has it.
    fn grow(&mut self) -> Result<(), Error> {
        let wanted = self.held_mib + 1;
        match self.file.allocate(wanted * MIB) {
            Ok(()) => {
                self.held_mib = wanted;
                Ok(())
            }
            Err(error) => {
                let refused = about(&self.path, error);
                // A part of the megabyte may have been allocated.
                let held = self.file.allocate(self.held_mib * MIB);
                held.map_err(|error| about(&self.path, error)).and(Err(refused))
            }
        }
    }

    /// Removes the file when the database is closed.
    pub(super) fn remove(&self) -> Result<(), Error> {
        self.files.remove(&self.path).map_err(|error| about(&self.path, error))
    }
}
