//! What clients hold for us and hand back: opaque to them, checked when it comes back.
//!
//! A token is good only where it was given out: it is authenticated with a key of the database, together with the
//! namespace and what it is for (`docs/decisions/0015-authenticated-tokens.md` says why).

mod keys;
mod pages;

#[cfg(test)]
pub(crate) use self::keys::test_keys;
pub(crate) use self::keys::{Keys, Purpose};
pub(crate) use self::pages::{Direction, HistoryCursor, Pages};

use perennial_engine::run::{ActivityTarget, TaskStamp};
use perennial_proto::store::{RunName, TaskToken};
use prost::Message;
use tonic::Status;

use self::keys::{Scope, Sealed};
use crate::errors::{RpcResult, not_found};

/// The token of a task, as a worker gets it.
pub(crate) fn seal_task(keys: &Keys, token: &TaskToken) -> Vec<u8> {
    keys.seal(task_scope(token), token.encode_to_vec())
}

/// Reads the token of a task. Whose namespace it names is for the caller to compare.
pub(crate) fn read_task(keys: &Keys, bytes: &[u8]) -> RpcResult<TaskToken> {
    if bytes.is_empty() {
        return Err(Status::invalid_argument("Task token not set on request."));
    }
    let (Some(token), Some(sealed)) = (unverified_task(bytes), Sealed::read(bytes)) else {
        return Err(if is_of_temporal(bytes) { task_unknown() } else { unreadable() });
    };
    keys.check(task_scope(&token), &sealed).map_err(|_| task_unknown())?;
    Ok(token)
}

/// Reads the token of a task without checking who made it. It is good for finding the run's owner, who checks.
pub(crate) fn unverified_task(bytes: &[u8]) -> Option<TaskToken> {
    let token = TaskToken::decode(Sealed::read(bytes)?.body).ok()?;
    (!token.workflow_id.is_empty() && !token.run_id.is_empty()).then_some(token)
}

/// The token isn't one that this server gave out in this namespace.
pub(crate) fn task_unknown() -> Status {
    not_found("The task of this task token is not known in this namespace.")
}

/// Whether it is a token that a server of Temporal's gave out: a worker that has moved here from one drops the task,
/// as if it had ended meanwhile.
fn is_of_temporal(bytes: &[u8]) -> bool {
    /// A task's, or a query's: the names of other fields, the same numbers.
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
    Scope { purpose: Purpose::Task, namespace: token.namespace, question: &[] }
}

/// The run a token is about.
pub(crate) fn run_of(token: &TaskToken) -> RunName {
    RunName {
        namespace: token.namespace,
        workflow_id: token.workflow_id.clone(),
        run_id: token.run_id.clone(),
        first_run_id: String::new(),
    }
}

/// The start of a workflow task that a token is about.
pub(crate) fn workflow_task_of(token: &TaskToken) -> TaskStamp {
    TaskStamp::from(token)
}

/// The attempt of an activity that a token is about.
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
    fn task_token_comes_back_as_it_left() {
        let keys = test_keys(&[1]);
        let read = read_task(&keys, &seal_task(&keys, &token())).unwrap();
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
        // They decode, but are about nothing.
        assert_eq!(refusal(&seal_task(&keys, &TaskToken::default())), unreadable);
        let runless = TaskToken { run_id: String::new(), ..token() };
        assert_eq!(refusal(&seal_task(&keys, &runless)), unreadable);
        // It is about something, and someone else's.
        assert_eq!(refusal(&seal_task(&test_keys(&[2]), &token())), unknown);
        let mut moved = seal_task(&keys, &token());
        moved[1] = 8;
        assert_eq!(refusal(&moved), unknown);
        // It is of a server of Temporal's: the texts `n`, `wf` and `run` in its first fields.
        let of_temporal = b"\x0a\x01n\x12\x02wf\x1a\x03run\x20\x02\x28\x01";
        assert_eq!(refusal(of_temporal), unknown);
        assert_eq!(refusal(&of_temporal[..7]), unreadable);
    }
}
