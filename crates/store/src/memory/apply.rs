//! Applies batches to the tables.

use perennial_engine::{EntityKey, Kind, PartId, Time};

use super::disk::{Disk, EntityRow, RunColumns};
use crate::check::{check_order, run_id_bytes};
use crate::{
    Batch, EntityWrite, Error, Listed, Log, LogLine, MessageWrite, NewEntity, RecordWrite,
    StoredMessage, TaskWrite, visibility,
};

impl Disk {
    /// Applies a batch. On an error, the caller undoes what was applied so far.
    pub(super) fn apply(&mut self, batch: &Batch) -> Result<(), Error> {
        self.advance(batch)?;
        for entity in &batch.entities {
            self.apply_entity(entity)?;
        }
        for task in &batch.tasks {
            match task {
                TaskWrite::Put(row) => self.tasks.put(row.key, row.clone()),
                TaskWrite::Delete(key) => self.tasks.remove(key),
            }
        }
        for message in &batch.messages {
            match message {
                MessageWrite::Put { key, slot, value } => {
                    let message = StoredMessage { key: *key, slot: *slot, value: value.clone() };
                    self.messages.put(*key, message);
                }
                MessageWrite::Delete(key) => self.messages.remove(key),
            }
        }
        batch.records.iter().for_each(|record| self.apply_record(record));
        Ok(())
    }

    pub(super) fn compare_and_set(
        &mut self,
        record: &RecordWrite,
        expected: Option<&[u8]>,
    ) -> bool {
        self.undo();
        let stored = self.records.get(&(record.kind, record.key.clone()));
        let is_expected = stored.map(Vec::as_slice) == expected;
        if is_expected {
            self.apply_record(record);
            self.keep();
        }
        is_expected
    }

    fn apply_record(&mut self, record: &RecordWrite) {
        let key = (record.kind, record.key.clone());
        match &record.value {
            Some(value) => self.records.put(key, value.clone()),
            None => self.records.remove(&key),
        }
    }

    /// Checks the epoch and the sequence number of a batch, and stores the number.
    fn advance(&mut self, batch: &Batch) -> Result<(), Error> {
        let stored = self.cells.get(&batch.cell).cloned();
        check_order(batch, stored.as_ref().map(|cell| (cell.epoch, cell.sequence)))?;
        if let Some(mut cell) = stored {
            cell.sequence = batch.sequence;
            self.cells.put(batch.cell, cell);
        }
        Ok(())
    }

    fn apply_entity(&mut self, write: &EntityWrite) -> Result<(), Error> {
        let key = write.key;
        if write.deleted {
            self.delete(write.kind, key);
            return Ok(());
        }
        if let Some(created) = &write.created {
            self.create(key, created)?;
        }
        let found = self.entities.get(&key).filter(|row| row.id.kind == write.kind);
        let Some(mut row) = found.cloned() else {
            return Err(Error::Conflict(format!("there is no {} {}", write.kind.name(), key.0)));
        };
        if let Some(head) = &write.head {
            row.head.clone_from(head);
        }
        if let Some(wake_at) = write.wake_at {
            self.wakes.remove(&(row.wake_at, key));
            if wake_at != Time::NONE {
                self.wakes.put((wake_at, key), ());
            }
            row.wake_at = wake_at;
        }
        if write.becomes_current {
            self.current_runs.put(row.id.clone(), key);
        }
        self.entities.put(key, row);
        for (part, value) in &write.parts {
            match value {
                Some(value) => self.parts.put((key, part.clone()), value.clone()),
                None => self.parts.remove(&(key, part.clone())),
            }
        }
        for fragment in &write.history {
            let first = fragment.first_event_id;
            if self.history.get(&(key, first)).is_some() {
                let problem = format!("run {} has an event {first} already", key.0);
                return Err(Error::Conflict(problem));
            }
            self.history.put((key, first), fragment.clone());
        }
        for LogLine { log, position, value } in &write.log {
            self.logs.put((key, *log, *position), value.clone());
        }
        match &write.visibility {
            Some(Listed::Row(row)) => self.visibility.put(key.0, visibility::Row::clone(row)),
            Some(Listed::Closed { status, closed }) => {
                if let Some(mut row) = self.visibility.get(&key.0).cloned() {
                    row.execution.status = *status;
                    row.execution.closed = Some(closed.clone());
                    self.visibility.put(key.0, row);
                }
            }
            None => {}
        }
        Ok(())
    }

    fn create(&mut self, key: EntityKey, created: &NewEntity) -> Result<(), Error> {
        let NewEntity { id, run } = created;
        if self.entities.get(&key).is_some() {
            return Err(Error::Conflict(format!(
                "there is a {} {} already",
                id.kind.name(),
                key.0
            )));
        }
        let mut columns = None;
        if let Some(run) = run {
            let run_id = &run.run_id;
            let bytes = run_id_bytes(run_id)
                .ok_or_else(|| Error::Conflict(format!("run id `{run_id}` isn't a UUID")))?;
            if self.run_ids.get(&bytes).is_some() {
                return Err(Error::Conflict(format!("there is a run with id {run_id} already")));
            }
            self.run_ids.put(bytes, key);
            for ancestor in &run.ancestors {
                self.branch_references.put((*ancestor, key), ());
            }
            columns = Some(RunColumns {
                run_id: run_id.clone(),
                ancestors: run.ancestors.clone(),
                first_branch: run.first_branch,
            });
        }
        self.ids.put((id.clone(), key), ());
        let (head, wake_at) = (Vec::new(), Time::NONE);
        self.entities.put(key, EntityRow { id: id.clone(), run: columns, head, wake_at });
        Ok(())
    }

    fn delete(&mut self, kind: Kind, key: EntityKey) {
        let found = self.entities.get(&key).filter(|row| row.id.kind == kind);
        let Some(row) = found.cloned() else { return };
        self.entities.remove(&key);
        self.wakes.remove(&(row.wake_at, key));
        self.visibility.remove(&key.0);
        let first = PartId { kind: 0, id: Vec::new() };
        let parts = self.parts.range((key, first)..).map(|(part, _)| part);
        let parts: Vec<_> = parts.take_while(|part| part.0 == key).cloned().collect();
        parts.iter().for_each(|part| self.parts.remove(part));
        for log in [Log::Audit, Log::Ledger, Log::ManualLedger] {
            self.logs.remove_range((key, log, i64::MIN)..=(key, log, i64::MAX));
        }
        if let Some(run) = &row.run {
            self.delete_run_columns(key, &row, run);
        }
        self.ids.remove(&(row.id, key));
    }

    fn delete_run_columns(&mut self, key: EntityKey, row: &EntityRow, run: &RunColumns) {
        if let Some(id) = run_id_bytes(&run.run_id) {
            self.run_ids.remove(&id);
        }
        if self.current_runs.get(&row.id) == Some(&key) {
            self.current_runs.remove(&row.id);
        }
        for ancestor in &run.ancestors {
            self.branch_references.remove(&(*ancestor, key));
        }
        for branch in run.ancestors.iter().chain([&key]) {
            self.delete_branch_if_unused(*branch);
        }
    }

    /// A branch is in use while its run is there, or one that goes on from it.
    fn delete_branch_if_unused(&mut self, branch: EntityKey) {
        let all = (branch, EntityKey(i64::MIN))..=(branch, EntityKey(i64::MAX));
        let referenced = self.branch_references.range(all).next().is_some();
        if self.entities.get(&branch).is_none() && !referenced {
            self.history.remove_range((branch, i64::MIN)..=(branch, i64::MAX));
        }
    }
}
