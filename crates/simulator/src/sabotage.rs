//! Sabotage: protections that can be removed, to test the auditor.

use std::fmt;

use perennial_engine::{Kind, PartId, SchedulePart};
use perennial_proto::store::ScheduleHead;
use perennial_store::{Batch, EntityWrite};
use prost::Message;

/// A protection to remove, so that the auditor has to find a violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sabotage {
    /// Nothing is removed.
    #[default]
    None,
    /// The store accepts batches of owners that have been replaced.
    Fence,
    /// A loaded run has lost the requests that it took.
    Deduplication,
    /// The effects of a step are released before the step is durable.
    WaitForCommit,
    /// Starts of a schedule are committed without its progress.
    Progress,
    /// A schedule's progress is the time of its last step, not the last time that has its verdict.
    Watermark,
    /// A loaded schedule has lost its open runs.
    Running,
}

/// The command-line option; empty if nothing is removed.
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
    /// The batch without the rows that protect schedules.
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
