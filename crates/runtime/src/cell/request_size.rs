//! How much memory a request takes, about: what it carries for users, and a constant for the rest.

use perennial_engine::run::{ActivityOutcome, Command};
use perennial_engine::schedule;
use prost::Message;

use super::request::Request;

/// Names, ids, and what the cell keeps of a request beside its payloads.
const FIXED: usize = 512;

impl Request {
    /// Bytes of memory from its arrival to its answer.
    pub(crate) fn bytes(&self) -> usize {
        let payloads = match self {
            Self::Start { start, .. } => start.started.encoded_len(),
            Self::StartWithUpdate { start, request, .. } => {
                start.started.encoded_len() + request.encoded_len()
            }
            Self::Command { command, .. } => command_bytes(command),
            Self::KeepPage { page, .. } => messages(&page.commands),
            Self::Reset { reset, .. } => messages(&reset.kept) + messages(&reset.later),
            Self::Query { query, .. } => query.encoded_len(),
            Self::AnswerQuery { result, .. } => result.encoded_len(),
            Self::Update { request, .. } => request.encoded_len(),
            Self::Put { record } => record.value.as_ref().map_or(0, Vec::len),
            Self::CreateSchedule { create, .. } => create.config.encoded_len(),
            Self::Schedule { command: schedule::Command::Update(update), .. } => {
                update.config.encoded_len()
            }
            Self::Deliver { message } | Self::Settle { message, .. } => message.encoded_len(),
            Self::Schedule { .. }
            | Self::TakePages { .. }
            | Self::Read { .. }
            | Self::Watch { .. }
            | Self::Delete { .. }
            | Self::StartTask { .. }
            | Self::TakeQuery { .. }
            | Self::PollUpdate { .. }
            | Self::ReadSchedule { .. }
            | Self::PurgeSchedule { .. } => 0,
        };
        FIXED + payloads
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
        Command::Settle(settle) => settle.message.encoded_len(),
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
