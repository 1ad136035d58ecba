//! What is read from the tables of schedules.

use perennial_engine::{NamespaceKey, ScheduleKey, SchedulePart};

use super::disk::Disk;
use crate::{Log, LogLine, StoredSchedule};

impl Disk {
    pub(super) fn load_latest_schedule(
        &self,
        namespace: NamespaceKey,
        schedule_id: &str,
    ) -> Option<StoredSchedule> {
        let incarnation = |key| (namespace, schedule_id.to_owned(), ScheduleKey(key));
        let all = incarnation(i64::MIN)..=incarnation(i64::MAX);
        let ((_, _, latest), ()) = self.schedule_ids.range(all).next_back()?;
        self.load_schedule_by_key(*latest)
    }

    pub(super) fn load_schedule_by_key(&self, key: ScheduleKey) -> Option<StoredSchedule> {
        let row = self.schedules.get(&key)?;
        let parts = self.schedule_parts.range((key, SchedulePart::Config)..);
        let parts = parts
            .take_while(|((schedule, _), _)| *schedule == key)
            .map(|((_, part), value)| (part.clone(), value.clone()))
            .collect();
        Some(StoredSchedule { key, head: row.head.clone(), parts })
    }

    pub(super) fn schedule_log(
        &self,
        key: ScheduleKey,
        log: Log,
        positions: (i64, i64),
        limit: usize,
        reverse: bool,
    ) -> Vec<LogLine> {
        let (first, last) = positions;
        if first > last {
            return Vec::new();
        }
        let lines = self.schedule_log.range((key, log, first)..=(key, log, last));
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
}
