//! A process that dies at any moment loses nothing it was told is durable.
#![allow(clippy::unwrap_used, reason = "what helps tests is test code")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use perennial_engine::{NamespaceKey, PartKey, RunKey, Slot, Time};
use perennial_store::{
    Batch, Durability, Epoch, Fragment, HistoryRange, NewRun, RunWrite, SqliteStore, Store,
};
use tempfile::TempDir;

/// Set in the child: the file it writes.
const FILE: &str = "PERENNIAL_KILL_TEST_FILE";
const ROUNDS: u64 = 6;
const RUNS_A_BATCH: i64 = 5;
const NAMESPACE: NamespaceKey = NamespaceKey(1);

#[test]
fn killed_process_loses_no_batch_it_was_told_of() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("perennial.db");
    let mut batches = 0;
    for round in 0..ROUNDS {
        let told = told_before_kill(&file, 1 + chance(round) % 150);
        batches += told;
        let store = SqliteStore::open(&file, Durability::PowerLoss).unwrap();
        let last_batch = store.lease(0).unwrap().last_batch.unwrap();
        let (Epoch(epoch), stored) = (last_batch.epoch, last_batch.sequence);
        assert!(stored >= told, "round {round}: {told} were told, {stored} are stored");
        assert!(
            stored <= told + 1,
            "round {round}: only the batch under way may have landed untold"
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

/// Not a fact by itself: the process that the test above starts and kills.
#[test]
fn child_commits_until_it_is_killed() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let store = SqliteStore::open(file, Durability::PowerLoss).unwrap();
    let epoch = store.lease(0).unwrap().epoch;
    for sequence in 1.. {
        let runs = keys(epoch.0, sequence).map(|key| new_run(epoch.0, sequence, key)).collect();
        let (schedules, tasks, messages, records) = (vec![], vec![], vec![], vec![]);
        store
            .commit(&[Batch {
                cell: 0,
                epoch,
                sequence,
                runs,
                schedules,
                tasks,
                messages,
                records,
            }])
            .unwrap();
        // Straight to the pipe: the harness would keep what is printed.
        let mut out = std::io::stdout().lock();
        writeln!(out, "\ncommitted {sequence}").unwrap();
        out.flush().unwrap();
    }
}

/// Starts a child, kills it after it has told of so many batches, and says how many it told of.
fn told_before_kill(file: &Path, kill_after: u64) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_commits_until_it_is_killed", "--nocapture"])
        .env(FILE, file)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        let Some(sequence) = line.strip_prefix("committed ") else { continue };
        told = sequence.parse().unwrap();
        if told == kill_after {
            // SIGKILL, in the midst of whatever it does by now; the loop then reads the rest.
            child.kill().unwrap();
        }
    }
    let status = child.wait().unwrap();
    assert!(!status.success(), "the child ended by itself");
    told
}

fn assert_whole(store: &SqliteStore, epoch: i64, sequence: u64) {
    for key in keys(epoch, sequence) {
        let run = store.load_run(NAMESPACE, &workflow_id(key), None).unwrap();
        let run = run.unwrap_or_else(|| panic!("run {key} of batch {sequence} is missing"));
        let head = format!("batch {sequence}").into_bytes();
        assert_eq!((run.key, run.head), (RunKey(key), head));
        assert_eq!(run.parts.len(), 1);
        let range = HistoryRange { branch: run.key, first_event_id: 1, last_event_id: 3 };
        assert_eq!(store.history(range, usize::MAX, false).unwrap().len(), 1);
    }
}

fn assert_absent(store: &SqliteStore, epoch: i64, sequence: u64) {
    for key in keys(epoch, sequence) {
        assert!(store.load_run(NAMESPACE, &workflow_id(key), None).unwrap().is_none());
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

fn new_run(epoch: i64, sequence: u64, key: i64) -> RunWrite {
    let count = key & 0xffff_ffff;
    RunWrite {
        key: RunKey(key),
        created: Some(NewRun {
            namespace: NAMESPACE,
            workflow_id: workflow_id(key),
            run_id: format!("0190163d-8694-7000-{epoch:04x}-{count:012x}"),
            slot: Slot(0),
            ancestors: vec![],
            first_branch: RunKey(key),
        }),
        deleted: false,
        becomes_current: true,
        head: Some(format!("batch {sequence}").into_bytes()),
        parts: vec![(PartKey::Activity(5), Some(vec![5; 200]))],
        history: vec![Fragment { first_event_id: 1, last_event_id: 3, bytes: vec![3; 300].into() }],
        wake_at: Some(Time(key)),
        visibility: None,
    }
}

/// Another number each time the test runs; no two runs need agree.
fn chance(round: u64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::from(now.subsec_nanos()).wrapping_mul(6_364_136_223_846_793_005).rotate_left(17) ^ round
}
