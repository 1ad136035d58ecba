//! Reads from the tables.

use std::ops::Bound::{Excluded, Included, Unbounded};

use perennial_engine::{EntityKey, EntityRef, PartId, SlotRange, Time};

use super::disk::Disk;
use crate::check::run_id_bytes;
use crate::{
    Error, Fragment, HistoryRange, Log, LogLine, RecordKind, StoredEntity, StoredMessage, TaskRow,
    Wake,
};

impl Disk {
    pub(super) fn load(&self, wanted: &EntityRef) -> Result<Option<StoredEntity>, Error> {
        let key = match &wanted.run_id {
            Some(id) => run_id_bytes(id).and_then(|id| self.run_ids.get(&id).copied()),
            None => self.current(&wanted.id),
        };
        let is_wanted =
            |key: &EntityKey| self.entities.get(key).is_some_and(|row| row.id == wanted.id);
        key.filter(is_wanted).map_or(Ok(None), |key| self.load_by_key(key))
    }

    pub(super) fn load_by_key(&self, key: EntityKey) -> Result<Option<StoredEntity>, Error> {
        let Some(row) = self.entities.get(&key) else { return Ok(None) };
        let first_fragment = match &row.run {
            Some(run) => {
                let first = self.history.get(&(run.first_branch, 1)).cloned();
                Some(first.ok_or_else(|| {
                    let branch = run.first_branch.0;
                    Error::Corrupt(format!(
                        "run {} begins in branch {branch}, which has no first event",
                        key.0
                    ))
                })?)
            }
            None => None,
        };
        let parts = self.parts.range((key, PartId { kind: 0, id: Vec::new() })..);
        let parts = parts
            .take_while(|((of, _), _)| *of == key)
            .map(|((_, part), value)| (part.clone(), value.clone()))
            .collect();
        let (kind, head) = (row.id.kind, row.head.clone());
        let is_current = self.current(&row.id) == Some(key);
        Ok(Some(StoredEntity { kind, key, head, parts, first_fragment, is_current }))
    }

    pub(super) fn log(
        &self,
        key: EntityKey,
        log: Log,
        positions: (i64, i64),
        limit: usize,
        reverse: bool,
    ) -> Vec<LogLine> {
        let (first, last) = positions;
        if first > last {
            return Vec::new();
        }
        let lines = self.logs.range((key, log, first)..=(key, log, last));
        let lines = lines.map(|((_, log, position), value)| LogLine {
            log: *log,
            position: *position,
            value: value.clone(),
        });
        match reverse {
            false => lines.take(limit).collect(),
            true => lines.rev().take(limit).collect(),
        }
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

    pub(super) fn wakes(
        &self,
        slots: SlotRange,
        after: (Time, EntityKey),
        up_to: Time,
        limit: usize,
    ) -> Vec<Wake> {
        let due = self.wakes.range((Excluded(after), Unbounded));
        due.take_while(|((at, _), ())| *at <= up_to)
            .filter_map(|((at, key), ())| self.wake(*at, *key))
            .filter(|wake| slots.contains(wake.entity.id.slot()))
            .take(limit)
            .collect()
    }

    fn wake(&self, at: Time, key: EntityKey) -> Option<Wake> {
        let row = self.entities.get(&key)?;
        let run_id = row.run.as_ref().map(|run| run.run_id.clone());
        Some(Wake { at, key, entity: EntityRef { id: row.id.clone(), run_id } })
    }

    pub(super) fn tasks(&self, slots: SlotRange, after: i64, limit: usize) -> Vec<TaskRow> {
        let above = self.tasks.range((Excluded(after), Unbounded)).map(|(_, task)| task);
        above.filter(|task| slots.contains(task.slot)).take(limit).cloned().collect()
    }

    pub(super) fn messages(
        &self,
        slots: SlotRange,
        after: i64,
        limit: usize,
    ) -> Vec<StoredMessage> {
        let above = self.messages.range((Excluded(after), Unbounded)).map(|(_, message)| message);
        above.filter(|message| slots.contains(message.slot)).take(limit).cloned().collect()
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
