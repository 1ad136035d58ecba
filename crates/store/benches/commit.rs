//! How many transitions a second a file takes, at 1, 10 and 100 runs a commit.
//!
//! Each run goes through the four transitions of a workflow with one activity: started, activity
//! scheduled, activity done, closed. Heads have 400 bytes, parts 200, fragments 300, and lists are
//! brought up to date at the start and at the end, as the runtime does it.
//!
//! `cargo bench -p perennial-store [-- <folder>]`: the file is made in that folder, or in the current one.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark talks to who runs it")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use perennial_engine::{EntityId, EntityKey, EntityRef, Kind, NamespaceKey, RunPart, Time};
use perennial_store::visibility::{Closed, Execution, ExecutionKey, Row, Values};
use perennial_store::{
    Batch, CellId, Durability, EntityWrite, Fragment, Lease, Listed, NewEntity, NewRun,
    SqliteStore, Store,
};
use tempfile::TempDir;

const NAMESPACE: NamespaceKey = NamespaceKey(1);
/// Keys are made under an epoch: those of the first come after this.
const NO_KEY: i64 = 1 << 32;
const TRANSITIONS_A_RUN: usize = 4;
/// Runs that are under way at once: more than a commit has, so that commits touch scattered rows.
const RUNS_AT_ONCE: usize = 400;

fn main() {
    let folder = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let folder = folder.map_or_else(|| std::env::current_dir().unwrap(), PathBuf::from);
    println!("| runs a commit | transitions a second | commit p50 | p99 | max | load |");
    println!("|---|---|---|---|---|---|");
    for (runs_a_commit, seconds) in [(1, 4), (10, 4), (100, 6)] {
        let measured = measure(&folder, runs_a_commit, Duration::from_secs(seconds));
        let Measured { transitions_a_second, p50, p99, max, load } = measured;
        println!(
            "| {runs_a_commit} | {transitions_a_second:.0} | {p50:.2?} | {p99:.2?} | {max:.2?} | {load:.2?} |"
        );
    }
}

struct Measured {
    transitions_a_second: f64,
    p50: Duration,
    p99: Duration,
    max: Duration,
    /// To load one run.
    load: Duration,
}

fn measure(folder: &Path, runs_a_commit: usize, time: Duration) -> Measured {
    let folder = TempDir::new_in(folder).unwrap();
    let file = folder.path().join("perennial.db");
    let store = SqliteStore::open(file, Durability::PowerLoss).unwrap();
    let Lease { epoch, .. } = store.lease(CellId::FIRST, "test").unwrap();
    let mut under_way: Vec<(i64, usize)> =
        (NO_KEY + 1..).take(RUNS_AT_ONCE).map(|key| (key, 0)).collect();
    let mut next_key = NO_KEY + RUNS_AT_ONCE as i64 + 1;
    let mut commits = Vec::new();
    let mut place = 0;
    let began = Instant::now();
    while began.elapsed() < time {
        let mut entities = Vec::with_capacity(runs_a_commit);
        for _ in 0..runs_a_commit {
            let (key, done) = &mut under_way[place];
            // Prime to the number of runs, so that neighbours in a commit aren't neighbours on disk.
            place = (place + 7) % RUNS_AT_ONCE;
            entities.push(transition(*key, *done));
            *done += 1;
            if *done == TRANSITIONS_A_RUN {
                (*key, *done) = (next_key, 0);
                next_key += 1;
            }
        }
        let sequence = commits.len() as u64 + 1;
        let batch = Batch { entities, ..Batch::empty(CellId::FIRST, epoch, sequence) };
        let before = Instant::now();
        store.commit(&[batch]).unwrap();
        commits.push(before.elapsed());
    }
    let committing: Duration = commits.iter().sum();
    let transitions_a_second = (commits.len() * runs_a_commit) as f64 / committing.as_secs_f64();
    commits.sort();
    let at = |share: f64| commits[((commits.len() - 1) as f64 * share) as usize];
    let (p50, p99, max) = (at(0.5), at(0.99), at(1.0));
    Measured { transitions_a_second, p50, p99, max, load: measure_load(&store, next_key - NO_KEY) }
}

fn measure_load(store: &SqliteStore, runs: i64) -> Duration {
    const LOADS: i64 = 10_000;
    let before = Instant::now();
    for n in 0..LOADS {
        let id = workflow_id(NO_KEY + 1 + n * 7_919 % (runs - RUNS_AT_ONCE as i64).max(1));
        let found = store.load(&[EntityRef::run(NAMESPACE, &id, "")]);
        assert!(found[0].is_ok());
    }
    before.elapsed() / LOADS as u32
}

fn transition(key: i64, done: usize) -> EntityWrite {
    let first_event_id = 1 + 3 * done as i64;
    let activity = RunPart::Activity(5).row_id();
    let last = done == TRANSITIONS_A_RUN - 1;
    let new_run = NewRun { run_id: run_id(key), ancestors: vec![], first_branch: EntityKey(key) };
    EntityWrite {
        created: (done == 0).then(|| NewEntity {
            id: EntityId::workflow(NAMESPACE, workflow_id(key)),
            run: Some(new_run),
        }),
        becomes_current: done == 0,
        head: Some(vec![done as u8; 400]),
        parts: match done {
            0 => vec![(RunPart::Request(run_id(key)).row_id(), Some(vec![0; 20]))],
            1 => vec![(activity, Some(vec![1; 200]))],
            2 => vec![(activity, None)],
            _ => vec![],
        },
        history: vec![Fragment {
            first_event_id,
            last_event_id: first_event_id + 2,
            bytes: vec![3; 300].into(),
        }],
        wake_at: if last { Some(Time::NONE) } else { Some(Time(1_800_000_000_000_000_000 + key)) },
        visibility: match listed(key, last) {
            row if done == 0 => Some(Listed::Row(Box::new(row))),
            Row { execution: Execution { status, closed, .. }, .. } => {
                closed.map(|closed| Listed::Closed { status, closed })
            }
        },
        ..EntityWrite::of(Kind::Run, EntityKey(key))
    }
}

fn listed(key: i64, closed: bool) -> Row {
    let started = 1_790_000_000_000_000_000 + key * 1_000_000;
    let workflow_id = workflow_id(key);
    let run_id = run_id(key);
    let closed = closed.then_some(Closed {
        time_nanos: started + 50_000_000,
        execution_duration_nanos: 50_000_000,
        history_length: 11,
        history_size_bytes: 1_200,
        state_transition_count: 4,
    });
    let execution = Execution {
        run_key: key,
        workflow_id: workflow_id.clone(),
        run_id: run_id.clone(),
        workflow_type: "OrderWorkflow".to_owned(),
        task_queue: "orders".to_owned(),
        status: if closed.is_some() { 2 } else { 1 },
        start_time_nanos: started,
        execution_time_nanos: started,
        closed,
        parent: None,
        root: ExecutionKey { workflow_id, run_id },
        memo: vec![],
        search_attributes: vec![],
    };
    Row { namespace: NAMESPACE.0, execution, values: Values::default() }
}

fn workflow_id(key: i64) -> String {
    // Users' ids are random: their place in an index is, too.
    let scattered = (key as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!("order-{scattered:016x}")
}

fn run_id(key: i64) -> String {
    format!("0190163d-8694-7000-8000-{key:012x}")
}
