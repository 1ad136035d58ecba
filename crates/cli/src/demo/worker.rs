//! The worker of the demo: polls and completes workflow tasks over gRPC, without an SDK.

use std::time::Duration;

use jiff::Timestamp;
use perennial_proto::temporal::command::v1::command::Attributes;
use perennial_proto::temporal::command::v1::{
    Command, CompleteWorkflowExecutionCommandAttributes, FailWorkflowExecutionCommandAttributes,
    StartTimerCommandAttributes,
};
use perennial_proto::temporal::enums::v1::{CommandType, EventType};
use perennial_proto::temporal::failure::v1::ApplicationFailureInfo;
use perennial_proto::temporal::failure::v1::Failure;
use perennial_proto::temporal::failure::v1::failure::FailureInfo;
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use perennial_proto::temporal::workflowservice::v1::{
    PollWorkflowTaskQueueRequest, PollWorkflowTaskQueueResponse,
    RespondWorkflowTaskCompletedRequest,
};
use tonic::{Code, Request};

use crate::client::Client;
use crate::output::{Output, instant};
use crate::terminal::Style;

pub(super) const TASK_QUEUE: &str = "perennial-demo";
/// Workflow type that completes at once.
pub(super) const QUICK: &str = "Quick";
/// Workflow type that completes when its timer fires.
pub(super) const SLOW: &str = "Slow";
/// Workflow type of which every third run fails.
pub(super) const FLAKY: &str = "Flaky";

const SLOW_TAKES: i64 = 5;

/// Timeout of a poll: longer than the server's own, which returns without a task.
const POLL_TIMEOUT: Duration = Duration::from_secs(70);

/// Runs the workflows that the schedules start, and prints each result.
pub(super) struct Worker {
    client: Client,
    flaky_runs: u64,
    /// Number of runs left, if limited by `--runs`.
    left: Option<u64>,
}

/// The response to a workflow task.
enum Decision {
    Wait,
    Complete,
    Fail,
}

impl Worker {
    pub(super) fn new(client: Client, runs: Option<u64>) -> Self {
        Worker { client, flaky_runs: 0, left: runs }
    }

    /// Runs workflows until `--runs` is reached.
    pub(super) async fn work(&mut self, output: &mut Output) -> anyhow::Result<()> {
        while self.left != Some(0) {
            let Some(task) = self.poll().await? else { continue };
            let decision = self.decide(&task);
            match self.answer(&task, &decision).await {
                Ok(()) => {}
                // The run was closed meanwhile, by the user.
                Err(status) if status.code() == Code::NotFound => continue,
                Err(status) => return Err(status.into()),
            }
            match decision {
                Decision::Wait => continue,
                Decision::Complete => print_run(&task, "completed", Style::Plain, output)?,
                Decision::Fail => {
                    print_run(&task, "failed", Style::Warning, output)?;
                    output.line("          demo-flaky is paused now; `perennial schedule unpause demo-flaky` resumes it")?;
                    output.flush()?;
                }
            }
            self.left = self.left.map(|left| left - 1);
        }
        Ok(())
    }

    async fn poll(&self) -> anyhow::Result<Option<PollWorkflowTaskQueueResponse>> {
        let mut request = Request::new(PollWorkflowTaskQueueRequest {
            namespace: self.client.namespace.clone(),
            task_queue: Some(TaskQueue { name: TASK_QUEUE.to_owned(), ..TaskQueue::default() }),
            identity: self.client.identity.clone(),
            ..PollWorkflowTaskQueueRequest::default()
        });
        request.set_timeout(POLL_TIMEOUT);
        let task = self.client.workflow().poll_workflow_task_queue(request).await?.into_inner();
        Ok((!task.task_token.is_empty()).then_some(task))
    }

    fn decide(&mut self, task: &PollWorkflowTaskQueueResponse) -> Decision {
        let name = task.workflow_type.as_ref().map(|it| it.name.as_str()).unwrap_or_default();
        let fired = task.history.iter().flat_map(|it| &it.events);
        let fired = fired.map(|event| event.event_type()).any(|it| it == EventType::TimerFired);
        match name {
            SLOW if !fired => Decision::Wait,
            FLAKY => {
                self.flaky_runs += 1;
                if self.flaky_runs.is_multiple_of(3) { Decision::Fail } else { Decision::Complete }
            }
            _ => Decision::Complete,
        }
    }

    async fn answer(
        &self,
        task: &PollWorkflowTaskQueueResponse,
        decision: &Decision,
    ) -> Result<(), tonic::Status> {
        let (kind, attributes) = match decision {
            Decision::Wait => (
                CommandType::StartTimer,
                Attributes::StartTimerCommandAttributes(StartTimerCommandAttributes {
                    timer_id: "work".to_owned(),
                    start_to_fire_timeout: Some(perennial_proto::Duration {
                        seconds: SLOW_TAKES,
                        nanos: 0,
                    }),
                }),
            ),
            Decision::Complete => (
                CommandType::CompleteWorkflowExecution,
                Attributes::CompleteWorkflowExecutionCommandAttributes(
                    CompleteWorkflowExecutionCommandAttributes::default(),
                ),
            ),
            Decision::Fail => (
                CommandType::FailWorkflowExecution,
                Attributes::FailWorkflowExecutionCommandAttributes(
                    FailWorkflowExecutionCommandAttributes { failure: Some(demo_failure()) },
                ),
            ),
        };
        let command = Command {
            command_type: kind.into(),
            attributes: Some(attributes),
            ..Command::default()
        };
        let request = RespondWorkflowTaskCompletedRequest {
            task_token: task.task_token.clone(),
            commands: vec![command],
            identity: self.client.identity.clone(),
            namespace: self.client.namespace.clone(),
            ..RespondWorkflowTaskCompletedRequest::default()
        };
        self.client.workflow().respond_workflow_task_completed(request).await.map(|_| ())
    }
}

/// Prints a line for a closed run.
fn print_run(
    task: &PollWorkflowTaskQueueResponse,
    how: &str,
    style: Style,
    output: &mut Output,
) -> anyhow::Result<()> {
    let now = output.times.at(Timestamp::now()).strftime("%H:%M:%S").to_string();
    let id = task.workflow_execution.clone().unwrap_or_default().workflow_id;
    let events = task.history.iter().flat_map(|it| &it.events);
    let mut times = events.filter_map(|event| instant(event.event_time.as_ref()));
    let began = times.next();
    let took = began.map(|began| Timestamp::now().duration_since(began).as_millis());
    let took = took.map(|took| format!(" after {took} ms")).unwrap_or_default();
    let line = format!("{now}  {how:9}  {id}{took}");
    output.line(output.look.paint(style, &line))?;
    Ok(output.flush()?)
}

fn demo_failure() -> Failure {
    Failure {
        message: "every third one fails, for show".to_owned(),
        source: "perennial-demo".to_owned(),
        failure_info: Some(FailureInfo::ApplicationFailureInfo(ApplicationFailureInfo {
            r#type: "Mishap".to_owned(),
            non_retryable: true,
            ..ApplicationFailureInfo::default()
        })),
        ..Failure::default()
    }
}
