//! Records of version 2, which had runs and schedules in lists of their own and one cell, number 0.
//!
//! A killed server of that version leaves such records. They are converted to the present version before anything else
//! is done with them.

use perennial_engine::{EntityId, EntityKey, Kind, NamespaceKey, PartId, Slot};

use super::encode::{Encoded, encode};
use crate::visibility::Row;
use crate::{
    Batch, CellId, EntityWrite, Epoch, Fragment, Listed, LogLine, MessageWrite, NewEntity, NewRun,
    RecordWrite, TaskWrite,
};

/// The record as this version writes it, or `None` if it isn't one.
pub(super) fn upgraded(mut record: &[u8]) -> Option<Vec<u8>> {
    let batches = list(&mut record, batch)?;
    let mut out = Vec::new();
    encode(&batches, &mut out);
    record.is_empty().then_some(out)
}

fn batch(from: &mut &[u8]) -> Option<Batch> {
    let cell = CellId(Slot(u16::try_from(u32::take(from)?).ok()?));
    let (epoch, sequence) = (Epoch::take(from)?, u64::take(from)?);
    let mut entities = list(from, run)?;
    entities.extend(list(from, schedule)?);
    let tasks = Vec::<TaskWrite>::take(from)?;
    let messages = Vec::<MessageWrite>::take(from)?;
    let records = Vec::<RecordWrite>::take(from)?;
    Some(Batch { cell, epoch, sequence, entities, tasks, messages, records })
}

fn run(from: &mut &[u8]) -> Option<EntityWrite> {
    Some(EntityWrite {
        kind: Kind::Run,
        key: EntityKey::take(from)?,
        created: option(from, new_run)?,
        deleted: bool::take(from)?,
        becomes_current: bool::take(from)?,
        head: Encoded::take(from)?,
        parts: Vec::<(PartId, Option<Vec<u8>>)>::take(from)?,
        history: Vec::<Fragment>::take(from)?,
        log: Vec::new(),
        wake_at: Encoded::take(from)?,
        visibility: Encoded::take(from)?,
    })
}

fn new_run(from: &mut &[u8]) -> Option<NewEntity> {
    let namespace = NamespaceKey::take(from)?;
    let (workflow_id, run_id) = (String::take(from)?, String::take(from)?);
    // The slot follows from the id.
    Slot::take(from)?;
    let ancestors = Vec::<EntityKey>::take(from)?;
    let first_branch = EntityKey::take(from)?;
    let run = Some(NewRun { run_id, ancestors, first_branch });
    Some(NewEntity { id: EntityId::workflow(namespace, workflow_id), run })
}

fn schedule(from: &mut &[u8]) -> Option<EntityWrite> {
    Some(EntityWrite {
        kind: Kind::Schedule,
        key: EntityKey::take(from)?,
        created: option(from, new_schedule)?,
        deleted: bool::take(from)?,
        becomes_current: false,
        head: Encoded::take(from)?,
        parts: Vec::<(PartId, Option<Vec<u8>>)>::take(from)?,
        history: Vec::new(),
        log: Vec::<LogLine>::take(from)?,
        wake_at: Encoded::take(from)?,
        visibility: option(from, Row::take)?.map(|row| Listed::Row(Box::new(row))),
    })
}

fn new_schedule(from: &mut &[u8]) -> Option<NewEntity> {
    let namespace = NamespaceKey::take(from)?;
    let schedule_id = String::take(from)?;
    Slot::take(from)?;
    Some(NewEntity { id: EntityId::schedule(namespace, schedule_id), run: None })
}

fn list<T>(from: &mut &[u8], take: impl Fn(&mut &[u8]) -> Option<T>) -> Option<Vec<T>> {
    let length = u64::take(from)?;
    (0..length).map(|_| take(from)).collect()
}

fn option<T>(from: &mut &[u8], take: impl Fn(&mut &[u8]) -> Option<T>) -> Option<Option<T>> {
    if bool::take(from)? { take(from).map(Some) } else { Some(None) }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use perennial_engine::{EntityRef, SlotRange, Time};
    use rusqlite::Connection;
    use tempfile::TempDir;

    use super::*;
    use crate::sqlite::migrate::migrate_to;
    use crate::sqlite::redo::decode;
    use crate::sqlite::redo::record::{
        DatabaseId, Header, OLDEST_VERSION, RECORD_HEADER_BYTES, fill_record_header, segment_at,
    };
    use crate::sqlite::sidecar_files;
    use crate::{BatchId, Durability, Log, RecordKind, SqliteStore, Store, StoredEntity};

    /// A record that a server of version 2 wrote, with everything in it that a batch could have.
    fn record() -> Vec<u8> {
        let hex: String = include_str!("golden/batch_version_2.hex").lines().collect();
        let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        (0..hex.len()).step_by(2).map(byte).collect()
    }

    #[test]
    fn record_of_version_2_holds_the_same_batches_in_this_version() {
        let batches = decode(&upgraded(&record()).unwrap()).unwrap();
        let [batch] = batches.as_slice() else { panic!("one batch: {batches:?}") };
        assert_eq!((batch.cell, batch.epoch, batch.sequence), (CellId(Slot(1)), Epoch(2), 3));
        let summary: Vec<_> = batch
            .entities
            .iter()
            .map(|it| (it.kind, it.key.0, it.parts.len(), it.history.len(), it.log.len()))
            .collect();
        assert_eq!(
            summary,
            [
                (Kind::Run, 7, 3, 1, 0),
                (Kind::Run, 7, 3, 1, 0),
                (Kind::Run, 7, 3, 1, 0),
                (Kind::Schedule, 8, 2, 0, 3)
            ]
        );
        let created = |index: usize| batch.entities[index].created.clone().unwrap();
        assert_eq!(created(0).id, EntityId::workflow(NamespaceKey(1), "order"));
        assert_eq!(created(0).run.unwrap().first_branch, EntityKey(5));
        assert_eq!(created(3).id, EntityId::schedule(NamespaceKey(1), "nightly"));
        assert_eq!((batch.tasks.len(), batch.messages.len(), batch.records.len()), (2, 2, 3));
    }

    #[test]
    fn cut_record_is_none() {
        let whole = record();
        for length in 0..whole.len() {
            assert!(upgraded(&whole[..length]).is_none(), "{length} of {} bytes", whole.len());
        }
    }

    /// A batch that follows the last one in the tables of `rows/0007.sql`, as version 2 wrote it: a new run, a change
    /// of a schedule, and a record.
    fn next_batch() -> Vec<u8> {
        let mut out = Vec::new();
        macro_rules! fields {
            ($($value:expr),* $(,)?) => {{ $($value.put(&mut out);)* }};
        }
        const ONE: u64 = 1;
        let (text, bytes) = (|text: &str| text.to_owned(), |text: &str| text.as_bytes().to_vec());
        // One batch: cell, epoch, sequence.
        fields!(ONE, 0_u32, 5_i64, 4_u64);
        // One run: key; namespace, workflow id, run id, slot, ancestors and first branch; deleted, current, head.
        fields!(ONE, 20_i64, true, 1_i64, text("invoice"));
        fields!(text("0190163d-8694-739b-aea5-966c26f8ad99"), 8_u16, 0_u64, 20_i64);
        fields!(false, true, Some(bytes("invoice head")));
        // A part, a fragment, the wake-up, and no row of lists.
        fields!(ONE, 2_u8, bytes("12345678"), Some(bytes("timer")));
        fields!(ONE, 1_i64, 2_i64, bytes("invoice events"), Some(Time(3_000)), None::<Listed>);
        // One schedule: key, created, deleted, head, parts, log, wake-up, row of lists.
        fields!(ONE, 4_i64, false, false, Some(bytes("changed")), 0_u64);
        fields!(ONE, Log::Audit, 2_i64, bytes("audit 2"), None::<Time>, false);
        // Tasks, messages, records.
        fields!(0_u64, 0_u64, ONE, RecordKind::Cluster, text("fact"), Some(bytes("true")));
        out
    }

    /// Creates the files that a killed server of schema version 7 leaves: tables, and a redo file of version 2.
    fn leave_version_7(path: &Path) {
        let mut connection = Connection::open(path).unwrap();
        migrate_to(&mut connection, 7).unwrap();
        connection.execute_batch(include_str!("../migrations/rows/0007.sql")).unwrap();
        let sql = "SELECT database_id, settled FROM redo";
        let (database, last_applied): (DatabaseId, i64) =
            connection.query_row(sql, (), |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let salt = [6; 16];
        let header = Header { version: OLDEST_VERSION, database, is_synced: true, salt };
        let mut file = header.encode();
        file.resize(segment_at(0) as usize, 0);
        let mut record = [vec![0; RECORD_HEADER_BYTES], next_batch()].concat();
        fill_record_header(&salt, last_applied as u64 + 1, &mut record).unwrap();
        file.extend(record);
        fs::write(sidecar_files::redo(path), file).unwrap();
    }

    #[test]
    fn file_of_schema_version_7_opens_with_what_its_redo_file_holds() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("perennial.db");
        leave_version_7(&path);
        let store = SqliteStore::open(&path, Durability::PowerLoss).unwrap();
        let load = |wanted: EntityRef| -> StoredEntity {
            let [found] = <[_; 1]>::try_from(store.load(&[wanted])).unwrap();
            found.unwrap().unwrap()
        };
        let namespace = NamespaceKey(1);
        let order = load(EntityRef::run(namespace, "order", ""));
        assert_eq!((order.key.0, order.head.as_slice()), (3, b"reset".as_slice()));
        assert_eq!(order.first_fragment.unwrap().bytes, "events");
        let invoice = load(EntityRef::run(namespace, "invoice", ""));
        assert_eq!((invoice.key.0, invoice.head.as_slice()), (20, b"invoice head".as_slice()));
        let timer = PartId { kind: 2, id: b"12345678".to_vec() };
        assert_eq!(invoice.parts, [(timer, b"timer".to_vec())]);
        assert_eq!(invoice.first_fragment.unwrap().bytes, "invoice events");
        let nightly = load(EntityRef::current(EntityId::schedule(namespace, "nightly")));
        assert_eq!((nightly.key.0, nightly.head.as_slice()), (4, b"changed".as_slice()));
        assert_eq!(nightly.parts[0].1, b"config");
        let audit = store.log(EntityKey(4), Log::Audit, (0, 9), 9, false).unwrap();
        let audit: Vec<_> = audit.into_iter().map(|line| line.value).collect();
        assert_eq!(audit, [b"audit".to_vec(), b"audit 2".to_vec()]);
        let start = (Time(i64::MIN), EntityKey(0));
        let wakes = store.wakes(SlotRange::ALL, start, Time(i64::MAX), 9).unwrap();
        let wakes: Vec<_> = wakes.iter().map(|wake| (wake.at.0, wake.key.0)).collect();
        assert_eq!(wakes, [(1_000, 1), (2_000, 2), (3_000, 20)]);
        assert_eq!(store.tasks(SlotRange::ALL, 0, 9).unwrap()[0].value, b"task");
        assert_eq!(store.messages(SlotRange::ALL, 0, 9).unwrap()[0].value, b"message");
        let records = |kind| store.records(kind, "", "", 9).unwrap();
        assert_eq!(records(RecordKind::Namespace)[0].1, b"namespace");
        assert_eq!(records(RecordKind::Cluster), [("fact".to_owned(), b"true".to_vec())]);
        let lease = store.lease(CellId::FIRST, "node a").unwrap();
        assert_eq!(lease.slots, SlotRange::ALL);
        assert_eq!(lease.last_batch, BatchId { epoch: Epoch(5), sequence: 4 });
    }
}
