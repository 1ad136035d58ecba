//! What a batch does to the tables.

use perennial_engine::{PartKey, RunKey, Time};

use super::disk::{Disk, LeaseRow, RunRow, SleeperKey};
use crate::check::{follows, run_id_bytes};
use crate::{
    Batch, Error, Listed, MessageWrite, NewRun, RunWrite, StoredMessage, TaskWrite, visibility,
};

impl Disk {
    /// Does what `batch` says, or stops where it doesn't fit; the caller keeps or undoes it.
    pub(super) fn apply(&mut self, batch: &Batch) -> Result<(), Error> {
        self.advance(batch)?;
        for run in &batch.runs {
            self.apply_run(run)?;
        }
        for schedule in &batch.schedules {
            self.apply_schedule(schedule)?;
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
        for record in &batch.records {
            let key = (record.kind, record.key.clone());
            match &record.value {
                Some(value) => self.records.put(key, value.clone()),
                None => self.records.remove(&key),
            }
        }
        Ok(())
    }

    /// Fences, and counts the batch.
    fn advance(&mut self, batch: &Batch) -> Result<(), Error> {
        let Batch { cell, epoch, sequence, .. } = batch;
        let lease = self.leases.get(cell).copied();
        follows(batch, lease.map(|lease| (lease.epoch, lease.sequence)))?;
        self.leases.put(*cell, LeaseRow { epoch: *epoch, sequence: *sequence });
        Ok(())
    }

    fn apply_run(&mut self, write: &RunWrite) -> Result<(), Error> {
        let key = write.key;
        if write.deleted {
            self.delete_run(key);
            return Ok(());
        }
        if let Some(created) = &write.created {
            self.create_run(key, created)?;
        }
        let Some(mut row) = self.runs.get(&key).cloned() else {
            return Err(Error::Conflict(format!("there is no run {}", key.0)));
        };
        if let Some(head) = &write.head {
            row.head.clone_from(head);
        }
        if let Some(wake_at) = write.wake_at {
            self.wakes.remove(&(row.wake_at, key.0));
            if wake_at != Time::NONE {
                self.wakes.put((wake_at, key.0), SleeperKey::Run(key));
            }
            row.wake_at = wake_at;
        }
        if write.becomes_current {
            self.current_runs.put((row.namespace, row.workflow_id.clone()), key);
        }
        self.runs.put(key, row);
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

    fn create_run(&mut self, key: RunKey, created: &NewRun) -> Result<(), Error> {
        let NewRun { namespace, workflow_id, run_id, slot, ancestors, first_branch } = created;
        if self.runs.get(&key).is_some() {
            return Err(Error::Conflict(format!("there is a run {} already", key.0)));
        }
        let id = run_id_bytes(run_id)
            .ok_or_else(|| Error::Conflict(format!("run id `{run_id}` isn't a UUID")))?;
        if self.run_ids.get(&id).is_some() {
            return Err(Error::Conflict(format!("there is a run with id {run_id} already")));
        }
        self.run_ids.put(id, key);
        for ancestor in ancestors {
            self.branch_references.put((*ancestor, key), ());
        }
        let row = RunRow {
            namespace: *namespace,
            workflow_id: workflow_id.clone(),
            run_id: run_id.clone(),
            slot: *slot,
            ancestors: ancestors.clone(),
            first_branch: *first_branch,
            head: Vec::new(),
            wake_at: Time::NONE,
        };
        self.runs.put(key, row);
        Ok(())
    }

    fn delete_run(&mut self, key: RunKey) {
        let Some(row) = self.runs.get(&key).cloned() else { return };
        self.runs.remove(&key);
        if let Some(id) = run_id_bytes(&row.run_id) {
            self.run_ids.remove(&id);
        }
        let workflow = (row.namespace, row.workflow_id);
        if self.current_runs.get(&workflow) == Some(&key) {
            self.current_runs.remove(&workflow);
        }
        self.wakes.remove(&(row.wake_at, key.0));
        self.delete_parts(key);
        self.visibility.remove(&key.0);
        for ancestor in &row.ancestors {
            self.branch_references.remove(&(*ancestor, key));
        }
        for branch in row.ancestors.iter().chain([&key]) {
            self.delete_branch_if_unused(*branch);
        }
    }

    fn delete_parts(&mut self, key: RunKey) {
        let of_run = |part: &&(RunKey, PartKey)| part.0 == key;
        let first = (key, PartKey::Activity(i64::MIN));
        let parts: Vec<_> =
            self.parts.range(first..).map(|(part, _)| part).take_while(of_run).cloned().collect();
        parts.iter().for_each(|part| self.parts.remove(part));
    }

    /// A branch is in use while its run is there, or one that goes on from it.
    fn delete_branch_if_unused(&mut self, branch: RunKey) {
        let all = (branch, RunKey(i64::MIN))..=(branch, RunKey(i64::MAX));
        let referenced = self.branch_references.range(all).next().is_some();
        if self.runs.get(&branch).is_none() && !referenced {
            self.history.remove_range((branch, i64::MIN)..=(branch, i64::MAX));
        }
    }
}
