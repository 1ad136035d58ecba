use temporalio_client::errors::WorkflowUpdateError;
use temporalio_client::{
    WorkflowExecuteUpdateOptions, WorkflowQueryOptions, WorkflowSignalOptions,
};

use crate::scene::with_worker;
use crate::workflows::*;

#[tokio::test]
async fn signals_arrive_in_order() {
    with_worker(async |scene| {
        let sent: Vec<usize> = (0..20).collect();
        let run = scene.start(CollectSignals::run, sent.len()).await;
        for number in &sent {
            let options = WorkflowSignalOptions::default();
            run.signal(CollectSignals::number, *number, options).await.expect("the run is open");
        }
        assert_eq!(scene.result(&run).await, sent);
    })
    .await;
}

#[tokio::test]
async fn query_answers_while_the_run_is_open_and_after_it_closed() {
    with_worker(async |scene| {
        let run = scene.start(AnswerQueries::run, "Ada".to_owned()).await;
        let state = run.query(AnswerQueries::state, (), WorkflowQueryOptions::default()).await;
        assert_eq!(state.expect("an open run answers"), "waiting for Ada");

        let options = WorkflowSignalOptions::default();
        run.signal(AnswerQueries::finish, (), options).await.expect("the run is open");
        scene.result(&run).await;
        let state = run.query(AnswerQueries::state, (), WorkflowQueryOptions::default()).await;
        assert_eq!(state.expect("a closed run answers"), "done with Ada");
    })
    .await;
}

#[tokio::test]
async fn update_is_validated_before_it_is_accepted() {
    with_worker(async |scene| {
        let run = scene.start(KeepTotal::run, ()).await;
        let add = async |number| {
            run.execute_update(KeepTotal::add, number, WorkflowExecuteUpdateOptions::default())
                .await
        };
        let rejected = add(-1).await;
        let Err(WorkflowUpdateError::Failed(failure)) = rejected else {
            panic!("the update should have been rejected: {rejected:?}");
        };
        assert_eq!(failure.message, "only positive numbers");
        assert_eq!(add(40).await.expect("it is accepted"), 40);
        assert_eq!(add(2).await.expect("it is accepted"), 42);

        let options = WorkflowSignalOptions::default();
        run.signal(KeepTotal::finish, (), options).await.expect("the run is open");
        assert_eq!(scene.result(&run).await, 42);
        let types = scene.event_types(&run).await;
        let accepted = |name: &&String| *name == "WorkflowExecutionUpdateAccepted";
        assert_eq!(types.iter().filter(accepted).count(), 2);
    })
    .await;
}
