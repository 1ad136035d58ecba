//! Proof that one process owns a file.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

use super::beside;
use crate::Error;

/// Held as long as the database file is open. The system drops it with the process, however that dies, so
/// a restart waits for nothing.
///
/// It is on a file beside the database: closing a second handle of the database itself would silently drop
/// the locks that SQLite holds on it. The file stays when the lock goes, for removing it would race with
/// whoever locks it next.
#[derive(Debug)]
pub(super) struct FileLock {
    _file: File,
}

impl FileLock {
    /// Takes the lock for `database`, or says who has it.
    pub(super) fn take(database: &Path) -> Result<Self, Error> {
        let path = beside::path(database, ".lock");
        let failed = |error: std::io::Error| {
            let path = path.display();
            Error::Unavailable(format!("the lock file {path} can't be used: {error}"))
        };
        let mut file = beside::open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let owner = owner(&mut file);
                return Err(Error::Fenced(format!(
                    "{owner} has the file open; stop it, or choose another file"
                )));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        write_owner(&mut file).map_err(failed)?;
        Ok(Self { _file: file })
    }
}

/// The process id is for the message only; the lock is what counts.
fn write_owner(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

fn owner(file: &mut File) -> String {
    let mut text = String::new();
    match file.read_to_string(&mut text).map(|_| text.trim().parse::<u32>()) {
        Ok(Ok(process)) => format!("process {process}"),
        Ok(Err(_)) | Err(_) => "another process".to_owned(),
    }
}
