use std::time::Duration;

use futures::TryStreamExt;
use temporalio_client::errors::WorkflowStartError;
use temporalio_client::{
    WorkflowDescribeOptions, WorkflowListOptions, WorkflowQueryOptions, WorkflowSignalOptions,
    WorkflowStartOptions,
};

use crate::scene::with_worker;
use crate::workflows::*;

#[tokio::test]
async fn timer_fires_no_earlier_than_asked() {
    with_worker(async |scene| {
        let run = scene.start(Sleep::run, 100).await;
        assert!(scene.result(&run).await >= 100);
    })
    .await;
}

#[tokio::test]
async fn result_of_a_child_reaches_its_parent() {
    with_worker(async |scene| {
        let run = scene.start(AskChild::run, "Ada".to_owned()).await;
        assert_eq!(scene.result(&run).await, "Hello, Ada! (from a child)");
        let completed = "ChildWorkflowExecutionCompleted".to_owned();
        assert!(scene.event_types(&run).await.contains(&completed));
    })
    .await;
}

#[tokio::test]
async fn continue_as_new_goes_on_with_new_input() {
    with_worker(async |scene| {
        let run = scene.start(CountDown::run, (3, String::new())).await;
        assert_eq!(scene.result(&run).await, "3 2 1 ");

        let first = run.info().first_execution_run_id.clone().expect("a start names its run");
        let chain = scene.client.get_workflow_handle::<CountDown>(&run.info().workflow_id);
        let latest = chain.describe(WorkflowDescribeOptions::default()).await.expect("it is known");
        assert_ne!(latest.run_id(), first);
        let info = latest.raw().workflow_execution_info.as_ref().expect("it describes a run");
        assert_eq!(info.first_run_id, first);
    })
    .await;
}

#[tokio::test]
async fn random_ids_and_versions_keep_their_value_through_replay() {
    with_worker(async |scene| {
        let run = scene.start(DrawOnce::run, ()).await;
        let drawn = scene.result(&run).await;
        assert!(drawn.ends_with("(version 1)"), "{drawn}");
        // A closed run answers from a replay of its history.
        let again = run.query(DrawOnce::drawn, (), WorkflowQueryOptions::default()).await;
        assert_eq!(again.expect("a closed run answers"), drawn);
        assert!(scene.event_types(&run).await.contains(&"MarkerRecorded".to_owned()));
    })
    .await;
}

#[tokio::test]
async fn second_start_of_a_running_workflow_is_refused() {
    with_worker(async |scene| {
        let run = scene.start(AnswerQueries::run, "Ada".to_owned()).await;
        let id = run.info().workflow_id.clone();
        let options = WorkflowStartOptions::new(scene.task_queue.clone(), id).build();
        let again =
            scene.client.start_workflow(AnswerQueries::run, "Grace".to_owned(), options).await;
        match again {
            Err(WorkflowStartError::AlreadyStarted { run_id, .. }) => {
                assert_eq!(run_id, run.info().first_execution_run_id);
            }
            Err(other) => panic!("it should say that the workflow runs already: {other}"),
            Ok(_) => panic!("it should have been refused"),
        }

        let options = WorkflowSignalOptions::default();
        run.signal(AnswerQueries::finish, (), options).await.expect("the run is open");
        scene.result(&run).await;
    })
    .await;
}

#[tokio::test]
async fn list_finds_a_run_by_its_type() {
    with_worker(async |scene| {
        let run = scene.start(RustListed::run, ()).await;
        scene.result(&run).await;
        let started = run.info().first_execution_run_id.clone().expect("a start names its run");
        loop {
            let query = "WorkflowType = 'RustListed' AND ExecutionStatus = 'Completed'";
            let listed = scene.client.list_workflows(query, WorkflowListOptions::default());
            let listed: Vec<_> = listed.try_collect().await.expect("the filter is understood");
            assert!(listed.iter().all(|listed| listed.workflow_type() == "RustListed"));
            if listed.iter().any(|listed| listed.run_id() == started) {
                break;
            }
            // Lists may lag behind writes: ask again, until the test's time is up.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
}
