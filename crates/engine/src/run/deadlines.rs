//! Deadlines of a run, and when the run has to be woken for them.

use perennial_proto::store as stored;

use super::Run;
use crate::{Span, Time};

/// An event in the life of a run that the clock causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Deadline {
    /// The execution timeout of the whole chain.
    Execution,
    /// The run timeout.
    Run,
    /// A timer fires.
    Timer(i64),
    /// The delayed first workflow task is due.
    FirstTask,
    /// The schedule-to-start timeout of a workflow task on a sticky queue.
    StickyTask,
    /// The start-to-close timeout of the workflow task.
    WorkflowTask,
    /// A timeout of an activity.
    Activity(i64, ActivityDeadline),
    /// An activity's next attempt is due.
    ActivityRetry(i64),
}

impl Deadline {
    /// Whether the deadline is about an offered task, or offers one: it doesn't apply to a paused run.
    fn needs_offer(self) -> bool {
        match self {
            Self::FirstTask
            | Self::StickyTask
            | Self::ActivityRetry(_)
            | Self::Activity(_, ActivityDeadline::ScheduleToStart) => true,
            Self::Execution
            | Self::Run
            | Self::Timer(_)
            | Self::WorkflowTask
            | Self::Activity(
                _,
                ActivityDeadline::ScheduleToClose
                | ActivityDeadline::StartToClose
                | ActivityDeadline::Heartbeat,
            ) => false,
        }
    }
}

/// The four timeouts of an activity, in the order of precedence when several are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ActivityDeadline {
    ScheduleToStart,
    ScheduleToClose,
    StartToClose,
    Heartbeat,
}

impl Run {
    /// When the run has to be woken, if ever.
    pub fn wake_at(&self) -> Option<Time> {
        self.deadlines().map(|(at, _)| at).min()
    }

    /// The deadlines that have passed by `now`, in the order of their times.
    pub(crate) fn due(&self, now: Time) -> Vec<(Time, Deadline)> {
        let mut due: Vec<_> = self.deadlines().filter(|(at, _)| *at <= now).collect();
        due.sort_unstable();
        due
    }

    fn deadlines(&self) -> impl Iterator<Item = (Time, Deadline)> {
        let open = self.is_open();
        let whole = [
            (self.head.execution_expires_at, Deadline::Execution),
            (self.head.run_expires_at, Deadline::Run),
        ];
        let whole = whole.into_iter().filter(|(at, _)| *at != 0).map(|(at, d)| (Time(at), d));
        let first = self
            .head
            .first_task_pending
            .then_some((Time(self.head.first_task_at), Deadline::FirstTask));
        let task = self.head.workflow_task.as_ref().and_then(task_deadline);
        let timers =
            self.timers.iter().map(|(id, timer)| (Time(timer.fires_at), Deadline::Timer(*id)));
        let activities = self.activities.iter().flat_map(|(id, activity)| {
            activity_deadlines(activity).into_iter().flatten().map(|(at, which)| {
                let deadline = match which {
                    Some(which) => Deadline::Activity(*id, which),
                    None => Deadline::ActivityRetry(*id),
                };
                (at, deadline)
            })
        });
        let held_back = self.head.paused.is_some();
        let counts = move |deadline: &Deadline| open && !(held_back && deadline.needs_offer());
        let all = whole.chain(first).chain(task).chain(timers).chain(activities);
        all.filter(move |(_, deadline)| counts(deadline))
    }
}

fn task_deadline(task: &stored::WorkflowTask) -> Option<(Time, Deadline)> {
    if task.started_at != 0 {
        let timeout = Span(task.start_to_close_nanos).get()?;
        return Some((Time(task.started_at).after(timeout), Deadline::WorkflowTask));
    }
    Time(task.sticky_until).get().map(|at| (at, Deadline::StickyTask))
}

/// `None` in place of a timeout stands for the next attempt.
fn activity_deadlines(
    activity: &stored::PendingActivity,
) -> [Option<(Time, Option<ActivityDeadline>)>; 3] {
    let Some(scheduled) = &activity.scheduled else { return [None; 3] };
    let after = |start: i64, timeout: &Option<perennial_proto::Duration>| {
        Span::of(timeout.as_ref()).get().map(|timeout| Time(start).after(timeout))
    };
    let whole = after(activity.first_scheduled_at, &scheduled.schedule_to_close_timeout)
        .map(|at| (at, Some(ActivityDeadline::ScheduleToClose)));
    if activity.started_at != 0 {
        let start = after(activity.started_at, &scheduled.start_to_close_timeout)
            .map(|at| (at, Some(ActivityDeadline::StartToClose)));
        let last_sign = activity.started_at.max(activity.heartbeat_at);
        let heartbeat = after(last_sign, &scheduled.heartbeat_timeout)
            .map(|at| (at, Some(ActivityDeadline::Heartbeat)));
        return [whole, start, heartbeat];
    }
    // A paused activity isn't offered, so its offer can't time out.
    if activity.paused.is_some() {
        return [whole, None, None];
    }
    if let Some(retry_at) = Time(activity.retry_at).get() {
        return [whole, Some((retry_at, None)), None];
    }
    let start = after(activity.attempt_scheduled_at, &scheduled.schedule_to_start_timeout)
        .map(|at| (at, Some(ActivityDeadline::ScheduleToStart)));
    [whole, start, None]
}
