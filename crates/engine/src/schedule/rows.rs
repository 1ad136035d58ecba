//! A schedule as rows, and rows as a schedule.

use std::sync::Arc;

use perennial_calendar::Zones;
use perennial_proto::{encoded, store as stored};
use prost::Message;

use super::{Schedule, Times};
use crate::part_rows::{put, row};
use crate::{ScheduleKey, SchedulePart, SharedMap};

/// Rows that don't make a schedule. Only damage to the store can lead here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("schedule {}: {what} can't be read: {why}", schedule.0)]
pub struct Unreadable {
    schedule: ScheduleKey,
    what: &'static str,
    why: String,
}

impl Schedule {
    /// A schedule from its rows. One whose spec doesn't compile any more is a schedule too: a broken one.
    pub fn from_rows<'a>(
        key: ScheduleKey,
        head: &[u8],
        parts: impl IntoIterator<Item = (&'a SchedulePart, &'a [u8])>,
        zones: &Zones,
    ) -> Result<Self, Unreadable> {
        let unreadable = |what, why: prost::DecodeError| Unreadable {
            schedule: key,
            what,
            why: why.to_string(),
        };
        let head = stored::ScheduleHead::decode(head).map_err(|e| unreadable("head", e))?;
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
            schedule.insert_part(part, value).map_err(|e| unreadable("part", e))?;
        }
        schedule.compile(zones);
        Ok(schedule)
    }

    /// Reads its spec again: the zones may have changed, or the spec.
    pub(crate) fn compile(&mut self, zones: &Zones) {
        self.times = Times::compile(&self.config, &self.head.incarnation, zones);
    }

    /// The head as it is stored.
    pub fn head_row(&self) -> Vec<u8> {
        encoded(&self.head)
    }

    /// A part as it is stored; `None` if the schedule has it no longer.
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

    /// How long all its rows are together.
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
