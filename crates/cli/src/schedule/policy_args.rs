//! Flags for a schedule's policies, limits and notes, and for Perennial's extensions.

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
pub(super) struct PolicyArgs {
    /// If a run is still going: Skip, BufferOne, BufferAll, CancelOther, TerminateOther or AllowAll
    /// [default: Skip]
    #[arg(long, value_name = "POLICY", help_heading = "Policies", value_parser = overlap_policy)]
    pub(super) overlap_policy: Option<ScheduleOverlapPolicy>,

    /// Start missed times up to this late [default: 365d]
    #[arg(long, value_name = "DURATION", help_heading = "Policies", value_parser = parse_duration)]
    pub(super) catchup_window: Option<Duration>,

    /// Pause the schedule when a run fails
    #[arg(long, help_heading = "Policies", value_name = "BOOL")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(super) pause_on_failure: Option<bool>,

    /// Use the workflow id as it is, without the time
    #[arg(long, help_heading = "Policies", value_name = "BOOL")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(super) keep_original_workflow_id: Option<bool>,

    /// Number of scheduled starts that remain; 0 for no limit
    #[arg(long, value_name = "N", help_heading = "Policies")]
    #[arg(value_parser = clap::value_parser!(i64).range(0..))]
    pub(super) remaining_actions: Option<i64>,

    /// Notes
    #[arg(long, value_name = "TEXT", help_heading = "Policies")]
    pub(super) notes: Option<String>,

    #[command(flatten)]
    pub(super) extensions: ExtensionArgs,
}

/// Perennial's extensions to schedules.
#[derive(Debug, Default, Clone, clap::Args)]
#[group(id = "extension-args")]
pub(super) struct ExtensionArgs {
    /// Times to start after an outage of the server
    #[arg(long, value_enum, value_name = "WHICH", help_heading = "Perennial only")]
    catchup_mode: Option<CatchupArg>,

    /// Start missed times however late they are
    #[arg(long, help_heading = "Perennial only", value_name = "BOOL")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    unlimited_catchup: Option<bool>,

    /// Delete the schedule after this many runs; 0 for never
    #[arg(long, value_name = "N", help_heading = "Perennial only")]
    #[arg(value_parser = clap::value_parser!(i64).range(0..))]
    max_runs: Option<i64>,

    /// Maximum number of buffered starts; 0 for no limit
    #[arg(long, value_name = "N", help_heading = "Perennial only")]
    #[arg(value_parser = clap::value_parser!(i64).range(0..))]
    buffer_max: Option<i64>,

    /// Label of the schedule and its runs; list filters find it: PerennialLabels = 'KEY=VALUE'
    #[arg(long = "label", value_name = "KEY=VALUE", help_heading = "Perennial only")]
    #[arg(value_parser = text_pair)]
    labels: Vec<(String, String)>,
}

/// Values of `--catchup-mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CatchupArg {
    /// All times in the catch-up window
    All,
    /// Only the earliest time
    One,
    /// Only the latest time
    Latest,
    None,
}

impl PolicyArgs {
    /// Applies the flags to the policies.
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

    /// Applies the flags to the notes and limits.
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
    /// Applies the flags to the extensions; `None` if no flag was given.
    pub(super) fn change(&self, present: ScheduleExtensions) -> Option<ScheduleExtensions> {
        let ExtensionArgs { catchup_mode, unlimited_catchup, max_runs, buffer_max, labels } = self;
        let given = catchup_mode.is_some()
            || unlimited_catchup.is_some()
            || max_runs.is_some()
            || buffer_max.is_some()
            || !labels.is_empty();
        let mode = catchup_mode.map(|word| match word {
            CatchupArg::All => CatchupMode::All,
            CatchupArg::One => CatchupMode::One,
            CatchupArg::Latest => CatchupMode::Latest,
            CatchupArg::None => CatchupMode::None,
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
