//! Which workflows there are.

use perennial_proto::temporal::workflowservice::v1::{
    CountWorkflowExecutionsRequest, CountWorkflowExecutionsResponse,
    ListArchivedWorkflowExecutionsRequest, ListArchivedWorkflowExecutionsResponse,
    ListClosedWorkflowExecutionsRequest, ListClosedWorkflowExecutionsResponse,
    ListOpenWorkflowExecutionsRequest, ListOpenWorkflowExecutionsResponse,
    ListWorkflowExecutionsRequest, ListWorkflowExecutionsResponse, ScanWorkflowExecutionsRequest,
    ScanWorkflowExecutionsResponse,
};

use crate::call::Call;
use crate::errors::{Answer, not_implemented};
use crate::validate::invalid;

impl Call<'_> {
    pub(crate) async fn list_workflow_executions(
        &self,
        request: ListWorkflowExecutionsRequest,
    ) -> Answer<ListWorkflowExecutionsResponse> {
        self.namespace(&request.namespace)?;
        Err(not_implemented("ListWorkflowExecutions"))
    }

    pub(crate) async fn scan_workflow_executions(
        &self,
        request: ScanWorkflowExecutionsRequest,
    ) -> Answer<ScanWorkflowExecutionsResponse> {
        self.namespace(&request.namespace)?;
        Err(not_implemented("ScanWorkflowExecutions"))
    }

    pub(crate) async fn count_workflow_executions(
        &self,
        request: CountWorkflowExecutionsRequest,
    ) -> Answer<CountWorkflowExecutionsResponse> {
        self.namespace(&request.namespace)?;
        Err(not_implemented("CountWorkflowExecutions"))
    }

    pub(crate) async fn list_open_workflow_executions(
        &self,
        request: ListOpenWorkflowExecutionsRequest,
    ) -> Answer<ListOpenWorkflowExecutionsResponse> {
        self.namespace(&request.namespace)?;
        Err(not_implemented("ListOpenWorkflowExecutions"))
    }

    pub(crate) async fn list_closed_workflow_executions(
        &self,
        request: ListClosedWorkflowExecutionsRequest,
    ) -> Answer<ListClosedWorkflowExecutionsResponse> {
        self.namespace(&request.namespace)?;
        Err(not_implemented("ListClosedWorkflowExecutions"))
    }

    pub(crate) async fn list_archived_workflow_executions(
        &self,
        request: ListArchivedWorkflowExecutionsRequest,
    ) -> Answer<ListArchivedWorkflowExecutionsResponse> {
        self.namespace(&request.namespace)?;
        invalid("Cluster is not configured for visibility archival.")
    }
}
