//! The open batch of a cell: writes and releases since the last batch was sealed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use perennial_engine::{Entity, EntityKey, Kind, PartId, Slot, Time};
use perennial_proto::encoded;
use perennial_proto::store::EntityMessage;
use perennial_store::{
    Batch, CellId, EntityWrite, Epoch, Fragment, Listed, Log, LogLine, MessageWrite, NewEntity,
    RecordWrite, TaskWrite,
};

use super::fragments::merged;
use super::request::Release;

/// Decisions since the last batch was sealed. Changes of one entity are merged; of two writes of a task, message or
/// record the last one counts.
#[derive(Default)]
pub(super) struct OpenBatch {
    entities: BTreeMap<EntityKey, OpenEntity>,
    tasks: BTreeMap<i64, TaskWrite>,
    messages: BTreeMap<i64, OpenMessage>,
    records: Vec<RecordWrite>,
    releases: Vec<Release>,
}

/// Changes of one entity since the last batch was sealed.
pub(super) struct OpenEntity {
    kind: Kind,
    pub(super) created: Option<NewEntity>,
    pub(super) deleted: bool,
    pub(super) becomes_current: bool,
    /// The state after the last step. Its rows are made when the batch is sealed, once for all steps.
    pub(super) state: Option<Entity>,
    pub(super) touched: BTreeSet<PartId>,
    pub(super) history: Vec<Fragment>,
    pub(super) log: BTreeMap<(Log, i64), Vec<u8>>,
    pub(super) wake_at: Option<Time>,
    pub(super) visibility: Option<Listed>,
}

impl OpenBatch {
    pub(super) fn is_empty(&self) -> bool {
        self.has_no_writes() && self.releases.is_empty()
    }

    fn has_no_writes(&self) -> bool {
        self.entities.is_empty()
            && self.tasks.is_empty()
            && self.messages.is_empty()
            && self.records.is_empty()
    }

    /// The write of an entity, to add to.
    pub(super) fn entity(&mut self, kind: Kind, key: EntityKey) -> &mut OpenEntity {
        self.entities.entry(key).or_insert_with(|| OpenEntity::of(kind))
    }

    pub(super) fn put_task(&mut self, key: i64, write: TaskWrite) {
        // Added and taken within one batch: never written.
        if matches!(write, TaskWrite::Delete(_))
            && matches!(self.tasks.get(&key), Some(TaskWrite::Put(_)))
        {
            self.tasks.remove(&key);
            return;
        }
        self.tasks.insert(key, write);
    }

    /// Stores a message that already has a key.
    pub(super) fn put_message(&mut self, slot: Slot, message: Arc<EntityMessage>) {
        self.messages.insert(message.key, OpenMessage::Put(slot, message));
    }

    pub(super) fn delete_message(&mut self, key: i64) {
        // Sent and answered within one batch: never written.
        if self.has_message(key) {
            self.messages.remove(&key);
        } else {
            self.messages.insert(key, OpenMessage::Delete);
        }
    }

    /// Whether the message is stored in this batch and none before.
    pub(super) fn has_message(&self, key: i64) -> bool {
        matches!(self.messages.get(&key), Some(OpenMessage::Put(..)))
    }

    pub(super) fn put_record(&mut self, record: RecordWrite) {
        self.records.retain(|other| other.kind != record.kind || other.key != record.key);
        self.records.push(record);
    }

    /// Adds a release, to be sent when this batch is durable.
    pub(super) fn release(&mut self, release: Release) {
        self.releases.push(release);
    }

    pub(super) fn take_releases(&mut self) -> Vec<Release> {
        std::mem::take(&mut self.releases)
    }

    /// The batch, if there is anything to write, and its releases.
    pub(super) fn seal(
        &mut self,
        cell: CellId,
        epoch: Epoch,
        sequence: u64,
    ) -> (Option<Batch>, Vec<Release>) {
        let open = std::mem::take(self);
        if open.has_no_writes() {
            return (None, open.releases);
        }
        // A run that shares the history of a deleted one has to reference it before the deletion.
        let (deleted, written): (BTreeMap<_, _>, BTreeMap<_, _>) =
            open.entities.into_iter().partition(|(_, entity)| entity.deleted);
        let entities = written.into_iter().chain(deleted);
        let batch = Batch {
            entities: entities.map(|(key, entity)| entity.into_write(key)).collect(),
            tasks: open.tasks.into_values().collect(),
            messages: open.messages.into_iter().map(|(key, it)| it.into_write(key)).collect(),
            records: open.records,
            ..Batch::empty(cell, epoch, sequence)
        };
        (Some(batch), open.releases)
    }
}

/// A message write. Most messages are answered in the batch that sends them, so encoding waits for the seal.
enum OpenMessage {
    Put(Slot, Arc<EntityMessage>),
    Delete,
}

impl OpenMessage {
    fn into_write(self, key: i64) -> MessageWrite {
        match self {
            Self::Put(slot, message) => MessageWrite::Put { key, slot, value: encoded(&*message) },
            Self::Delete => MessageWrite::Delete(key),
        }
    }
}

impl OpenEntity {
    fn of(kind: Kind) -> Self {
        Self {
            kind,
            created: None,
            deleted: false,
            becomes_current: false,
            state: None,
            touched: BTreeSet::new(),
            history: Vec::new(),
            log: BTreeMap::new(),
            wake_at: None,
            visibility: None,
        }
    }

    fn into_write(self, key: EntityKey) -> EntityWrite {
        let nothing = EntityWrite::of(self.kind, key);
        if self.deleted {
            return EntityWrite { deleted: true, ..nothing };
        }
        let state = self.state.as_ref();
        let row = |part: PartId| {
            let row = state.and_then(|state| state.part_row(&part));
            (part, row)
        };
        let line = |((log, position), value)| LogLine { log, position, value };
        EntityWrite {
            created: self.created,
            becomes_current: self.becomes_current,
            head: state.map(Entity::head_row),
            parts: self.touched.into_iter().map(row).collect(),
            history: merged(self.history),
            log: self.log.into_iter().map(line).collect(),
            wake_at: self.wake_at,
            visibility: self.visibility,
            ..nothing
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deleted_runs_come_after_those_that_may_begin_with_their_history() {
        let mut open = OpenBatch::default();
        open.entity(Kind::Run, EntityKey(1)).deleted = true;
        open.entity(Kind::Run, EntityKey(2)).becomes_current = true;
        let (batch, _) = open.seal(CellId::FIRST, Epoch(1), 1);
        let keys: Vec<_> = batch.iter().flat_map(|it| &it.entities).map(|it| it.key.0).collect();
        assert_eq!(keys, [2, 1]);
    }
}
