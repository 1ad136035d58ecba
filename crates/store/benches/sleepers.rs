//! How long a start takes with a million sleeping runs in the file.
//!
//! `cargo bench -p perennial-store --bench sleepers [-- <folder>]`
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark talks to who runs it")]

use std::path::PathBuf;
use std::time::Instant;

use perennial_engine::{EntityId, EntityKey, EntityRef, Kind, NamespaceKey, SlotRange, Time};
use perennial_store::{
    Batch, CellId, Durability, EntityWrite, Fragment, NewEntity, NewRun, SqliteStore, Store,
};
use tempfile::TempDir;

const SLEEPERS: i64 = 1_000_000;
const RUNS_A_COMMIT: i64 = 1_000;
const NAMESPACE: NamespaceKey = NamespaceKey(1);
/// Keys are made under an epoch: those of the first come after this.
const NO_KEY: i64 = 1 << 32;

fn main() {
    let folder = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let folder = folder.map_or_else(|| std::env::current_dir().unwrap(), PathBuf::from);
    let folder = TempDir::new_in(folder).unwrap();
    let file = folder.path().join("perennial.db");

    let store = SqliteStore::open(&file, Durability::ProcessCrash).unwrap();
    let epoch = store.lease(CellId::FIRST, "test").unwrap().epoch;
    let began = Instant::now();
    for sequence in 1..=SLEEPERS / RUNS_A_COMMIT {
        let keys = (sequence - 1) * RUNS_A_COMMIT..sequence * RUNS_A_COMMIT;
        let entities = keys.map(sleeper).collect();
        let batch = Batch::empty(CellId::FIRST, epoch, sequence as u64);
        store.commit(&[Batch { entities, ..batch }]).unwrap();
    }
    println!("{SLEEPERS} runs written in {:.1?}", began.elapsed());
    drop(store);
    let bytes = std::fs::metadata(&file).unwrap().len();
    println!("file: {} MB", bytes >> 20);

    let began = Instant::now();
    let store = SqliteStore::open(&file, Durability::PowerLoss).unwrap();
    println!("opened after {:.2?}", began.elapsed());
    store.lease(CellId::FIRST, "test").unwrap();
    println!("leased after {:.2?}", began.elapsed());
    let wakes = store
        .wakes(SlotRange::ALL, (Time(i64::MIN), EntityKey(i64::MIN)), Time(i64::MAX), 10_000)
        .unwrap();
    println!("next {} wake-ups read after {:.2?}", wakes.len(), began.elapsed());
    let wanted = EntityRef::run(NAMESPACE, &workflow_id(SLEEPERS / 2), "");
    assert!(matches!(store.load(&[wanted])[..], [Ok(Some(_))]));
    println!("first run loaded after {:.2?}", began.elapsed());
}

fn sleeper(key: i64) -> EntityWrite {
    let entity_key = EntityKey(NO_KEY + 1 + key);
    let run = NewRun {
        run_id: format!("0190163d-8694-7000-8000-{key:012x}"),
        ancestors: vec![],
        first_branch: entity_key,
    };
    let id = EntityId::workflow(NAMESPACE, workflow_id(key));
    EntityWrite {
        created: Some(NewEntity { id, run: Some(run) }),
        becomes_current: true,
        head: Some(vec![7; 400]),
        history: vec![Fragment { first_event_id: 1, last_event_id: 3, bytes: vec![3; 300].into() }],
        // In no order.
        wake_at: Some(Time(1 + (key * 7_919) % SLEEPERS)),
        ..EntityWrite::of(Kind::Run, entity_key)
    }
}

fn workflow_id(key: i64) -> String {
    let scattered = (key as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!("order-{scattered:016x}")
}
