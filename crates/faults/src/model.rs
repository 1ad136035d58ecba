//! The model of the disk: file contents, and which of them are durable.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;

/// How an operation fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Fails with an I/O error, without effect.
    Fails,
    /// A write stops half-way and fails; other operations fail without effect.
    Tears,
    /// Takes effect, but reports an error.
    FailsAfterAll,
}

/// All files, by name, and the faults to come.
#[derive(Debug, Default)]
pub(crate) struct Model {
    names: BTreeMap<OsString, FileId>,
    files: BTreeMap<FileId, Contents>,
    last_id: u64,
    /// Operations so far.
    pub(crate) operations: u64,
    /// Operations that are to fail, by their number.
    pub(crate) faults: BTreeMap<u64, Fault>,
    /// Maximum total size of all files.
    pub(crate) capacity: Option<u64>,
    /// The power is off: every operation fails.
    pub(crate) is_dead: bool,
}

/// Identifies a file, independent of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileId(u64);

/// A file: its durable contents, and the changes since.
#[derive(Debug, Default, Clone)]
struct Contents {
    durable: Vec<u8>,
    pending: Vec<Change>,
    /// Current contents, including unsynced changes.
    length: u64,
}

#[derive(Debug, Clone)]
pub(crate) enum Change {
    Write { offset: u64, bytes: Vec<u8> },
    SetLength(u64),
}

/// Whether an operation may proceed.
pub(crate) enum Verdict {
    Go,
    /// Write this many bytes, then fail.
    Partly(usize),
    DoAndFail,
    Fail(io::Error),
}

impl Model {
    /// Opens the file of this name; creates it if missing.
    pub(crate) fn open(&mut self, name: OsString) -> FileId {
        let next = FileId(self.last_id + 1);
        let id = *self.names.entry(name).or_insert(next);
        if id == next {
            self.last_id += 1;
            self.files.insert(id, Contents::default());
        }
        id
    }

    /// Adds a durable file.
    pub(crate) fn put(&mut self, name: OsString, durable: Vec<u8>) {
        let id = self.open(name);
        let length = durable.len() as u64;
        self.files.insert(id, Contents { durable, pending: Vec::new(), length });
    }

    pub(crate) fn remove(&mut self, name: &OsString) {
        if let Some(id) = self.names.remove(name) {
            self.files.remove(&id);
        }
    }

    pub(crate) fn rename(&mut self, from: &OsString, to: OsString) {
        if let Some(id) = self.names.remove(from) {
            self.remove(&to);
            self.names.insert(to, id);
        }
    }

    /// Total size of all files.
    pub(crate) fn used(&self) -> u64 {
        self.files.values().map(|file| file.length).sum()
    }

    /// The contents of each file after a power failure.
    pub(crate) fn after_power_loss(
        &self,
        mut chance: impl FnMut() -> u64,
    ) -> Vec<(OsString, Vec<u8>)> {
        let left = |(name, id): (&OsString, &FileId)| {
            let file = self.files.get(id)?;
            Some((name.clone(), file.after_power_loss(&mut chance)))
        };
        self.names.iter().filter_map(left).collect()
    }

    /// Counts an operation that changes no file.
    pub(crate) fn before_other(&mut self) -> io::Result<()> {
        match self.next_verdict(0) {
            None => Ok(()),
            // Only writes can stop half-way.
            Some(Verdict::Go | Verdict::Partly(_) | Verdict::DoAndFail) => Err(broken()),
            Some(Verdict::Fail(error)) => Err(error),
        }
    }

    /// Counts an operation that may grow a file, and decides whether it succeeds.
    pub(crate) fn before(&mut self, file: FileId, bytes: usize, end: u64) -> Verdict {
        if let Some(verdict) = self.next_verdict(bytes) {
            return verdict;
        }
        let length = self.files.get(&file).map_or(0, |file| file.length);
        let growth = end.saturating_sub(length);
        match self.capacity {
            Some(capacity) if growth > 0 && self.used() + growth > capacity => {
                Verdict::Fail(io::Error::from(io::ErrorKind::StorageFull))
            }
            Some(_) | None => Verdict::Go,
        }
    }

    fn next_verdict(&mut self, bytes: usize) -> Option<Verdict> {
        if self.is_dead {
            return Some(Verdict::Fail(gone()));
        }
        self.operations += 1;
        Some(match self.faults.remove(&self.operations)? {
            Fault::Tears if bytes > 1 => Verdict::Partly(bytes / 2),
            Fault::Fails | Fault::Tears => Verdict::Fail(broken()),
            Fault::FailsAfterAll => Verdict::DoAndFail,
        })
    }

    /// Records a change of a file.
    pub(crate) fn changed(&mut self, file: FileId, change: Change) {
        let Some(file) = self.files.get_mut(&file) else { return };
        file.length = match &change {
            Change::Write { offset, bytes } => file.length.max(offset + bytes.len() as u64),
            Change::SetLength(length) => *length,
        };
        file.pending.push(change);
    }

    /// Reserves this many bytes for a file, independent of its contents.
    pub(crate) fn allocated(&mut self, file: FileId, bytes: u64) {
        if let Some(file) = self.files.get_mut(&file) {
            file.length = bytes;
        }
    }

    /// Makes all changes of a file durable.
    pub(crate) fn synced(&mut self, file: FileId) {
        if let Some(file) = self.files.get_mut(&file) {
            for change in std::mem::take(&mut file.pending) {
                change.apply(&mut file.durable);
            }
        }
    }
}

impl Contents {
    /// The contents after a power failure: unsynced changes may be present, missing or torn, in any combination.
    fn after_power_loss(&self, chance: &mut impl FnMut() -> u64) -> Vec<u8> {
        let mut left = self.durable.clone();
        for change in &self.pending {
            match (chance() % 4, change) {
                (0, _) => {}
                (1, Change::Write { offset, bytes }) => {
                    let kept = chance() as usize % bytes.len().max(1);
                    let bytes = bytes[..kept].to_vec();
                    Change::Write { offset: *offset, bytes }.apply(&mut left);
                }
                (_, change) => change.apply(&mut left),
            }
        }
        left
    }
}

impl Change {
    fn apply(&self, contents: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes } => {
                let offset = usize::try_from(*offset).unwrap_or(usize::MAX);
                let end = offset.saturating_add(bytes.len());
                if contents.len() < end {
                    contents.resize(end, 0);
                }
                contents[offset..end].copy_from_slice(bytes);
            }
            Self::SetLength(length) => {
                contents.resize(usize::try_from(*length).unwrap_or(usize::MAX), 0);
            }
        }
    }
}

pub(crate) fn broken() -> io::Error {
    io::Error::other("an injected fault")
}

fn gone() -> io::Error {
    io::Error::other("the power is gone")
}
