//! The workflow's answers to updates: accepted, rejected, completed.

use perennial_proto::temporal::command::v1::ProtocolMessageCommandAttributes;
use perennial_proto::temporal::enums::v1::WorkflowTaskFailedCause;
use perennial_proto::temporal::history::v1::{
    WorkflowExecutionUpdateAcceptedEventAttributes, WorkflowExecutionUpdateCompletedEventAttributes,
};
use perennial_proto::temporal::protocol::v1::Message as ProtocolMessage;
use perennial_proto::temporal::update::v1::{Acceptance, Rejection, Response};
use prost::Message;

use super::{CommandFailure, Progress, Step};
use crate::run::draft::Draft;
use crate::run::event::Attributes;
use crate::run::{CompleteWorkflowTask, UpdateProgress};

const BAD: WorkflowTaskFailedCause = WorkflowTaskFailedCause::BadUpdateWorkflowExecutionMessage;

/// The messages of a completion. A command gives the position of a message among the other commands; the remaining
/// messages take effect at the end.
pub(super) struct Messages<'a> {
    complete: &'a CompleteWorkflowTask,
    waiting: Vec<&'a ProtocolMessage>,
}

impl<'a> Messages<'a> {
    pub(super) fn new(complete: &'a CompleteWorkflowTask) -> Self {
        Self { complete, waiting: complete.messages.iter().collect() }
    }

    /// Carries out the message that a command refers to.
    pub(super) fn carry_out(
        &mut self,
        step: &mut Step<'_, '_>,
        wanted: &ProtocolMessageCommandAttributes,
    ) -> Result<(), CommandFailure> {
        let at = self.waiting.iter().position(|message| message.id == wanted.message_id);
        let Some(at) = at else {
            return Err(CommandFailure::new(
                BAD,
                format!(
                    "ProtocolMessageCommand referenced absent message ID {}",
                    wanted.message_id
                ),
            ));
        };
        let message = self.waiting.remove(at);
        self.take(step.draft, step.progress, message)
    }

    pub(super) fn carry_out_rest(
        mut self,
        draft: &mut Draft<'_>,
        progress: &mut Progress,
    ) -> Result<(), CommandFailure> {
        for message in std::mem::take(&mut self.waiting) {
            self.take(draft, progress, message)?;
        }
        Ok(())
    }

    /// Handles the remaining messages of a run that has closed: rejections still count.
    pub(super) fn reject_rest(self, progress: &mut Progress) {
        progress.updates.extend(self.waiting.into_iter().filter_map(refused));
    }

    fn take(
        &self,
        draft: &mut Draft<'_>,
        progress: &mut Progress,
        message: &ProtocolMessage,
    ) -> Result<(), CommandFailure> {
        let id = message.protocol_instance_id.clone();
        match UpdateAnswer::read(message) {
            Some(UpdateAnswer::Accepted(accepted)) => {
                let admitted = self.complete.admitted_updates.get(&id).cloned();
                let stored = draft.run.updates.get(&id).and_then(|it| it.admitted_request.clone());
                // An update that an event admitted has its request in that event.
                let request = match stored {
                    Some(_) => None,
                    None => {
                        Some(admitted.or(accepted.accepted_request).ok_or_else(|| unknown(&id))?)
                    }
                };
                if draft.run.updates.get(&id).is_some_and(|update| update.accepted_event_id != 0) {
                    return Err(CommandFailure::new(
                        BAD,
                        format!("update {id} was accepted before"),
                    ));
                }
                draft.record(Attributes::WorkflowExecutionUpdateAcceptedEventAttributes(
                    WorkflowExecutionUpdateAcceptedEventAttributes {
                        protocol_instance_id: id.clone(),
                        accepted_request_message_id: accepted.accepted_request_message_id,
                        accepted_request_sequencing_event_id: accepted
                            .accepted_request_sequencing_event_id,
                        accepted_request: request,
                    },
                ));
                progress.updates.push((id, UpdateProgress::Accepted));
            }
            Some(UpdateAnswer::Completed(response)) => {
                let Some(update) = draft.run.updates.get(&id) else { return Err(unknown(&id)) };
                if update.accepted_event_id == 0 || update.completed_event_id != 0 {
                    return Err(CommandFailure::new(
                        BAD,
                        format!(
                            "update {id} can't be completed: it isn't accepted, or has completed"
                        ),
                    ));
                }
                let accepted_event_id = update.accepted_event_id;
                draft.record(Attributes::WorkflowExecutionUpdateCompletedEventAttributes(
                    WorkflowExecutionUpdateCompletedEventAttributes {
                        meta: response.meta,
                        accepted_event_id,
                        outcome: response.outcome.clone(),
                    },
                ));
                let outcome = response.outcome.unwrap_or_default();
                progress.updates.push((id, UpdateProgress::Completed(outcome)));
            }
            Some(UpdateAnswer::Rejected(rejection)) => {
                let failure = rejection.failure.unwrap_or_default();
                progress.updates.push((id, UpdateProgress::Rejected(failure)));
            }
            None => {
                return Err(CommandFailure::new(
                    BAD,
                    format!("message {} has a body of an unknown kind", message.id),
                ));
            }
        }
        Ok(())
    }
}

/// Whether a message rejects an update.
pub(in crate::run::decide) fn is_rejection(message: &ProtocolMessage) -> bool {
    matches!(UpdateAnswer::read(message), Some(UpdateAnswer::Rejected(_)))
}

/// The updates that these messages reject, if all messages are rejections.
pub(in crate::run::decide) fn rejections(
    messages: &[ProtocolMessage],
) -> Vec<(String, UpdateProgress)> {
    messages.iter().filter_map(refused).collect()
}

/// The update that a message rejects.
fn refused(message: &ProtocolMessage) -> Option<(String, UpdateProgress)> {
    match UpdateAnswer::read(message)? {
        UpdateAnswer::Rejected(rejection) => {
            let failure = rejection.failure.unwrap_or_default();
            Some((message.protocol_instance_id.clone(), UpdateProgress::Rejected(failure)))
        }
        UpdateAnswer::Accepted(_) | UpdateAnswer::Completed(_) => None,
    }
}

enum UpdateAnswer {
    Accepted(Acceptance),
    Rejected(Rejection),
    Completed(Response),
}

impl UpdateAnswer {
    fn read(message: &ProtocolMessage) -> Option<Self> {
        let body = message.body.as_ref()?;
        let value = body.value.as_slice();
        match body.type_url.rsplit('/').next()? {
            "temporal.api.update.v1.Acceptance" => {
                Acceptance::decode(value).ok().map(Self::Accepted)
            }
            "temporal.api.update.v1.Rejection" => Rejection::decode(value).ok().map(Self::Rejected),
            "temporal.api.update.v1.Response" => Response::decode(value).ok().map(Self::Completed),
            _ => None,
        }
    }
}

fn unknown(id: &str) -> CommandFailure {
    CommandFailure::new(BAD, format!("update {id} wasn't delivered with this workflow task"))
}
