//! What can be asked of a schedule, and what it answers.

use std::sync::Arc;

use perennial_proto::perennial::CommandContext;
use perennial_proto::store as stored;
use perennial_proto::store::Verdict;
use perennial_proto::temporal::common::v1::{Memo, Payloads, SearchAttributes};
use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy;

use super::{Schedule, Skip};
use crate::Time;
use crate::run::Answer;

/// A command to a schedule that exists.
#[derive(Debug, Clone)]
pub enum Command {
    /// Another configuration, whole.
    Update(Box<UpdateSchedule>),
    /// Start once, now.
    Trigger(Trigger),
    /// Start for times of a window as if it were now.
    Backfill(NewBackfill),
    /// Nothing more of a backfill is started.
    CancelBackfill {
        /// Which.
        sequence: i64,
    },
    /// No scheduled start until it is let go.
    Pause {
        /// Why; becomes the notes.
        notes: String,
        /// Who asks.
        context: Option<CommandContext>,
    },
    /// Go on from now.
    Unpause {
        /// Why; becomes the notes.
        notes: String,
        /// Who asks.
        context: Option<CommandContext>,
    },
    /// It is over. What it has started isn't touched.
    Delete {
        /// Why.
        reason: String,
        /// Who asks.
        context: Option<CommandContext>,
    },
    /// Its time may have come.
    Wake,
    /// Someone evaluates it: what is due gets its verdict, and the answer tells each.
    Evaluate,
    /// A start that it asked for was answered, or another of its messages.
    TakeAnswer {
        /// As it was sent.
        message: Arc<stored::EntityMessage>,
        /// What the receiver said.
        answer: Answer,
    },
    /// A run that it started has ended, with all its retries and continuations.
    RunClosed(Box<stored::ScheduledRunClosed>),
}

/// A schedule to be.
#[derive(Debug, Clone)]
pub struct CreateSchedule {
    /// Tells a repetition.
    pub request_id: String,
    /// What it is, with its spec in canonical form.
    pub config: stored::ScheduleConfig,
    /// How it begins.
    pub state: State,
    /// Done at once.
    pub first: Vec<Command>,
    /// Who asks.
    pub context: Option<CommandContext>,
}

/// What people may set of a schedule's state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    /// No scheduled starts.
    pub paused: bool,
    /// For people.
    pub notes: String,
    /// Scheduled starts left, if they are limited.
    pub remaining_actions: Option<i64>,
}

/// See [`Command::Update`].
#[derive(Debug, Clone)]
pub struct UpdateSchedule {
    /// The configuration that the caller saw; `None` for whichever it is.
    pub conflict_token: Option<i64>,
    /// Tells a repetition.
    pub request_id: String,
    /// What it is from now on. Its memo and search attributes aren't looked at.
    pub config: stored::ScheduleConfig,
    /// How it goes on.
    pub state: State,
    /// `None` leaves them.
    pub search_attributes: Option<SearchAttributes>,
    /// `None` leaves it.
    pub memo: Option<Memo>,
    /// Who asks.
    pub context: Option<CommandContext>,
}

/// See [`Command::Trigger`].
#[derive(Debug, Clone, Default)]
pub struct Trigger {
    /// Tells a repetition.
    pub request_id: String,
    /// Instead of the schedule's own; unspecified for that.
    pub overlap_policy: ScheduleOverlapPolicy,
    /// The time that names the run, if it isn't now.
    pub scheduled_at: Option<Time>,
    /// Instead of the action's own input.
    pub input: Option<Payloads>,
    /// Who asks.
    pub context: Option<CommandContext>,
}

/// See [`Command::Backfill`]. Both ends count.
#[derive(Debug, Clone)]
pub struct NewBackfill {
    /// Tells a repetition.
    pub request_id: String,
    /// The first time that may be started.
    pub from: Time,
    /// The last time that may be started.
    pub to: Time,
    /// Instead of the schedule's own; unspecified for that.
    pub overlap_policy: ScheduleOverlapPolicy,
    /// Who asks.
    pub context: Option<CommandContext>,
}

/// The answer to a command that was taken.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Done; nothing more to say.
    Done,
    /// What became of a trigger.
    Triggered(Triggered),
    /// The number of the backfill.
    Backfill(i64),
    /// What an evaluation came to.
    Evaluated {
        /// In order.
        times: Vec<EvaluatedTime>,
        /// More times are due than one step settles.
        has_more: bool,
    },
}

impl Reply {
    /// Whether it names a run whose start hasn't been answered.
    pub fn awaits_starts(&self, schedule: &Schedule) -> bool {
        match self {
            Self::Triggered(Triggered::Started { run_id, .. }) => schedule.is_on_its_way(run_id),
            Self::Evaluated { times, .. } => {
                times.iter().any(|time| schedule.is_on_its_way(&time.run_id))
            }
            Self::Done | Self::Triggered(_) | Self::Backfill(_) => false,
        }
    }

    /// A start was refused, because another run has its id: it is told as skipped.
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

/// What became of a time when the schedule was evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvaluatedTime {
    /// The time.
    pub nominal: Time,
    /// Its fate so far: one that waits is told as buffered.
    pub verdict: Verdict,
    /// Why it didn't start; empty if it did.
    pub reason: String,
    /// The run that it started.
    pub workflow_id: String,
    /// The run that it started.
    pub run_id: String,
    /// How many times this stands for: missed times in a row share one entry.
    pub count: i64,
}

/// What became of a trigger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Triggered {
    /// A run is being started.
    Started {
        /// Its workflow id.
        workflow_id: String,
        /// Its run id.
        run_id: String,
    },
    /// It waits for others to end.
    Buffered {
        /// How many wait, itself included.
        depth: usize,
    },
    /// Nothing is started.
    Skipped {
        /// Why.
        reason: &'static str,
    },
    /// It was to wait, and there was no room or the schedule was deleted meanwhile.
    Dropped {
        /// Why.
        reason: &'static str,
    },
}
