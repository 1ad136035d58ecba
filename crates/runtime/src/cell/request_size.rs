//! Approximate memory of a request: its payloads and a constant for the rest.

use perennial_engine::run::{ActivityOutcome, Command};
use perennial_engine::schedule;
use prost::Message;

use super::request::{Request, RunRequest, ScheduleRequest, WorkflowRequest};

/// Memory of a request beyond its payloads: names, ids, bookkeeping.
const REQUEST_OVERHEAD: usize = 512;

impl Request {
    /// Bytes of memory from arrival to answer.
    pub(crate) fn bytes(&self) -> usize {
        let payloads = match self {
            Self::Workflow { ask: WorkflowRequest::Start(start), .. } => {
                start.started.encoded_len()
            }
            Self::Workflow {
                ask: WorkflowRequest::StartWithUpdate { start, update, .. }, ..
            } => start.started.encoded_len() + update.encoded_len(),
            Self::Run { ask, .. } => run_request_bytes(ask),
            Self::Schedule { ask, .. } => match ask {
                ScheduleRequest::Create(create) => create.config.encoded_len(),
                ScheduleRequest::Command(schedule::Command::Update(update)) => {
                    update.config.encoded_len()
                }
                ScheduleRequest::Command(_) | ScheduleRequest::Read | ScheduleRequest::Purge => 0,
            },
            Self::Deliver { message } | Self::TakeAnswer { message, .. } => message.encoded_len(),
            Self::PutRecord { record, .. } => record.value.as_ref().map_or(0, Vec::len),
            Self::Dispatch(_) | Self::Wake { .. } => 0,
        };
        REQUEST_OVERHEAD + payloads
    }
}

fn run_request_bytes(ask: &RunRequest) -> usize {
    match ask {
        RunRequest::Command(command) => command_bytes(command),
        RunRequest::KeepPage(page) => messages(&page.commands),
        RunRequest::Reset(reset) => messages(&reset.kept) + messages(&reset.later),
        RunRequest::Query { query, .. } => query.encoded_len(),
        RunRequest::AnswerQuery { result, .. } => result.encoded_len(),
        RunRequest::Update { request, .. } => request.encoded_len(),
        RunRequest::TakePages { .. }
        | RunRequest::Read
        | RunRequest::Watch { .. }
        | RunRequest::Delete
        | RunRequest::PollUpdate { .. } => 0,
    }
}

fn command_bytes(command: &Command) -> usize {
    match command {
        Command::CompleteWorkflowTask(complete) => {
            let answers: usize = complete.query_answers.values().map(Message::encoded_len).sum();
            messages(&complete.commands) + messages(&complete.messages) + answers
        }
        Command::FailWorkflowTask(fail) => optional(fail.failure.as_ref()),
        Command::ReportActivity(report) => match &report.outcome {
            ActivityOutcome::Completed(result) => optional(result.as_ref()),
            ActivityOutcome::Failed(failure, heartbeat) => {
                optional(failure.as_ref()) + optional(heartbeat.as_ref())
            }
            ActivityOutcome::Canceled(details) => optional(details.as_ref()),
        },
        Command::HeartbeatActivity(heartbeat) => optional(heartbeat.details.as_ref()),
        Command::Signal(signal) => signal.attributes.encoded_len(),
        Command::Terminate(terminate) => optional(terminate.details.as_ref()),
        Command::Receive(message) => message.encoded_len(),
        Command::TakeAnswer(taken) => taken.message.encoded_len(),
        Command::StartWorkflowTask(_)
        | Command::StartActivity(_)
        | Command::UndoStart(_)
        | Command::RequestCancel(_)
        | Command::ResetSticky
        | Command::PassOverSticky
        | Command::WantTaskForUpdate
        | Command::Wake
        | Command::ChangeActivities(_)
        | Command::Pause(_)
        | Command::Unpause(_)
        | Command::UpdateOptions(_) => 0,
    }
}

fn messages(messages: &[impl Message]) -> usize {
    messages.iter().map(Message::encoded_len).sum::<usize>() + size_of_val(messages)
}

fn optional(message: Option<&impl Message>) -> usize {
    message.map_or(0, Message::encoded_len)
}
