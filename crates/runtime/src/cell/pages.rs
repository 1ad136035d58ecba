//! Completions that are too large for one request come in pages: kept until the last one comes.
//!
//! Pages are attached to a run while a worker has its workflow task, and never stored. A worker sends those
//! that are lost again.

use std::collections::BTreeMap;

use perennial_engine::EntityKey;
use perennial_engine::run::{self, CompleteWorkflowTask, TaskStamp};
use perennial_proto::temporal::command::v1::Command;
use prost::Message;

use super::request::{ReplyTo, Response};
use super::run_requests::gone;
use super::{Cell, World};
use crate::api::{CompletionPage, Refusal};

/// The pages of a run's started workflow task.
#[derive(Default)]
pub(super) struct Pages {
    by_number: BTreeMap<usize, Vec<Command>>,
    /// On the wire: workers count the same before they send.
    wire_bytes: usize,
    /// A small command takes far more in memory.
    memory_bytes: usize,
}

impl Pages {
    pub(super) fn is_empty(&self) -> bool {
        self.by_number.is_empty()
    }
}

/// Memory that the pages of all runs take.
pub(super) struct PageMemory {
    bytes: usize,
    bytes_max: usize,
}

impl PageMemory {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { bytes: 0, bytes_max }
    }
}

impl Cell {
    pub(super) fn keep_page(
        &mut self,
        key: EntityKey,
        page: CompletionPage,
        reply: ReplyTo,
        world: &World<'_>,
    ) {
        let kept = self.keep(key, page, world);
        self.answer(Some(key), reply, kept.map(|()| Response::Done));
    }

    fn keep(
        &mut self,
        key: EntityKey,
        page: CompletionPage,
        world: &World<'_>,
    ) -> Result<(), Refusal> {
        let CompletionPage { task, number, commands, identity } = page;
        let Some(cached) = self.cache.run_mut(key) else { return Err(gone()) };
        cached.run.task_of(task)?;
        let pages = &mut cached.pages;
        // A worker that didn't hear that it was kept sends it again.
        if pages.by_number.contains_key(&number) {
            return Ok(());
        }
        let wire_bytes: usize = commands.iter().map(Message::encoded_len).sum();
        if pages.wire_bytes + wire_bytes > self.rules.limits.completion_bytes {
            let complete = CompleteWorkflowTask {
                token: task,
                identity,
                is_too_large: true,
                ..CompleteWorkflowTask::default()
            };
            let command = run::Command::CompleteWorkflowTask(Box::new(complete));
            return self.decide(key, command, world).map(drop).map_err(Refusal::from);
        }
        let memory_bytes = wire_bytes + size_of_val(commands.as_slice());
        // A run that is alone with its pages may have as many as are allowed.
        let is_alone = self.pages.bytes == pages.memory_bytes;
        if self.pages.bytes + memory_bytes > self.pages.bytes_max && !is_alone {
            // Its other pages make room: if all kept theirs, none would come to an end.
            self.drop_pages(key);
            return Err(Refusal::PagesLost(format!(
                "workflow task completion buffer memory limit reached while buffering page {number}"
            )));
        }
        pages.by_number.insert(number, commands);
        pages.wire_bytes += wire_bytes;
        pages.memory_bytes += memory_bytes;
        self.pages.bytes += memory_bytes;
        Ok(())
    }

    pub(super) fn take_pages(
        &mut self,
        key: EntityKey,
        task: TaskStamp,
        count: usize,
        reply: ReplyTo,
    ) {
        let taken = self.take_first_pages(key, task, count);
        self.answer(Some(key), reply, taken.map(Response::Pages));
    }

    fn take_first_pages(
        &mut self,
        key: EntityKey,
        task: TaskStamp,
        count: usize,
    ) -> Result<Vec<Command>, Refusal> {
        self.run(key).ok_or_else(gone)?.task_of(task)?;
        let Pages { mut by_number, .. } = self.drop_pages(key);
        if by_number.is_empty() {
            return Err(Refusal::PagesLost(format!(
                "workflow task completion buffer lost for scheduled event {} attempt {}",
                task.scheduled_event_id, task.attempt
            )));
        }
        let mut commands = Vec::new();
        for number in 0..count {
            let page = by_number.remove(&number).ok_or_else(|| {
                Refusal::PagesLost(format!(
                    "workflow task completion buffer missing page {number} of {count}"
                ))
            })?;
            commands.extend(page);
        }
        Ok(commands)
    }

    /// Keeps the pages of a run no longer.
    pub(super) fn drop_pages(&mut self, key: EntityKey) -> Pages {
        let pages = self.cache.run_mut(key).map(|cached| std::mem::take(&mut cached.pages));
        let pages = pages.unwrap_or_default();
        self.pages.bytes -= pages.memory_bytes;
        pages
    }
}
