//! Load with the official SDK.

use std::time::Duration;

use temporalio_client::{Client, WorkflowGetResultOptions, WorkflowStartOptions};
use temporalio_macros::{activities, workflow, workflow_methods};
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use temporalio_sdk::{ActivityOptions, WorkerOptions, WorkflowContext, WorkflowResult};

use crate::Load;
use crate::worker::beside_workers;

const TASK_QUEUE: &str = "load";

struct Activities;

#[activities]
impl Activities {
    #[activity]
    async fn greet(_: ActivityContext, name: String) -> Result<String, ActivityError> {
        Ok(format!("Hello, {name}!"))
    }
}

#[workflow]
#[derive(Default)]
struct Greet;

#[workflow_methods]
impl Greet {
    #[run]
    async fn run(ctx: &mut WorkflowContext<Self>, name: String) -> WorkflowResult<String> {
        let options = ActivityOptions::start_to_close_timeout(Duration::from_secs(60));
        Ok(ctx.execute_activity(Activities::greet, name, options).await?)
    }
}

pub(crate) async fn run(address: &str, load: Load) -> serde_json::Value {
    let worker = WorkerOptions::new(TASK_QUEUE)
        .register_workflow::<Greet>()
        .expect("the workflow has a name")
        .register_activities(Activities)
        .build();
    let work = async |clients: Vec<Client>| load.put(|id| one(clients[0].clone(), id)).await;
    beside_workers(address, worker, work).await
}

async fn one(client: Client, id: String) {
    let options = WorkflowStartOptions::new(TASK_QUEUE, id).build();
    let started = client.start_workflow(Greet::run, "you".to_owned(), options).await;
    let handle = started.expect("the workflow starts");
    let result = handle.get_result(WorkflowGetResultOptions::default()).await;
    assert_eq!(result.expect("the workflow completes"), "Hello, you!");
}
