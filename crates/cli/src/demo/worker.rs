//! The worker of the demonstration: asks for workflow tasks and answers them, without any SDK.

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
/// Ends at once.
pub(super) const QUICK: &str = "Quick";
/// Ends when its timer has fired.
pub(super) const SLOW: &str = "Slow";
/// Every third one fails.
pub(super) const FLAKY: &str = "Flaky";

const SLOW_TAKES: i64 = 5;

/// The server answers a poll in time, with a task or without.
const POLL_TIME: Duration = Duration::from_secs(70);

/// Runs what the schedules start, and tells of it.
pub(super) struct Worker {
    client: Client,
    flaky_runs: u64,
    /// How many runs are left to see.
    left: Option<u64>,
}

/// What a workflow task is answered with.
enum Decision {
    Wait,
    Complete,
    Fail,
}

impl Worker {
    pub(super) fn new(client: Client, runs: Option<u64>) -> Self {
        Worker { client, flaky_runs: 0, left: runs }
    }

    /// Works until it has seen as many runs as it was asked to.
    pub(super) async fn work(&mut self, output: &mut Output) -> anyhow::Result<()> {
        while self.left != Some(0) {
            let Some(task) = self.poll().await? else { continue };
            let decision = self.decide(&task);
            match self.answer(&task, &decision).await {
                Ok(()) => {}
                // The run has ended meanwhile, by someone's hand.
                Err(status) if status.code() == Code::NotFound => continue,
                Err(status) => return Err(status.into()),
            }
            match decision {
                Decision::Wait => continue,
                Decision::Complete => tell(&task, "completed", Style::Plain, output)?,
                Decision::Fail => {
                    tell(&task, "failed", Style::Warning, output)?;
                    output.line("          demo-flaky pauses itself: `schedule unpause demo-flaky` lets it go on")?;
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
        request.set_timeout(POLL_TIME);
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
                    FailWorkflowExecutionCommandAttributes { failure: Some(mishap()) },
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

/// A line for a run that has ended.
fn tell(
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

fn mishap() -> Failure {
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
