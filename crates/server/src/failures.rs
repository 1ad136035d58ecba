//! Limits the chain of causes in failures that clients send.
//!
//! Protobuf libraries decode a hundred nested messages (in Java, Python and Rust alike). A failure is stored and sent
//! again within other messages: a history, an event and its attributes. So a chain of causes that a request can just
//! hold could be decoded neither by clients nor, in the run's state, by this server.

use perennial_proto::temporal::command::v1::Command;
use perennial_proto::temporal::command::v1::command::Attributes;
use perennial_proto::temporal::failure::v1::Failure;
use perennial_proto::temporal::protocol::v1::Message as ProtocolMessage;
use perennial_proto::temporal::update::v1::{Rejection, Response, outcome};
use prost::Message;

use crate::errors::RpcResult;
use crate::validate::invalid;

/// Nested failures. The rest of the hundred is for the messages around them, for the payloads of the innermost one,
/// and for a timeout whose cause they become.
const DEPTH_MAX: usize = 80;

/// Refuses a failure with too many causes. The error names it as `field`.
pub(crate) fn check(failure: Option<&Failure>, field: &str) -> RpcResult<()> {
    let mut causes = std::iter::successors(failure, |failure| failure.cause.as_deref());
    if causes.nth(DEPTH_MAX).is_some() {
        return invalid(format!(
            "{field} has more than {DEPTH_MAX} causes, which clients can't decode; leave some out."
        ));
    }
    Ok(())
}

/// Checks the failures in commands.
pub(crate) fn check_commands(commands: &[Command]) -> RpcResult<()> {
    for (index, command) in commands.iter().enumerate() {
        let failure = match &command.attributes {
            Some(Attributes::FailWorkflowExecutionCommandAttributes(fail)) => fail.failure.as_ref(),
            Some(Attributes::ContinueAsNewWorkflowExecutionCommandAttributes(next)) => {
                next.failure.as_ref()
            }
            Some(Attributes::RecordMarkerCommandAttributes(marker)) => marker.failure.as_ref(),
            // Temporal's other commands have no failure.
            _ => None,
        };
        check(failure, &format!("commands[{index}].failure"))?;
    }
    Ok(())
}

/// Checks the failures in messages about updates. The engine refuses those that can't be decoded.
pub(crate) fn check_messages(messages: &[ProtocolMessage]) -> RpcResult<()> {
    for (index, message) in messages.iter().enumerate() {
        let Some(body) = &message.body else { continue };
        let failure = if body.type_url.ends_with(".update.v1.Response") {
            let response = Response::decode(body.value.as_slice()).unwrap_or_default();
            response.outcome.and_then(|it| it.value).and_then(|value| match value {
                outcome::Value::Failure(failure) => Some(failure),
                outcome::Value::Success(_) => None,
            })
        } else if body.type_url.ends_with(".update.v1.Rejection") {
            Rejection::decode(body.value.as_slice()).unwrap_or_default().failure
        } else {
            None
        };
        check(failure.as_ref(), &format!("messages[{index}].body.failure"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use perennial_proto::temporal::common::v1::{Payload, Payloads};
    use perennial_proto::temporal::failure::v1::ApplicationFailureInfo;
    use perennial_proto::temporal::failure::v1::failure::FailureInfo;
    use perennial_proto::temporal::history::v1::history_event::Attributes as EventAttributes;
    use perennial_proto::temporal::history::v1::{
        History, HistoryEvent, WorkflowExecutionUpdateCompletedEventAttributes,
    };
    use perennial_proto::temporal::update::v1::Outcome;
    use perennial_proto::temporal::workflowservice::v1::GetWorkflowExecutionHistoryResponse;

    use super::*;

    /// A chain of `depth` failures, the innermost with a payload.
    fn nested(depth: usize) -> Failure {
        let metadata = [("encoding".to_owned(), b"json/plain".to_vec())].into();
        let details = Payloads { payloads: vec![Payload { metadata, ..Payload::default() }] };
        let innermost = ApplicationFailureInfo { details: Some(details), ..Default::default() };
        let mut failure = Failure {
            failure_info: Some(FailureInfo::ApplicationFailureInfo(innermost)),
            ..Failure::default()
        };
        for _ in 1..depth {
            failure = Failure { cause: Some(Box::new(failure)), ..Failure::default() };
        }
        failure
    }

    /// The response that nests a failure the deepest.
    fn history_of(failure: Failure) -> Vec<u8> {
        let attributes = WorkflowExecutionUpdateCompletedEventAttributes {
            outcome: Some(Outcome { value: Some(outcome::Value::Failure(failure)) }),
            ..Default::default()
        };
        let attributes =
            EventAttributes::WorkflowExecutionUpdateCompletedEventAttributes(attributes);
        let event = HistoryEvent { attributes: Some(attributes), ..HistoryEvent::default() };
        let history = Some(History { events: vec![event] });
        GetWorkflowExecutionHistoryResponse { history, ..Default::default() }.encode_to_vec()
    }

    #[test]
    fn accepted_failure_can_be_decoded_in_a_history() {
        let timeout = Failure { cause: Some(Box::new(nested(DEPTH_MAX))), ..Failure::default() };
        assert!(check(Some(&nested(DEPTH_MAX)), "failure").is_ok());
        GetWorkflowExecutionHistoryResponse::decode(history_of(timeout).as_slice()).unwrap();

        let refusal = check(Some(&nested(DEPTH_MAX + 1)), "failure").unwrap_err();
        assert!(refusal.message().starts_with("failure has more than 80 causes"), "{refusal}");
        // A request can hold it, but a history can't.
        let deep = history_of(nested(95));
        assert!(Failure::decode(nested(95).encode_to_vec().as_slice()).is_ok());
        assert!(GetWorkflowExecutionHistoryResponse::decode(deep.as_slice()).is_err());
    }

    #[test]
    fn failures_are_found_in_commands_and_in_messages() {
        use perennial_proto::temporal::command::v1::FailWorkflowExecutionCommandAttributes;
        let fail = FailWorkflowExecutionCommandAttributes { failure: Some(nested(81)) };
        let attributes = Attributes::FailWorkflowExecutionCommandAttributes(fail);
        let command = Command { attributes: Some(attributes), ..Command::default() };
        let refusal = check_commands(&[Command::default(), command]).unwrap_err();
        assert!(refusal.message().starts_with("commands[1].failure has"), "{refusal}");

        let rejection = Rejection { failure: Some(nested(81)), ..Rejection::default() };
        let body = perennial_proto::Any {
            type_url: "type.googleapis.com/temporal.api.update.v1.Rejection".to_owned(),
            value: rejection.encode_to_vec(),
        };
        let message = ProtocolMessage { body: Some(body), ..ProtocolMessage::default() };
        assert!(check_messages(&[message]).is_err());
    }
}
