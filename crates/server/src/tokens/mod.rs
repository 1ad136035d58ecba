//! Task tokens and page tokens: opaque to clients, verified when they come back.
//!
//! A token is authenticated with a key of the database, together with its namespace and purpose, so that it is valid
//! for nothing else (`docs/decisions/0015-authenticated-tokens.md` says why).

mod keys;
mod page_tokens;

#[cfg(test)]
pub(crate) use self::keys::test_keys;
pub(crate) use self::keys::{Keys, Purpose};
pub(crate) use self::page_tokens::{Direction, HistoryCursor, PageTokens};

use perennial_engine::run::{ActivityTarget, TaskStamp};
use perennial_proto::store::{RunName, TaskToken};
use prost::Message;
use tonic::Status;

use self::keys::{Scope, SignedToken};
use crate::errors::{RpcResult, not_found};

/// The signed token of a task, for a worker.
pub(crate) fn sign_task(keys: &Keys, token: &TaskToken) -> Vec<u8> {
    keys.sign(task_scope(token), token.encode_to_vec())
}

/// Reads and verifies the token of a task. The caller compares the namespace.
pub(crate) fn read_task(keys: &Keys, bytes: &[u8]) -> RpcResult<TaskToken> {
    if bytes.is_empty() {
        return Err(Status::invalid_argument("Task token not set on request."));
    }
    let (Some(token), Some(signed)) = (unverified_task(bytes), SignedToken::read(bytes)) else {
        return Err(if is_of_temporal(bytes) { task_unknown() } else { unreadable() });
    };
    keys.check(task_scope(&token), &signed).map_err(|_| task_unknown())?;
    Ok(token)
}

/// Reads the token of a task without verifying it. Good enough to find the owner of the run, who verifies it.
pub(crate) fn unverified_task(bytes: &[u8]) -> Option<TaskToken> {
    let token = TaskToken::decode(SignedToken::read(bytes)?.body).ok()?;
    (!token.workflow_id.is_empty() && !token.run_id.is_empty()).then_some(token)
}

/// The error for a token that this server didn't issue in this namespace.
pub(crate) fn task_unknown() -> Status {
    not_found("The task of this task token is not known in this namespace.")
}

/// Whether Temporal's server issued the token. A worker that has moved here then drops the task, as if it had ended.
fn is_of_temporal(bytes: &[u8]) -> bool {
    /// The token of a task or of a query, which have the same field numbers.
    #[derive(Clone, PartialEq, Message)]
    struct TemporalToken {
        #[prost(string, tag = "1")]
        namespace_id: String,
        #[prost(string, tag = "2")]
        workflow_id_or_task_queue: String,
        #[prost(string, tag = "3")]
        run_id_or_task_id: String,
    }
    TemporalToken::decode(bytes).is_ok_and(|token| {
        !token.namespace_id.is_empty()
            && !token.workflow_id_or_task_queue.is_empty()
            && !token.run_id_or_task_id.is_empty()
    })
}

fn unreadable() -> Status {
    Status::invalid_argument("Error deserializing task token.")
}

fn task_scope(token: &TaskToken) -> Scope<'static> {
    Scope { purpose: Purpose::Task, namespace: token.namespace, request: &[] }
}

/// The run of a task.
pub(crate) fn run_of(token: &TaskToken) -> RunName {
    RunName {
        namespace: token.namespace,
        workflow_id: token.workflow_id.clone(),
        run_id: token.run_id.clone(),
        first_run_id: String::new(),
    }
}

/// The workflow task of a token.
pub(crate) fn workflow_task_of(token: &TaskToken) -> TaskStamp {
    TaskStamp::from(token)
}

/// The activity attempt of a token.
pub(crate) fn activity_of(token: &TaskToken) -> ActivityTarget {
    ActivityTarget::Token(TaskStamp::from(token))
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;

    fn token() -> TaskToken {
        TaskToken {
            namespace: 7,
            workflow_id: "order".to_owned(),
            run_id: "run".to_owned(),
            scheduled_event_id: 5,
            started_event_id: 6,
            attempt: 2,
            stamp: 3,
            ..TaskToken::default()
        }
    }

    #[test]
    fn task_token_survives_a_round_trip() {
        let keys = test_keys(&[1]);
        let read = read_task(&keys, &sign_task(&keys, &token())).unwrap();
        assert_eq!(read, token());
        assert_eq!(
            workflow_task_of(&read),
            TaskStamp { scheduled_event_id: 5, attempt: 2, stamp: 3 }
        );
        assert_eq!(run_of(&read).run_id, "run");
    }

    #[test]
    fn tokens_that_are_not_ours_are_refused() {
        let keys = test_keys(&[1]);
        let refusal = |bytes: &[u8]| {
            let status = read_task(&keys, bytes).unwrap_err();
            (status.code(), status.message().to_owned())
        };
        let unreadable = (Code::InvalidArgument, "Error deserializing task token.".to_owned());
        let unknown = (Code::NotFound, task_unknown().message().to_owned());
        assert_eq!(refusal(b"").1, "Task token not set on request.");
        assert_eq!(refusal(b"xyz"), unreadable);
        assert_eq!(refusal(&[b'x'; 100]), unreadable);
        // They decode, but name no run.
        assert_eq!(refusal(&sign_task(&keys, &TaskToken::default())), unreadable);
        let runless = TaskToken { run_id: String::new(), ..token() };
        assert_eq!(refusal(&sign_task(&keys, &runless)), unreadable);
        // They name a run, but are signed for something else.
        assert_eq!(refusal(&sign_task(&test_keys(&[2]), &token())), unknown);
        let mut moved = sign_task(&keys, &token());
        moved[1] = 8;
        assert_eq!(refusal(&moved), unknown);
        // From Temporal's server: the texts `n`, `wf` and `run` in its first fields.
        let of_temporal = b"\x0a\x01n\x12\x02wf\x1a\x03run\x20\x02\x28\x01";
        assert_eq!(refusal(of_temporal), unknown);
        assert_eq!(refusal(&of_temporal[..7]), unreadable);
    }
}
