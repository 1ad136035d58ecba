//! Refills a task queue from the store when few of its tasks are left in memory.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use perennial_engine::SlotRange;
use perennial_proto::store::WaitingTask;
use perennial_store::Error;
use prost::Message;

use super::{Node, PAGE};
use crate::queues::{Page, QueueName, Reading, level_of, queue_of};

/// Pages, of rows of all queues, scanned for one queue before the found tasks are matched.
const PAGES_PER_READ: usize = 20;
/// Attempts while the store doesn't answer. A later poll starts again.
const ATTEMPTS_MAX: usize = 20;
const RETRY_DELAY: Duration = Duration::from_millis(100);

impl Node {
    /// Starts a read from the store if few of a queue's tasks are left in memory.
    pub(crate) fn read_tasks_if_few(self: &Arc<Self>, queue: &QueueName) {
        let Some(reading) = self.queues.begin_reading(queue) else { return };
        let (node, queue) = (Arc::clone(self), queue.clone());
        if self.environment.is_simulated() {
            node.read_tasks(&queue, reading, 1);
        } else {
            tokio::task::spawn_blocking(move || node.read_tasks(&queue, reading, ATTEMPTS_MAX));
        }
    }

    fn read_tasks(&self, queue: &QueueName, mut reading: Reading, mut tries: usize) {
        loop {
            match self.task_page(queue, reading) {
                Ok(page) => {
                    for matched in self.queues.take_page(queue, page, self.monotonic()) {
                        self.dispatch(Some(matched));
                    }
                }
                Err(why) => {
                    self.queues.read_failed(queue, reading);
                    tries -= 1;
                    if tries == 0 {
                        tracing::warn!(queue = queue.name, %why, "cannot read waiting tasks; the next poll tries again");
                        return;
                    }
                    thread::sleep(RETRY_DELAY);
                }
            }
            let Some(next) = self.queues.begin_reading(queue) else { return };
            reading = next;
        }
    }

    /// The next tasks of a queue's level.
    fn task_page(&self, queue: &QueueName, reading: Reading) -> Result<Page, Error> {
        let mut page = Page { reading, tasks: Vec::new(), up_to: reading.after, is_all: false };
        for _ in 0..PAGES_PER_READ {
            let rows = self.store.tasks(SlotRange::ALL, page.up_to, PAGE)?;
            page.is_all = rows.len() < PAGE;
            page.up_to = rows.last().map_or(page.up_to, |last| last.key);
            let tasks = rows.iter().filter_map(|row| WaitingTask::decode(&*row.value).ok());
            let is_meant =
                |task: &WaitingTask| level_of(task) == reading.level && queue_of(task) == *queue;
            page.tasks.extend(tasks.filter(is_meant));
            if page.is_all || page.tasks.len() >= PAGE {
                break;
            }
        }
        Ok(page)
    }
}
