//! Encoding and decoding of a schedule's rows.

use std::sync::Arc;

use perennial_calendar::Zones;
use perennial_proto::{encoded, store as stored};
use prost::Message;

use super::{Schedule, Times};
use crate::part_rows::{put, row};
use crate::{Kind, Rows, SchedulePart, SharedMap, Unreadable};

impl Schedule {
    /// Decodes a schedule from its rows. A spec that no longer compiles makes a broken schedule, not an error.
    pub fn from_rows(rows: Rows<'_>, zones: &Zones) -> Result<Self, Unreadable> {
        let Rows { key, head, parts, first_fragment: _ } = rows;
        let unreadable = |what, why: String| Unreadable { kind: Kind::Schedule, key, what, why };
        let head =
            stored::ScheduleHead::decode(head).map_err(|e| unreadable("head", e.to_string()))?;
        let config = stored::ScheduleConfig::default();
        let times = Times::compile(&config, &head.incarnation, zones);
        let mut schedule = Self {
            key,
            head,
            config: Arc::new(config),
            outcome: Arc::default(),
            running: SharedMap::default(),
            buffer: SharedMap::default(),
            backfills: SharedMap::default(),
            ahead: Arc::default(),
            times,
        };
        for (part, value) in parts {
            let known = SchedulePart::from_row_id(part)
                .ok_or_else(|| unreadable("part", format!("a schedule has no part {part:?}")))?;
            schedule.insert_part(&known, value).map_err(|e| unreadable("part", e.to_string()))?;
        }
        schedule.compile(zones);
        Ok(schedule)
    }

    /// Compiles the spec again, because the time zones or the spec may have changed.
    pub(crate) fn compile(&mut self, zones: &Zones) {
        self.times = Times::compile(&self.config, &self.head.incarnation, zones);
    }

    /// The encoded head row.
    pub fn head_row(&self) -> Vec<u8> {
        encoded(&self.head)
    }

    /// The encoded row of a part; `None` if the schedule no longer has the part.
    pub fn part_row(&self, part: &SchedulePart) -> Option<Vec<u8>> {
        match part {
            SchedulePart::Config => Some(encoded(&*self.config)),
            SchedulePart::LastOutcome => Some(encoded(&*self.outcome)),
            SchedulePart::Running(run_id) => row(&self.running, run_id),
            SchedulePart::Buffered(sequence) => row(&self.buffer, sequence),
            SchedulePart::Backfill(sequence) => row(&self.backfills, sequence),
            SchedulePart::Ahead(nominal) => self.ahead.contains(nominal).then(Vec::new),
        }
    }

    /// The total length of the schedule's encoded rows.
    pub fn rows_len(&self) -> usize {
        let lens = [self.head.encoded_len(), self.config.encoded_len(), self.outcome.encoded_len()];
        let running = self.running.values().map(|it| it.encoded_len());
        let buffer = self.buffer.values().map(|it| it.encoded_len());
        let backfills = self.backfills.values().map(|it| it.encoded_len());
        lens.into_iter().chain(running).chain(buffer).chain(backfills).sum::<usize>()
            + self.ahead.len() * size_of::<i64>()
    }

    fn insert_part(&mut self, part: &SchedulePart, value: &[u8]) -> Result<(), prost::DecodeError> {
        match part {
            SchedulePart::Config => self.config = Arc::new(Message::decode(value)?),
            SchedulePart::LastOutcome => self.outcome = Arc::new(Message::decode(value)?),
            SchedulePart::Running(run_id) => put(&mut self.running, run_id.clone(), value)?,
            SchedulePart::Buffered(sequence) => put(&mut self.buffer, *sequence, value)?,
            SchedulePart::Backfill(sequence) => put(&mut self.backfills, *sequence, value)?,
            SchedulePart::Ahead(nominal) => {
                Arc::make_mut(&mut self.ahead).insert(*nominal);
            }
        }
        Ok(())
    }
}
