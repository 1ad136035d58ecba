//! What the server says in codes, in words.

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

/// The same with the reason why it is over, broken, or doesn't act. Why it is paused stands in its notes.
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
        "buffer_full" => "as many starts wait already as may",
        "deleted" => "the schedule was deleted",
        "max_runs_exhausted" => "it has made all the runs it may",
        "catchup_window" => "it came later than the catch-up window",
        "catchup_mode" => "nothing evaluated it in time, and the catch-up mode leaves it out",
        other => other,
    };
    words.to_owned()
}

/// Says why a schedule that was changed doesn't act by itself, if it doesn't.
pub(super) fn remark_if_idle(reason: &str, output: &mut Output) -> io::Result<()> {
    if reason.is_empty() {
        return Ok(());
    }
    output.remark(format!("it doesn't act by itself: {}", reason_in_words(reason)))
}
