//! Texts for statuses, verdicts and reasons.

use std::io;

use perennial_proto::perennial::{ScheduleStatus, Verdict};

use crate::output::Output;

/// `active`, `paused`, …
pub(super) fn status_name(status: ScheduleStatus) -> &'static str {
    match status {
        ScheduleStatus::Unspecified => "",
        ScheduleStatus::Active => "active",
        ScheduleStatus::Paused => "paused",
        ScheduleStatus::Broken => "broken",
        ScheduleStatus::Deleted => "deleted",
    }
}

/// The status, with the reason if the schedule is exhausted, broken or idle. The reason for a pause is in its notes.
pub(super) fn status_in_words(status: ScheduleStatus, reason: &str) -> String {
    let has_reason = match status {
        ScheduleStatus::Active | ScheduleStatus::Broken | ScheduleStatus::Deleted => true,
        ScheduleStatus::Unspecified | ScheduleStatus::Paused => false,
    };
    match reason {
        reason if has_reason && !reason.is_empty() => {
            format!("{}: {}", status_name(status), reason_in_words(reason))
        }
        _ => status_name(status).to_owned(),
    }
}

/// `fired`, `skipped`, …
pub(super) fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Unspecified => "",
        Verdict::Fired => "fired",
        Verdict::Late => "late",
        Verdict::Skipped => "skipped",
        Verdict::Missed => "missed",
        Verdict::Dropped => "dropped",
        Verdict::Excluded => "excluded",
        Verdict::Buffered => "buffered",
        Verdict::Pending => "pending",
        Verdict::NotATime => "not a time",
    }
}

/// The text of a reason. An unknown reason is returned as it is.
pub(super) fn reason_in_words(reason: &str) -> String {
    let words = match reason {
        "overlap_policy_skip" => {
            "another run is still going, and the overlap policy skips this one"
        }
        "remaining_actions_exhausted" => "the limited actions are used up",
        "workflow_id_taken" => "another workflow has this workflow id",
        "status_not_triggerable" => "the schedule can't start runs; `schedule describe` says why",
        "paused" => "the schedule was paused",
        "updated" => "the schedule was changed in between",
        "backfilled" => "a backfill had already started it",
        "backfill_canceled" => "its backfill was canceled",
        "buffer_full" => "the buffer is full",
        "deleted" => "the schedule was deleted",
        "max_runs_exhausted" => "the maximum number of runs is reached",
        "catchup_window" => "it was evaluated later than the catch-up window allows",
        "catchup_mode" => "it was missed during an outage, and the catch-up mode excludes it",
        other => other,
    };
    words.to_owned()
}

/// Notes why a changed schedule will not fire, if so.
pub(super) fn remark_if_idle(reason: &str, output: &mut Output) -> io::Result<()> {
    if reason.is_empty() {
        return Ok(());
    }
    output.note(format!("the schedule will not fire: {}", reason_in_words(reason)))
}
