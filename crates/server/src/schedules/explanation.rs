//! Explains an occurrence of a schedule in plain English.

use perennial_engine::Time;
use perennial_engine::schedule::{Schedule, Skip, Status};
use perennial_proto::perennial::{Occurrence, Verdict};
use perennial_proto::store::{self as stored, StartReason};
use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy;

/// The most earlier occurrences that are counted.
const COUNTED_MAX: usize = 10_000;

/// The name of a start's reason.
pub(super) fn start_reason(reason: StartReason) -> &'static str {
    match reason {
        StartReason::Schedule => "schedule",
        StartReason::Catchup => "catch-up",
        StartReason::Trigger => "trigger",
        StartReason::Backfill => "backfill",
    }
}

/// The name of an occurrence's outcome.
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

/// Explains why an occurrence started a run, didn't, or will.
pub(super) fn explain(
    schedule: &Schedule,
    time: Time,
    occurrence: &Occurrence,
    manual: &[Occurrence],
) -> String {
    let mut text = own_fate(schedule, time, occurrence);
    for start in manual {
        let started = start.run.as_ref().map_or_else(
            || format!("started nothing ({})", start.reason),
            |run| format!("started {}", run.workflow_id),
        );
        text += &format!(" A {} for it {started}.", start.start_reason);
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
        Verdict::Pending => to_come(schedule, time),
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

/// Explains whether a future occurrence will start a run, and what could prevent it.
fn to_come(schedule: &Schedule, time: Time) -> String {
    match schedule.status() {
        Status::Active if schedule.is_exhausted() => {
            "It won't fire: the limited actions are used up.".to_owned()
        }
        Status::Active if schedule.ahead.contains(&time.0) => {
            "Nothing will be started then: a backfill has started it already.".to_owned()
        }
        Status::Active => will_fire(schedule, time),
        Status::Paused => {
            let notes = &schedule.head.notes;
            format!(
                "It won't fire while the schedule is paused: {notes:?}. It is paused until someone resumes it."
            )
        }
        Status::Broken => format!(
            "It won't fire: the schedule is broken: {}.",
            schedule.times.broken().unwrap_or_default()
        ),
        Status::Deleted => format!("It won't fire: {}.", deleted(schedule)),
    }
}

fn will_fire(schedule: &Schedule, time: Time) -> String {
    let just_before = Time(time.0.saturating_sub(1));
    let due = schedule.times.due_between(just_before, time).next().unwrap_or(time);
    let mut text = format!("It hasn't come yet: it will fire at {}", clock(due));
    if due != time {
        text += ", put off by the jitter";
    }
    text += ".";
    if let Some((left, of_what)) = runs_left(schedule)
        && let Ok(most) = usize::try_from(left)
        && most <= COUNTED_MAX
    {
        let settled = Time(schedule.head.settled_up_to.saturating_add(1));
        let earlier = schedule.times.nominal_from(settled, just_before).take(most).count();
        if earlier >= most {
            text += &format!(
                " But {of_what} leaves {left} more, and so many times come before it: it fires only if \
                 some of those start nothing."
            );
        }
    }
    let mut prevents = vec!["the schedule is paused, changed or deleted before".to_owned()];
    use ScheduleOverlapPolicy as Policy;
    let overlap = match schedule.overlap_policy(Policy::Unspecified) {
        Policy::Skip | Policy::Unspecified => "another run is still going (overlap policy skip)",
        Policy::BufferOne => "another start waits already (overlap policy buffer_one)",
        Policy::BufferAll | Policy::CancelOther | Policy::TerminateOther | Policy::AllowAll => "",
    };
    prevents.extend((!overlap.is_empty()).then(|| overlap.to_owned()));
    if schedule.config.pause_on_failure {
        prevents.push("a run fails before, which pauses the schedule".to_owned());
    }
    if !schedule.extensions().unlimited_catchup {
        prevents.push("no server evaluates it within its catch-up window".to_owned());
    }
    text + &format!(" Nothing is started if {}.", prevents.join(", or if "))
}

/// How many runs the schedule may still start, and which limit says so.
fn runs_left(schedule: &Schedule) -> Option<(i64, &'static str)> {
    let head = &schedule.head;
    let actions = head.limited_actions.then_some((head.remaining_actions, "the limit of actions"));
    let max_runs = schedule.extensions().max_runs;
    let runs = (max_runs > 0).then(|| (max_runs - head.action_count, "max_runs"));
    actions.into_iter().chain(runs).min_by_key(|(left, _)| *left)
}

fn deleted(schedule: &Schedule) -> String {
    let head = &schedule.head;
    let why = match head.delete_reason.as_str() {
        "" => String::new(),
        why => format!(" ({why})"),
    };
    format!("the schedule was deleted at {}{why}", clock(Time(head.deleted_at)))
}

fn not_a_time(schedule: &Schedule, time: Time) -> String {
    let (before, after) = schedule.times.neighbours(time);
    if time.0 <= schedule.head.created_at {
        let created = clock(Time(schedule.head.created_at));
        let first = schedule.times.neighbours(Time(schedule.head.created_at)).1;
        let first = first.map_or_else(
            || "it has no time after that".to_owned(),
            |first| format!("its first time after that is {}", clock(first)),
        );
        return format!(
            "The schedule was created later, at {created}; {first}.{}",
            state(schedule)
        );
    }
    if let Some(why) = schedule.times.why_left_out(time) {
        return format!("The spec leaves it out: {why}.");
    }
    let shown = |time: Option<Time>| time.map_or_else(|| "none".to_owned(), clock);
    if schedule.times.contain(time) {
        return format!(
            "It is one of the schedule's times now, but wasn't when it came: the schedule was changed since. \
             The one before is {}, the one after {}.",
            shown(before),
            shown(after)
        );
    }
    if before.is_none() && after.is_none() {
        let is_deleted = schedule.status() == Status::Deleted;
        let deleted = if is_deleted { state(schedule) } else { String::new() };
        return format!("It is none of the schedule's times: no time matches its spec.{deleted}");
    }
    let to_come = after.is_none_or(|after| after.0 > schedule.head.settled_up_to);
    format!(
        "It is none of the schedule's times: the one before is {}, the one after {}.{}",
        shown(before),
        shown(after),
        if to_come { state(schedule) } else { String::new() }
    )
}

/// Why future occurrences start nothing; empty if they do.
fn state(schedule: &Schedule) -> String {
    match schedule.status() {
        Status::Active if schedule.is_exhausted() => {
            " No time starts anything any more: the limited actions are used up.".to_owned()
        }
        Status::Active => String::new(),
        Status::Paused => format!(
            " No time starts anything while the schedule is paused: {:?}. It is paused until someone resumes it.",
            schedule.head.notes
        ),
        Status::Broken => format!(
            " No time starts anything: the schedule is broken: {}.",
            schedule.times.broken().unwrap_or_default()
        ),
        Status::Deleted => format!(" No time starts anything: {}.", deleted(schedule)),
    }
}

fn clock(time: Time) -> String {
    jiff::Timestamp::from_nanosecond(time.0.into()).map(|at| at.to_string()).unwrap_or_default()
}
