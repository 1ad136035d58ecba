//! Merges many batches into one with the same result.
//!
//! A short workflow soon overwrites most of its rows: its head with every step, its timers and activities, its row in
//! lists. A row that several batches write is written to the tables once.

use std::collections::HashMap;
use std::hash::Hash;

use perennial_engine::PartId;

use crate::{
    Batch, CellId, EntityWrite, Epoch, Listed, Log, LogLine, MessageWrite, RecordKind, RecordWrite,
    TaskWrite,
};

/// The rows of many batches, merged in order.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    /// The batch that was added last.
    last: Option<(CellId, Epoch, u64)>,
    /// In the order of their batches.
    entities: Vec<EntityWrite>,
    /// The index of the last write of each key.
    last_of_key: HashMap<i64, usize>,
    tasks: LastWrites<i64, TaskWrite>,
    messages: LastWrites<i64, MessageWrite>,
    records: LastWrites<(RecordKind, String), RecordWrite>,
}

/// The last write of each key.
#[derive(Debug)]
struct LastWrites<K, W>(HashMap<K, W>);

impl<K, W> Default for LastWrites<K, W> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash + Ord, W> LastWrites<K, W> {
    fn put(&mut self, key: K, write: W) {
        self.0.insert(key, write);
    }

    /// The writes in the order of their keys, which is the order of their rows in the file.
    fn into_sorted(self) -> Vec<W> {
        let mut writes: Vec<(K, W)> = self.0.into_iter().collect();
        writes.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        writes.into_iter().map(|(_, write)| write).collect()
    }
}

impl Merged {
    /// Adds the rows of the next batch.
    pub(crate) fn add(&mut self, batch: Batch) {
        let Batch { cell, epoch, sequence, entities, tasks, messages, records } = batch;
        self.last = Some((cell, epoch, sequence));
        entities.into_iter().for_each(|entity| self.add_entity(entity));
        for task in tasks {
            let (TaskWrite::Put(crate::TaskRow { key, .. }) | TaskWrite::Delete(key)) = &task;
            self.tasks.put(*key, task);
        }
        for message in messages {
            let (MessageWrite::Put { key, .. } | MessageWrite::Delete(key)) = &message;
            self.messages.put(*key, message);
        }
        for record in records {
            self.records.put((record.kind, record.key.clone()), record);
        }
    }

    /// The rows of all cells' batches as one batch.
    pub(crate) fn into_batch(self) -> Option<Batch> {
        let Self { last, entities, last_of_key: _, tasks, messages, records } = self;
        let (cell, epoch, sequence) = last?;
        Some(Batch {
            cell,
            epoch,
            sequence,
            entities,
            tasks: tasks.into_sorted(),
            messages: messages.into_sorted(),
            records: records.into_sorted(),
        })
    }

    fn add_entity(&mut self, write: EntityWrite) {
        let key = write.key.0;
        // Creations, deletions and changes of the current run keep their order: writes of other entities depend on it.
        let keeps_order = write.created.is_some() || write.deleted || write.becomes_current;
        let open = self.last_of_key.get(&key).and_then(|index| self.entities.get_mut(*index));
        match open.filter(|open| !keeps_order && !open.deleted) {
            Some(open) => add_to(open, write),
            None => {
                self.last_of_key.insert(key, self.entities.len());
                self.entities.push(write);
            }
        }
    }
}

fn add_to(open: &mut EntityWrite, write: EntityWrite) {
    let EntityWrite {
        kind: _,
        key: _,
        created: _,
        deleted: _,
        becomes_current: _,
        head,
        parts,
        mut history,
        log,
        wake_at,
        visibility,
    } = write;
    open.head = head.or(open.head.take());
    open.wake_at = wake_at.or(open.wake_at);
    // A new entity had no parts before: a part that was removed again needs no write.
    add_parts(&mut open.parts, parts, open.created.is_some());
    open.history.append(&mut history);
    add_lines(&mut open.log, log);
    open.visibility = match (open.visibility.take(), visibility) {
        (Some(Listed::Row(mut row)), Some(Listed::Closed { status, closed })) => {
            row.execution.status = status;
            row.execution.closed = Some(closed);
            Some(Listed::Row(row))
        }
        (before, after) => after.or(before),
    };
}

fn add_parts(
    open: &mut Vec<(PartId, Option<Vec<u8>>)>,
    parts: Vec<(PartId, Option<Vec<u8>>)>,
    is_new: bool,
) {
    for (key, value) in parts {
        match open.iter().position(|(open, _)| *open == key) {
            Some(index) if value.is_none() && is_new => drop(open.swap_remove(index)),
            Some(index) => open[index].1 = value,
            None if value.is_none() && is_new => {}
            None => open.push((key, value)),
        }
    }
}

fn add_lines(open: &mut Vec<LogLine>, lines: Vec<LogLine>) {
    let place = |line: &LogLine| -> (Log, i64) { (line.log, line.position) };
    for line in lines {
        match open.iter_mut().rev().find(|open| place(open) == place(&line)) {
            Some(open) => *open = line,
            None => open.push(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use perennial_engine::{EntityKey, Kind, RunPart, Time};

    use super::*;

    fn batch(entities: Vec<EntityWrite>) -> Batch {
        Batch { entities, ..Batch::empty(CellId::FIRST, Epoch(1), 1) }
    }

    fn change(parts: Vec<(i64, Option<u8>)>) -> EntityWrite {
        let part = |(id, value): (i64, Option<u8>)| {
            (RunPart::Timer(id).row_id(), value.map(|it| vec![it]))
        };
        let parts = parts.into_iter().map(part).collect();
        EntityWrite { parts, ..EntityWrite::of(Kind::Run, EntityKey(1)) }
    }

    fn merged(batches: Vec<Batch>) -> Vec<EntityWrite> {
        let mut merged = Merged::default();
        batches.into_iter().for_each(|batch| merged.add(batch));
        merged.into_batch().unwrap().entities
    }

    #[test]
    fn last_write_of_each_row_remains() {
        let first = EntityWrite {
            head: Some(vec![1]),
            wake_at: Some(Time(1)),
            ..change(vec![(1, Some(1)), (2, Some(1)), (3, None)])
        };
        let second = EntityWrite { head: Some(vec![2]), ..change(vec![(1, Some(2)), (2, None)]) };
        let third = EntityWrite { wake_at: Some(Time(3)), ..change(vec![(4, None)]) };
        let runs = merged([first, second, third].map(|run| batch(vec![run])).to_vec());
        let [run] = runs.as_slice() else { panic!("one write is left: {runs:?}") };
        assert_eq!((&run.head, run.wake_at), (&Some(vec![2]), Some(Time(3))));
        let expected = change(vec![(1, Some(2)), (2, None), (3, None), (4, None)]).parts;
        assert_eq!(run.parts, expected, "what may have been there before is removed");
    }

    #[test]
    fn deletions_and_changes_of_the_current_run_keep_their_order() {
        let current = || EntityWrite { becomes_current: true, ..change(vec![]) };
        let other = EntityWrite { key: EntityKey(2), ..current() };
        let deleted = EntityWrite { deleted: true, ..change(vec![]) };
        let runs = merged(vec![batch(vec![current(), other, current(), deleted])]);
        let order: Vec<_> = runs.iter().map(|run| (run.key.0, run.deleted)).collect();
        assert_eq!(order, [(1, false), (2, false), (1, false), (1, true)]);
    }
}
