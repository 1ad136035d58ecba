//! Compares a file on a disk that fails and loses power with a store in memory: it holds all acknowledged batches, and
//! besides them only batches whose commit failed with `Unavailable`.

use perennial_faults::{Fault, FaultyDisk};
use perennial_store::visibility::Query;
use perennial_store::{
    BatchId, CellId, Durability, Error, Lease, OnDamage, SqliteOptions, SqliteStore, Store,
};
use proptest::collection::vec;
use proptest::prelude::*;

use super::crashes::{Op, Step, Workload, op};
use super::model::kind;
use crate::writing::{NAMESPACE, Owner, Rows, current, load, load_by_id, new_run};

#[derive(Debug, Clone)]
enum Event {
    Commit(Vec<Op>),
    /// An operation of the disk fails, so many after this moment.
    Fail(u64, Fault),
    /// Compares everything.
    CompareAll,
    /// The power goes, and comes back. The seed decides what of the unsynced is left.
    LosePower(u64),
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_acknowledged_is_lost_whatever_the_disk_does(events in vec(event(), 1..40)) {
        let disk = FaultyDisk::new();
        let store = open(&disk).unwrap();
        let mut world = World { disk, store: Some(store), workload: Workload::default() };
        world.lease()?;
        for event in events {
            world.take(event)?;
        }
        world.take(Event::CompareAll)?;
        world.take(Event::LosePower(7))?;
    }
}

fn open(disk: &FaultyDisk) -> Result<SqliteStore, Error> {
    let options = SqliteOptions { files: disk.files(), ..Durability::PowerLoss.into() };
    SqliteStore::open(disk.path("perennial.db"), options)
}

struct World {
    disk: FaultyDisk,
    store: Option<SqliteStore>,
    workload: Workload,
}

impl World {
    fn store(&self) -> &SqliteStore {
        self.store.as_ref().unwrap()
    }

    fn take(&mut self, event: Event) -> Result<(), TestCaseError> {
        match event {
            Event::Fail(after, fault) => self.disk.fail(after, fault),
            Event::Commit(ops) => self.commit(&ops)?,
            Event::CompareAll => {
                self.disk.stop_failing();
                let store = self.store.take().unwrap();
                self.workload.step(&Step::CompareAll, &store)?;
                self.store = Some(store);
            }
            Event::LosePower(seed) => {
                let acknowledged = self.workload.last_batch();
                let after = self.disk.lose_power(seed);
                drop(self.store.take());
                self.disk = after;
                let opened = open(&self.disk);
                prop_assert!(opened.is_ok(), "{:?}", opened.err());
                self.store = opened.ok();
                prop_assert_eq!(self.lease()?, acknowledged);
                self.take(Event::CompareAll)?;
            }
        }
        Ok(())
    }

    fn commit(&mut self, ops: &[Op]) -> Result<(), TestCaseError> {
        let batches = [self.workload.batch(ops)];
        let batch = BatchId { epoch: batches[0].epoch, sequence: batches[0].sequence };
        let result = self.store().commit(&batches);
        match &result {
            Ok(()) | Err(Error::Conflict(_)) => {
                let expected = self.workload.memory.commit(&batches);
                prop_assert_eq!(kind(&result), kind(&expected), "{:?} {:?}", result, expected);
                if result.is_ok() {
                    self.workload.committed();
                }
            }
            Err(Error::Unavailable(_)) => {
                let before = self.workload.last_batch();
                let lease = self.take_lease()?;
                match lease.last_batch {
                    stored if stored == batch => {
                        let landed = self.workload.memory.commit(&batches);
                        prop_assert!(landed.is_ok(), "{:?}", landed);
                    }
                    stored => prop_assert_eq!(stored, before),
                }
                self.workload.leased(lease.epoch);
            }
            Err(Error::Fenced(_) | Error::Full(_) | Error::Corrupt(_)) => {
                prop_assert!(false, "{:?}", result);
            }
        }
        Ok(())
    }

    fn lease(&mut self) -> Result<BatchId, TestCaseError> {
        let lease = self.take_lease()?;
        self.workload.leased(lease.epoch);
        Ok(lease.last_batch)
    }

    /// Takes a lease, though the first tries may fail.
    fn take_lease(&self) -> Result<Lease, TestCaseError> {
        for attempt in 0..100 {
            if attempt == 3 {
                self.disk.stop_failing();
            }
            match self.store().lease(CellId::FIRST, "test") {
                Ok(lease) => return Ok(lease),
                Err(Error::Unavailable(_)) => {}
                Err(other) => return Err(TestCaseError::fail(other.to_string())),
            }
        }
        Err(TestCaseError::fail("no lease is to be had"))
    }
}

fn event() -> impl Strategy<Value = Event> {
    let fault = prop_oneof![Just(Fault::Fails), Just(Fault::Tears), Just(Fault::FailsAfterAll)];
    prop_oneof![
        12 => vec(op(), 1..4).prop_map(Event::Commit),
        4 => (0..12_u64, fault).prop_map(|(after, fault)| Event::Fail(after, fault)),
        1 => Just(Event::CompareAll),
        2 => any::<u64>().prop_map(Event::LosePower),
    ]
}

#[test]
fn every_operation_of_an_opening_may_fail_and_the_next_opening_works() {
    let mut operation = 0;
    loop {
        let disk = FaultyDisk::new();
        drop(open(&disk).unwrap());
        let store = open(&disk).unwrap();
        let mut owner = Owner::first(&store);
        let key = owner.epoch.0 << 32 | 1;
        owner.commit(current(new_run(key, "order")));
        let disk = disk.lose_power(operation);
        drop(store);
        let before = disk.operations();
        disk.fail(operation, Fault::Fails);
        let opened = open(&disk);
        let is_past_the_end = disk.operations() <= before + operation;
        disk.stop_failing();
        drop(opened);
        let store = open(&disk).unwrap();
        assert!(load(&store, "order").is_some(), "operation {operation}");
        if is_past_the_end {
            break;
        }
        // Most are the zeros that a new file begins with: one in some is enough.
        operation += if operation > 20 { 61 } else { 1 };
    }
    assert!(operation > 20, "an opening writes");
}

#[test]
fn full_disk_refuses_writes_serves_reads_and_a_freed_megabyte_is_enough() {
    const MIB: u64 = 1 << 20;
    let disk = FaultyDisk::new();
    let store = open(&disk).unwrap();
    let mut owner = Owner::first(&store);
    let first_key = owner.epoch.0 << 32 | 1;
    let capacity = disk.used() + 2 * MIB;
    disk.set_capacity(Some(capacity));
    let mut last = 0;
    let refused = loop {
        let mut run = new_run(first_key + last, "order");
        run.head = Some(vec![7; 200_000]);
        match owner.try_commit(current(run)) {
            Ok(()) => last += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, Error::Full(_)), "{refused:?}");
    assert!(refused.to_string().contains("free at least a megabyte"), "{refused}");

    // Refused at once from now on, without a write.
    let health = store.health().unwrap_err();
    assert!(matches!(health, Error::Full(_)), "{health:?}");
    let refused = owner.try_commit(Rows::default()).unwrap_err();
    assert!(refused.to_string().contains("free at least a megabyte"), "{refused}");
    for n in 0..last {
        let run = load_by_id(&store, "order", first_key + n);
        assert!(run.is_some(), "run {n} of {last} was acknowledged");
    }

    // A list reads the tables, so all that was acknowledged is in them now, and the reserve has the space that is left.
    store.count(NAMESPACE, &Query::of_runs(vec![])).unwrap();
    assert!(disk.used() + MIB > capacity, "{} of {capacity}", disk.used());
    disk.set_capacity(Some(capacity + MIB));
    while store.health().is_err() {
        std::thread::yield_now();
    }
    let mut owner = Owner::first(&store);
    owner.commit(Rows::default());
    let disk = disk.lose_power(3);
    disk.set_capacity(None);
    drop(store);
    let store = open(&disk).unwrap();
    assert!(load(&store, "order").is_some());
}

#[test]
fn damage_is_reported_and_never_read_past() {
    for flipped in 0..20_usize {
        let disk = FaultyDisk::new();
        let store = open(&disk).unwrap();
        let mut owner = Owner::first(&store);
        let first_key = owner.epoch.0 << 32 | 1;
        for n in 0..6 {
            owner.commit(current(new_run(first_key + n, "order")));
        }
        let disk = disk.lose_power(flipped as u64);
        drop(store);
        let redo = disk.path("perennial.db-redo");
        let mut bytes = std::fs::read(&redo).unwrap();
        let first_record = 4096;
        bytes[first_record + flipped * 53] ^= 16;
        std::fs::write(&redo, bytes).unwrap();
        let options = |on_damage| SqliteOptions {
            files: disk.files(),
            on_damage,
            ..Durability::PowerLoss.into()
        };
        let path = disk.path("perennial.db");
        let opened = SqliteStore::open(&path, options(OnDamage::Refuse));
        let store = match opened {
            // The tables had it already, or it was the last.
            Ok(store) => store,
            Err(Error::Corrupt(_)) => SqliteStore::open(&path, options(OnDamage::Discard)).unwrap(),
            Err(other) => panic!("{other:?}"),
        };
        let kept = store.lease(CellId::FIRST, "test").unwrap().last_batch.sequence;
        for n in 0..6 {
            let run = load_by_id(&store, "order", first_key + n);
            assert_eq!(run.is_some(), (n as u64) < kept, "run {n}, {kept} kept");
        }
    }
}
