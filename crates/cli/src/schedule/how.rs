//! The flags that say how a schedule goes about it: policies, limits, notes, and what only Perennial has.

use std::time::Duration;

use clap::ValueEnum;
use perennial_calendar::parse_duration;
use perennial_proto::perennial::{CatchupMode, ScheduleExtensions};
use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy;
use perennial_proto::temporal::schedule::v1::{SchedulePolicies, ScheduleState};

use crate::input::{length, overlap_policy, text_pair};

/// Policies, limits and notes.
#[derive(Debug, Default, Clone, clap::Args)]
#[group(id = "how-args")]
pub(super) struct HowArgs {
    /// While a run goes on: Skip, BufferOne, BufferAll, CancelOther, TerminateOther or AllowAll
    /// [default: Skip]
    #[arg(long, value_name = "POLICY", help_heading = "How", value_parser = overlap_policy)]
    pub(super) overlap_policy: Option<ScheduleOverlapPolicy>,

    /// How late a missed time is still started [default: 365d]
    #[arg(long, value_name = "DURATION", help_heading = "How", value_parser = parse_duration)]
    pub(super) catchup_window: Option<Duration>,

    /// Pause when a run fails; =false doesn't
    #[arg(long, help_heading = "How", value_name = "BOOL")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(super) pause_on_failure: Option<bool>,

    /// Add no time to the workflow id; =false does
    #[arg(long, help_heading = "How", value_name = "BOOL")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(super) keep_original_workflow_id: Option<bool>,

    /// Act so many times by itself; 0 is without limit
    #[arg(long, value_name = "N", help_heading = "How")]
    #[arg(value_parser = clap::value_parser!(i64).range(0..))]
    pub(super) remaining_actions: Option<i64>,

    /// A note on it
    #[arg(long, value_name = "TEXT", help_heading = "How")]
    pub(super) notes: Option<String>,

    #[command(flatten)]
    pub(super) extensions: ExtensionArgs,
}

/// What only Perennial has.
#[derive(Debug, Default, Clone, clap::Args)]
#[group(id = "extension-args")]
pub(super) struct ExtensionArgs {
    /// Which of the times that passed while no server ran are started
    #[arg(long, value_enum, value_name = "WHICH", help_heading = "Only with Perennial")]
    catchup_mode: Option<CatchupWord>,

    /// Start missed times however late; =false doesn't
    #[arg(long, help_heading = "Only with Perennial", value_name = "BOOL")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    unlimited_catchup: Option<bool>,

    /// Delete the schedule with the run of this number; 0 never does
    #[arg(long, value_name = "N", help_heading = "Only with Perennial")]
    #[arg(value_parser = clap::value_parser!(i64).range(0..))]
    max_runs: Option<i64>,

    /// Let no more than so many starts wait; 0 is without limit
    #[arg(long, value_name = "N", help_heading = "Only with Perennial")]
    #[arg(value_parser = clap::value_parser!(i64).range(0..))]
    buffer_max: Option<i64>,

    /// A label of the schedule and of all its runs, to find them by: PerennialLabels = 'KEY=VALUE'
    #[arg(long = "label", value_name = "KEY=VALUE", help_heading = "Only with Perennial")]
    #[arg(value_parser = text_pair)]
    labels: Vec<(String, String)>,
}

/// The words for catch-up modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CatchupWord {
    /// All that the catch-up window and the overlap policy allow
    All,
    /// The earliest one
    One,
    /// The latest one
    Latest,
    None,
}

impl HowArgs {
    /// What they make of policies.
    pub(super) fn policies(&self, present: SchedulePolicies) -> anyhow::Result<SchedulePolicies> {
        let mut policies = present;
        if let Some(policy) = self.overlap_policy {
            policies.overlap_policy = policy.into();
        }
        if let Some(window) = self.catchup_window {
            policies.catchup_window = Some(length(window)?);
        }
        if let Some(pause) = self.pause_on_failure {
            policies.pause_on_failure = pause;
        }
        if let Some(keep) = self.keep_original_workflow_id {
            policies.keep_original_workflow_id = keep;
        }
        Ok(policies)
    }

    /// What they make of the notes and limits.
    pub(super) fn state(&self, present: ScheduleState) -> ScheduleState {
        let mut state = present;
        if let Some(notes) = &self.notes {
            state.notes.clone_from(notes);
        }
        if let Some(remaining) = self.remaining_actions {
            state.limited_actions = remaining > 0;
            state.remaining_actions = remaining;
        }
        state
    }
}

impl ExtensionArgs {
    /// What they make of what only Perennial has; nothing if none was given.
    pub(super) fn change(&self, present: ScheduleExtensions) -> Option<ScheduleExtensions> {
        let ExtensionArgs { catchup_mode, unlimited_catchup, max_runs, buffer_max, labels } = self;
        let given = catchup_mode.is_some()
            || unlimited_catchup.is_some()
            || max_runs.is_some()
            || buffer_max.is_some()
            || !labels.is_empty();
        let mode = catchup_mode.map(|word| match word {
            CatchupWord::All => CatchupMode::All,
            CatchupWord::One => CatchupMode::One,
            CatchupWord::Latest => CatchupMode::Latest,
            CatchupWord::None => CatchupMode::None,
        });
        given.then(|| ScheduleExtensions {
            catchup_mode: mode.map_or(present.catchup_mode, i32::from),
            unlimited_catchup: unlimited_catchup.unwrap_or(present.unlimited_catchup),
            max_runs: max_runs.unwrap_or(present.max_runs),
            buffer_max: buffer_max.unwrap_or(present.buffer_max),
            labels: present.labels.into_iter().chain(labels.iter().cloned()).collect(),
        })
    }
}
