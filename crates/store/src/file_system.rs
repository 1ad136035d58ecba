//! The file system under a store.
//!
//! A server uses [`SystemFiles`]. Tests put a disk of their own underneath that fails, fills up and loses power.

use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// A file system as a store sees it. SQLite reaches the same files through the VFS of [`Self::sqlite_vfs`].
pub trait FileSystem: Debug + Send + Sync {
    /// Opens a file for reading and writing, or creates it. A created file is readable by its owner only, and a
    /// symbolic link is refused: a user who can write to the folder must not choose which file we write.
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoreFile>>;

    /// Removes a file; one that isn't there is fine.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Renames a file, replacing any file of the new name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Makes a file's entry in its folder durable: not every file system does that when the file is synced.
    fn sync_folder_of(&self, path: &Path) -> io::Result<()>;

    /// The file that a path leads to now, or `None` if it leads to nothing.
    fn identity(&self, path: &Path) -> io::Result<Option<FileIdentity>>;

    /// The SQLite VFS that reaches the same files, and lets no second process in.
    fn sqlite_vfs(&self) -> &str;
}

/// An open file of a [`FileSystem`].
pub trait StoreFile: Debug + Send {
    /// Everything it holds.
    fn read_all(&mut self) -> io::Result<Vec<u8>>;

    /// Writes all of `bytes` at an offset.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Returns when everything that was written is durable.
    fn sync_data(&mut self) -> io::Result<()>;

    /// Changes the length, and takes the disk space for it.
    fn allocate(&mut self, bytes: u64) -> io::Result<()>;
}

/// A file whatever its name is: names can be removed, replaced and linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileIdentity {
    /// The device it is on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
}

/// The operating system's files.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemFiles;

impl FileSystem for SystemFiles {
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoreFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        keep_private(&mut options);
        Ok(Box::new(SystemFile(options.open(path)?)))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn sync_folder_of(&self, path: &Path) -> io::Result<()> {
        match path.parent() {
            // Elsewhere a folder can't be synced, and needn't be.
            Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
            Some(_) | None => Ok(()),
        }
    }

    fn identity(&self, path: &Path) -> io::Result<Option<FileIdentity>> {
        match std::fs::symlink_metadata(path) {
            Ok(metadata) => identity_of(&metadata).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn sqlite_vfs(&self) -> &str {
        // It locks the database file itself, for the whole process and as long as it is open: that lock can't be
        // removed, and a hard link leads to it as well. And the index of the log is in memory, not in a file.
        "unix-excl"
    }
}

#[derive(Debug)]
struct SystemFile(File);

impl StoreFile for SystemFile {
    fn read_all(&mut self) -> io::Result<Vec<u8>> {
        use std::io::{Read, Seek};
        let mut bytes = Vec::new();
        self.0.rewind()?;
        self.0.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    #[cfg(unix)]
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.0, bytes, offset)
    }

    #[cfg(not(unix))]
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        use std::io::{Seek, SeekFrom, Write};
        self.0.seek(SeekFrom::Start(offset))?;
        self.0.write_all(bytes)
    }

    fn sync_data(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }

    #[cfg(target_os = "linux")]
    fn allocate(&mut self, bytes: u64) -> io::Result<()> {
        use rustix::fs::{FallocateFlags, fallocate};
        self.0.set_len(bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        match fallocate(&self.0, FallocateFlags::empty(), 0, bytes) {
            // The file system can't reserve space: then only the length changes.
            Err(rustix::io::Errno::OPNOTSUPP) => Ok(()),
            done => Ok(done?),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn allocate(&mut self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }
}

#[cfg(unix)]
fn keep_private(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    let no_follow = rustix::fs::OFlags::NOFOLLOW.bits();
    options.mode(0o600).custom_flags(no_follow.cast_signed());
}

#[cfg(not(unix))]
fn keep_private(_: &mut OpenOptions) {}

#[cfg(unix)]
fn identity_of(metadata: &std::fs::Metadata) -> io::Result<FileIdentity> {
    use std::os::unix::fs::MetadataExt;
    Ok(FileIdentity { device: metadata.dev(), inode: metadata.ino() })
}

#[cfg(not(unix))]
fn identity_of(_: &std::fs::Metadata) -> io::Result<FileIdentity> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "a database file needs a Unix system for now"))
}
