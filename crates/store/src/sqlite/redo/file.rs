//! The redo file: batches are appended to it before they are in the tables.
//!
//! It has two segments. One is written while the batches of the other are applied to the tables; when they are
//! durable there, the segments change places. Nothing is ever removed, and the file grows by more than a record
//! at a time: a commit that doesn't grow the file needs one write and one sync. When the file grows, the file system
//! has to write its own journal too, with whatever other programs have in it.
//!
//! Each opening creates a new file, under another name until its header is durable. So a file of this name is whole,
//! and the file of an earlier process is never overwritten before its batches are in the tables.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::record::{
    BLOCK_BYTES, DatabaseId, Header, HeaderError, SEGMENT_BYTES, VERSION, aligned,
    fill_record_header, read_segment, segment_at,
};
use crate::file_system::{FileSystem, StoreFile};
use crate::sqlite::sidecar_files;
use crate::{Durability, Error};

/// The file grows by this much at a time.
const GROWTH_BYTES: u64 = 1 << 20;

/// The redo file of an open database.
#[derive(Debug)]
pub(in crate::sqlite) struct RedoFile {
    file: Box<dyn StoreFile>,
    path: PathBuf,
    durability: Durability,
    salt: [u8; 16],
    segment: usize,
    /// The offset of the next record in the segment.
    at: u64,
    next_number: u64,
    /// The bytes of each segment that are allocated on the disk.
    grown: [u64; 2],
}

/// The records of an earlier process that aren't in the tables.
#[derive(Debug, Default)]
pub(super) struct Remaining {
    /// The records in order, without a gap, from the first that isn't in the tables.
    pub(super) records: Vec<Vec<u8>>,
    /// The number of the last one; of the last one in the tables if there are none.
    pub(super) last_number: u64,
    /// How many whole records follow a missing or damaged one.
    pub(super) unreachable: usize,
    /// Whether an incomplete record follows the last one: the process died within a commit, or the record was
    /// acknowledged and damaged later.
    pub(super) has_torn_end: bool,
    /// Whether each record was durable before the next was written: then no gap is possible without damage.
    pub(super) is_synced: bool,
}

/// The redo file of an earlier process.
pub(in crate::sqlite) enum PreviousFile {
    Missing,
    /// It is empty, or its header is damaged.
    Unreadable,
    Readable {
        header: Header,
        bytes: Vec<u8>,
    },
}

impl PreviousFile {
    /// Reads the redo file of a database. Refuses a version that this program doesn't know.
    pub(in crate::sqlite) fn read(files: &dyn FileSystem, database: &Path) -> Result<Self, Error> {
        let path = sidecar_files::redo(database);
        let failed = |error| about(&path, error);
        if files.identity(&path).map_err(failed)?.is_none() {
            return Ok(Self::Missing);
        }
        let bytes = files.open(&path).and_then(|mut file| file.read_all()).map_err(failed)?;
        match Header::decode(&bytes) {
            Ok(header) => Ok(Self::Readable { header, bytes }),
            Err(HeaderError::NotOurs) => Ok(Self::Unreadable),
            Err(HeaderError::OtherVersion(version)) => Err(Error::Corrupt(format!(
                "{} has version {version} and this program knows versions up to {VERSION}; start the version that \
                 wrote it and stop it again: that removes the file",
                path.display()
            ))),
        }
    }
}

/// The records of a file after the last one that is in the tables.
pub(super) fn remaining_in(bytes: &[u8], header: &Header, last_applied: u64) -> Remaining {
    let segments = [0, 1].map(|segment| read_segment(bytes, segment, &header.salt, last_applied));
    let mut whole: Vec<_> = segments.iter().flat_map(|segment| &segment.records).collect();
    whole.retain(|record| record.number > last_applied);
    whole.sort_unstable_by_key(|record| record.number);
    let mut remaining = Remaining {
        last_number: last_applied,
        is_synced: header.is_synced,
        ..Remaining::default()
    };
    for record in whole {
        if record.number == remaining.last_number + 1 {
            remaining.records.push(record.payload.to_vec());
            remaining.last_number = record.number;
        } else {
            remaining.unreachable += 1;
        }
    }
    let strays = segments.iter().flat_map(|segment| &segment.stray);
    remaining.unreachable += strays.filter(|number| **number > remaining.last_number).count();
    let next = remaining.last_number + 1;
    remaining.has_torn_end = segments.iter().any(|segment| segment.has_begun(next, &header.salt));
    remaining
}

impl RedoFile {
    /// Creates the file. The records of an earlier process must be in the tables.
    pub(in crate::sqlite) fn create(
        files: &Arc<dyn FileSystem>,
        database: &Path,
        durability: Durability,
        id: DatabaseId,
        salt: [u8; 16],
        last_number: u64,
    ) -> Result<Self, Error> {
        let path = sidecar_files::redo(database);
        let unnamed = sidecar_files::new_redo(database);
        let failed = |error| about(&path, error);
        files.remove(&unnamed).map_err(failed)?;
        let file = files.open(&unnamed).map_err(failed)?;
        let mut redo = Self {
            file,
            path: path.clone(),
            durability,
            salt,
            segment: 0,
            at: 0,
            next_number: last_number + 1,
            grown: [0, 0],
        };
        let is_synced = durability == Durability::PowerLoss;
        let header = Header { version: VERSION, database: id, is_synced, salt };
        redo.grow(0, 1)?;
        redo.grow(1, 1)?;
        redo.write_durably(0, &header.encode())?;
        files.rename(&unnamed, &path).map_err(failed)?;
        match durability {
            Durability::PowerLoss => files.sync_folder_of(&path).map_err(failed)?,
            Durability::ProcessCrash => {}
        }
        Ok(redo)
    }

    /// The number of the last record that was appended, or whose append failed.
    pub(super) fn last_number(&self) -> u64 {
        self.next_number - 1
    }

    /// Appends a record, durably. `record` begins with space for its header. Returns `false` if the segment is full.
    /// After an error the record may or may not be in the file; its number isn't used again.
    pub(super) fn append(&mut self, record: &mut [u8]) -> Result<bool, Error> {
        let end = self.at + aligned(record.len());
        if end > SEGMENT_BYTES {
            return Ok(false);
        }
        let number = self.next_number;
        fill_record_header(&self.salt, number, record).ok_or_else(|| {
            Error::Conflict("a batch of more than four gigabytes can't be stored".into())
        })?;
        self.grow(self.segment, end)?;
        self.next_number += 1;
        self.write_durably(segment_at(self.segment) + self.at, record)?;
        self.at = end;
        Ok(true)
    }

    /// Continues with the other segment, whose records must be in the tables.
    pub(super) fn change_segments(&mut self) {
        self.segment = 1 - self.segment;
        self.at = 0;
    }

    /// Allocates the first `bytes` of a segment. That is durable with the next durable write.
    fn grow(&mut self, segment: usize, bytes: u64) -> Result<(), Error> {
        let grown = &mut self.grown[segment];
        if bytes <= *grown || self.durability == Durability::ProcessCrash {
            return Ok(());
        }
        let wanted = bytes.next_multiple_of(GROWTH_BYTES).min(SEGMENT_BYTES);
        // Written, not only allocated: the first write to an allocated block changes the file system's metadata too.
        // In blocks: a large write may stay one piece in the page cache, and be written to disk as a whole with each
        // record that changes some of it.
        while *grown < wanted {
            let offset = segment_at(segment) + *grown;
            let written = self.file.write_at(offset, &[0; BLOCK_BYTES as usize]);
            written.map_err(|error| about(&self.path, error))?;
            *grown += BLOCK_BYTES;
        }
        Ok(())
    }

    fn write_durably(&mut self, at: u64, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_at(at, bytes).map_err(|error| about(&self.path, error))?;
        let synced = match self.durability {
            Durability::PowerLoss => self.file.sync_data(),
            Durability::ProcessCrash => Ok(()),
        };
        // The record was written, so it may be there after a crash even if the sync failed.
        synced.map_err(|error| Error::Unavailable(format!("{}: {error}", self.path.display())))
    }
}

pub(in crate::sqlite) fn about(path: &Path, error: std::io::Error) -> Error {
    let problem = format!("{}: {error}", path.display());
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Error::Full(problem),
        _ => Error::Unavailable(problem),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;

    use tempfile::TempDir;

    use super::{GROWTH_BYTES, PreviousFile, RedoFile, Remaining, remaining_in};
    use crate::file_system::{FileSystem, SystemFiles};
    use crate::sqlite::redo::RECORD_HEADER_BYTES;
    use crate::sqlite::redo::record::SEGMENT_BYTES;
    use crate::sqlite::sidecar_files;
    use crate::{Durability, Error};

    fn create(database: &Path, last_number: u64) -> RedoFile {
        let files: Arc<dyn FileSystem> = Arc::new(SystemFiles);
        let durability = Durability::PowerLoss;
        RedoFile::create(&files, database, durability, [1; 16], [2; 16], last_number).unwrap()
    }

    fn append(file: &mut RedoFile, payload: &[u8]) -> bool {
        let mut record = vec![0; RECORD_HEADER_BYTES];
        record.extend_from_slice(payload);
        file.append(&mut record).unwrap()
    }

    fn remaining(database: &Path, last_applied: u64) -> Remaining {
        match PreviousFile::read(&SystemFiles, database).unwrap() {
            PreviousFile::Readable { header, bytes } => remaining_in(&bytes, &header, last_applied),
            PreviousFile::Missing | PreviousFile::Unreadable => panic!("a whole file"),
        }
    }

    #[test]
    fn records_after_the_last_applied_one_remain_in_order_across_segments() {
        let folder = TempDir::new().unwrap();
        let database = folder.path().join("a.db");
        let mut file = create(&database, 6);
        append(&mut file, b"seven");
        append(&mut file, b"eight");
        file.change_segments();
        append(&mut file, b"nine");
        let all = remaining(&database, 6);
        assert_eq!(all.records, [b"seven".to_vec(), b"eight".to_vec(), b"nine".to_vec()]);
        assert_eq!((all.last_number, all.unreachable, all.has_torn_end), (9, 0, false));
        assert_eq!(remaining(&database, 8).records, [b"nine".to_vec()]);
        file.change_segments();
        append(&mut file, b"ten");
        let rest = remaining(&database, 8);
        assert_eq!(rest.records, [b"nine".to_vec(), b"ten".to_vec()]);
        assert_eq!((rest.unreachable, rest.has_torn_end), (0, false));
        // The reused segment no longer holds records 7 and 8: if they aren't in the tables, that is damage.
        assert_eq!(remaining(&database, 6).unreachable, 2);
    }

    #[test]
    fn last_record_that_isnt_whole_is_torn_and_those_before_it_stay() {
        let folder = TempDir::new().unwrap();
        let database = folder.path().join("a.db");
        let mut file = create(&database, 0);
        append(&mut file, b"whole...");
        append(&mut file, b"torn");
        let path = sidecar_files::redo(&database);
        let bytes = fs::read(&path).unwrap();
        let torn = super::segment_at(0) as usize + RECORD_HEADER_BYTES + 8;
        for damaged in torn..torn + RECORD_HEADER_BYTES + 4 {
            let mut bytes = bytes.clone();
            bytes[damaged] ^= 1;
            fs::write(&path, &bytes).unwrap();
            let left = remaining(&database, 0);
            assert_eq!(left.records, [b"whole...".to_vec()], "damaged at {damaged}");
            assert_eq!((left.unreachable, left.has_torn_end), (0, true), "damaged at {damaged}");
        }
    }

    #[test]
    fn file_grows_by_more_than_a_record_at_a_time() {
        let folder = TempDir::new().unwrap();
        let database = folder.path().join("a.db");
        let mut file = create(&database, 0);
        let length = || fs::metadata(sidecar_files::redo(&database)).unwrap().len();
        let first = length();
        append(&mut file, b"one");
        file.change_segments();
        append(&mut file, b"two");
        assert_eq!(length(), first);
        append(&mut file, &vec![3; GROWTH_BYTES as usize]);
        assert_eq!(length(), first + GROWTH_BYTES);
    }

    #[test]
    fn segment_without_room_takes_no_more() {
        let folder = TempDir::new().unwrap();
        let database = folder.path().join("a.db");
        let mut file = create(&database, 0);
        let half = vec![1; SEGMENT_BYTES as usize / 2];
        assert!(append(&mut file, &half));
        assert!(!append(&mut file, &half));
        assert!(append(&mut file, b"small"));
        assert_eq!(remaining(&database, 0).records, [half, b"small".to_vec()]);
    }

    #[test]
    fn file_of_another_version_is_refused_with_what_to_do() {
        let folder = TempDir::new().unwrap();
        let database = folder.path().join("a.db");
        fs::write(sidecar_files::redo(&database), b"PRENredo\x09\x01").unwrap();
        let Err(refused) = PreviousFile::read(&SystemFiles, &database) else { panic!("refused") };
        assert!(matches!(refused, Error::Corrupt(_)), "{refused:?}");
        assert!(refused.to_string().contains("start the version that wrote it"), "{refused}");
    }
}
