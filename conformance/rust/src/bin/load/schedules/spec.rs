//! The schedules that the loads make.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use temporalio_common::protos::temporal::api::common::v1::WorkflowType;
use temporalio_common::protos::temporal::api::enums::v1::ScheduleOverlapPolicy;
use temporalio_common::protos::temporal::api::schedule::v1::{
    IntervalSpec, Schedule, ScheduleAction, SchedulePolicies, ScheduleSpec, schedule_action::Action,
};
use temporalio_common::protos::temporal::api::taskqueue::v1::TaskQueue;
use temporalio_common::protos::temporal::api::workflow::v1::NewWorkflowExecutionInfo;
use temporalio_common::protos::temporal::api::workflowservice::v1::CreateScheduleRequest;
use tokio::task::JoinSet;

use super::{IDENTITY, NAMESPACE, Service};

pub(super) const AT_ONCE: u64 = 64;
const TASK_QUEUE: &str = "schedules";
/// What a worker that is alive needs is milliseconds; one that died with a task isn't waited for long.
const WORKFLOW_TASK_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) fn schedule_id(number: u64) -> String {
    format!("schedule-{number}")
}

pub(super) fn task_queue() -> TaskQueue {
    TaskQueue { name: TASK_QUEUE.to_owned(), ..Default::default() }
}

/// Every second, from and to these, both counted.
pub(super) fn every_second(from: Option<u64>, to: Option<u64>) -> ScheduleSpec {
    let second = Duration::from_secs(1).try_into().expect("a second is a duration");
    let interval = IntervalSpec { interval: Some(second), phase: None };
    let time = |at: u64| (UNIX_EPOCH + Duration::from_secs(at)).into();
    ScheduleSpec {
        interval: vec![interval],
        start_time: from.map(time),
        end_time: to.map(time),
        ..Default::default()
    }
}

/// On weekdays, beginning in a year.
pub(super) fn idle() -> ScheduleSpec {
    let begins = SystemTime::now() + Duration::from_secs(365 * 24 * 3600);
    ScheduleSpec {
        cron_string: vec!["0 9 * * 1-5".to_owned()],
        start_time: Some(begins.into()),
        ..Default::default()
    }
}

/// Makes schedules, so many at once, until there are enough or it is time to stop. Returns how many there are.
pub(super) async fn create_all(
    service: &Service,
    at_once: u64,
    schedules: u64,
    spec: ScheduleSpec,
    until: Option<SystemTime>,
) -> u64 {
    let (next, created) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let mut creators = JoinSet::new();
    for _ in 0..at_once {
        let (mut service, spec) = (service.clone(), spec.clone());
        let (next, created) = (Arc::clone(&next), Arc::clone(&created));
        creators.spawn(async move {
            while until.is_none_or(|until| SystemTime::now() < until) {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= schedules {
                    return;
                }
                let create = request(number, spec.clone());
                service.create_schedule(create).await.expect("the schedule is created");
                created.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    creators.join_all().await;
    created.load(Ordering::Relaxed)
}

fn request(number: u64, spec: ScheduleSpec) -> CreateScheduleRequest {
    let schedule_id = schedule_id(number);
    let workflow = NewWorkflowExecutionInfo {
        workflow_id: schedule_id.clone(),
        workflow_type: Some(WorkflowType { name: "Scheduled".to_owned() }),
        task_queue: Some(task_queue()),
        workflow_task_timeout: Some(
            WORKFLOW_TASK_TIMEOUT.try_into().expect("seconds are a duration"),
        ),
        ..Default::default()
    };
    let schedule = Schedule {
        spec: Some(spec),
        action: Some(ScheduleAction { action: Some(Action::StartWorkflow(workflow)) }),
        policies: Some(SchedulePolicies {
            overlap_policy: ScheduleOverlapPolicy::AllowAll.into(),
            ..Default::default()
        }),
        state: None,
    };
    CreateScheduleRequest {
        namespace: NAMESPACE.to_owned(),
        request_id: schedule_id.clone(),
        schedule_id,
        schedule: Some(schedule),
        identity: IDENTITY.to_owned(),
        ..Default::default()
    }
}

/// In whole seconds since 1970.
pub(super) fn now_seconds() -> u64 {
    since_1970(SystemTime::now()).as_secs()
}

pub(super) fn since_1970(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).expect("the clock is past 1970")
}

pub(super) async fn sleep_until(seconds_since_1970: u64) {
    let at = UNIX_EPOCH + Duration::from_secs(seconds_since_1970);
    tokio::time::sleep(at.duration_since(SystemTime::now()).unwrap_or_default()).await;
}
