//! Disk space put aside for the moment when there is none.
//!
//! A database on a full disk needs room to recover: what was acknowledged has to get into the tables before it can
//! be read. So a file holds some space from the beginning, and gives it up when the disk is full.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::redo::about;
use super::sidecar;
use crate::Error;
use crate::file_system::{FileSystem, StoreFile};

const MIB: u64 = 1 << 20;
/// More than the tables grow by what can be waiting for them.
const WANTED_MIB: u64 = 16;

#[derive(Debug)]
pub(super) struct Reserve {
    files: Arc<dyn FileSystem>,
    path: PathBuf,
    file: Box<dyn StoreFile>,
    held_mib: u64,
}

impl Reserve {
    /// Takes what there is, up to what is wanted.
    pub(super) fn open(files: &Arc<dyn FileSystem>, database: &Path) -> Result<Self, Error> {
        let path = sidecar::reserve(database);
        let file = files.open(&path).map_err(|error| about(&path, error))?;
        let mut reserve = Self { files: Arc::clone(files), path, file, held_mib: 0 };
        reserve.take_all();
        Ok(reserve)
    }

    /// Gives the space back to the disk, for the tables to use.
    pub(super) fn give_up(&mut self) -> Result<(), Error> {
        self.held_mib = 0;
        self.file.allocate(0).map_err(|error| about(&self.path, error))
    }

    /// Takes as much as there is.
    pub(super) fn take_all(&mut self) {
        while self.held_mib < WANTED_MIB && self.take_one_more().is_ok() {}
    }

    /// Whether the disk has a megabyte more than this.
    pub(super) fn has_one_more(&mut self) -> bool {
        let held_mib = self.held_mib;
        let has = self.take_one_more().is_ok();
        if held_mib >= WANTED_MIB {
            self.held_mib = held_mib;
            // It gives back what it took to see: that doesn't fail.
            let _ = self.file.allocate(held_mib * MIB);
        }
        has
    }

    /// Takes one more megabyte, if the disk has it.
    fn take_one_more(&mut self) -> Result<(), Error> {
        let wanted = self.held_mib + 1;
        match self.file.allocate(wanted * MIB) {
            Ok(()) => {
                self.held_mib = wanted;
                Ok(())
            }
            Err(error) => {
                let refused = about(&self.path, error);
                // Some of it may have been taken, and the length changed.
                let held = self.file.allocate(self.held_mib * MIB);
                held.map_err(|error| about(&self.path, error)).and(Err(refused))
            }
        }
    }

    /// The database is closed.
    pub(super) fn remove(&self) -> Result<(), Error> {
        self.files.remove(&self.path).map_err(|error| about(&self.path, error))
    }
}
