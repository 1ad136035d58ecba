//! Makes sure that only this process has a database open.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::redo::about;
use super::sidecar_files;
use crate::Error;
use crate::file_system::{FileIdentity, FileSystem};

/// Database files that this process has open. SQLite's lock keeps other processes out, but not a second store of
/// the same process.
static OPEN: Mutex<BTreeSet<(u64, u64)>> = Mutex::new(BTreeSet::new());

/// The right to use a database file, as long as the value lives.
///
/// SQLite locks the file itself ([`FileSystem::sqlite_vfs`]). The operating system releases that lock when the process
/// ends, however it ends, so a restart doesn't wait. Closing *any* descriptor of the file would release the lock too, so
/// nothing here opens the file while SQLite has it open.
#[derive(Debug)]
pub(super) struct Ownership {
    files: Arc<dyn FileSystem>,
    database: PathBuf,
    identity: FileIdentity,
    /// Files that must stay where they are while the database is open.
    watched: Vec<(PathBuf, FileIdentity)>,
}

impl Ownership {
    /// Claims a database file for this store among the stores of this process, and creates it if it is missing.
    pub(super) fn claim(files: &Arc<dyn FileSystem>, database: &Path) -> Result<Self, Error> {
        let failed = |error| about(database, error);
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let identity = match files.identity(database).map_err(failed)? {
            Some(identity) => identity,
            None => {
                // Not created by SQLite, which would let everyone read it.
                drop(files.open(database).map_err(failed)?);
                let created = files.identity(database).map_err(failed)?;
                created.ok_or_else(|| gone(database))?
            }
        };
        if !open.insert((identity.device, identity.inode)) {
            return Err(held_by(&format!("this process ({})", std::process::id())));
        }
        let (files, database) = (Arc::clone(files), database.to_owned());
        Ok(Self { files, database, identity, watched: Vec::new() })
    }

    /// Call when SQLite has opened the files and locked them: from now on [`Self::check`] notices a change.
    pub(super) fn watch(&mut self) -> Result<(), Error> {
        let paths = [
            self.database.clone(),
            sidecar_files::wal(&self.database),
            sidecar_files::redo(&self.database),
        ];
        for path in paths {
            let found = self.files.identity(&path).map_err(|error| about(&path, error))?;
            let identity = found.ok_or_else(|| gone(&path))?;
            self.watched.push((path, identity));
        }
        let is_same = self.watched.first().is_some_and(|(_, found)| *found == self.identity);
        if is_same { Ok(()) } else { Err(gone(&self.database)) }
    }

    /// Whether the files are still those that were opened.
    pub(super) fn check(&self) -> Result<(), Error> {
        for (path, identity) in &self.watched {
            let found = self.files.identity(path).map_err(|error| about(path, error))?;
            if found != Some(*identity) {
                return Err(gone(path));
            }
        }
        Ok(())
    }
}

impl Drop for Ownership {
    fn drop(&mut self) {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(&(self.identity.device, self.identity.inode));
    }
}

/// The error that SQLite couldn't lock the file, with the process that has it. This process must not have it open.
#[cfg(unix)]
pub(super) fn held(database: &Path) -> Error {
    use rustix::process::{Flock, FlockOffsetType, FlockType, fcntl_getlk};
    /// SQLite's shared locks are locks of these bytes.
    const SHARED_FIRST: u64 = 0x4000_0002;
    const SHARED_BYTES: u64 = 510;
    let asked = Flock {
        start: SHARED_FIRST,
        length: SHARED_BYTES,
        pid: None,
        typ: FlockType::WriteLock,
        offset_type: FlockOffsetType::Set,
    };
    let lock = std::fs::File::open(database).ok().and_then(|file| fcntl_getlk(file, &asked).ok());
    match lock.flatten().and_then(|lock| lock.pid) {
        Some(process) => held_by(&format!("process {}", process.as_raw_nonzero())),
        None => held_by("another process"),
    }
}

#[cfg(not(unix))]
pub(super) fn held(_: &Path) -> Error {
    held_by("another process")
}

fn held_by(owner: &str) -> Error {
    Error::Fenced(format!("{owner} has the file open; stop it, or choose another file"))
}

fn gone(path: &Path) -> Error {
    Error::Fenced(format!(
        "{} was removed, renamed or replaced while the database was open; what was acknowledged since is in the \
         file that was there before",
        path.display()
    ))
}
