//! Workers asking for tasks.

use perennial_engine::NamespaceKey;
use perennial_proto::temporal::common::v1::{WorkerVersionCapabilities, WorkerVersionStamp};
use perennial_proto::temporal::deployment::v1::WorkerDeploymentOptions;
use perennial_proto::temporal::enums::v1::TaskQueueKind;
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use perennial_proto::temporal::workflowservice::v1::{
    PollActivityTaskQueueRequest, PollActivityTaskQueueResponse, PollWorkflowTaskQueueRequest,
    PollWorkflowTaskQueueResponse,
};
use perennial_runtime::{Poller, Refusal};

use super::start::worker_version;
use super::task;
use crate::call::Call;
use crate::encoded::WithHistory;
use crate::errors::{Answer, refused};
use crate::validate;

impl Call<'_> {
    #[allow(deprecated, reason = "workers without deployments tell their build the old way")]
    pub(crate) async fn poll_workflow_task_queue(
        &self,
        request: PollWorkflowTaskQueueRequest,
    ) -> Answer<WithHistory<PollWorkflowTaskQueueResponse>> {
        let poller = self.poller(
            &request.namespace,
            request.task_queue,
            request.identity,
            request.worker_instance_key,
            build(request.worker_version_capabilities, request.deployment_options.as_ref()),
            None,
        )?;
        // Without them no task could be handed on.
        self.token_keys().await?;
        let polled = self.runtime().poll_workflow_task(poller);
        match self.wait(self.shared().config.poll_time, polled).await {
            Some(Ok(grant)) => task::workflow_task(self, grant).await,
            Some(Err(Refusal::TimedOut)) | None => {
                Ok(WithHistory { answer: PollWorkflowTaskQueueResponse::default(), history: None })
            }
            Some(Err(refusal)) => Err(refused(refusal)),
        }
    }

    #[allow(deprecated, reason = "workers without deployments tell their build the old way")]
    pub(crate) async fn poll_activity_task_queue(
        &self,
        request: PollActivityTaskQueueRequest,
    ) -> Answer<PollActivityTaskQueueResponse> {
        let poller = self.poller(
            &request.namespace,
            request.task_queue,
            request.identity,
            request.worker_instance_key,
            build(request.worker_version_capabilities, request.deployment_options.as_ref()),
            request.task_queue_metadata.and_then(|metadata| metadata.max_tasks_per_second),
        )?;
        let keys = self.token_keys().await?;
        let polled = self.runtime().poll_activity(poller);
        match self.wait(self.shared().config.poll_time, polled).await {
            Some(Ok(grant)) => task::activity(self, keys, &grant),
            Some(Err(Refusal::TimedOut)) | None => Ok(PollActivityTaskQueueResponse::default()),
            Some(Err(refusal)) => Err(refused(refusal)),
        }
    }

    fn poller(
        &self,
        namespace: &str,
        queue: Option<TaskQueue>,
        identity: String,
        worker_instance_key: String,
        worker_version: Option<WorkerVersionStamp>,
        max_tasks_per_second: Option<f64>,
    ) -> Answer<Poller> {
        let namespace = NamespaceKey(self.namespace(namespace)?.key);
        validate::identity(&identity)?;
        let queue = validate::task_queue(queue)?;
        let is_sticky = queue.kind() == TaskQueueKind::Sticky;
        Ok(Poller {
            namespace,
            queue: queue.name,
            normal_queue: is_sticky.then_some(queue.normal_name),
            identity,
            worker_version,
            worker_instance_key,
            max_tasks_per_second,
        })
    }
}

fn build(
    capabilities: Option<WorkerVersionCapabilities>,
    deployment: Option<&WorkerDeploymentOptions>,
) -> Option<WorkerVersionStamp> {
    let told = capabilities.filter(|told| !told.build_id.is_empty());
    told.map(|told| WorkerVersionStamp {
        build_id: told.build_id,
        use_versioning: told.use_versioning,
    })
    .or_else(|| worker_version(deployment))
}
