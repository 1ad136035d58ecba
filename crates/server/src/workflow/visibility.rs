//! Lists and counts workflows.

use perennial_engine::{NamespaceKey, Span, Time};
use perennial_proto::temporal::common::v1::{
    Memo, Payload, SearchAttributes, WorkflowExecution, WorkflowType,
};
use perennial_proto::temporal::workflow::v1::WorkflowExecutionInfo;
use perennial_proto::temporal::workflowservice::v1::count_workflow_executions_response::AggregationGroup;
use perennial_proto::temporal::workflowservice::v1::{
    CountWorkflowExecutionsRequest, CountWorkflowExecutionsResponse,
    ListArchivedWorkflowExecutionsRequest, ListArchivedWorkflowExecutionsResponse,
    ListClosedWorkflowExecutionsRequest, ListClosedWorkflowExecutionsResponse,
    ListOpenWorkflowExecutionsRequest, ListOpenWorkflowExecutionsResponse,
    ListWorkflowExecutionsRequest, ListWorkflowExecutionsResponse, ScanWorkflowExecutionsRequest,
    ScanWorkflowExecutionsResponse,
};
use perennial_store::visibility::{Execution, Group, GroupKey, Page, Query};
use prost::Message;

use super::list_filter::{closed_runs, open_runs, status_name};
use crate::call::Call;
use crate::errors::{RpcResult, refused};
use crate::tokens::{PageTokens, Purpose};
use crate::validate::invalid;

/// The most runs in a page.
const PAGE_MAX: usize = 1_000;

/// A page of runs, and the token of the next page.
type Listed = (Vec<WorkflowExecutionInfo>, Vec<u8>);

impl Call<'_> {
    pub(crate) async fn list_workflow_executions(
        &self,
        request: ListWorkflowExecutionsRequest,
    ) -> RpcResult<ListWorkflowExecutionsResponse> {
        let ListWorkflowExecutionsRequest { page_size, next_page_token: token, .. } = request;
        let (executions, next_page_token) =
            self.listed(&request.namespace, &request.query, page_size, &token).await?;
        Ok(ListWorkflowExecutionsResponse { executions, next_page_token })
    }

    pub(crate) async fn scan_workflow_executions(
        &self,
        request: ScanWorkflowExecutionsRequest,
    ) -> RpcResult<ScanWorkflowExecutionsResponse> {
        let ScanWorkflowExecutionsRequest { page_size, next_page_token: token, .. } = request;
        let (executions, next_page_token) =
            self.listed(&request.namespace, &request.query, page_size, &token).await?;
        Ok(ScanWorkflowExecutionsResponse { executions, next_page_token })
    }

    pub(crate) async fn list_open_workflow_executions(
        &self,
        mut request: ListOpenWorkflowExecutionsRequest,
    ) -> RpcResult<ListOpenWorkflowExecutionsResponse> {
        let namespace = self.namespace_key(&request.namespace)?;
        let query = open_runs(&request)?;
        let size = page_size(std::mem::take(&mut request.maximum_page_size));
        let token = std::mem::take(&mut request.next_page_token);
        let keys = self.token_keys().await?;
        let pages = PageTokens::new(keys, Purpose::ListOpenWorkflows, namespace, &request);
        let (executions, next_page_token) =
            self.found(namespace, query, size, pages, &token).await?;
        Ok(ListOpenWorkflowExecutionsResponse { executions, next_page_token })
    }

    pub(crate) async fn list_closed_workflow_executions(
        &self,
        mut request: ListClosedWorkflowExecutionsRequest,
    ) -> RpcResult<ListClosedWorkflowExecutionsResponse> {
        let namespace = self.namespace_key(&request.namespace)?;
        let query = closed_runs(&request)?;
        let size = page_size(std::mem::take(&mut request.maximum_page_size));
        let token = std::mem::take(&mut request.next_page_token);
        let keys = self.token_keys().await?;
        let pages = PageTokens::new(keys, Purpose::ListClosedWorkflows, namespace, &request);
        let (executions, next_page_token) =
            self.found(namespace, query, size, pages, &token).await?;
        Ok(ListClosedWorkflowExecutionsResponse { executions, next_page_token })
    }

    pub(crate) async fn list_archived_workflow_executions(
        &self,
        request: ListArchivedWorkflowExecutionsRequest,
    ) -> RpcResult<ListArchivedWorkflowExecutionsResponse> {
        self.namespace(&request.namespace)?;
        invalid("Cluster is not configured for visibility archival.")
    }

    pub(crate) async fn count_workflow_executions(
        &self,
        request: CountWorkflowExecutionsRequest,
    ) -> RpcResult<CountWorkflowExecutionsResponse> {
        let namespace = self.namespace(&request.namespace)?;
        let counted = self.runtime().count(&namespace, &request.query).await.map_err(refused)?;
        let groups = counted.groups.into_iter().map(|group| {
            let (group_values, count) = group_parts(group);
            AggregationGroup { group_values, count }
        });
        Ok(CountWorkflowExecutionsResponse { count: counted.total, groups: groups.collect() })
    }

    async fn listed(
        &self,
        namespace: &str,
        filter: &str,
        size: i32,
        token: &[u8],
    ) -> RpcResult<Listed> {
        let namespace = self.namespace(namespace)?;
        let keys = self.token_keys().await?;
        let key = NamespaceKey(namespace.key);
        let pages = PageTokens::of_filter(keys, Purpose::ListWorkflows, key, filter);
        let (size, after) = (page_size(size), pages.after_position(token)?);
        let page = self.runtime().list(&namespace, filter, size, after).await.map_err(refused)?;
        Ok(listed(page, &pages))
    }

    async fn found(
        &self,
        namespace: NamespaceKey,
        query: Query,
        size: usize,
        pages: PageTokens<'_>,
        token: &[u8],
    ) -> RpcResult<Listed> {
        let after = pages.after_position(token)?;
        let page = self.runtime().list_found(namespace, query, size, after).await;
        Ok(listed(page.map_err(refused)?, &pages))
    }
}

fn listed(page: Page, pages: &PageTokens<'_>) -> Listed {
    let next = pages.next(page.next.map(|position| position.to_token()));
    (page.executions.into_iter().map(info).collect(), next)
}

/// The size of a page: as requested, or the maximum.
pub(crate) fn page_size(requested: i32) -> usize {
    let requested = usize::try_from(requested).ok().filter(|size| *size > 0);
    requested.map_or(PAGE_MAX, |size| size.min(PAGE_MAX))
}

fn info(execution: Execution) -> WorkflowExecutionInfo {
    let closed = execution.closed;
    let named = |workflow_id, run_id| WorkflowExecution { workflow_id, run_id };
    // The server wrote these messages itself, so they decode.
    let memo = Memo::decode(execution.memo.as_slice()).unwrap_or_default();
    let search_attributes =
        SearchAttributes::decode(execution.search_attributes.as_slice()).unwrap_or_default();
    let mut info = WorkflowExecutionInfo {
        execution: Some(named(execution.workflow_id, execution.run_id)),
        r#type: Some(WorkflowType { name: execution.workflow_type }),
        start_time: Some(Time(execution.start_time_nanos).into()),
        execution_time: Some(Time(execution.execution_time_nanos).into()),
        status: execution.status,
        parent_execution: execution.parent.map(|key| named(key.workflow_id, key.run_id)),
        root_execution: Some(named(execution.root.workflow_id, execution.root.run_id)),
        memo: Some(memo),
        search_attributes: Some(search_attributes),
        task_queue: execution.task_queue,
        ..WorkflowExecutionInfo::default()
    };
    if let Some(closed) = closed {
        info.close_time = Some(Time(closed.time_nanos).into());
        info.execution_duration = Some(Span(closed.execution_duration_nanos).into());
        info.history_length = closed.history_length;
        info.history_size_bytes = closed.history_size_bytes;
        info.state_transition_count = closed.state_transition_count;
    }
    info
}

/// A group of a count: its values and its size.
pub(super) fn group_parts(group: Group) -> (Vec<Payload>, i64) {
    (vec![group_value(&group.key)], group.count)
}

/// The value that the runs of a group have in common, as a search attribute's payload.
fn group_value(key: &GroupKey) -> Payload {
    let value = match key {
        GroupKey::Status(status) => status_name(*status).map(str::to_owned),
        GroupKey::Division(division) => division.clone(),
    };
    let data = serde_json::Value::from(value).to_string().into_bytes();
    let metadata =
        [("encoding".to_owned(), b"json/plain".to_vec()), ("type".to_owned(), b"Keyword".to_vec())];
    Payload { metadata: metadata.into(), data, ..Payload::default() }
}

#[cfg(test)]
mod tests {
    use perennial_store::visibility::{Closed, ExecutionKey};

    use super::*;

    fn execution(closed: Option<Closed>) -> Execution {
        let root = ExecutionKey { workflow_id: "order".to_owned(), run_id: "run".to_owned() };
        Execution {
            run_key: 1,
            workflow_id: "order".to_owned(),
            run_id: "run".to_owned(),
            workflow_type: "Order".to_owned(),
            task_queue: "orders".to_owned(),
            status: 1,
            start_time_nanos: 5_000_000_000,
            execution_time_nanos: 6_000_000_000,
            closed,
            parent: None,
            root,
            memo: Vec::new(),
            search_attributes: Vec::new(),
        }
    }

    #[test]
    fn open_runs_have_no_close_fields() {
        let open = info(execution(None));
        assert_eq!(open.close_time, None);
        assert_eq!((open.history_length, open.execution_duration), (0, None));
        let closed = info(execution(Some(Closed {
            time_nanos: 8_000_000_000,
            execution_duration_nanos: 2_000_000_000,
            history_length: 7,
            history_size_bytes: 700,
            state_transition_count: 3,
        })));
        assert_eq!(closed.close_time.unwrap().seconds, 8);
        assert_eq!(closed.execution_duration.unwrap().seconds, 2);
        assert_eq!(closed.history_length, 7);
    }

    #[test]
    fn groups_have_the_names_of_filters() {
        assert_eq!(group_value(&GroupKey::Status(1)).data, b"\"Running\"");
        assert_eq!(group_value(&GroupKey::Division(None)).data, b"null");
    }
}
