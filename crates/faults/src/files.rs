//! The disk as the file system of the store.

use std::io;
use std::path::Path;
use std::sync::Arc;

use perennial_store::file_system::{FileIdentity, FileSystem, StoreFile, SystemFiles};

use crate::disk::{Shared, name_of};
use crate::model::{Change, FileId, Verdict, broken};
use crate::vfs;

#[derive(Debug)]
pub(crate) struct FaultyFiles(pub(crate) Arc<Shared>);

impl FileSystem for FaultyFiles {
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoreFile>> {
        let (file, disk) = (SystemFiles.open(path)?, Arc::clone(&self.0));
        let id = disk.model().open(name_of(path));
        Ok(Box::new(FaultyFile { file, id, disk }))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.model().before_other()?;
        self.0.model().remove(&name_of(path));
        SystemFiles.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.model().before_other()?;
        self.0.model().rename(&name_of(from), name_of(to));
        SystemFiles.rename(from, to)
    }

    fn sync_folder_of(&self, _: &Path) -> io::Result<()> {
        self.0.model().before_other()
    }

    fn identity(&self, path: &Path) -> io::Result<Option<FileIdentity>> {
        SystemFiles.identity(path)
    }

    fn sqlite_vfs(&self) -> &str {
        vfs::NAME
    }
}

#[derive(Debug)]
struct FaultyFile {
    file: Box<dyn StoreFile>,
    id: FileId,
    disk: Arc<Shared>,
}

impl StoreFile for FaultyFile {
    fn read_all(&mut self) -> io::Result<Vec<u8>> {
        self.file.read_all()
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let verdict = self.disk.model().before(self.id, bytes.len(), offset + bytes.len() as u64);
        let (done, failure) = match verdict {
            Verdict::Go => (bytes, None),
            Verdict::Partly(count) => (&bytes[..count], Some(broken())),
            Verdict::DoAndFail => (bytes, Some(broken())),
            Verdict::Fail(error) => return Err(error),
        };
        self.file.write_at(offset, done)?;
        self.disk.model().changed(self.id, Change::Write { offset, bytes: done.to_vec() });
        failure.map_or(Ok(()), Err)
    }

    fn sync_data(&mut self) -> io::Result<()> {
        let mut model = self.disk.model();
        model.before_other()?;
        model.synced(self.id);
        Ok(())
    }

    fn allocate(&mut self, bytes: u64) -> io::Result<()> {
        match self.disk.model().before(self.id, 0, bytes) {
            Verdict::Go => {}
            Verdict::Partly(_) | Verdict::DoAndFail => return Err(broken()),
            Verdict::Fail(error) => return Err(error),
        }
        // Room without content: only how much of it there is matters.
        self.disk.model().allocated(self.id, bytes);
        Ok(())
    }
}
