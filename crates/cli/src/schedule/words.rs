//! What the server says in codes, in words.

use perennial_proto::perennial::{ScheduleStatus, Verdict};

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

/// Why nothing was started; a reason that isn't known here says it by itself.
pub(super) fn reason_in_words(reason: &str) -> String {
    let words = match reason {
        "overlap_policy_skip" => "another run goes on, and the overlap policy says no",
        "remaining_actions_exhausted" => "the limited actions are used up",
        "workflow_id_taken" => "a run has its workflow id already",
        "status_not_triggerable" => "the schedule can't act; `schedule describe` says why",
        "paused" => "the schedule was paused",
        "updated" => "the schedule was changed in between",
        "backfilled" => "a backfill had started it before it came",
        "backfill_canceled" => "its backfill was canceled",
        other => other,
    };
    words.to_owned()
}
