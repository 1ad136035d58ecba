//! Workflow tasks: what happens around a worker's work.

use expect_test::expect;
use perennial_engine::Span;
use perennial_engine::run::{Command, Limits, Rejection, Terminate};
use perennial_proto::store::StickyQueue;

use crate::run::check;
use crate::run::kit::{World, signal};
use crate::run::wanted::*;

#[test]
fn signal_waits_for_the_end_of_a_started_task_and_wants_another() {
    let mut world = World::started();
    world.poll().signal("a").complete(vec![timer("t", 60)]);
    check(
        &world.history(),
        expect![[r#"
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1 queue=queue
        3 WorkflowTaskStarted
        4 WorkflowTaskCompleted scheduled=2 started=3
        5 TimerStarted id=t
        6 WorkflowExecutionSignaled name=a
        7 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
}

#[test]
fn outcomes_come_behind_signals_when_the_buffer_is_written() {
    let mut world = World::started();
    world.poll().complete(vec![activity("a"), timer("t", 5)]).poll_activity("a");
    world.signal("first").poll();
    world.report("a", perennial_engine::run::ActivityOutcome::Completed(None));
    world.signal("second").seconds(5).complete(vec![]);
    check(
        &world.tail(8),
        expect![[r#"
            8 WorkflowTaskScheduled attempt=1 queue=queue
            9 WorkflowTaskStarted
            10 WorkflowTaskCompleted scheduled=8 started=9
            11 ActivityTaskStarted scheduled=5 attempt=1
            12 WorkflowExecutionSignaled name=second
            13 TimerFired id=t
            14 ActivityTaskCompleted scheduled=5 started=11
            15 WorkflowTaskScheduled attempt=1 queue=queue
        "#]],
    );
}

#[test]
fn second_attempt_of_a_task_leaves_no_trace_until_it_is_completed() {
    let mut world = World::started();
    world.poll().fail_task().poll().fail_task().poll();
    check(
        &world.history(),
        expect![[r#"
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1 queue=queue
        3 WorkflowTaskStarted
        4 WorkflowTaskFailed cause=WorkflowWorkerUnhandledFailure failure="boom"
    "#]],
    );
    world.complete(vec![complete("done")]);
    check(
        &world.tail(4),
        expect![[r#"
        5 WorkflowTaskScheduled attempt=3 queue=queue
        6 WorkflowTaskStarted
        7 WorkflowTaskCompleted scheduled=5 started=6
        8 WorkflowExecutionCompleted result=done
    "#]],
    );
}

#[test]
fn failed_task_counts_from_one_again_when_something_came_meanwhile() {
    let mut world = World::started();
    world.poll().signal("a").fail_task();
    check(
        &world.tail(3),
        expect![[r#"
        4 WorkflowTaskFailed cause=WorkflowWorkerUnhandledFailure failure="boom"
        5 WorkflowExecutionSignaled name=a
        6 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
}

#[test]
fn closing_without_having_seen_a_signal_is_refused() {
    let mut world = World::started();
    world.poll().signal("a");
    assert_eq!(world.try_complete(vec![complete("")]), Err(Rejection::UnhandledCommand));
    check(
        &world.tail(3),
        expect![[r#"
        4 WorkflowTaskFailed cause=UnhandledCommand failure="UnhandledCommand"
        5 WorkflowExecutionSignaled name=a
        6 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
}

#[test]
fn nothing_may_come_after_a_closing_command_and_the_task_stays_started() {
    let mut world = World::started();
    world.poll();
    let refused = world.try_complete(vec![complete(""), timer("t", 1)]);
    check(
        &format!("{}", refused.unwrap_err()),
        expect![
            "invalid command sequence: [CompleteWorkflowExecution, StartTimer], command CompleteWorkflowExecution must be the last command."
        ],
    );
    world.complete(vec![complete("")]);
}

#[test]
fn task_that_takes_too_long_is_given_to_another_worker() {
    let mut world = World::started();
    world.poll().seconds(10);
    check(
        &world.history(),
        expect![[r#"
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1 queue=queue
        3 WorkflowTaskStarted
        4 WorkflowTaskTimedOut timeout=StartToClose
    "#]],
    );
    check(
        &world.waiting(),
        expect![[r#"
        offer workflow task of run1: event 5 attempt 2 on queue
    "#]],
    );
}

#[test]
fn task_that_no_sticky_worker_fetches_goes_to_the_normal_queue() {
    let mut world = World::started();
    world.poll();
    let sticky = StickyQueue { name: "mine".to_owned(), schedule_to_start_nanos: 0 };
    world.complete_with("wf", |complete| complete.sticky = Some(sticky)).unwrap();
    world.signal("a").seconds(10);
    check(
        &world.tail(4),
        expect![[r#"
        5 WorkflowExecutionSignaled name=a
        6 WorkflowTaskScheduled attempt=1 queue=mine
        7 WorkflowTaskTimedOut timeout=ScheduleToStart
        8 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
}

#[test]
fn late_answer_to_a_task_is_not_found_even_when_the_run_has_closed() {
    let mut world = World::started();
    world.poll();
    world.send(Command::Terminate(Terminate::default())).unwrap();
    let late = world.try_complete(vec![]).unwrap_err();
    assert_eq!(late, Rejection::TaskNotFound("Workflow task not found.".to_owned()));
}

#[test]
fn pages_that_are_too_large_together_end_the_run() {
    let mut world = World::started();
    world.poll();
    let refused = world.complete_with("wf", |complete| complete.is_too_large = true).unwrap_err();
    let reason =
        "RequestTooLarge: workflow task completion buffer size exceeds the per-workflow limit";
    assert_eq!(refused, Rejection::InvalidArgument(reason.to_owned()));
    check(
        &world.tail(2),
        expect![[r#"
            4 WorkflowTaskFailed cause=RequestTooLarge failure="RequestTooLarge: workflow task completion buffer size exceeds the per-workflow limit"
            5 WorkflowExecutionTerminated reason="RequestTooLarge: workflow task completion buffer size exceeds the per-workflow limit"
        "#]],
    );
}

#[test]
fn terminating_fails_the_started_task_first_and_lets_in_what_waited() {
    let mut world = World::started();
    world.poll().signal("a");
    let terminate = Terminate { reason: "enough".to_owned(), ..Terminate::default() };
    world.send(Command::Terminate(terminate)).unwrap();
    check(
        &world.history(),
        expect![[r#"
        1 WorkflowExecutionStarted attempt=1
        2 WorkflowTaskScheduled attempt=1 queue=queue
        3 WorkflowTaskStarted
        4 WorkflowTaskFailed cause=ForceCloseCommand
        5 WorkflowExecutionSignaled name=a
        6 WorkflowExecutionTerminated reason="enough"
    "#]],
    );
}

#[test]
fn repeated_signal_is_taken_once() {
    let mut world = World::started();
    world.poll();
    for _ in 0..2 {
        world.send(signal("a", "request")).unwrap();
    }
    world.complete(vec![]);
    world.send(signal("a", "request")).unwrap();
    check(
        &world.tail(2),
        expect![[r#"
        5 WorkflowExecutionSignaled name=a
        6 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
}

#[test]
fn closing_drops_everything_that_was_pending() {
    let mut world = World::started();
    world.poll().complete(vec![activity("a"), timer("t", 60)]).signal("s").poll();
    world.complete(vec![complete("done")]);
    let run = world.run();
    assert!(run.activities.is_empty() && run.timers.is_empty());
    assert_eq!(run.wake_at(), None);
}

#[test]
fn timer_of_no_length_fires_at_once() {
    let mut world = World::started();
    world.poll().complete(vec![timer("t", 0)]).wait(Span::ZERO);
    check(
        &world.tail(3),
        expect![[r#"
        5 TimerStarted id=t
        6 TimerFired id=t
        7 WorkflowTaskScheduled attempt=1 queue=queue
    "#]],
    );
}

#[test]
fn canceling_a_timer_that_has_fired_unseen_wins() {
    let mut world = World::started();
    world.poll().complete(vec![timer("t", 5)]).signal("s").poll().seconds(5);
    world.complete(vec![cancel_timer("t")]);
    check(
        &world.tail(2),
        expect![[r#"
        9 WorkflowTaskCompleted scheduled=7 started=8
        10 TimerCanceled id=t
    "#]],
    );
}

#[test]
fn bad_commands_fail_the_task_and_say_why() {
    let bad = [
        timer("", 1),
        cancel_timer("nobody"),
        activity(""),
        activity_with("a", |it| it.start_to_close_timeout = None),
        cancel_activity(77),
        child_with("c", |it| it.workflow_type = None),
        child_with("", |_| {}),
        child_with("c", |it| it.cron_schedule = "every tuesday".to_owned()),
        child_with("c", |it| it.namespace = "elsewhere".to_owned()),
        child_with("c\0", |_| {}),
        child_with("c", |it| it.task_queue.get_or_insert_default().name = "q\0".to_owned()),
        signal_external("", false),
        cancel_external(""),
    ];
    let mut text = String::new();
    for command in bad {
        let mut world = World::started();
        world.poll();
        text += &format!("{}\n", world.try_complete(vec![command]).unwrap_err());
    }
    let mut world = World::started();
    world.poll();
    let twice = world.try_complete(vec![timer("t", 1), timer("t", 1)]).unwrap_err();
    text += &format!("{twice}\n");
    check(
        &text,
        expect![[r#"
        BadStartTimerAttributes: TimerId is not set on StartTimerCommand.
        BadCancelTimerAttributes: invalid history builder state for action: add-timer-canceled-event, TimerID: nobody
        BadScheduleActivityAttributes: activityId is not set
        BadScheduleActivityAttributes: a valid StartToCloseTimeout or ScheduleToCloseTimeout must be set on the activity. ActivityId=a ActivityType=Act
        BadRequestCancelActivityAttributes: invalid history builder state for action: add-activitytask-cancel-requested-event, ScheduledEventID: 77
        BadStartChildExecutionAttributes: Required field WorkflowType is not set on StartChildWorkflowExecutionCommand. WorkflowId=c Namespace=default
        BadStartChildExecutionAttributes: Required field WorkflowId is not set on StartChildWorkflowExecutionCommand. WorkflowType=Child Namespace=default
        BadStartChildExecutionAttributes: invalid CronSchedule on StartChildWorkflowExecutionCommand: invalid CronSchedule.. WorkflowId=c WorkflowType=Child Namespace=default: a cron string has 5 fields, this has 2 fields; write @every 5m, @hourly, @daily or @weekly
          every tuesday
                       ^
        Namespace elsewhere is not found.
        BadStartChildExecutionAttributes: WorkflowId on StartChildWorkflowExecutionCommand has the character U+0000. Namespace=default
        BadStartChildExecutionAttributes: TaskQueue on StartChildWorkflowExecutionCommand has the character U+0000. Namespace=default
        BadSignalWorkflowExecutionAttributes: WorkflowId is not set on SignalExternalWorkflowExecutionCommand. Namespace= RunId= SignalName=hello
        BadRequestCancelExternalWorkflowExecutionAttributes: WorkflowId is not set on RequestCancelExternalWorkflowExecutionCommand. Namespace= RunId=
        StartTimerDuplicateId: invalid history builder state for action: add-timer-started-event, TimerID: t
    "#]],
    );
}

#[test]
fn history_over_its_limit_ends_the_run() {
    let mut world = World::started();
    world.limits.history_events = 5;
    world.poll();
    world.complete(vec![timer("a", 1), timer("b", 1)]);
    check(
        &world.tail(2),
        expect![[r#"
            6 TimerStarted id=b
            7 WorkflowExecutionTerminated reason="Workflow history count exceeds limit."
        "#]],
    );
}

#[test]
fn operator_is_warned_each_time_a_history_has_grown_by_so_much() {
    let limits = Limits { warn_events: 3, ..Limits::default() };
    let mut world = World::started();
    let mut warned_at = Vec::new();
    for number in 0..6 {
        let before = world.run().clone();
        world.send(signal("s", &number.to_string())).unwrap();
        if let Some(warning) = world.run().growth_warning(&before, &limits) {
            assert!(warning.contains(&format!("has {} events", world.run().last_event_id())));
            warned_at.push(world.run().last_event_id());
        }
    }
    assert_eq!(warned_at, [3, 6]);

    let large = Limits { warn_bytes: 1, ..Limits::default() };
    let before = world.run().clone();
    world.send(signal("s", "last")).unwrap();
    assert!(world.run().growth_warning(&before, &large).is_some());
}

#[test]
fn oversized_input_ends_the_run() {
    let mut world = World::started();
    world.limits.payload_bytes = 10;
    world.poll();
    let command =
        activity_with("a", |it| it.input = crate::run::kit::payloads("more than ten bytes"));
    world.try_complete(vec![command]).unwrap_err();
    check(
        &world.tail(2),
        expect![[r#"
        4 WorkflowTaskFailed cause=BadScheduleActivityAttributes failure="BadScheduleActivityAttributes: ScheduleActivityTaskCommandAttributes.Input exceeds size limit."
        5 WorkflowExecutionTerminated reason="BadScheduleActivityAttributes: ScheduleActivityTaskCommandAttributes.Input exceeds size limit."
    "#]],
    );
}

#[test]
fn too_many_pending_activities_fail_the_task() {
    let mut world = World::started();
    world.limits.pending = 1;
    world.poll();
    let refused = world.try_complete(vec![activity("a"), activity("b")]).unwrap_err();
    check(
        &refused.to_string(),
        expect![
            "PendingActivitiesLimitExceeded: the number of pending activities, 1, has reached the per-workflow limit of 1"
        ],
    );
}
