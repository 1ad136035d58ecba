//! The file that batches are appended to before they are in the tables.
//!
//! It has two segments. One is written while the batches of the other go into the tables; when they are
//! durable there, the segments change places. Records of one turn carry its number, so what an earlier turn
//! left behind them is known for what it is. Nothing is ever removed, and the file grows by more than a record
//! at a time: one that doesn't grow needs one write and one sync a commit. Where it grows, the file system has
//! its own records to write too, and whatever other programs have in them.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::sqlite::beside;
use crate::{Durability, Error};

/// Begins the file, followed by its version and by whether commits waited for the disk.
const MAGIC: &[u8; 8] = b"PRENredo";
const VERSION: u8 = 1;
const HEADER_BYTES: usize = MAGIC.len() + 2;

/// What a disk writes at once.
const BLOCK_BYTES: u64 = 4096;
/// Where the first segment begins: a block of its own for the header.
const SEGMENTS_AT: u64 = BLOCK_BYTES;
pub(super) const SEGMENT_BYTES: u64 = 8 << 20;

/// A segment that has no room on the disk for a record yet gets this much.
const GROWTH_BYTES: u64 = 1 << 20;

/// Before each record: its length, a checksum of what follows, the number of the turn.
pub(super) const RECORD_HEADER_BYTES: usize = 4 + 4 + 8;

#[derive(Debug)]
pub(super) struct RedoFile {
    file: File,
    path: PathBuf,
    durability: Durability,
    segment: usize,
    /// Where the next record goes, from the beginning of the segment.
    at: u64,
    turn: u64,
    /// How much of each segment the disk has room for already.
    grown: [u64; 2],
}

/// What a file held when it was opened.
#[derive(Debug, Default)]
pub(in crate::sqlite) struct Left {
    /// In the order they were appended.
    pub(in crate::sqlite) records: Vec<Vec<u8>>,
    /// Whether each of them was durable before the next one: then none can be missing between them.
    pub(in crate::sqlite) is_gapless: bool,
}

impl RedoFile {
    /// Opens the file that belongs to a database, or makes it.
    pub(super) fn open(database: &Path, durability: Durability) -> Result<(Self, Left), Error> {
        let path = path_for(database);
        let mut file = beside::open(&path).map_err(|error| about(&path, error))?;
        let (left, turn) = read(&mut file, &path)?;
        let length = file.metadata().map_err(|error| about(&path, error))?.len();
        let grown =
            [0, 1].map(|segment| length.saturating_sub(segment_at(segment)).min(SEGMENT_BYTES));
        let opened = Self { file, path, durability, segment: 0, at: 0, turn: turn + 1, grown };
        Ok((opened, left))
    }

    /// Says in the header how records are written from now on. What was left in the file must be in the
    /// tables by now.
    pub(super) fn begin(&mut self) -> Result<(), Error> {
        let is_synced = u8::from(self.durability == Durability::PowerLoss);
        let mut header = MAGIC.to_vec();
        header.extend([VERSION, is_synced]);
        self.grow(0, 1)?;
        self.grow(1, 1)?;
        self.write_durably(0, &header)?;
        match self.durability {
            Durability::PowerLoss => beside::sync_name(&self.path),
            Durability::ProcessCrash => Ok(()),
        }
        .map_err(|error| about(&self.path, error))
    }

    /// Appends a record, durably. `record` has room for its header at its beginning. `false` if the segment
    /// has no room.
    pub(super) fn append(&mut self, record: &mut [u8]) -> Result<bool, Error> {
        let end = self.at + record.len() as u64;
        let Some((header, payload)) = record.split_at_mut_checked(RECORD_HEADER_BYTES) else {
            return Err(Error::Corrupt("a record without room for its header".into()));
        };
        if end > SEGMENT_BYTES {
            return Ok(false);
        }
        let length = u32::try_from(payload.len())
            .map_err(|_| Error::Conflict("a batch of more than four gigabytes".into()))?;
        header[..4].copy_from_slice(&length.to_le_bytes());
        header[4..8].copy_from_slice(&checksum(self.turn, payload).to_le_bytes());
        header[8..].copy_from_slice(&self.turn.to_le_bytes());
        self.grow(self.segment, end)?;
        self.write_durably(segment_at(self.segment) + self.at, record)?;
        self.at = end;
        Ok(true)
    }

    /// The other segment is written from now on. Whatever it holds must be in the tables.
    pub(super) fn change_segments(&mut self) {
        self.segment = 1 - self.segment;
        self.at = 0;
        self.turn += 1;
    }

    /// Ends the file: everything in it is in the tables.
    pub(super) fn remove(&self) {
        // One that stays says nothing new to whoever opens the database next.
        let _ = std::fs::remove_file(&self.path);
    }

    /// Makes room for a segment's first so many bytes, durable with what is written next.
    fn grow(&mut self, segment: usize, bytes: u64) -> Result<(), Error> {
        let grown = &mut self.grown[segment];
        if bytes <= *grown || self.durability == Durability::ProcessCrash {
            return Ok(());
        }
        let wanted = bytes.next_multiple_of(GROWTH_BYTES).min(SEGMENT_BYTES);
        // Written, not only allotted: the first write to room that was never written has to be recorded as well.
        // In blocks: what is written at once may stay one piece in the system's cache, and be written as a whole
        // with each record that changes some of it.
        let begin = segment_at(segment) + *grown;
        let written = (|| {
            self.file.seek(SeekFrom::Start(begin))?;
            let mut at = *grown;
            while at < wanted {
                let block = (BLOCK_BYTES - at % BLOCK_BYTES).min(wanted - at);
                self.file.write_all(&[0; BLOCK_BYTES as usize][..block as usize])?;
                at += block;
            }
            Ok(())
        })();
        written.map_err(|error| about(&self.path, error))?;
        *grown = wanted;
        Ok(())
    }

    fn write_durably(&mut self, at: u64, bytes: &[u8]) -> Result<(), Error> {
        let written = (|| {
            self.file.seek(SeekFrom::Start(at))?;
            self.file.write_all(bytes)?;
            match self.durability {
                Durability::PowerLoss => self.file.sync_data(),
                Durability::ProcessCrash => Ok(()),
            }
        })();
        written.map_err(|error| about(&self.path, error))
    }
}

/// `perennial.db-redo` beside `perennial.db`.
fn path_for(database: &Path) -> PathBuf {
    beside::path(database, "-redo")
}

fn segment_at(segment: usize) -> u64 {
    SEGMENTS_AT + segment as u64 * SEGMENT_BYTES
}

fn checksum(turn: u64, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&turn.to_le_bytes());
    hasher.update(payload);
    hasher.finalize()
}

/// What the file holds, and the number of its last turn.
fn read(file: &mut File, path: &Path) -> Result<(Left, u64), Error> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| about(path, error))?;
    if bytes.is_empty() {
        return Ok((Left::default(), 0));
    }
    let is_ours = bytes.starts_with(MAGIC);
    let header = bytes.get(MAGIC.len()..HEADER_BYTES).filter(|_| is_ours);
    let is_gapless = match header {
        Some([VERSION, is_synced]) => *is_synced == 1,
        Some([version, _]) => {
            return Err(Error::Corrupt(format!(
                "{} has version {version} and this program knows version {VERSION}; start the \
                 version that wrote it and stop it again, then it is done with",
                path.display()
            )));
        }
        _ => {
            let path = path.display();
            return Err(Error::Corrupt(format!("{path} isn't a file of ours; move it away")));
        }
    };
    let mut turns: Vec<(u64, Vec<Vec<u8>>)> =
        (0..2).filter_map(|segment| records_of(&bytes, segment)).collect();
    turns.sort_unstable_by_key(|(turn, _)| *turn);
    let last = turns.last().map_or(0, |(turn, _)| *turn);
    let records = turns.into_iter().flat_map(|(_, records)| records).collect();
    Ok((Left { records, is_gapless }, last))
}

/// The records of a segment's last turn, up to the first that isn't whole.
fn records_of(bytes: &[u8], segment: usize) -> Option<(u64, Vec<Vec<u8>>)> {
    let begin = usize::try_from(segment_at(segment)).ok()?;
    let end = bytes.len().min(begin + SEGMENT_BYTES as usize);
    let mut rest = bytes.get(begin..end)?;
    let mut turn = None;
    let mut records = Vec::new();
    while let Some((of, payload, after)) = record_of(rest) {
        if *turn.get_or_insert(of) != of {
            break;
        }
        records.push(payload.to_vec());
        rest = after;
    }
    turn.map(|turn| (turn, records))
}

/// The turn and the payload of the first record, and what comes after it.
fn record_of(bytes: &[u8]) -> Option<(u64, &[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (sum, rest) = rest.split_first_chunk::<4>()?;
    let (turn, rest) = rest.split_first_chunk::<8>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (payload, rest) = rest.split_at_checked(length)?;
    let turn = u64::from_le_bytes(*turn);
    (turn > 0 && checksum(turn, payload) == u32::from_le_bytes(*sum))
        .then_some((turn, payload, rest))
}

fn about(path: &Path, error: std::io::Error) -> Error {
    let problem = format!("{}: {error}", path.display());
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Error::Full(format!("{problem}; make room on the disk"))
        }
        _ => Error::Unavailable(problem),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use tempfile::TempDir;

    use super::{GROWTH_BYTES, RECORD_HEADER_BYTES, RedoFile, path_for, segment_at};
    use crate::{Durability, Error};

    fn open(database: &Path) -> (RedoFile, Vec<Vec<u8>>) {
        let (mut file, left) = RedoFile::open(database, Durability::PowerLoss).unwrap();
        file.begin().unwrap();
        (file, left.records)
    }

    fn append(file: &mut RedoFile, payload: &[u8]) -> bool {
        let mut record = vec![0; RECORD_HEADER_BYTES];
        record.extend_from_slice(payload);
        file.append(&mut record).unwrap()
    }

    fn left(database: &Path) -> Vec<Vec<u8>> {
        RedoFile::open(database, Durability::PowerLoss).unwrap().1.records
    }

    #[test]
    fn records_are_left_in_the_order_they_came_across_segments() {
        let folder = TempDir::new().unwrap();
        let database = folder.path().join("a.db");
        let (mut file, nothing) = open(&database);
        assert!(nothing.is_empty());
        append(&mut file, b"one");
        append(&mut file, b"two");
        file.change_segments();
        append(&mut file, b"three");
        assert_eq!(left(&database), [b"one".to_vec(), b"two".to_vec(), b"three".to_vec()]);
        file.change_segments();
        append(&mut file, b"four");
        assert_eq!(left(&database), [b"three".to_vec(), b"four".to_vec()]);
        let (mut file, _) = open(&database);
        append(&mut file, b"five");
        assert_eq!(left(&database), [b"three".to_vec(), b"five".to_vec()]);
    }

    #[test]
    fn record_that_isnt_whole_is_none_and_those_before_it_stay() {
        let folder = TempDir::new().unwrap();
        let database = folder.path().join("a.db");
        let (mut file, _) = open(&database);
        append(&mut file, b"whole");
        append(&mut file, b"torn");
        let path = path_for(&database);
        let bytes = fs::read(&path).unwrap();
        let whole = segment_at(0) as usize + RECORD_HEADER_BYTES + b"whole".len();
        let end = whole + RECORD_HEADER_BYTES + b"torn".len();
        for length in whole..end {
            fs::write(&path, &bytes[..length]).unwrap();
            assert_eq!(left(&database), [b"whole".to_vec()], "of {length} bytes");
        }
        for damaged in whole..end {
            let mut bytes = bytes[..end].to_vec();
            bytes[damaged] ^= 1;
            fs::write(&path, &bytes).unwrap();
            assert_eq!(left(&database), [b"whole".to_vec()], "damaged at {damaged}");
        }
    }

    #[test]
    fn file_grows_by_more_than_a_record_at_a_time() {
        let folder = TempDir::new().unwrap();
        let database = folder.path().join("a.db");
        let (mut file, _) = open(&database);
        let length = || fs::metadata(path_for(&database)).unwrap().len();
        let first = length();
        append(&mut file, b"one");
        file.change_segments();
        append(&mut file, b"two");
        assert_eq!(length(), first);
        append(&mut file, &vec![3; GROWTH_BYTES as usize]);
        let grown = length();
        assert_eq!(grown, first + GROWTH_BYTES);
        let (mut file, left) = open(&database);
        assert_eq!(left.len(), 3);
        append(&mut file, &vec![4; GROWTH_BYTES as usize]);
        assert_eq!(length(), grown);
    }

    #[test]
    fn segment_without_room_takes_no_more() {
        let folder = TempDir::new().unwrap();
        let database = folder.path().join("a.db");
        let (mut file, _) = open(&database);
        let half = vec![1; super::SEGMENT_BYTES as usize / 2];
        assert!(append(&mut file, &half));
        assert!(!append(&mut file, &half));
        assert!(append(&mut file, b"small"));
        assert_eq!(left(&database), [half, b"small".to_vec()]);
    }

    #[test]
    fn file_of_another_version_or_program_is_refused_with_what_to_do() {
        let folder = TempDir::new().unwrap();
        let database = folder.path().join("a.db");
        let path = path_for(&database);
        for (bytes, says) in [
            (&b"PRENredo\x09\x01"[..], "start the version that wrote it"),
            (b"letter", "move it away"),
        ] {
            fs::write(&path, bytes).unwrap();
            let refused = RedoFile::open(&database, Durability::PowerLoss).unwrap_err();
            assert!(matches!(refused, Error::Corrupt(_)), "{refused:?}");
            assert!(refused.to_string().contains(says), "{refused}");
        }
    }
}
