//! Random clients and workers: whatever they do, the laws hold, and nothing panics.

use perennial_engine::run::ActivityOutcome::{Canceled, Completed, Failed};
use perennial_engine::run::{
    ActivityChange, ActivitySelection, ActivityTarget, ChangeActivities, Command,
    HeartbeatActivity, PauseRun, RequestCancel, StartActivity, StartWorkflowTask, TaskRef,
    Terminate,
};
use perennial_engine::{Span, Time};
use perennial_proto::store::StickyQueue;
use perennial_proto::temporal::command::v1::Command as Wanted;
use perennial_proto::temporal::enums::v1::ParentClosePolicy;
use proptest::prelude::*;

use crate::run::kit::{World, failure, signal, start_request};
use crate::run::wanted::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn laws_hold_whatever_clients_and_workers_do(
        has_cron in any::<bool>(),
        has_retries in any::<bool>(),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut world = World::new();
        world.limits.history_events = 100;
        let mut request = start_request();
        if has_cron {
            request.started.cron_schedule = "* * * * *".to_owned();
        }
        if has_retries {
            request.started.retry_policy = Some(retries(3));
        }
        world.start(request).expect("the first start is good");
        for step in steps {
            take(&mut world, step);
        }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Poll(usize),
    Complete(Vec<Want>, bool, bool),
    FailTask,
    Report(usize, u8),
    Heartbeat(usize),
    Signal(u8),
    Cancel,
    Terminate,
    Wait(u16),
    /// The clock goes back.
    Back(u8),
    Deliver,
    Operate(u8),
    Pause(bool),
    Undo,
    Update,
    Reset(u8),
    ForgetSticky,
    Start,
}

#[derive(Debug, Clone)]
enum Want {
    Activity(u8),
    CancelActivity(u8),
    Timer(u8),
    CancelTimer(u8),
    Child(u8),
    Signal(u8),
    CancelOther(u8),
    Complete,
    Fail,
    Cancel,
    ContinueAsNew,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => any::<usize>().prop_map(Step::Poll),
        6 => (prop::collection::vec(want(), 0..4), any::<bool>(), any::<bool>())
            .prop_map(|(wants, sticky, more)| Step::Complete(wants, sticky, more)),
        1 => Just(Step::FailTask),
        3 => (any::<usize>(), any::<u8>()).prop_map(|(at, how)| Step::Report(at, how)),
        1 => any::<usize>().prop_map(Step::Heartbeat),
        3 => any::<u8>().prop_map(Step::Signal),
        1 => Just(Step::Cancel),
        1 => Just(Step::Terminate),
        3 => (0_u16..90).prop_map(Step::Wait),
        1 => any::<u8>().prop_map(Step::Back),
        3 => Just(Step::Deliver),
        1 => any::<u8>().prop_map(Step::Operate),
        1 => any::<bool>().prop_map(Step::Pause),
        1 => Just(Step::Undo),
        1 => Just(Step::Update),
        1 => any::<u8>().prop_map(Step::Reset),
        1 => Just(Step::ForgetSticky),
        1 => Just(Step::Start),
    ]
}

fn want() -> impl Strategy<Value = Want> {
    prop_oneof![
        4 => (0_u8..4).prop_map(Want::Activity),
        1 => (0_u8..20).prop_map(Want::CancelActivity),
        3 => (0_u8..4).prop_map(Want::Timer),
        1 => (0_u8..4).prop_map(Want::CancelTimer),
        2 => (0_u8..4).prop_map(Want::Child),
        1 => (0_u8..4).prop_map(Want::Signal),
        1 => (0_u8..4).prop_map(Want::CancelOther),
        1 => Just(Want::Complete),
        1 => Just(Want::Fail),
        1 => Just(Want::Cancel),
        1 => Just(Want::ContinueAsNew),
    ]
}

/// Takes a step. Much of it is refused; a refusal changes nothing, and the world sees to that.
fn take(world: &mut World, step: Step) {
    match step {
        Step::Poll(at) => poll(world, at),
        Step::Complete(wants, is_sticky, more) => {
            let commands = wants.into_iter().map(wanted).collect();
            let _ = world.complete_with("wf", |complete| {
                complete.commands = commands;
                complete.force_new_task = more;
                complete.return_new_task = more;
                complete.sticky = is_sticky
                    .then(|| StickyQueue { name: "mine".to_owned(), schedule_to_start_nanos: 0 });
            });
        }
        Step::FailTask => {
            let has_it = |task: &perennial_proto::store::WorkflowTask| task.started_at != 0;
            if world.run().head.workflow_task.as_ref().is_some_and(has_it) {
                world.fail_task();
            }
        }
        Step::Report(at, how) => {
            let Some(id) = activity_at(world, at) else { return };
            let outcome = match how % 3 {
                0 => Completed(None),
                1 => Failed(Some(failure("no")), None),
                _ => Canceled(None),
            };
            let _ = world.try_report(&id, outcome);
        }
        Step::Heartbeat(at) => {
            let Some(id) = activity_at(world, at) else { return };
            let target = ActivityTarget::Id(id);
            let beat = HeartbeatActivity { target, details: None, identity: String::new() };
            let _ = world.send(Command::HeartbeatActivity(beat));
        }
        Step::Signal(request) => {
            let _ = world.send(signal("s", &format!("{}", request % 8)));
        }
        Step::Cancel => {
            let _ = world.send(Command::RequestCancel(RequestCancel::default()));
        }
        Step::Terminate => {
            let _ = world.send(Command::Terminate(Terminate::default()));
        }
        Step::Wait(seconds) => {
            world.seconds(i64::from(seconds));
        }
        Step::Back(seconds) => {
            world.now = Time(world.now.0 - Span::seconds(i64::from(seconds)).0);
        }
        Step::Deliver => {
            world.deliver();
        }
        Step::Operate(which) => {
            let change = match which % 3 {
                0 => ActivityChange::Pause { reason: String::new(), request_id: String::new() },
                1 => ActivityChange::Unpause {
                    reset_attempts: true,
                    reset_heartbeat: true,
                    jitter: Span::seconds(i64::from(which)),
                    jitter_fraction: 0.5,
                },
                _ => ActivityChange::Reset {
                    reset_heartbeat: true,
                    keep_paused: which > 100,
                    jitter: Span::ZERO,
                    jitter_fraction: 0.0,
                    restore_original_options: true,
                },
            };
            let selection = ActivitySelection::All;
            let change = ChangeActivities { selection, change, identity: String::new() };
            let _ = world.send(Command::ChangeActivities(Box::new(change)));
        }
        Step::Pause(on) => {
            let request = PauseRun::default();
            let _ =
                world.send(if on { Command::Pause(request) } else { Command::Unpause(request) });
        }
        Step::Undo => {
            let Some(task) = world.run().head.workflow_task.clone() else { return };
            let task = perennial_engine::run::TaskStamp {
                scheduled_event_id: task.scheduled_event_id,
                attempt: task.attempt,
                stamp: task.stamp,
            };
            let _ = world.send(Command::UndoStart(TaskRef::Workflow(task)));
        }
        Step::Update => {
            let _ = world.send(Command::WantTaskForUpdate);
        }
        Step::Reset(at) => {
            let event_id = i64::from(at) % world.run().head.next_event_id.max(1);
            let request_id = format!("reset {}", world.runs.len());
            let _ = world.reset(event_id, |reset| reset.request_id = request_id);
        }
        Step::ForgetSticky => {
            let _ = world.send(Command::ResetSticky);
        }
        Step::Start => {
            let mut request = start_request();
            request.request_id = format!("start {}", world.runs.len());
            let _ = world.start(request);
        }
    }
}

/// A worker takes one of the offers; it may be void by now.
fn poll(world: &mut World, at: usize) {
    if world.offers.is_empty() {
        return;
    }
    let (run_id, offer) = world.offers.remove(at % world.offers.len());
    let (identity, request_id) = ("worker".to_owned(), "poll".to_owned());
    let command = match offer.task {
        TaskRef::Workflow(task) => {
            let worker_version = None;
            Command::StartWorkflowTask(StartWorkflowTask {
                task,
                identity,
                request_id,
                worker_version,
            })
        }
        TaskRef::Activity(task) => {
            Command::StartActivity(StartActivity { task, identity, request_id })
        }
    };
    let _ = world.send_to(&run_id, command);
}

fn activity_at(world: &World, at: usize) -> Option<String> {
    let activities: Vec<_> = world.run().activities.values().collect();
    let activity = activities.get(at.checked_rem(activities.len())?)?;
    activity.scheduled.as_ref().map(|scheduled| scheduled.activity_id.clone())
}

fn wanted(want: Want) -> Wanted {
    match want {
        Want::Activity(id) => activity(&format!("a{id}")),
        Want::CancelActivity(id) => cancel_activity(i64::from(id)),
        Want::Timer(id) => timer(&format!("t{id}"), i64::from(id) * 10),
        Want::CancelTimer(id) => cancel_timer(&format!("t{id}")),
        Want::Child(id) => {
            let policies = [
                ParentClosePolicy::Terminate,
                ParentClosePolicy::Abandon,
                ParentClosePolicy::RequestCancel,
                ParentClosePolicy::Unspecified,
            ];
            child(&format!("c{id}"), policies[usize::from(id) % policies.len()])
        }
        Want::Signal(id) => signal_external(&format!("c{id}"), false),
        Want::CancelOther(id) => cancel_external(&format!("c{id}")),
        Want::Complete => complete(""),
        Want::Fail => fail("no"),
        Want::Cancel => cancel(),
        Want::ContinueAsNew => continue_as_new(),
    }
}
