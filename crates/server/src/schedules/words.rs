//! The fate of a time, in words.

use perennial_engine::Time;
use perennial_engine::schedule::{Schedule, Skip, Status};
use perennial_proto::perennial::{Occurrence, Verdict};
use perennial_proto::store::{self as stored, StartReason};

/// How a start came about.
pub(super) fn start_reason(reason: StartReason) -> &'static str {
    match reason {
        StartReason::Schedule => "schedule",
        StartReason::Catchup => "catch-up",
        StartReason::Trigger => "trigger",
        StartReason::Backfill => "backfill",
    }
}

/// What became of a time when it was evaluated, or asked for.
pub(super) fn outcome(verdict: stored::Verdict) -> &'static str {
    match verdict {
        stored::Verdict::Fired | stored::Verdict::Late => "triggered",
        stored::Verdict::Buffered => "buffered",
        stored::Verdict::Skipped => "skipped",
        stored::Verdict::Dropped => "dropped",
        stored::Verdict::Missed => "missed",
        stored::Verdict::Excluded => "excluded",
        stored::Verdict::Unspecified => "",
    }
}

/// Why a time started a run, or didn't, or will.
pub(super) fn explain(
    schedule: &Schedule,
    time: Time,
    occurrence: &Occurrence,
    manual: &[Occurrence],
) -> String {
    let mut text = own_fate(schedule, time, occurrence);
    for asked in manual {
        let started = asked.run.as_ref().map_or_else(
            || format!("came to nothing ({})", asked.reason),
            |run| format!("started {}", run.workflow_id),
        );
        text += &format!(" A {} for it {started}.", asked.start_reason);
    }
    text
}

fn own_fate(schedule: &Schedule, time: Time, occurrence: &Occurrence) -> String {
    let run = occurrence.run.as_ref().map_or("a run", |run| run.workflow_id.as_str());
    let at = occurrence.decided_at.map(|at| clock(Time::from(at))).unwrap_or_default();
    match occurrence.verdict() {
        Verdict::Fired => format!("It fired: {run} was started at {at}."),
        Verdict::Late => format!(
            "It fired late: {run} was started at {at}, because nothing evaluated the schedule in time."
        ),
        Verdict::Skipped => format!("Nothing was started: {}.", skip_reason(&occurrence.reason)),
        Verdict::Missed if occurrence.reason == "catchup_window" => format!(
            "It was missed: at {at}, when it was evaluated, it was later than the catch-up window."
        ),
        Verdict::Missed => format!(
            "It was missed: nothing evaluated the schedule until {at}, and its catch-up mode leaves \
             such times out."
        ),
        Verdict::Dropped if occurrence.reason == "deleted" => {
            "It waited for another run to end when the schedule was deleted.".to_owned()
        }
        Verdict::Dropped => "It was dropped: the buffer was full.".to_owned(),
        Verdict::Excluded => format!("The spec leaves it out: {}.", occurrence.reason),
        Verdict::Buffered => "It waits for another run to end.".to_owned(),
        Verdict::Pending => to_come(schedule),
        Verdict::NotATime | Verdict::Unspecified => not_a_time(schedule, time),
    }
}

fn skip_reason(reason: &str) -> &str {
    match Skip::named(reason) {
        Some(Skip::Overlap) => "another run was still going, and the overlap policy says no",
        Some(Skip::NotTriggerable) => "the schedule couldn't act",
        Some(Skip::Exhausted) => "the limited actions were used up",
        Some(Skip::IdTaken) => "a run had its workflow id already",
        Some(Skip::Paused) => "the schedule was paused",
        Some(Skip::Updated) => "the spec was changed between the time and its jittered time",
        Some(Skip::Backfilled) => "a backfill had started it before it came",
        Some(Skip::Canceled) => "its backfill was canceled",
        None => reason,
    }
}

fn to_come(schedule: &Schedule) -> String {
    match schedule.status() {
        Status::Active if schedule.is_exhausted() => {
            "It won't fire: the limited actions are used up.".to_owned()
        }
        Status::Active => "It hasn't come yet.".to_owned(),
        Status::Paused => {
            format!("It won't fire while the schedule is paused: {:?}.", schedule.head.notes)
        }
        Status::Broken => format!(
            "It won't fire: the schedule is broken: {}.",
            schedule.times.broken().unwrap_or_default()
        ),
        Status::Deleted => "It won't fire: the schedule is deleted.".to_owned(),
    }
}

fn not_a_time(schedule: &Schedule, time: Time) -> String {
    if time.0 <= schedule.head.created_at {
        return format!(
            "The schedule was created later, at {}.",
            clock(Time(schedule.head.created_at))
        );
    }
    if let Some(why) = schedule.times.why_left_out(time) {
        return format!("The spec leaves it out: {why}.");
    }
    let (before, after) = schedule.times.neighbours(time);
    let clock = |time: Option<Time>| time.map_or_else(|| "none".to_owned(), clock);
    format!(
        "It is none of the schedule's times: the one before is {}, the one after {}.",
        clock(before),
        clock(after)
    )
}

fn clock(time: Time) -> String {
    jiff::Timestamp::from_nanosecond(time.0.into()).map(|at| at.to_string()).unwrap_or_default()
}
