//! Brings tasks from the store into a queue that has few left in memory.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use perennial_engine::SlotRange;
use perennial_proto::store::WaitingTask;
use perennial_store::Error;
use prost::Message;

use super::{Node, PAGE};
use crate::queues::{Page, QueueName, Reading, level_of, queue_of};

/// Rows of all queues that are looked through for one queue before what was found is handed out.
const PAGES_AT_ONCE: usize = 20;
/// While the store doesn't answer. A poll that comes later begins again.
const TRIES: usize = 20;
const RETRY_AFTER: Duration = Duration::from_millis(100);

impl Node {
    /// Sees to it that a queue has tasks in memory as long as there are some in the store.
    pub(crate) fn read_tasks_if_few(self: &Arc<Self>, queue: &QueueName) {
        let Some(reading) = self.queues.begin_reading(queue) else { return };
        let (node, queue) = (Arc::clone(self), queue.clone());
        if self.surroundings.is_simulated() {
            node.read_tasks(&queue, reading, 1);
        } else {
            tokio::task::spawn_blocking(move || node.read_tasks(&queue, reading, TRIES));
        }
    }

    fn read_tasks(&self, queue: &QueueName, mut reading: Reading, mut tries: usize) {
        loop {
            match self.task_page(queue, reading) {
                Ok(page) => {
                    for met in self.queues.take_page(queue, page, self.monotonic()) {
                        self.dispatch(Some(met));
                    }
                }
                Err(why) => {
                    self.queues.unread(queue, reading);
                    tries -= 1;
                    if tries == 0 {
                        tracing::warn!(queue = queue.name, %why, "cannot read waiting tasks; the next poll tries again");
                        return;
                    }
                    thread::sleep(RETRY_AFTER);
                }
            }
            let Some(next) = self.queues.begin_reading(queue) else { return };
            reading = next;
        }
    }

    /// The next tasks of a queue's level.
    fn task_page(&self, queue: &QueueName, reading: Reading) -> Result<Page, Error> {
        let mut page = Page { reading, tasks: Vec::new(), up_to: reading.after, is_all: false };
        for _ in 0..PAGES_AT_ONCE {
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
