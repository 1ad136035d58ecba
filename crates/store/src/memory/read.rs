//! What is read from the tables.

use std::ops::Bound::{Excluded, Included, Unbounded};

use perennial_engine::{NamespaceKey, PartKey, Time};

use super::disk::{Disk, SleeperKey};
use crate::check::run_id_bytes;
use crate::{
    Error, Fragment, HistoryRange, RecordKind, Sleeper, StoredMessage, StoredRun, TaskRow, Wake,
};

impl Disk {
    pub(super) fn load_run(
        &self,
        namespace: NamespaceKey,
        workflow_id: &str,
        run_id: Option<&str>,
    ) -> Result<Option<StoredRun>, Error> {
        let current = self.current_runs.get(&(namespace, workflow_id.to_owned())).copied();
        let key = match run_id {
            Some(id) => run_id_bytes(id).and_then(|id| self.run_ids.get(&id).copied()),
            None => current,
        };
        let Some((key, row)) = key.and_then(|key| Some((key, self.runs.get(&key)?))) else {
            return Ok(None);
        };
        if row.namespace != namespace || row.workflow_id != workflow_id {
            return Ok(None);
        }
        let first_fragment =
            self.history.get(&(row.first_branch, 1)).cloned().ok_or_else(|| {
                let (run, branch) = (key.0, row.first_branch.0);
                Error::Corrupt(format!(
                    "run {run} begins in branch {branch}, which has no first event"
                ))
            })?;
        let parts = self.parts.range((key, PartKey::Activity(i64::MIN))..);
        let parts = parts
            .take_while(|((run, _), _)| *run == key)
            .map(|((_, part), value)| (part.clone(), value.clone()))
            .collect();
        let is_current = current == Some(key);
        Ok(Some(StoredRun { key, head: row.head.clone(), parts, first_fragment, is_current }))
    }

    pub(super) fn history(
        &self,
        range: HistoryRange,
        max_bytes: usize,
        reverse: bool,
    ) -> Vec<Fragment> {
        let HistoryRange { branch, first_event_id, last_event_id } = range;
        if first_event_id > last_event_id {
            return Vec::new();
        }
        let fragments = self
            .history
            .range((branch, i64::MIN)..=(branch, last_event_id))
            .map(|(_, fragment)| fragment)
            .filter(|fragment| fragment.last_event_id >= first_event_id);
        match reverse {
            false => fit(fragments, max_bytes),
            true => fit(fragments.rev(), max_bytes),
        }
    }

    pub(super) fn wakes(&self, after: (Time, i64), up_to: Time, limit: usize) -> Vec<Wake> {
        let due = self.wakes.range((Excluded(after), Unbounded));
        due.take_while(|((at, _), _)| *at <= up_to)
            .take(limit)
            .filter_map(|((at, _), sleeper)| self.wake(*at, *sleeper))
            .collect()
    }

    fn wake(&self, at: Time, sleeper: SleeperKey) -> Option<Wake> {
        let (key, slot, namespace, sleeper) = match sleeper {
            SleeperKey::Run(key) => {
                let row = self.runs.get(&key)?;
                let (workflow_id, run_id) = (row.workflow_id.clone(), row.run_id.clone());
                (key.0, row.slot, row.namespace, Sleeper::Run { workflow_id, run_id })
            }
            SleeperKey::Schedule(key) => {
                let row = self.schedules.get(&key)?;
                let schedule_id = row.schedule_id.clone();
                (key.0, row.slot, row.namespace, Sleeper::Schedule { schedule_id })
            }
        };
        Some(Wake { at, key, slot, namespace, sleeper })
    }

    pub(super) fn tasks(&self, after: i64, limit: usize) -> Vec<TaskRow> {
        let above = self.tasks.range((Excluded(after), Unbounded));
        above.map(|(_, task)| task.clone()).take(limit).collect()
    }

    pub(super) fn messages(&self, after: i64, limit: usize) -> Vec<StoredMessage> {
        let above = self.messages.range((Excluded(after), Unbounded));
        above.map(|(_, message)| message.clone()).take(limit).collect()
    }

    pub(super) fn records(
        &self,
        kind: RecordKind,
        prefix: &str,
        after: &str,
        limit: usize,
    ) -> Vec<(String, Vec<u8>)> {
        let start = match after < prefix {
            true => Included((kind, prefix.to_owned())),
            false => Excluded((kind, after.to_owned())),
        };
        self.records
            .range((start, Unbounded))
            .take_while(|((of, key), _)| *of == kind && key.starts_with(prefix))
            .take(limit)
            .map(|((_, key), value)| (key.clone(), value.clone()))
            .collect()
    }
}

/// As many as fit, and at least one.
fn fit<'a>(fragments: impl Iterator<Item = &'a Fragment>, max_bytes: usize) -> Vec<Fragment> {
    let mut fitting: Vec<Fragment> = Vec::new();
    let mut bytes = 0_usize;
    for fragment in fragments {
        bytes = bytes.saturating_add(fragment.bytes.len());
        if bytes > max_bytes && !fitting.is_empty() {
            break;
        }
        fitting.push(fragment.clone());
    }
    fitting
}
