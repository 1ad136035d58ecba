//! Encoding and decoding of a run's rows.

use std::sync::Arc;

use perennial_proto::encoded;
use perennial_proto::store as stored;
use perennial_proto::temporal::history::v1::{History, HistoryEvent};
use prost::Message;

use super::Run;
use super::event::Attributes;
use crate::part_rows::{put, row, row_len};
use crate::{EntityKey, Kind, Rows, RunPart, SharedMap, Unreadable};

impl Run {
    /// Decodes a run from its rows.
    pub fn from_rows(rows: Rows<'_>) -> Result<Self, Unreadable> {
        let Rows { key, head, parts, first_fragment } = rows;
        let unreadable = |what, why: String| Unreadable { kind: Kind::Run, key, what, why };
        let head = stored::RunHead::decode(head).map_err(|e| unreadable("head", e.to_string()))?;
        let history =
            History::decode(first_fragment).map_err(|e| unreadable("history", e.to_string()))?;
        let started = match history.events.into_iter().next().and_then(|event| event.attributes) {
            Some(Attributes::WorkflowExecutionStartedEventAttributes(started)) => started,
            _ => return Err(unreadable("first event", "it doesn't start the run".to_owned())),
        };
        let mut run = Self::empty(key, head, started);
        for (part, value) in parts {
            let known = RunPart::from_row_id(part)
                .ok_or_else(|| unreadable("part", format!("a run has no part {part:?}")))?;
            run.insert_part(&known, value).map_err(|e| unreadable("part", e.to_string()))?;
        }
        Ok(run)
    }

    pub(crate) fn empty(
        key: EntityKey,
        head: stored::RunHead,
        started: perennial_proto::temporal::history::v1::WorkflowExecutionStartedEventAttributes,
    ) -> Self {
        Self {
            key,
            started: Arc::new(started),
            head,
            activities: SharedMap::default(),
            timers: SharedMap::default(),
            children: SharedMap::default(),
            signals: SharedMap::default(),
            cancels: SharedMap::default(),
            requests: SharedMap::default(),
            updates: SharedMap::default(),
            buffered: SharedMap::default(),
        }
    }

    /// The encoded head row, without a speculative workflow task, which is never stored.
    pub fn head_row(&self) -> Vec<u8> {
        if self.has_speculative_task() {
            let durable = stored::RunHead { workflow_task: None, ..self.head.clone() };
            return encoded(&durable);
        }
        encoded(&self.head)
    }

    /// The encoded row of a part; `None` if the run no longer has the part.
    pub fn part_row(&self, key: &RunPart) -> Option<Vec<u8>> {
        match key {
            RunPart::Activity(id) => row(&self.activities, id),
            RunPart::Timer(id) => row(&self.timers, id),
            RunPart::Child(id) => row(&self.children, id),
            RunPart::Signal(id) => row(&self.signals, id),
            RunPart::Cancel(id) => row(&self.cancels, id),
            RunPart::Request(id) => row(&self.requests, id),
            RunPart::Update(id) => row(&self.updates, id),
            RunPart::Buffered(sequence) => row(&self.buffered, sequence),
        }
    }

    /// The length of a part's encoded row; 0 if the run no longer has the part.
    pub fn part_len(&self, key: &RunPart) -> usize {
        match key {
            RunPart::Activity(id) => row_len(&self.activities, id),
            RunPart::Timer(id) => row_len(&self.timers, id),
            RunPart::Child(id) => row_len(&self.children, id),
            RunPart::Signal(id) => row_len(&self.signals, id),
            RunPart::Cancel(id) => row_len(&self.cancels, id),
            RunPart::Request(id) => row_len(&self.requests, id),
            RunPart::Update(id) => row_len(&self.updates, id),
            RunPart::Buffered(sequence) => row_len(&self.buffered, sequence),
        }
    }

    /// The parts of the run.
    pub fn part_keys(&self) -> impl Iterator<Item = RunPart> {
        (self.activities.keys().map(|id| RunPart::Activity(*id)))
            .chain(self.timers.keys().map(|id| RunPart::Timer(*id)))
            .chain(self.children.keys().map(|id| RunPart::Child(*id)))
            .chain(self.signals.keys().map(|id| RunPart::Signal(*id)))
            .chain(self.cancels.keys().map(|id| RunPart::Cancel(*id)))
            .chain(self.requests.keys().map(|id| RunPart::Request(id.clone())))
            .chain(self.updates.keys().map(|id| RunPart::Update(id.clone())))
            .chain(self.buffered.keys().map(|sequence| RunPart::Buffered(*sequence)))
    }

    fn insert_part(&mut self, key: &RunPart, value: &[u8]) -> Result<(), prost::DecodeError> {
        match key {
            RunPart::Activity(id) => put(&mut self.activities, *id, value),
            RunPart::Timer(id) => put(&mut self.timers, *id, value),
            RunPart::Child(id) => put(&mut self.children, *id, value),
            RunPart::Signal(id) => put(&mut self.signals, *id, value),
            RunPart::Cancel(id) => put(&mut self.cancels, *id, value),
            RunPart::Request(id) => put(&mut self.requests, id.clone(), value),
            RunPart::Update(id) => put(&mut self.updates, id.clone(), value),
            RunPart::Buffered(sequence) => {
                put::<i64, HistoryEvent>(&mut self.buffered, *sequence, value)
            }
        }
    }
}
