use temporalio_client::errors::WorkflowGetResultError;
use temporalio_client::{
    WorkflowCancelOptions, WorkflowDescribeOptions, WorkflowExecutionStatus,
    WorkflowGetResultOptions,
};
use temporalio_common::error::IncomingError;
use temporalio_sdk::RetryState;

use crate::scene::with_worker;
use crate::workflows::*;

#[tokio::test]
async fn workflow_returns_the_result_of_its_activity() {
    with_worker(async |scene| {
        let run = scene.start(GreetByActivity::run, "Ada".to_owned()).await;
        assert_eq!(scene.result(&run).await, "Hello, Ada!");
    })
    .await;
}

#[tokio::test]
async fn local_activity_leaves_only_a_marker_in_the_history() {
    with_worker(async |scene| {
        let run = scene.start(GreetByLocalActivity::run, "Ada".to_owned()).await;
        assert_eq!(scene.result(&run).await, "Hello, Ada!");
        assert_eq!(
            scene.event_types(&run).await,
            [
                "WorkflowExecutionStarted",
                "WorkflowTaskScheduled",
                "WorkflowTaskStarted",
                "WorkflowTaskCompleted",
                "MarkerRecorded",
                "WorkflowExecutionCompleted",
            ]
        );
    })
    .await;
}

#[tokio::test]
async fn failing_activity_is_retried_until_it_succeeds() {
    with_worker(async |scene| {
        let run = scene.start(AttemptUntilSuccess::run, ()).await;
        assert_eq!(scene.result(&run).await, 3);
    })
    .await;
}

#[tokio::test]
async fn heartbeat_details_survive_a_retry() {
    with_worker(async |scene| {
        let run = scene.start(ResumeFromHeartbeat::run, ()).await;
        assert_eq!(scene.result(&run).await, "page 7");
    })
    .await;
}

#[tokio::test]
async fn cancellation_reaches_workflow_and_activity() {
    with_worker(async |scene| {
        let run = scene.start(WaitForActivity::run, ()).await;
        scene.told.started.notified().await;
        run.cancel(WorkflowCancelOptions::default()).await.expect("the run can be canceled");
        scene.told.canceled.notified().await;

        let result = run.get_result(WorkflowGetResultOptions::default()).await;
        assert!(matches!(result, Err(WorkflowGetResultError::Cancelled { .. })), "{result:?}");
        let description =
            run.describe(WorkflowDescribeOptions::default()).await.expect("it is known");
        assert_eq!(description.status(), WorkflowExecutionStatus::Canceled);
        assert!(scene.event_types(&run).await.contains(&"ActivityTaskCanceled".to_owned()));
    })
    .await;
}

#[tokio::test]
async fn failure_carries_its_message_type_and_details_to_the_client() {
    with_worker(async |scene| {
        let run = scene.start(FailInActivity::run, ()).await;
        let result = run.get_result(WorkflowGetResultOptions::default()).await;
        let Err(WorkflowGetResultError::Failed(failure)) = result else {
            panic!("the workflow should have failed: {result:?}");
        };
        let IncomingError::Activity(activity) = *failure else {
            panic!("the activity should have failed: {failure:?}");
        };
        assert_eq!(activity.activity_type(), Some("Activities::run_out_of_stock"));
        assert_eq!(activity.retry_state(), RetryState::NonRetryableFailure);
        let Some(IncomingError::Application(cause)) = activity.cause() else {
            panic!("the activity's own failure is the cause: {activity:?}");
        };
        assert_eq!(cause.to_string(), "no more teapots");
        assert_eq!(cause.type_name(), Some("OutOfStock"));
        assert_eq!(cause.details::<u32>().expect("the details are a number"), Some(3));
    })
    .await;
}
