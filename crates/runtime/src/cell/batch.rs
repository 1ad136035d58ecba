//! The batch a cell is collecting.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use perennial_engine::run::Run;
use perennial_engine::schedule::Schedule;
use perennial_engine::{PartKey, RunKey, ScheduleKey, SchedulePart, Slot, Time};
use perennial_proto::encoded;
use perennial_proto::store::RunMessage;
use perennial_store::{
    Batch, Epoch, Fragment, Listed, Log, LogLine, MessageWrite, NewRun, NewSchedule, RecordWrite,
    RunWrite, ScheduleWrite, TaskWrite, visibility,
};

use super::fragments::merged;
use super::request::Release;

/// What has been decided since the last batch was sealed. Writes to one key collapse into the last one.
#[derive(Default)]
pub(super) struct OpenBatch {
    runs: BTreeMap<RunKey, OpenRun>,
    schedules: BTreeMap<ScheduleKey, OpenSchedule>,
    tasks: BTreeMap<i64, TaskWrite>,
    messages: BTreeMap<i64, OpenMessage>,
    records: Vec<RecordWrite>,
    releases: Vec<Release>,
}

#[derive(Default)]
pub(super) struct OpenRun {
    pub(super) created: Option<NewRun>,
    pub(super) deleted: bool,
    pub(super) becomes_current: bool,
    /// As the last step left it: its rows are made when the batch is sealed, once for all its steps.
    pub(super) run: Option<Arc<Run>>,
    pub(super) touched: BTreeSet<PartKey>,
    pub(super) history: Vec<Fragment>,
    pub(super) wake_at: Option<Time>,
    pub(super) visibility: Option<Listed>,
}

#[derive(Default)]
pub(super) struct OpenSchedule {
    pub(super) created: Option<NewSchedule>,
    pub(super) deleted: bool,
    /// As the last step left it.
    pub(super) schedule: Option<Arc<Schedule>>,
    pub(super) touched: BTreeSet<SchedulePart>,
    pub(super) log: BTreeMap<(Log, i64), Vec<u8>>,
    pub(super) wake_at: Option<Time>,
    pub(super) visibility: Option<visibility::Row>,
}

impl OpenBatch {
    pub(super) fn is_empty(&self) -> bool {
        self.has_no_writes() && self.releases.is_empty()
    }

    fn has_no_writes(&self) -> bool {
        self.runs.is_empty()
            && self.schedules.is_empty()
            && self.tasks.is_empty()
            && self.messages.is_empty()
            && self.records.is_empty()
    }

    pub(super) fn run(&mut self, key: RunKey) -> &mut OpenRun {
        self.runs.entry(key).or_default()
    }

    pub(super) fn schedule(&mut self, key: ScheduleKey) -> &mut OpenSchedule {
        self.schedules.entry(key).or_default()
    }

    pub(super) fn put_task(&mut self, key: i64, write: TaskWrite) {
        // Made and taken within one batch: never written.
        if matches!(write, TaskWrite::Delete(_))
            && matches!(self.tasks.get(&key), Some(TaskWrite::Put(_)))
        {
            self.tasks.remove(&key);
            return;
        }
        self.tasks.insert(key, write);
    }

    /// Stores a message, which has its key.
    pub(super) fn put_message(&mut self, slot: Slot, message: Arc<RunMessage>) {
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

    /// Leaves when this batch is durable.
    pub(super) fn release(&mut self, release: Release) {
        self.releases.push(release);
    }

    pub(super) fn take_releases(&mut self) -> Vec<Release> {
        std::mem::take(&mut self.releases)
    }

    /// The batch, if there is anything to write, and what leaves after it.
    pub(super) fn seal(
        &mut self,
        cell: u32,
        epoch: Epoch,
        sequence: u64,
    ) -> (Option<Batch>, Vec<Release>) {
        let open = std::mem::take(self);
        if open.has_no_writes() {
            return (None, open.releases);
        }
        // A run that begins with the history of one that is deleted has to hold on to it first.
        let (deleted, written): (BTreeMap<_, _>, BTreeMap<_, _>) =
            open.runs.into_iter().partition(|(_, run)| run.deleted);
        let runs = written.into_iter().chain(deleted);
        let runs = runs.map(|(key, run)| run.into_write(key)).collect();
        let batch = Batch {
            cell,
            epoch,
            sequence,
            runs,
            schedules: open.schedules.into_iter().map(|(key, it)| it.into_write(key)).collect(),
            tasks: open.tasks.into_values().collect(),
            messages: open.messages.into_iter().map(|(key, it)| it.into_write(key)).collect(),
            records: open.records,
        };
        (Some(batch), open.releases)
    }
}

/// Most are answered in the batch that sends them: only those that aren't are ever encoded.
enum OpenMessage {
    Put(Slot, Arc<RunMessage>),
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

impl OpenRun {
    fn into_write(self, key: RunKey) -> RunWrite {
        let is_written = !self.deleted;
        let run = self.run.as_deref().filter(|_| is_written);
        RunWrite {
            key,
            created: self.created.filter(|_| is_written),
            deleted: self.deleted,
            becomes_current: self.becomes_current && is_written,
            head: run.map(|run| run.head_row()),
            parts: run.map_or_else(Vec::new, |run| {
                let row = |part: PartKey| {
                    let row = run.part_row(&part);
                    (part, row)
                };
                self.touched.into_iter().map(row).collect()
            }),
            history: if is_written { merged(self.history) } else { Vec::new() },
            wake_at: self.wake_at.filter(|_| is_written),
            visibility: self.visibility.filter(|_| is_written),
        }
    }
}

impl OpenSchedule {
    fn into_write(self, key: ScheduleKey) -> ScheduleWrite {
        if self.deleted {
            return ScheduleWrite {
                key,
                created: None,
                deleted: true,
                head: None,
                parts: Vec::new(),
                log: Vec::new(),
                wake_at: None,
                visibility: None,
            };
        }
        let schedule = self.schedule.as_deref();
        let row = |part: SchedulePart| {
            let row = schedule.and_then(|schedule| schedule.part_row(&part));
            (part, row)
        };
        let line = |((log, position), value)| LogLine { log, position, value };
        ScheduleWrite {
            key,
            created: self.created,
            deleted: false,
            head: schedule.map(Schedule::head_row),
            parts: self.touched.into_iter().map(row).collect(),
            log: self.log.into_iter().map(line).collect(),
            wake_at: self.wake_at,
            visibility: self.visibility,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deleted_runs_come_after_those_that_may_begin_with_their_history() {
        let mut open = OpenBatch::default();
        open.run(RunKey(1)).deleted = true;
        open.run(RunKey(2)).becomes_current = true;
        let (batch, _) = open.seal(0, Epoch(1), 1);
        let keys: Vec<_> = batch.iter().flat_map(|it| &it.runs).map(|run| run.key.0).collect();
        assert_eq!(keys, [2, 1]);
    }
}
