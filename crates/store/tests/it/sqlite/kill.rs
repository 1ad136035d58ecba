//! A process that is killed at any moment loses no acknowledged commit.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use perennial_engine::{EntityKey, RunPart, Time};
use perennial_store::{
    Batch, CellId, Durability, EntityWrite, Epoch, Fragment, HistoryRange, SqliteStore, Store,
};
use tempfile::TempDir;

use crate::writing::{current, load, new_run};

/// Set in the child: the file it writes.
const FILE: &str = "PERENNIAL_KILL_TEST_FILE";
const ROUNDS: u64 = 6;
const RUNS_A_BATCH: i64 = 5;

#[test]
fn killed_process_loses_no_acknowledged_batch() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("perennial.db");
    let mut batches = 0;
    for round in 0..ROUNDS {
        let acknowledged = acknowledged_before_kill(&file, 1 + chance(round) % 150);
        batches += acknowledged;
        let store = SqliteStore::open(&file, Durability::PowerLoss).unwrap();
        let last_batch = store.lease(CellId::FIRST, "test").unwrap().last_batch;
        let (Epoch(epoch), stored) = (last_batch.epoch, last_batch.sequence);
        assert!(
            stored >= acknowledged,
            "round {round}: {acknowledged} were acknowledged, {stored} are stored"
        );
        assert!(
            stored <= acknowledged + 1,
            "round {round}: only the batch in flight may be stored without an acknowledgement"
        );
        for sequence in 1..=stored {
            assert_whole(&store, epoch, sequence);
        }
        assert_absent(&store, epoch, stored + 1);
        drop(store);
        assert_sound(&file);
    }
    assert!(batches > 0, "no child ever committed");
}

/// Not a test by itself: the process that the test above starts and kills.
#[test]
fn child_commits_until_it_is_killed() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let store = SqliteStore::open(file, Durability::PowerLoss).unwrap();
    let epoch = store.lease(CellId::FIRST, "test").unwrap().epoch;
    for sequence in 1.. {
        let entities = keys(epoch.0, sequence).map(|key| run_of_batch(sequence, key)).collect();
        let batch = Batch::empty(CellId::FIRST, epoch, sequence);
        store.commit(&[Batch { entities, ..batch }]).unwrap();
        // Straight to the pipe: the harness would keep what is printed.
        let mut out = std::io::stdout().lock();
        writeln!(out, "\ncommitted {sequence}").unwrap();
        out.flush().unwrap();
    }
}

/// Starts a child, kills it after it has acknowledged so many batches, and returns how many it acknowledged.
fn acknowledged_before_kill(file: &Path, kill_after: u64) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "sqlite::kill::child_commits_until_it_is_killed", "--nocapture"])
        .env(FILE, file)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut acknowledged = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        let Some(sequence) = line.strip_prefix("committed ") else { continue };
        acknowledged = sequence.parse().unwrap();
        if acknowledged == kill_after {
            // SIGKILL, at any point of the next commits; the loop then reads the rest of the output.
            child.kill().unwrap();
        }
    }
    let status = child.wait().unwrap();
    assert!(!status.success(), "the child ended by itself");
    acknowledged
}

fn assert_whole(store: &SqliteStore, epoch: i64, sequence: u64) {
    for key in keys(epoch, sequence) {
        let run = load(store, &workflow_id(key));
        let run = run.unwrap_or_else(|| panic!("run {key} of batch {sequence} is missing"));
        let head = format!("batch {sequence}").into_bytes();
        assert_eq!((run.key, run.head), (EntityKey(key), head));
        assert_eq!(run.parts.len(), 1);
        let range = HistoryRange { branch: run.key, first_event_id: 1, last_event_id: 2 };
        assert_eq!(store.history(range, usize::MAX, false).unwrap().len(), 1);
    }
}

fn assert_absent(store: &SqliteStore, epoch: i64, sequence: u64) {
    for key in keys(epoch, sequence) {
        assert!(load(store, &workflow_id(key)).is_none());
    }
}

fn assert_sound(file: &Path) {
    let connection = rusqlite::Connection::open(file).unwrap();
    let verdict: String =
        connection.query_row("PRAGMA integrity_check", (), |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
}

fn keys(epoch: i64, sequence: u64) -> std::ops::Range<i64> {
    let first = (epoch << 32) + sequence as i64 * RUNS_A_BATCH;
    first..first + RUNS_A_BATCH
}

fn workflow_id(key: i64) -> String {
    format!("order-{key}")
}

fn run_of_batch(sequence: u64, key: i64) -> EntityWrite {
    EntityWrite {
        head: Some(format!("batch {sequence}").into_bytes()),
        parts: vec![(RunPart::Activity(5).row_id(), Some(vec![5; 200]))],
        history: vec![Fragment { first_event_id: 1, last_event_id: 2, bytes: vec![3; 300].into() }],
        wake_at: Some(Time(key)),
        ..current(new_run(key, &workflow_id(key)))
    }
}

/// Another number each time the test runs; no two runs need agree.
fn chance(round: u64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::from(now.subsec_nanos()).wrapping_mul(6_364_136_223_846_793_005).rotate_left(17) ^ round
}
