//! One operation on every workflow that a query finds.

use perennial_proto::temporal::workflowservice::v1::{
    DescribeBatchOperationRequest, DescribeBatchOperationResponse, ListBatchOperationsRequest,
    ListBatchOperationsResponse, StartBatchOperationRequest, StartBatchOperationResponse,
    StopBatchOperationRequest, StopBatchOperationResponse,
};

use crate::call::Call;
use crate::errors::{Answer, not_implemented};

impl Call<'_> {
    pub(crate) async fn start_batch_operation(
        &self,
        request: StartBatchOperationRequest,
    ) -> Answer<StartBatchOperationResponse> {
        self.namespace(&request.namespace)?;
        Err(not_implemented("StartBatchOperation"))
    }

    pub(crate) async fn stop_batch_operation(
        &self,
        request: StopBatchOperationRequest,
    ) -> Answer<StopBatchOperationResponse> {
        self.namespace(&request.namespace)?;
        Err(not_implemented("StopBatchOperation"))
    }

    pub(crate) async fn describe_batch_operation(
        &self,
        request: DescribeBatchOperationRequest,
    ) -> Answer<DescribeBatchOperationResponse> {
        self.namespace(&request.namespace)?;
        Err(not_implemented("DescribeBatchOperation"))
    }

    pub(crate) async fn list_batch_operations(
        &self,
        request: ListBatchOperationsRequest,
    ) -> Answer<ListBatchOperationsResponse> {
        self.namespace(&request.namespace)?;
        Err(not_implemented("ListBatchOperations"))
    }
}
