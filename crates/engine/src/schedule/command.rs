//! The commands of a schedule, with their arguments and replies.

use std::sync::Arc;

use perennial_proto::perennial::CommandContext;
use perennial_proto::store as stored;
use perennial_proto::store::Verdict;
use perennial_proto::temporal::common::v1::{Memo, Payloads, SearchAttributes};
use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy;

use super::{Schedule, Skip};
use crate::Time;
use crate::run::Answer;

/// A command to an existing schedule.
#[derive(Debug, Clone)]
pub enum Command {
    /// Replace the configuration.
    Update(Box<UpdateSchedule>),
    /// Start a run now.
    Trigger(Trigger),
    /// Start runs for the times of a window in the past or future.
    Backfill(NewBackfill),
    /// Cancel a backfill: it starts no further runs.
    CancelBackfill {
        /// The backfill's sequence number.
        sequence: i64,
    },
    /// Pause: no scheduled starts until it is unpaused.
    Pause {
        /// The reason, stored as the notes.
        notes: String,
        /// The caller.
        context: Option<CommandContext>,
    },
    /// Unpause: the schedule continues from now.
    Unpause {
        /// The reason, stored as the notes.
        notes: String,
        /// The caller.
        context: Option<CommandContext>,
    },
    /// Delete the schedule. Its runs continue.
    Delete {
        /// The reason.
        reason: String,
        /// The caller.
        context: Option<CommandContext>,
    },
    /// The schedule's wake-up time has come.
    Wake,
    /// Evaluate on demand: settle the due times and report the verdict of each.
    Evaluate,
    /// The answer to a message that the schedule sent, such as a start.
    TakeAnswer {
        /// The message, as it was sent.
        message: Arc<stored::EntityMessage>,
        /// The receiver's answer.
        answer: Answer,
    },
    /// A run of the schedule has ended, with all its retries and continuations.
    RunClosed(Box<stored::ScheduledRunClosed>),
}

/// Arguments of [`super::create`].
#[derive(Debug, Clone)]
pub struct CreateSchedule {
    /// Identifies retries of the request.
    pub request_id: String,
    /// The configuration, with its spec in canonical form.
    pub config: stored::ScheduleConfig,
    /// The initial state.
    pub state: State,
    /// Commands to be carried out at once.
    pub first: Vec<Command>,
    /// The caller.
    pub context: Option<CommandContext>,
}

/// The part of a schedule's state that users may set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    /// Whether scheduled starts are paused.
    pub paused: bool,
    /// Notes for users.
    pub notes: String,
    /// The number of scheduled starts left, if they are limited.
    pub remaining_actions: Option<i64>,
}

/// Arguments of [`Command::Update`].
#[derive(Debug, Clone)]
pub struct UpdateSchedule {
    /// The configuration version that the caller saw; `None` to update any version.
    pub conflict_token: Option<i64>,
    /// Identifies retries of the request.
    pub request_id: String,
    /// The new configuration. Its memo and search attributes are ignored.
    pub config: stored::ScheduleConfig,
    /// The new state.
    pub state: State,
    /// New search attributes; `None` leaves them as they are.
    pub search_attributes: Option<SearchAttributes>,
    /// New memo fields; `None` leaves the memo as it is.
    pub memo: Option<Memo>,
    /// The caller.
    pub context: Option<CommandContext>,
}

/// Arguments of [`Command::Trigger`].
#[derive(Debug, Clone, Default)]
pub struct Trigger {
    /// Identifies retries of the request.
    pub request_id: String,
    /// The overlap policy; unspecified for the schedule's own.
    pub overlap_policy: ScheduleOverlapPolicy,
    /// The nominal time of the run, if it isn't now.
    pub scheduled_at: Option<Time>,
    /// The input, if it isn't the action's own.
    pub input: Option<Payloads>,
    /// The caller.
    pub context: Option<CommandContext>,
}

/// Arguments of [`Command::Backfill`]. The window includes both ends.
#[derive(Debug, Clone)]
pub struct NewBackfill {
    /// Identifies retries of the request.
    pub request_id: String,
    /// The start of the window.
    pub from: Time,
    /// The end of the window.
    pub to: Time,
    /// The overlap policy; unspecified for the schedule's own.
    pub overlap_policy: ScheduleOverlapPolicy,
    /// The caller.
    pub context: Option<CommandContext>,
}

/// The reply to a command that was accepted.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The command took effect; there is nothing to report.
    Done,
    /// The result of a trigger.
    Triggered(Triggered),
    /// The sequence number of the backfill.
    Backfill(i64),
    /// The result of an evaluation.
    Evaluated {
        /// The settled times, in order.
        times: Vec<EvaluatedTime>,
        /// Whether more times are due than one step settles.
        has_more: bool,
    },
}

impl Reply {
    /// Whether the reply names a run whose start hasn't been answered.
    pub fn awaits_starts(&self, schedule: &Schedule) -> bool {
        match self {
            Self::Triggered(Triggered::Started { run_id, .. }) => {
                schedule.is_start_unanswered(run_id)
            }
            Self::Evaluated { times, .. } => {
                times.iter().any(|time| schedule.is_start_unanswered(&time.run_id))
            }
            Self::Done | Self::Triggered(_) | Self::Backfill(_) => false,
        }
    }

    /// Reports a start as skipped that was refused because another run has its workflow id.
    pub fn refuse_start(&mut self, refused: &str) {
        let reason = Skip::IdTaken.text();
        match self {
            Self::Triggered(outcome) => {
                if matches!(outcome, Triggered::Started { run_id, .. } if run_id == refused) {
                    *outcome = Triggered::Skipped { reason };
                }
            }
            Self::Evaluated { times, .. } => {
                for time in times.iter_mut().filter(|time| time.run_id == refused) {
                    time.verdict = Verdict::Skipped;
                    reason.clone_into(&mut time.reason);
                    time.workflow_id.clear();
                    time.run_id.clear();
                }
            }
            Self::Done | Self::Backfill(_) => {}
        }
    }
}

/// The verdict of a time in an evaluation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvaluatedTime {
    /// The nominal time.
    pub nominal: Time,
    /// The verdict so far; a start that waits is reported as buffered.
    pub verdict: Verdict,
    /// The reason why nothing was started; empty if a run was.
    pub reason: String,
    /// The workflow id of the started run.
    pub workflow_id: String,
    /// The run id of the started run.
    pub run_id: String,
    /// The number of times in this entry: consecutive missed times share one.
    pub count: i64,
}

/// The result of a trigger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Triggered {
    /// A run is being started.
    Started {
        /// The workflow id of the run.
        workflow_id: String,
        /// The run id of the run.
        run_id: String,
    },
    /// The start waits for open runs to end.
    Buffered {
        /// The number of buffered starts, this one included.
        depth: usize,
    },
    /// Nothing is started.
    Skipped {
        /// The reason.
        reason: &'static str,
    },
    /// The start was to be buffered, but the buffer was full or the schedule was deleted meanwhile.
    Dropped {
        /// The reason.
        reason: &'static str,
    },
}
