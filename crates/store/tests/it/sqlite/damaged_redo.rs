//! A redo file that is damaged, cut or missing is noticed, and the batches before the damage are kept.

use std::fs;
use std::path::{Path, PathBuf};

use perennial_store::{
    Batch, CellId, Durability, Epoch, Error, OnDamage, RecordKind, RecordWrite, SqliteOptions,
    SqliteStore, Store,
};
use tempfile::TempDir;

const BATCHES: u64 = 6;
/// The offset of the first record.
const FIRST_RECORD: usize = 4096;

fn options(on_damage: OnDamage) -> SqliteOptions {
    SqliteOptions { on_damage, ..SqliteOptions::from(Durability::PowerLoss) }
}

fn open(file: &Path, on_damage: OnDamage) -> Result<SqliteStore, Error> {
    SqliteStore::open(file, options(on_damage))
}

fn commit(store: &SqliteStore, epoch: Epoch, sequence: u64, key: usize) {
    let key = format!("{key:03}");
    let value = Some(vec![7; 100]);
    let records = vec![RecordWrite { kind: RecordKind::Cluster, key, value }];
    let batch = Batch::empty(CellId::FIRST, epoch, sequence);
    store.commit(&[Batch { records, ..batch }]).unwrap();
}

/// Counts the commits that are in the store, and checks that they are the first ones.
fn count_kept(store: &SqliteStore) -> usize {
    let records = store.records(RecordKind::Cluster, "", "", 100).unwrap();
    let keys: Vec<_> = records.into_iter().map(|(key, _)| key).collect();
    let expected: Vec<_> = (1..=keys.len()).map(|n| format!("{n:03}")).collect();
    assert_eq!(keys, expected);
    keys.len()
}

/// The files of a killed server, none of whose commits are in the tables.
struct KilledServer {
    folder: TempDir,
    record_bytes: usize,
}

impl KilledServer {
    fn new() -> Self {
        // Commits are applied to the tables after a short idle time. If that has happened already, try again.
        for _ in 0..100 {
            let running = TempDir::new().unwrap();
            let store = open(&running.path().join("perennial.db"), OnDamage::Refuse).unwrap();
            let epoch = store.lease(CellId::FIRST, "test").unwrap().epoch;
            // The lease is written to the tables directly, before the records.
            let folder = TempDir::new().unwrap();
            (1..=BATCHES).for_each(|n| commit(&store, epoch, n, n as usize));
            for name in ["perennial.db-redo", "perennial.db-wal", "perennial.db"] {
                fs::copy(running.path().join(name), folder.path().join(name)).unwrap();
            }
            let tables = rusqlite::Connection::open(folder.path().join("perennial.db")).unwrap();
            let last_applied: i64 =
                tables.query_row("SELECT settled FROM redo", (), |row| row.get(0)).unwrap();
            drop(tables);
            let redo = fs::read(folder.path().join("perennial.db-redo")).unwrap();
            let length = redo[FIRST_RECORD..].first_chunk().copied().map(u32::from_le_bytes);
            let record_bytes = (16 + length.unwrap() as usize).next_multiple_of(8);
            if last_applied == 0 {
                return Self { folder, record_bytes };
            }
        }
        panic!("the commits were always applied before the copy");
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("perennial.db")
    }

    fn redo(&self) -> PathBuf {
        self.folder.path().join("perennial.db-redo")
    }

    /// Flips a bit of a record, the first being 0.
    fn flip(&self, record: usize) {
        let mut bytes = fs::read(self.redo()).unwrap();
        bytes[FIRST_RECORD + record * self.record_bytes + 40] ^= 4;
        fs::write(self.redo(), bytes).unwrap();
    }

    /// Opening is refused with these texts, and changes nothing. With `OnDamage::Discard`, so many commits are kept.
    fn assert_damage(&self, texts: &[&str], kept: usize) {
        for _ in 0..2 {
            let refused = open(&self.file(), OnDamage::Refuse).unwrap_err();
            assert!(matches!(refused, Error::Corrupt(_)), "{refused:?}");
            for text in texts.iter().chain(&["--discard-damaged-redo"]) {
                assert!(refused.to_string().contains(text), "{refused}");
            }
        }
        let store = open(&self.file(), OnDamage::Discard).unwrap();
        assert_eq!(count_kept(&store), kept);
        let epoch = store.lease(CellId::FIRST, "test").unwrap().epoch;
        commit(&store, epoch, 1, kept + 1);
        drop(store);
        assert_eq!(count_kept(&open(&self.file(), OnDamage::Refuse).unwrap()), kept + 1);
    }
}

#[test]
fn whole_file_is_brought_into_the_tables() {
    let server = KilledServer::new();
    assert_eq!(count_kept(&open(&server.file(), OnDamage::Refuse).unwrap()), BATCHES as usize);
}

#[test]
fn flipped_bit_before_a_whole_record_is_damage() {
    for record in 0..BATCHES as usize - 1 {
        let server = KilledServer::new();
        server.flip(record);
        let later = BATCHES as usize - 1 - record;
        let number = record + 1;
        let follows = format!("record {number} is damaged or missing, and {later} whole records");
        server.assert_damage(&[&follows], record);
        let kept_as = format!("perennial.db-redo.damaged-{record}");
        assert!(server.folder.path().join(kept_as).exists(), "the damaged file is kept");
    }
}

#[test]
fn flipped_bit_in_the_last_record_cuts_it_off() {
    let server = KilledServer::new();
    server.flip(BATCHES as usize - 1);
    assert_eq!(count_kept(&open(&server.file(), OnDamage::Refuse).unwrap()), BATCHES as usize - 1);
}

#[test]
fn missing_file_is_damage() {
    let server = KilledServer::new();
    fs::remove_file(server.redo()).unwrap();
    server.assert_damage(&["is missing"], 0);
}

#[test]
fn emptied_file_is_damage() {
    let server = KilledServer::new();
    fs::write(server.redo(), "").unwrap();
    server.assert_damage(&["the beginning of", "can't be read"], 0);
}

#[test]
fn damaged_header_is_damage() {
    let server = KilledServer::new();
    let mut bytes = fs::read(server.redo()).unwrap();
    bytes[20] ^= 1;
    fs::write(server.redo(), bytes).unwrap();
    server.assert_damage(&["the beginning of"], 0);
}

#[test]
fn older_copy_of_the_database_is_refused_beside_a_newer_file() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("perennial.db");
    drop(open(&file, OnDamage::Refuse).unwrap());
    let older = fs::read(&file).unwrap();
    let store = open(&file, OnDamage::Refuse).unwrap();
    let epoch = store.lease(CellId::FIRST, "test").unwrap().epoch;
    commit(&store, epoch, 1, 1);
    let newer = fs::read(folder.path().join("perennial.db-redo")).unwrap();
    drop(store);
    fs::write(&file, older).unwrap();
    fs::write(folder.path().join("perennial.db-redo"), newer).unwrap();
    let refused = open(&file, OnDamage::Refuse).unwrap_err();
    assert!(refused.to_string().contains("an older copy"), "{refused}");
    assert_eq!(count_kept(&open(&file, OnDamage::Discard).unwrap()), 0);
}

#[test]
fn file_of_no_use_to_a_closed_database_is_left_alone() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("perennial.db");
    drop(open(&file, OnDamage::Refuse).unwrap());
    let letter = folder.path().join("perennial.db-redo");
    fs::write(&letter, "Dear Sir or Madam").unwrap();
    let refused = open(&file, OnDamage::Discard).unwrap_err();
    assert!(refused.to_string().contains("move it away"), "{refused}");
    assert_eq!(fs::read(&letter).unwrap(), b"Dear Sir or Madam");
}
