//! Schedules, through the SDK's client.

use std::time::{Duration, SystemTime};

use futures::TryStreamExt;
use temporalio_client::schedules::{
    BackfillScheduleOptions, CreateScheduleOptions, DeleteScheduleOptions, ListSchedulesOptions,
    PauseScheduleOptions, ScheduleAction, ScheduleBackfill, ScheduleDescription, ScheduleHandle,
    ScheduleOverlapPolicy, ScheduleSpec, TriggerScheduleOptions, UnpauseScheduleOptions,
};
use temporalio_client::{Client, RpcOptions};
use uuid::Uuid;

use crate::scene::{Scene, with_worker};
use crate::workflows::Sleep;

const HOURLY: Duration = Duration::from_secs(3600);
/// Between two looks at a schedule.
const A_MOMENT: Duration = Duration::from_millis(50);

/// A schedule of the test's own.
async fn create(scene: &Scene, spec: ScheduleSpec) -> ScheduleHandle<Client> {
    let id = format!("rust-{}", Uuid::new_v4());
    let action =
        ScheduleAction::start_workflow(Sleep::run, 1, scene.task_queue.clone(), id.clone());
    let options = CreateScheduleOptions::builder()
        .action(action)
        .spec(spec)
        .overlap_policy(ScheduleOverlapPolicy::AllowAll)
        .note("made by a test")
        .build();
    scene.client.create_schedule(id, options).await.expect("the schedule is made")
}

async fn describe(schedule: &ScheduleHandle<Client>) -> ScheduleDescription {
    schedule.describe(RpcOptions::default()).await.expect("the schedule is described")
}

/// The schedule as soon as it has acted so often.
async fn after_actions(schedule: &ScheduleHandle<Client>, count: i64) -> ScheduleDescription {
    loop {
        let described = describe(schedule).await;
        if described.action_count() >= count {
            return described;
        }
        tokio::time::sleep(A_MOMENT).await;
    }
}

async fn delete(schedule: &ScheduleHandle<Client>) {
    schedule.delete(DeleteScheduleOptions::default()).await.expect("the schedule is deleted");
}

#[tokio::test]
async fn schedule_is_described_as_it_was_made_and_then_changed() {
    with_worker(async |scene| {
        let schedule = create(scene, ScheduleSpec::from_interval(HOURLY)).await;
        let made = describe(&schedule).await;
        assert_eq!((made.paused(), made.note()), (false, Some("made by a test")));
        assert_eq!(made.future_action_times().len(), 10);

        schedule.pause(Some("stop"), PauseScheduleOptions::default()).await.expect("it pauses");
        assert_eq!(describe(&schedule).await.note(), Some("stop"));
        assert!(describe(&schedule).await.paused());
        schedule.unpause(Some("go"), UnpauseScheduleOptions::default()).await.expect("it goes on");

        let change = |update: &mut temporalio_client::schedules::ScheduleUpdate| {
            update.set_note("better").set_remaining_actions(Some(3));
        };
        schedule.update(change, RpcOptions::default()).await.expect("it is updated");
        let changed = describe(&schedule).await;
        assert_eq!((changed.paused(), changed.note()), (false, Some("better")));
        assert_eq!(changed.future_action_times().len(), 3);
        assert_ne!(changed.conflict_token(), made.conflict_token());
        delete(&schedule).await;
        schedule.describe(RpcOptions::default()).await.expect_err("it is gone");
    })
    .await;
}

#[tokio::test]
async fn second_schedule_of_the_same_id_is_refused() {
    with_worker(async |scene| {
        let schedule = create(scene, ScheduleSpec::from_interval(HOURLY)).await;
        let id = schedule.schedule_id().to_owned();
        let action = ScheduleAction::start_workflow(Sleep::run, 1, "queue", id.clone());
        let spec = ScheduleSpec::from_interval(HOURLY);
        let options = CreateScheduleOptions::builder().action(action).spec(spec).build();
        let refused = scene.client.create_schedule(id, options).await;
        assert!(refused.is_err(), "the id is taken");
        delete(&schedule).await;
    })
    .await;
}

#[tokio::test]
async fn list_finds_a_schedule_by_its_id() {
    with_worker(async |scene| {
        let schedule = create(scene, ScheduleSpec::from_interval(HOURLY)).await;
        let query = format!("ScheduleId = '{}'", schedule.schedule_id());
        let options = ListSchedulesOptions::builder().query(query).build();
        loop {
            let found: Vec<_> = scene
                .client
                .list_schedules(options.clone())
                .try_collect()
                .await
                .expect("the list is read");
            if let [one] = found.as_slice() {
                assert_eq!(one.workflow_type(), Some("Sleep"));
                assert_eq!(one.future_action_times().len(), 5);
                break;
            }
            tokio::time::sleep(A_MOMENT).await;
        }
        delete(&schedule).await;
    })
    .await;
}

#[tokio::test]
async fn schedule_fires_by_itself() {
    with_worker(async |scene| {
        let schedule = create(scene, ScheduleSpec::from_interval(Duration::from_secs(1))).await;
        after_actions(&schedule, 2).await;
        delete(&schedule).await;
    })
    .await;
}

#[tokio::test]
async fn trigger_and_backfill_start_runs() {
    with_worker(async |scene| {
        let schedule = create(scene, ScheduleSpec::from_interval(HOURLY)).await;
        let allow_all = ScheduleOverlapPolicy::AllowAll;
        schedule
            .trigger(allow_all, TriggerScheduleOptions::default())
            .await
            .expect("it is triggered");
        after_actions(&schedule, 1).await;

        let noon = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 * 3600);
        let window =
            ScheduleBackfill::new(noon, noon + 2 * HOURLY).overlap_policy(allow_all).build();
        schedule
            .backfill([window], BackfillScheduleOptions::default())
            .await
            .expect("the backfill begins");
        let described = after_actions(&schedule, 4).await;
        assert_eq!(described.action_count(), 4, "both ends of the window count");
        delete(&schedule).await;
    })
    .await;
}
