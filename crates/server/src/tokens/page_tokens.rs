//! Page tokens of lists and histories.

use perennial_engine::NamespaceKey;
use perennial_proto::store::RunName;
use perennial_store::visibility::Position;
use prost::Message;
use tonic::Status;

use super::keys::{Keys, Purpose, Scope, SignedToken};
use crate::errors::RpcResult;

/// Makes and reads the page tokens of one list request in one namespace.
pub(crate) struct PageTokens<'a> {
    keys: &'a Keys,
    purpose: Purpose,
    namespace: i64,
    request: Vec<u8>,
}

impl<'a> PageTokens<'a> {
    /// `request`: the request without its page token and page size, which may change from page to page.
    pub(crate) fn new(
        keys: &'a Keys,
        purpose: Purpose,
        namespace: NamespaceKey,
        request: &impl Message,
    ) -> Self {
        Self { keys, purpose, namespace: namespace.0, request: request.encode_to_vec() }
    }

    /// The page tokens of a list that has only a filter.
    pub(crate) fn of_filter(
        keys: &'a Keys,
        purpose: Purpose,
        namespace: NamespaceKey,
        filter: &str,
    ) -> Self {
        Self { keys, purpose, namespace: namespace.0, request: filter.as_bytes().to_vec() }
    }

    /// The position after which a page begins; `None` for the first page.
    pub(crate) fn after(&self, token: &[u8]) -> RpcResult<Option<Vec<u8>>> {
        if token.is_empty() {
            return Ok(None);
        }
        let signed = SignedToken::read(token).ok_or_else(invalid_page)?;
        self.keys.check(self.scope(), &signed).map_err(|_| invalid_page())?;
        Ok(Some(signed.body.to_vec()))
    }

    /// The position, if it is a name or an id.
    pub(crate) fn after_name(&self, token: &[u8]) -> RpcResult<String> {
        let name = self.after(token)?.unwrap_or_default();
        String::from_utf8(name).map_err(|_| invalid_page())
    }

    /// The position, if it is one in a list of runs or schedules.
    pub(crate) fn after_position(&self, token: &[u8]) -> RpcResult<Option<Position>> {
        let position = self.after(token)?.map(|body| Position::from_token(&body));
        position.transpose().map_err(|_| invalid_page())
    }

    /// The position, if it is a number.
    pub(crate) fn after_number(&self, token: &[u8]) -> RpcResult<Option<i64>> {
        let number = self.after(token)?.map(|body| body.try_into().map(i64::from_be_bytes));
        number.transpose().map_err(|_| invalid_page())
    }

    /// The token of the page after `last`; empty if `last` is `None`.
    pub(crate) fn next(&self, last: Option<Vec<u8>>) -> Vec<u8> {
        last.map(|body| self.keys.sign(self.scope(), body)).unwrap_or_default()
    }

    fn scope(&self) -> Scope<'_> {
        let Self { purpose, namespace, .. } = *self;
        Scope { purpose, namespace, request: &self.request }
    }
}

/// The direction of a history's pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Forwards,
    Backwards,
}

/// The position of a history's next page.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct HistoryCursor {
    /// The run, which stays the same if the workflow id gets a new run.
    #[prost(string, tag = "1")]
    pub(crate) run_id: String,
    /// The first event of the next page; its last event, if pages go backwards.
    #[prost(int64, tag = "2")]
    pub(crate) next_event_id: i64,
    /// The last event of a workflow task's pages; 0 if they end with the history.
    #[prost(int64, tag = "3")]
    pub(crate) last_event_id: i64,
}

impl HistoryCursor {
    /// The page token for a workflow in this namespace.
    pub(crate) fn signed(
        &self,
        keys: &Keys,
        direction: Direction,
        namespace: i64,
        workflow_id: &str,
    ) -> Vec<u8> {
        keys.sign(Self::scope(direction, namespace, workflow_id), self.encode_to_vec())
    }

    /// Reads a page token for the requested run, whose run id may be empty.
    pub(crate) fn read(
        keys: &Keys,
        direction: Direction,
        token: &[u8],
        target: &RunName,
    ) -> RpcResult<Option<Self>> {
        if token.is_empty() {
            return Ok(None);
        }
        let scope = Self::scope(direction, target.namespace, &target.workflow_id);
        let signed = SignedToken::read(token).ok_or_else(invalid_page)?;
        keys.check(scope, &signed).map_err(|_| invalid_page())?;
        let cursor = Self::decode(signed.body).map_err(|_| invalid_page())?;
        if !target.run_id.is_empty() && target.run_id != cursor.run_id {
            return Err(Status::invalid_argument(
                "RunId in the request does not match the NextPageToken.",
            ));
        }
        Ok(Some(cursor))
    }

    fn scope(direction: Direction, namespace: i64, workflow_id: &str) -> Scope<'_> {
        let purpose = match direction {
            Direction::Forwards => Purpose::History,
            Direction::Backwards => Purpose::HistoryReverse,
        };
        Scope { purpose, namespace, request: workflow_id.as_bytes() }
    }
}

/// The error for a page token that isn't ours, or is for another list.
fn invalid_page() -> Status {
    Status::invalid_argument("Invalid NextPageToken.")
}

#[cfg(test)]
mod tests {
    use super::super::keys::test_keys;
    use super::*;

    fn target(run_id: &str) -> RunName {
        RunName {
            namespace: 7,
            workflow_id: "order".to_owned(),
            run_id: run_id.to_owned(),
            ..RunName::default()
        }
    }

    #[test]
    fn page_of_a_history_is_for_one_run() {
        let keys = test_keys(&[1]);
        let cursor = HistoryCursor { run_id: "run".to_owned(), next_event_id: 4, last_event_id: 0 };
        let token = cursor.signed(&keys, Direction::Forwards, 7, "order");
        let read = |token: &[u8], target: &RunName| {
            HistoryCursor::read(&keys, Direction::Forwards, token, target)
        };
        assert_eq!(read(&token, &target("")).unwrap(), Some(cursor.clone()));
        assert_eq!(read(&token, &target("run")).unwrap(), Some(cursor.clone()));
        assert_eq!(read(b"", &target("run")).unwrap(), None);
        let message =
            |token: &[u8], target: &RunName| read(token, target).unwrap_err().message().to_owned();
        assert_eq!(
            message(&token, &target("other")),
            "RunId in the request does not match the NextPageToken."
        );
        let elsewhere = RunName { namespace: 8, ..target("") };
        let another = RunName { workflow_id: "other".to_owned(), ..target("") };
        let backwards = cursor.signed(&keys, Direction::Backwards, 7, "order");
        for (token, target) in [
            (&token[..], &elsewhere),
            (&token, &another),
            (b"xx", &target("")),
            (&cursor.encode_to_vec(), &target("")),
            (&backwards, &target("")),
        ] {
            assert_eq!(message(token, target), "Invalid NextPageToken.");
        }
    }
}
