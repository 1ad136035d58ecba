//! The layout of the redo file. Golden bytes in the tests pin it; it changes only with [`VERSION`].
//!
//! ```text
//! 0      header: magic, version, whether commits waited for the disk, database id, salt, checksum
//! 4096   segment 0, 8 MiB: records from its beginning, each at a multiple of 8
//! +8 MiB segment 1
//!
//! record: length u32, checksum u32, number u64, payload (all little-endian)
//! ```
//!
//! Records are numbered without gaps over the life of a database. The tables hold the number of the last applied
//! record. So old records of a reused segment are known by their numbers, and a missing record is noticed.

use std::ops::Range;

/// The first bytes of the file.
pub(super) const MAGIC: &[u8; 8] = b"PRENredo";
/// The version of the layout and of the encoding of batches.
pub(super) const VERSION: u8 = 3;
/// The oldest version that is read. Its layout is the same, and its batches are read by [`super::version_2`].
pub(super) const OLDEST_VERSION: u8 = 2;

/// The unit in which a disk writes.
pub(super) const BLOCK_BYTES: u64 = 4096;
/// The offset of the first segment: the header has a block of its own.
const SEGMENTS_AT: u64 = BLOCK_BYTES;
pub(super) const SEGMENT_BYTES: u64 = 8 << 20;
/// The size of the header before each payload.
pub(in crate::sqlite) const RECORD_HEADER_BYTES: usize = 4 + 4 + 8;
/// Records begin at multiples of this, so that a search for one is short.
const RECORD_ALIGNMENT: usize = 8;

const HEADER_BYTES: usize = MAGIC.len() + 2 + 16 + 16 + 4;

/// A random id of a database, independent of its file name.
pub(in crate::sqlite) type DatabaseId = [u8; 16];

/// The header of the file. Written once, before the file gets its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sqlite) struct Header {
    pub(super) version: u8,
    pub(super) database: DatabaseId,
    /// Whether each record was durable before the next one was written.
    pub(super) is_synced: bool,
    /// A part of every checksum, so that a user's bytes (a workflow's input) are never taken for a record.
    pub(super) salt: [u8; 16],
}

/// Why a header can't be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HeaderError {
    OtherVersion(u8),
    NotOurs,
}

impl Header {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([self.version, u8::from(self.is_synced)]);
        bytes.extend(self.database);
        bytes.extend(self.salt);
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, HeaderError> {
        let mut rest = bytes.strip_prefix(MAGIC).ok_or(HeaderError::NotOurs)?;
        let version = *rest.first().ok_or(HeaderError::NotOurs)?;
        if !(OLDEST_VERSION..=VERSION).contains(&version) {
            return Err(HeaderError::OtherVersion(version));
        }
        let whole = bytes.get(..HEADER_BYTES).ok_or(HeaderError::NotOurs)?;
        let (content, sum) = whole.split_at(HEADER_BYTES - 4);
        if crc32fast::hash(content).to_le_bytes() != sum {
            return Err(HeaderError::NotOurs);
        }
        rest = &rest[1..];
        let is_synced = rest[0] == 1;
        let (mut database, mut salt) = ([0; 16], [0; 16]);
        database.copy_from_slice(&rest[1..17]);
        salt.copy_from_slice(&rest[17..33]);
        Ok(Self { version, database, is_synced, salt })
    }
}

/// Fills in the header of a record. `record` is space for the header, then the payload.
pub(super) fn fill_record_header(salt: &[u8; 16], number: u64, record: &mut [u8]) -> Option<()> {
    let (header, payload) = record.split_at_mut_checked(RECORD_HEADER_BYTES)?;
    let length = u32::try_from(payload.len()).ok()?;
    header[..4].copy_from_slice(&length.to_le_bytes());
    header[4..8].copy_from_slice(&checksum(salt, number, payload).to_le_bytes());
    header[8..].copy_from_slice(&number.to_le_bytes());
    Some(())
}

/// The space that a record of this many bytes takes in its segment.
pub(super) fn aligned(bytes: usize) -> u64 {
    bytes.next_multiple_of(RECORD_ALIGNMENT) as u64
}

pub(super) fn segment_at(segment: usize) -> u64 {
    SEGMENTS_AT + segment as u64 * SEGMENT_BYTES
}

/// A record in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record<'a> {
    pub(super) number: u64,
    pub(super) payload: &'a [u8],
}

/// The content of a segment.
#[derive(Debug, Default)]
pub(super) struct Segment<'a> {
    /// The records from the beginning of the segment, with consecutive numbers.
    pub(super) records: Vec<Record<'a>>,
    /// The numbers of whole records that come later, after a gap.
    pub(super) stray: Vec<u64>,
    /// The bytes after the last of `records`.
    pub(super) rest: &'a [u8],
}

impl Segment<'_> {
    /// Whether an incomplete or damaged record of this number follows the last of `records`.
    pub(super) fn has_begun(&self, number: u64, salt: &[u8; 16]) -> bool {
        let Some((length, sum, stored_number, rest)) = header_of(self.rest) else { return false };
        // One flipped bit changes the number, or another part of the record, but not both.
        let is_all_but_its_number =
            || rest.get(..length).is_some_and(|it| checksum(salt, number, it) == sum);
        stored_number == number || is_all_but_its_number()
    }
}

/// Reads a segment. Records up to `last_applied` are in the tables, so they don't count as strays.
pub(super) fn read_segment<'a>(
    file: &'a [u8],
    segment: usize,
    salt: &[u8; 16],
    last_applied: u64,
) -> Segment<'a> {
    let mut read = Segment::default();
    let Some(bytes) = file.get(place_of(segment, file.len())) else { return read };
    let mut at = 0;
    while let Some(record) = record_at(bytes, at, salt)
        && read.records.last().is_none_or(|last| record.number == last.number + 1)
    {
        at += aligned(RECORD_HEADER_BYTES + record.payload.len()) as usize;
        read.records.push(record);
    }
    read.rest = bytes.get(at..).unwrap_or_default();
    let last = read.records.last().map_or(last_applied, |last| last.number.max(last_applied));
    while at < bytes.len() {
        match record_at(bytes, at, salt).filter(|record| record.number > last) {
            Some(record) => {
                read.stray.push(record.number);
                at += aligned(RECORD_HEADER_BYTES + record.payload.len()) as usize;
            }
            None => at += RECORD_ALIGNMENT,
        }
    }
    read
}

fn place_of(segment: usize, file_bytes: usize) -> Range<usize> {
    let begin = (segment_at(segment) as usize).min(file_bytes);
    begin..(begin + SEGMENT_BYTES as usize).min(file_bytes)
}

fn record_at<'a>(segment: &'a [u8], at: usize, salt: &[u8; 16]) -> Option<Record<'a>> {
    let (length, sum, number, rest) = header_of(segment.get(at..)?)?;
    let payload = rest.get(..length)?;
    // Most of a new segment is zeros, which are no record.
    (number > 0 && checksum(salt, number, payload) == sum).then_some(Record { number, payload })
}

/// Length, checksum and number of a record, and the bytes after them.
fn header_of(bytes: &[u8]) -> Option<(usize, u32, u64, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (sum, rest) = rest.split_first_chunk::<4>()?;
    let (number, rest) = rest.split_first_chunk::<8>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    Some((length, u32::from_le_bytes(*sum), u64::from_le_bytes(*number), rest))
}

fn checksum(salt: &[u8; 16], number: u64, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(salt);
    hasher.update(&number.to_le_bytes());
    hasher.update(&(payload.len() as u64).to_le_bytes());
    hasher.update(payload);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SALT: [u8; 16] = [7; 16];

    fn file(records: &[(u64, &[u8])]) -> Vec<u8> {
        let mut file = vec![0; segment_at(0) as usize];
        for (number, payload) in records {
            let mut record = vec![0; RECORD_HEADER_BYTES];
            record.extend_from_slice(payload);
            fill_record_header(&SALT, *number, &mut record).unwrap();
            record.resize(aligned(record.len()) as usize, 0);
            file.extend(record);
        }
        file.resize(file.len() + 100, 0);
        file
    }

    fn numbers(segment: &Segment<'_>) -> Vec<u64> {
        segment.records.iter().map(|record| record.number).collect()
    }

    #[test]
    fn file_is_laid_out_as_it_always_was() {
        let header = Header { version: VERSION, database: [1; 16], is_synced: true, salt: SALT };
        let golden = concat!(
            "5052454e7265646f",
            "03",
            "01",
            "01010101010101010101010101010101",
            "07070707070707070707070707070707",
            "251f705e"
        );
        assert_eq!(hex(&header.encode()), golden);
        let file = file(&[(258, b"payload")]);
        let record = &file[segment_at(0) as usize..][..RECORD_HEADER_BYTES + 7];
        assert_eq!(hex(record), "07000000177f332802010000000000007061796c6f6164");
        assert_eq!((segment_at(0), segment_at(1)), (4096, 4096 + (8 << 20)));
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn header_is_read_as_it_was_written() {
        for is_synced in [true, false] {
            let header = Header { version: VERSION, database: [3; 16], is_synced, salt: [9; 16] };
            assert_eq!(Header::decode(&header.encode()), Ok(header));
        }
    }

    #[test]
    fn damaged_header_is_none() {
        let whole =
            Header { version: VERSION, database: [3; 16], is_synced: true, salt: [9; 16] }.encode();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            assert!(Header::decode(&bytes).is_err(), "bit flipped at {at}");
            assert!(Header::decode(&whole[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn whole_records_after_a_broken_one_are_strays() {
        let mut bytes = file(&[(5, b"one"), (6, b"two"), (7, b"three")]);
        bytes[segment_at(0) as usize + 24 + RECORD_HEADER_BYTES] ^= 1;
        let read = read_segment(&bytes, 0, &SALT, 4);
        assert_eq!((numbers(&read), &read.stray[..]), (vec![5], &[7][..]));
        assert!(read.has_begun(6, &SALT) && !read.has_begun(7, &SALT));
    }

    #[test]
    fn what_an_earlier_use_left_is_no_stray() {
        let bytes = file(&[(8, b"new"), (3, b"old"), (4, b"older still")]);
        let read = read_segment(&bytes, 0, &SALT, 4);
        assert_eq!((numbers(&read), &read.stray[..]), (vec![8], &[][..]));
        assert!(!read.has_begun(9, &SALT));
    }

    #[test]
    fn record_of_another_file_is_none() {
        let bytes = file(&[(1, b"forged")]);
        let read = read_segment(&bytes, 0, &[8; 16], 0);
        assert_eq!((numbers(&read), &read.stray[..]), (vec![], &[][..]));
    }

    #[test]
    fn bit_flipped_anywhere_in_the_last_record_shows_that_it_was_there() {
        let whole = file(&[(5, b"one"), (6, b"two")]);
        let last = segment_at(0) as usize + 24;
        for at in last..last + RECORD_HEADER_BYTES + 3 {
            for bit in 0..8 {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                let read = read_segment(&bytes, 0, &SALT, 4);
                assert_eq!((numbers(&read), &read.stray[..]), (vec![5], &[][..]), "at {at}");
                assert!(read.has_begun(6, &SALT), "at {at}");
            }
        }
    }
}
