//! Buffers the pages of workflow task completions that are too large for one request.
//!
//! Pages are attached to a run while a worker has its workflow task, and never stored. A worker sends lost pages
//! again.

use std::collections::BTreeMap;

use perennial_engine::EntityKey;
use perennial_engine::run::{self, CompleteWorkflowTask, TaskStamp};
use perennial_proto::temporal::command::v1::Command;
use prost::Message;

use super::request::{ReplyTo, Response};
use super::run_requests::gone;
use super::{Cell, StepContext};
use crate::api::{CompletionPage, Refusal};

/// The pages of a run's started workflow task.
#[derive(Default)]
pub(super) struct Pages {
    by_number: BTreeMap<usize, Vec<Command>>,
    /// Encoded size, which workers compute too.
    wire_bytes: usize,
    /// Size in memory, which is far larger for small commands.
    memory_bytes: usize,
}

impl Pages {
    pub(super) fn is_empty(&self) -> bool {
        self.by_number.is_empty()
    }
}

/// Memory used by the pages of all runs.
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
        world: &StepContext<'_>,
    ) {
        let kept = self.keep(key, page, world);
        self.answer(Some(key), reply, kept.map(|()| Response::Done));
    }

    fn keep(
        &mut self,
        key: EntityKey,
        page: CompletionPage,
        world: &StepContext<'_>,
    ) -> Result<(), Refusal> {
        let CompletionPage { task, number, commands, identity } = page;
        let Some(cached) = self.cache.run_mut(key) else { return Err(gone()) };
        cached.run.task_of(task)?;
        let pages = &mut cached.pages;
        // A repeated page of a worker that didn't get the answer.
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
        // The only run with pages may exceed the memory limit, up to the completion limit.
        let is_alone = self.pages.bytes == pages.memory_bytes;
        if self.pages.bytes + memory_bytes > self.pages.bytes_max && !is_alone {
            // Drop its other pages: if all runs kept theirs, none could finish.
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

    /// Removes and returns the pages of a run.
    pub(super) fn drop_pages(&mut self, key: EntityKey) -> Pages {
        let pages = self.cache.run_mut(key).map(|cached| std::mem::take(&mut cached.pages));
        let pages = pages.unwrap_or_default();
        self.pages.bytes -= pages.memory_bytes;
        pages
    }
}
