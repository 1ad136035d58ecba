//! Protections that can be taken out.

use std::fmt;

use perennial_engine::{Kind, PartId, SchedulePart};
use perennial_proto::store::ScheduleHead;
use perennial_store::{Batch, EntityWrite};
use prost::Message;

/// A protection that is taken out, to see that the auditor misses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sabotage {
    /// The server as it is.
    #[default]
    None,
    /// The store takes batches of owners that have been replaced.
    Fence,
    /// A run that is loaded has forgotten which requests it has taken.
    Deduplication,
    /// What follows from a step leaves before the step is durable.
    WaitForCommit,
    /// Starts of a schedule are committed without its progress.
    Progress,
    /// A schedule's progress is the time of its last step, not the last time that has its verdict.
    Watermark,
    /// A schedule that is loaded doesn't know what it has started.
    Running,
}

/// As an option of the command that simulates; nothing for the server as it is.
impl fmt::Display for Sabotage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "",
            Self::Fence => " --sabotage fence",
            Self::Deduplication => " --sabotage deduplication",
            Self::WaitForCommit => " --sabotage wait-for-commit",
            Self::Progress => " --sabotage progress",
            Self::Watermark => " --sabotage watermark",
            Self::Running => " --sabotage running",
        })
    }
}

impl Sabotage {
    /// The batch without what protects schedules.
    pub(crate) fn spoil(self, batch: &Batch) -> Batch {
        let mut batch = batch.clone();
        for write in batch.entities.iter_mut().filter(|it| it.kind == Kind::Schedule) {
            match self {
                Self::Progress if write.created.is_none() && has_start(write) => {
                    write.head = None;
                }
                Self::Watermark => write.head = write.head.take().map(|it| hurried(&it)),
                Self::Running => {
                    write.parts.retain(|(part, _)| !is_running(part));
                }
                Self::Progress
                | Self::None
                | Self::Fence
                | Self::Deduplication
                | Self::WaitForCommit => {}
            }
        }
        batch
    }
}

fn has_start(write: &EntityWrite) -> bool {
    write.parts.iter().any(|(part, value)| is_running(part) && value.is_some())
}

fn is_running(part: &PartId) -> bool {
    matches!(SchedulePart::from_row_id(part), Some(SchedulePart::Running(_)))
}

/// A schedule's head that says everything up to its last step is settled.
fn hurried(head: &[u8]) -> Vec<u8> {
    let mut head = ScheduleHead::decode(head).unwrap_or_default();
    head.settled_up_to = head.settled_up_to.max(head.last_event_at);
    head.encode_to_vec()
}
