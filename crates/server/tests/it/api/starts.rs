//! Defaults and limits of starts and updates from the server's settings.

use std::sync::Arc;

use perennial_engine::Span;
use perennial_engine::run::Limits;
use perennial_library::Storage;
use perennial_proto::Duration;
use perennial_proto::temporal::common::v1::{RetryPolicy, WorkflowExecution};
use perennial_proto::temporal::update::v1 as update;
use perennial_proto::temporal::workflowservice::v1::{
    DescribeWorkflowExecutionRequest, StartWorkflowExecutionRequest, UpdateWorkflowExecutionRequest,
};
use perennial_store::MemoryStore;
use tonic::Code;

use crate::api::test_server::{Client, client, config, serving, start};

async fn limited(limits: Limits) -> Client {
    let mut config = config(Storage::Store(Arc::new(MemoryStore::default())));
    config.runtime.limits = limits;
    serving(config).await.0
}

fn order() -> Option<WorkflowExecution> {
    Some(WorkflowExecution { workflow_id: "order".to_owned(), run_id: String::new() })
}

#[tokio::test]
async fn workflow_task_timeout_is_the_configured_one_unless_the_start_has_another() {
    let workflow_task_timeout = Span::seconds(7);
    let mut client = limited(Limits { workflow_task_timeout, ..Limits::default() }).await;
    let seconds = |seconds| Some(Duration { seconds, nanos: 0 });
    let mut timeout_of = async |workflow_id: &str, workflow_task_timeout| {
        let start = StartWorkflowExecutionRequest { workflow_task_timeout, ..start(workflow_id) };
        client.start_workflow_execution(start).await.unwrap();
        let workflow_id = workflow_id.to_owned();
        let describe = DescribeWorkflowExecutionRequest {
            namespace: "default".to_owned(),
            execution: Some(WorkflowExecution { workflow_id, run_id: String::new() }),
        };
        let described = client.describe_workflow_execution(describe).await.unwrap().into_inner();
        described.execution_config.unwrap().default_workflow_task_timeout
    };
    assert_eq!(timeout_of("none", None).await, seconds(7));
    assert_eq!(timeout_of("short", seconds(3)).await, seconds(3));
    assert_eq!(timeout_of("long", seconds(500)).await, seconds(120));
}

#[tokio::test]
async fn invalid_starts_are_refused_by_field() {
    let mut client = client().await;
    let seconds = |seconds| Some(Duration { seconds, nanos: 0 });
    let cron = |cron: &str| StartWorkflowExecutionRequest {
        cron_schedule: cron.to_owned(),
        ..start("order")
    };
    let policy = RetryPolicy { initial_interval: seconds(-1), ..RetryPolicy::default() };
    let cases = [
        (
            cron("0 24 * * *"),
            "invalid CronSchedule. hour 24 is out of range 0–23; midnight is 0\n  0 24 * * *\n    ^^",
        ),
        (cron("0 0 31 2 *"), "invalid CronSchedule, no time can be found to satisfy the schedule"),
        (
            StartWorkflowExecutionRequest { workflow_start_delay: seconds(1), ..cron("* * * * *") },
            "CronSchedule and WorkflowStartDelay may not be used together.",
        ),
        (
            StartWorkflowExecutionRequest { workflow_run_timeout: seconds(-1), ..start("order") },
            "An invalid WorkflowRunTimeoutSeconds is set on request. cause: negative duration",
        ),
        (
            StartWorkflowExecutionRequest { retry_policy: Some(policy), ..start("order") },
            "invalid InitialInterval set on retry policy: negative duration",
        ),
    ];
    for (request, expected) in cases {
        let refused = client.start_workflow_execution(request).await.unwrap_err();
        assert_eq!((refused.code(), refused.message()), (Code::InvalidArgument, expected));
    }
}

#[tokio::test]
async fn updates_beyond_a_limit_are_refused_by_the_engines_rule() {
    let cases = [
        (
            Limits { updates_in_flight: 0, ..Limits::default() },
            Code::ResourceExhausted,
            "limit on number of concurrent in-flight updates has been reached (0)",
        ),
        (
            Limits { updates: 0, ..Limits::default() },
            Code::FailedPrecondition,
            "The limit on the total number of distinct updates in this workflow has been reached (0)",
        ),
    ];
    for (limits, code, message) in cases {
        let mut client = limited(limits).await;
        client.start_workflow_execution(start("order")).await.unwrap();
        let meta = update::Meta { update_id: "u".to_owned(), identity: String::new() };
        let input = update::Input { name: "approve".to_owned(), ..update::Input::default() };
        let request = UpdateWorkflowExecutionRequest {
            namespace: "default".to_owned(),
            workflow_execution: order(),
            request: Some(update::Request {
                meta: Some(meta),
                input: Some(input),
                ..update::Request::default()
            }),
            ..UpdateWorkflowExecutionRequest::default()
        };
        let refused = client.update_workflow_execution(request).await.unwrap_err();
        assert_eq!(refused.code(), code);
        assert!(refused.message().starts_with(message), "{refused}");
    }
}
