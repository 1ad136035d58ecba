//! A run as rows, and rows as a run.

use std::sync::Arc;

use perennial_proto::encoded;
use perennial_proto::store as stored;
use perennial_proto::temporal::history::v1::{History, HistoryEvent};
use prost::Message;

use super::Run;
use super::event::Attributes;
use crate::part_rows::{put, row, row_len};
use crate::{PartKey, RunKey, SharedMap};

/// Rows that don't make a run. Only damage to the store can lead here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("run {}: {what} can't be read: {why}", run.0)]
pub struct Unreadable {
    run: RunKey,
    what: &'static str,
    why: String,
}

impl Run {
    /// A run from its rows and from the fragment of history that begins with its first event.
    pub fn from_rows<'a>(
        key: RunKey,
        head: &[u8],
        parts: impl IntoIterator<Item = (&'a PartKey, &'a [u8])>,
        first_fragment: &[u8],
    ) -> Result<Self, Unreadable> {
        let unreadable = |what, why: String| Unreadable { run: key, what, why };
        let head = stored::RunHead::decode(head).map_err(|e| unreadable("head", e.to_string()))?;
        let history =
            History::decode(first_fragment).map_err(|e| unreadable("history", e.to_string()))?;
        let started = match history.events.into_iter().next().and_then(|event| event.attributes) {
            Some(Attributes::WorkflowExecutionStartedEventAttributes(started)) => started,
            _ => return Err(unreadable("first event", "it doesn't start the run".to_owned())),
        };
        let mut run = Self::empty(key, head, started);
        for (part, value) in parts {
            run.insert_part(part, value).map_err(|e| unreadable("part", e.to_string()))?;
        }
        Ok(run)
    }

    pub(crate) fn empty(
        key: RunKey,
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

    /// The head as it is stored: what is volatile by nature stays out.
    pub fn head_row(&self) -> Vec<u8> {
        if self.has_speculative_task() {
            let durable = stored::RunHead { workflow_task: None, ..self.head.clone() };
            return encoded(&durable);
        }
        encoded(&self.head)
    }

    /// A part as it is stored; `None` if the run has it no longer.
    pub fn part_row(&self, key: &PartKey) -> Option<Vec<u8>> {
        match key {
            PartKey::Activity(id) => row(&self.activities, id),
            PartKey::Timer(id) => row(&self.timers, id),
            PartKey::Child(id) => row(&self.children, id),
            PartKey::Signal(id) => row(&self.signals, id),
            PartKey::Cancel(id) => row(&self.cancels, id),
            PartKey::Request(id) => row(&self.requests, id),
            PartKey::Update(id) => row(&self.updates, id),
            PartKey::Buffered(sequence) => row(&self.buffered, sequence),
        }
    }

    /// How long a part's row is; 0 if the run has it no longer.
    pub fn part_len(&self, key: &PartKey) -> usize {
        match key {
            PartKey::Activity(id) => row_len(&self.activities, id),
            PartKey::Timer(id) => row_len(&self.timers, id),
            PartKey::Child(id) => row_len(&self.children, id),
            PartKey::Signal(id) => row_len(&self.signals, id),
            PartKey::Cancel(id) => row_len(&self.cancels, id),
            PartKey::Request(id) => row_len(&self.requests, id),
            PartKey::Update(id) => row_len(&self.updates, id),
            PartKey::Buffered(sequence) => row_len(&self.buffered, sequence),
        }
    }

    /// Every row the run has beside its head.
    pub fn part_keys(&self) -> impl Iterator<Item = PartKey> {
        (self.activities.keys().map(|id| PartKey::Activity(*id)))
            .chain(self.timers.keys().map(|id| PartKey::Timer(*id)))
            .chain(self.children.keys().map(|id| PartKey::Child(*id)))
            .chain(self.signals.keys().map(|id| PartKey::Signal(*id)))
            .chain(self.cancels.keys().map(|id| PartKey::Cancel(*id)))
            .chain(self.requests.keys().map(|id| PartKey::Request(id.clone())))
            .chain(self.updates.keys().map(|id| PartKey::Update(id.clone())))
            .chain(self.buffered.keys().map(|sequence| PartKey::Buffered(*sequence)))
    }

    fn insert_part(&mut self, key: &PartKey, value: &[u8]) -> Result<(), prost::DecodeError> {
        match key {
            PartKey::Activity(id) => put(&mut self.activities, *id, value),
            PartKey::Timer(id) => put(&mut self.timers, *id, value),
            PartKey::Child(id) => put(&mut self.children, *id, value),
            PartKey::Signal(id) => put(&mut self.signals, *id, value),
            PartKey::Cancel(id) => put(&mut self.cancels, *id, value),
            PartKey::Request(id) => put(&mut self.requests, id.clone(), value),
            PartKey::Update(id) => put(&mut self.updates, id.clone(), value),
            PartKey::Buffered(sequence) => {
                put::<i64, HistoryEvent>(&mut self.buffered, *sequence, value)
            }
        }
    }
}
