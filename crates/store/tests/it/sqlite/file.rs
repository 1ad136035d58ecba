//! Opening, damage and checkpoints of a database file.

use std::fs;
use std::path::Path;

use perennial_engine::{EntityId, EntityRef, SlotRange};
use perennial_store::{
    Batch, BatchId, CellId, Durability, EntityWrite, Epoch, Error, SqliteStore, Store,
};
use tempfile::TempDir;

use crate::writing::{NAMESPACE, current, load, new_run, try_load};

fn open(path: impl AsRef<Path>) -> Result<SqliteStore, Error> {
    SqliteStore::open(path, Durability::ProcessCrash)
}

/// A batch that makes one run with a head of this size.
fn batch(epoch: Epoch, sequence: u64, head_bytes: usize) -> Batch {
    let key = (epoch.0 << 32) + sequence as i64;
    let run = current(new_run(key, &format!("order-{sequence}")));
    let entities = vec![EntityWrite { head: Some(vec![7; head_bytes]), ..run }];
    Batch { entities, ..Batch::empty(CellId::FIRST, epoch, sequence) }
}

#[test]
fn second_owner_of_a_file_is_told_which_file_and_who_has_it() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("perennial.db");
    let first = open(&file).unwrap();
    let refused = open(&file).unwrap_err();
    assert!(matches!(refused, Error::Fenced(_)), "{refused:?}");
    let text = refused.to_string();
    assert!(text.contains("perennial.db"), "{text}");
    assert!(text.contains(&format!("this process ({})", std::process::id())), "{text}");
    drop(first);
    open(&file).unwrap();
}

#[cfg(unix)]
#[test]
fn link_to_an_open_file_is_refused_too() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("perennial.db");
    let link = folder.path().join("link.db");
    let _first = open(&file).unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    assert!(matches!(open(&link), Err(Error::Fenced(_))));
}

#[test]
fn file_that_is_no_database_is_corrupt() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("letter.txt");
    fs::write(&file, "Dear Sir or Madam, this is no database. ".repeat(100)).unwrap();
    let refused = open(&file).unwrap_err();
    assert!(matches!(refused, Error::Corrupt(_)), "{refused:?}");
    assert!(refused.to_string().contains("letter.txt"), "{refused}");
}

#[test]
fn missing_folder_is_named() {
    let folder = TempDir::new().unwrap();
    let refused = open(folder.path().join("none").join("perennial.db")).unwrap_err();
    assert!(matches!(refused, Error::Unavailable(_)), "{refused:?}");
    assert!(refused.to_string().contains("make it first"), "{refused}");
    open(folder.path()).unwrap_err();
}

#[test]
fn database_of_another_program_is_left_alone() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("recipes.db");
    let other = rusqlite::Connection::open(&file).unwrap();
    other.execute_batch("CREATE TABLE recipes (name TEXT)").unwrap();
    let refused = open(&file).unwrap_err();
    assert!(matches!(refused, Error::Corrupt(_)), "{refused:?}");
    assert!(refused.to_string().contains("another program"), "{refused}");
    drop(other);
    let other = rusqlite::Connection::open(&file).unwrap();
    let mode: String = other.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "delete", "not even its journal was changed");
}

#[test]
fn damaged_file_is_corrupt_and_says_so() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("perennial.db");
    drop(open(&file).unwrap());
    // An empty store has the pages of its schema, and some to spare; what comes after them are rows.
    let schema = fs::read(&file).unwrap().len();
    let store = open(&file).unwrap();
    let epoch = store.lease(CellId::FIRST, "test").unwrap().epoch;
    for sequence in 1..=50 {
        store.commit(&[batch(epoch, sequence, 5_000)]).unwrap();
    }
    drop(store);
    let mut bytes = fs::read(&file).unwrap();
    bytes[schema..].fill(0xa5);
    fs::write(&file, bytes).unwrap();
    let store = open(&file).unwrap();
    let found: Vec<_> = (1..=50)
        .map(|n| EntityId::workflow(NAMESPACE, format!("order-{n}")))
        .map(|id| try_load(&store, EntityRef::current(id)).map(|_| ()))
        .collect();
    assert!(found.iter().any(|found| matches!(found, Err(Error::Corrupt(_)))), "{found:?}");
}

#[test]
fn log_stays_bounded_under_many_commits() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("perennial.db");
    let store = open(&file).unwrap();
    let epoch = store.lease(CellId::FIRST, "test").unwrap().epoch;
    // A reader is open throughout, as in life.
    store.tasks(SlotRange::ALL, 0, 1).unwrap();
    for sequence in 1..=1_500 {
        store.commit(&[batch(epoch, sequence, 100_000)]).unwrap();
    }
    let log = fs::metadata(folder.path().join("perennial.db-wal")).unwrap().len();
    assert!(log < 140 << 20, "150 MB were written, and the log has {} MB", log >> 20);
    drop(store);
    assert!(!folder.path().join("perennial.db-wal").exists(), "a clean end leaves one file");
    let store = open(&file).unwrap();
    assert!(load(&store, "order-1500").is_some());
}

/// Copies the files as a process that dies now would leave them. The redo file is copied before the tables, so that no
/// batch is missing in both.
fn copy_as_after_crash(folder: &Path) -> TempDir {
    let copy = TempDir::new().unwrap();
    for name in ["perennial.db-redo", "perennial.db-wal", "perennial.db"] {
        fs::copy(folder.join(name), copy.path().join(name)).unwrap();
    }
    copy
}

fn count_runs(store: &SqliteStore, of: u64) -> usize {
    (1..=of).filter_map(|n| load(store, &format!("order-{n}"))).count()
}

#[test]
fn redo_file_is_applied_to_the_tables_when_the_database_is_opened() {
    let folder = TempDir::new().unwrap();
    let store = open(folder.path().join("perennial.db")).unwrap();
    let epoch = store.lease(CellId::FIRST, "test").unwrap().epoch;
    // The tables follow soon, sometimes before the files are copied: then try again.
    let missing = (1..=100).find_map(|sequence| {
        store.commit(&[batch(epoch, sequence, 100)]).unwrap();
        let copy = copy_as_after_crash(folder.path());
        let tables = rusqlite::Connection::open(copy.path().join("perennial.db")).unwrap();
        let stored: i64 =
            tables.query_row("SELECT COUNT(*) FROM runs", (), |row| row.get(0)).unwrap();
        (stored < sequence as i64).then_some((copy, sequence))
    });
    let (copy, sequence) = missing.unwrap();
    let store = open(copy.path().join("perennial.db")).unwrap();
    assert_eq!(count_runs(&store, sequence), sequence as usize);
    assert_eq!(store.lease(CellId::FIRST, "test").unwrap().last_batch, BatchId { epoch, sequence });
    drop(store);
    assert!(!copy.path().join("perennial.db-redo").exists(), "a clean end leaves one file");
}

#[test]
fn batches_of_another_database_are_refused_and_nothing_is_lost() {
    let (folder, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let open = |folder: &TempDir| {
        SqliteStore::open(folder.path().join("perennial.db"), Durability::PowerLoss)
    };
    let store = open(&folder).unwrap();
    let epoch = store.lease(CellId::FIRST, "test").unwrap().epoch;
    store.commit(&[batch(epoch, 1, 100)]).unwrap();
    drop(open(&other).unwrap());
    let redo = "perennial.db-redo";
    fs::copy(folder.path().join(redo), other.path().join(redo)).unwrap();
    let refused = open(&other).unwrap_err();
    assert!(matches!(refused, Error::Corrupt(_)), "{refused:?}");
    assert!(refused.to_string().contains("move it away"), "{refused}");
    fs::remove_file(other.path().join(redo)).unwrap();
    open(&other).unwrap();
}

#[test]
fn batch_larger_than_the_file_for_it_goes_into_the_tables() {
    let folder = TempDir::new().unwrap();
    let store = open(folder.path().join("perennial.db")).unwrap();
    let epoch = store.lease(CellId::FIRST, "test").unwrap().epoch;
    store.commit(&[batch(epoch, 1, 100)]).unwrap();
    store.commit(&[batch(epoch, 2, 20 << 20)]).unwrap();
    store.commit(&[batch(epoch, 3, 100)]).unwrap();
    let copy = copy_as_after_crash(folder.path());
    assert_eq!(count_runs(&open(copy.path().join("perennial.db")).unwrap(), 3), 3);
}
