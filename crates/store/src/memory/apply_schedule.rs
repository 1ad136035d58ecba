//! What a batch does to the tables of schedules.

use perennial_engine::{ScheduleKey, SchedulePart, Time};

use super::disk::{Disk, ScheduleRow, SleeperKey};
use crate::{Error, Log, LogLine, NewSchedule, ScheduleWrite};

impl Disk {
    pub(super) fn apply_schedule(&mut self, write: &ScheduleWrite) -> Result<(), Error> {
        let key = write.key;
        if write.deleted {
            self.delete_schedule(key);
            return Ok(());
        }
        if let Some(created) = &write.created {
            self.create_schedule(key, created)?;
        }
        let Some(mut row) = self.schedules.get(&key).cloned() else {
            return Err(Error::Conflict(format!("there is no schedule {}", key.0)));
        };
        if let Some(head) = &write.head {
            row.head.clone_from(head);
        }
        if let Some(wake_at) = write.wake_at {
            self.wakes.remove(&(row.wake_at, key.0));
            if wake_at != Time::NONE {
                self.wakes.put((wake_at, key.0), SleeperKey::Schedule(key));
            }
            row.wake_at = wake_at;
        }
        self.schedules.put(key, row);
        for (part, value) in &write.parts {
            match value {
                Some(value) => self.schedule_parts.put((key, part.clone()), value.clone()),
                None => self.schedule_parts.remove(&(key, part.clone())),
            }
        }
        for LogLine { log, position, value } in &write.log {
            self.schedule_log.put((key, *log, *position), value.clone());
        }
        if let Some(row) = &write.visibility {
            self.visibility.put(key.0, row.clone());
        }
        Ok(())
    }

    fn create_schedule(&mut self, key: ScheduleKey, created: &NewSchedule) -> Result<(), Error> {
        let NewSchedule { namespace, schedule_id, slot } = created;
        if self.schedules.get(&key).is_some() {
            return Err(Error::Conflict(format!("there is a schedule {} already", key.0)));
        }
        self.schedule_ids.put((*namespace, schedule_id.clone(), key), ());
        let row = ScheduleRow {
            namespace: *namespace,
            schedule_id: schedule_id.clone(),
            slot: *slot,
            head: Vec::new(),
            wake_at: Time::NONE,
        };
        self.schedules.put(key, row);
        Ok(())
    }

    fn delete_schedule(&mut self, key: ScheduleKey) {
        let Some(row) = self.schedules.get(&key).cloned() else { return };
        self.schedules.remove(&key);
        self.schedule_ids.remove(&(row.namespace, row.schedule_id, key));
        self.wakes.remove(&(row.wake_at, key.0));
        self.visibility.remove(&key.0);
        let of_schedule = |part: &&(ScheduleKey, SchedulePart)| part.0 == key;
        let parts = self.schedule_parts.range((key, SchedulePart::Config)..).map(|(part, _)| part);
        let parts: Vec<_> = parts.take_while(of_schedule).cloned().collect();
        parts.iter().for_each(|part| self.schedule_parts.remove(part));
        for log in [Log::Audit, Log::Ledger, Log::ManualLedger] {
            self.schedule_log.remove_range((key, log, i64::MIN)..=(key, log, i64::MAX));
        }
    }
}
