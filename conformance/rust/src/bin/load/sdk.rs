//! The load as the official SDK makes it.

use std::time::Duration;

use temporalio_client::{
    Client, ClientOptions, ConnectionOptions, Url, WorkflowGetResultOptions, WorkflowStartOptions,
};
use temporalio_macros::{activities, workflow, workflow_methods};
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use temporalio_sdk::{
    ActivityOptions, Runtime, Worker, WorkerOptions, WorkflowContext, WorkflowResult,
};

use crate::Load;

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
    let target = Url::parse(&format!("http://{address}")).expect("an address is host:port");
    let connection = ConnectionOptions::new(target).build();
    let client = Client::connect(connection, ClientOptions::new("default").build())
        .await
        .expect("the server answers");
    let runtime = Runtime::from_current_tokio(Default::default()).expect("a runtime of the SDK");
    let options = WorkerOptions::new(TASK_QUEUE)
        .register_workflow::<Greet>()
        .expect("the workflow has a name")
        .register_activities(Activities)
        .build();
    let mut worker = Worker::new(&runtime, client.clone(), options).expect("a worker");
    let shutdown = worker.shutdown_handle();
    let measure = async {
        let measured = load.put(|id| one(client.clone(), id)).await;
        shutdown();
        measured
    };
    let (ran, measured) = tokio::join!(worker.run(), measure);
    ran.expect("the worker ends when it is told to");
    measured
}

async fn one(client: Client, id: String) {
    let options = WorkflowStartOptions::new(TASK_QUEUE, id).build();
    let started = client.start_workflow(Greet::run, "you".to_owned(), options).await;
    let handle = started.expect("the workflow starts");
    let result = handle.get_result(WorkflowGetResultOptions::default()).await;
    assert_eq!(result.expect("the workflow completes"), "Hello, you!");
}
