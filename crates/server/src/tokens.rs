//! What clients hold for us and hand back: opaque to them, checked when it comes back.

use perennial_engine::run::{ActivityTarget, TaskStamp};
use perennial_proto::store::{RunName, TaskToken};
use prost::Message;
use tonic::Status;

use crate::errors::Answer;

/// Reads the token of a task.
pub(crate) fn read_task(bytes: &[u8]) -> Answer<TaskToken> {
    if bytes.is_empty() {
        return Err(Status::invalid_argument("Task token not set on request."));
    }
    let token = TaskToken::decode(bytes).ok().filter(|token| !token.workflow_id.is_empty());
    token.ok_or_else(|| Status::invalid_argument("Error deserializing task token."))
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

/// Where the next page of a history begins.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct HistoryCursor {
    /// The run it is of, even if another one has the workflow id by now.
    #[prost(string, tag = "1")]
    pub(crate) run_id: String,
    /// First event of the next page; the last one, if the pages go backwards.
    #[prost(int64, tag = "2")]
    pub(crate) next_event_id: i64,
    /// Where the pages of a workflow task end; 0 if they end with the history.
    #[prost(int64, tag = "3")]
    pub(crate) last_event_id: i64,
}

impl HistoryCursor {
    /// Reads a page token for the run that was asked for, which may be left open.
    pub(crate) fn read(bytes: &[u8], run_id: &str) -> Answer<Option<Self>> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let cursor = Self::decode(bytes).ok();
        let cursor = cursor.filter(|cursor| !cursor.run_id.is_empty() && cursor.next_event_id > 0);
        let Some(cursor) = cursor else {
            return Err(invalid_page());
        };
        if !run_id.is_empty() && run_id != cursor.run_id {
            return Err(Status::invalid_argument(
                "RunId in the request does not match the NextPageToken.",
            ));
        }
        Ok(Some(cursor))
    }
}

/// Where a page of a schedule's ledger ended.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct LedgerCursor {
    /// Its key: the id may be another's by now.
    #[prost(int64, tag = "1")]
    pub(crate) schedule: i64,
    #[prost(bool, tag = "2")]
    pub(crate) is_manual: bool,
    #[prost(int64, tag = "3")]
    pub(crate) position: i64,
}

impl LedgerCursor {
    /// Reads a page token: a position in the ledger that `expected` is about.
    pub(crate) fn read(bytes: &[u8], expected: &Self) -> Answer<Option<i64>> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let cursor = Self::decode(bytes).ok();
        let is_its = |cursor: &Self| {
            (cursor.schedule, cursor.is_manual) == (expected.schedule, expected.is_manual)
        };
        cursor.filter(is_its).map(|cursor| Some(cursor.position)).ok_or_else(invalid_page)
    }
}

/// A page token that isn't ours.
pub(crate) fn invalid_page() -> Status {
    Status::invalid_argument("Invalid NextPageToken.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_token_comes_back_as_it_left() {
        let token = TaskToken {
            namespace: 7,
            workflow_id: "order".to_owned(),
            run_id: "run".to_owned(),
            scheduled_event_id: 5,
            started_event_id: 6,
            attempt: 2,
            stamp: 3,
            ..TaskToken::default()
        };
        let read = read_task(&token.encode_to_vec()).unwrap();
        assert_eq!(read, token);
        assert_eq!(
            workflow_task_of(&read),
            TaskStamp { scheduled_event_id: 5, attempt: 2, stamp: 3 }
        );
        assert_eq!(run_of(&read).run_id, "run");
    }

    #[test]
    fn tokens_that_are_not_ours_are_refused() {
        let message = |bytes: &[u8]| read_task(bytes).unwrap_err().message().to_owned();
        assert_eq!(message(b""), "Task token not set on request.");
        assert_eq!(message(b"xyz"), "Error deserializing task token.");
        // It decodes, but is about nothing.
        assert_eq!(message(&[0x20, 0x05]), "Error deserializing task token.");
    }

    #[test]
    fn page_token_is_for_one_run() {
        let cursor = HistoryCursor { run_id: "run".to_owned(), next_event_id: 4, last_event_id: 0 };
        let bytes = cursor.encode_to_vec();
        assert_eq!(HistoryCursor::read(&bytes, "").unwrap(), Some(cursor.clone()));
        assert_eq!(HistoryCursor::read(&bytes, "run").unwrap(), Some(cursor));
        assert_eq!(HistoryCursor::read(b"", "run").unwrap(), None);
        let message = |bytes: &[u8], run_id| {
            HistoryCursor::read(bytes, run_id).unwrap_err().message().to_owned()
        };
        assert_eq!(
            message(&bytes, "other"),
            "RunId in the request does not match the NextPageToken."
        );
        assert_eq!(message(b"xx", ""), "Invalid NextPageToken.");
    }
}
