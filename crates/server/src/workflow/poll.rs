//! Polls of workers for tasks.

use perennial_engine::NamespaceKey;
use perennial_proto::temporal::common::v1::{WorkerVersionCapabilities, WorkerVersionStamp};
use perennial_proto::temporal::deployment::v1::WorkerDeploymentOptions;
use perennial_proto::temporal::enums::v1::{TaskQueueKind, WorkerVersioningMode};
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use perennial_proto::temporal::workflowservice::v1::{
    PollActivityTaskQueueRequest, PollActivityTaskQueueResponse, PollWorkflowTaskQueueRequest,
    PollWorkflowTaskQueueResponse,
};
use perennial_runtime::{Polled, Poller, Refusal};
use perennial_telemetry::LongPoll;

use super::task;
use crate::call::Call;
use crate::encoded_message::WithHistory;
use crate::errors::{RpcResult, refused};
use crate::validate::{self, invalid};

impl Call<'_> {
    #[allow(deprecated, reason = "workers without deployments tell their build the old way")]
    pub(crate) async fn poll_workflow_task_queue(
        &self,
        request: PollWorkflowTaskQueueRequest,
    ) -> RpcResult<WithHistory<PollWorkflowTaskQueueResponse>> {
        let poller = self.poller(
            &request.namespace,
            request.task_queue,
            request.identity,
            request.worker_instance_key,
            Build::read(request.worker_version_capabilities, request.deployment_options)?,
            None,
        )?;
        // Read before a task is taken: without keys no task could be passed on.
        self.token_keys().await?;
        let polled = self.runtime().poll_workflow_task_or_lend(poller, self.may_be_lent());
        match self.wait(LongPoll::WorkflowTask, self.shared().config.poll_time, polled).await? {
            Some(Ok(Polled::Granted(grant))) => return task::workflow_task(self, grant).await,
            Some(Ok(Polled::Lent(lent))) => self.goes_on_elsewhere(lent),
            Some(Err(Refusal::TimedOut)) | None => {}
            Some(Err(refusal)) => return Err(refused(refusal)),
        }
        let response = PollWorkflowTaskQueueResponse::default();
        Ok(WithHistory { response, history: None })
    }

    #[allow(deprecated, reason = "workers without deployments tell their build the old way")]
    pub(crate) async fn poll_activity_task_queue(
        &self,
        request: PollActivityTaskQueueRequest,
    ) -> RpcResult<PollActivityTaskQueueResponse> {
        let poller = self.poller(
            &request.namespace,
            request.task_queue,
            request.identity,
            request.worker_instance_key,
            Build::read(request.worker_version_capabilities, request.deployment_options)?,
            request.task_queue_metadata.and_then(|metadata| metadata.max_tasks_per_second),
        )?;
        let keys = self.token_keys().await?;
        let polled = self.runtime().poll_activity_or_lend(poller, self.may_be_lent());
        match self.wait(LongPoll::ActivityTask, self.shared().config.poll_time, polled).await? {
            Some(Ok(Polled::Granted(grant))) => return task::activity(self, keys, &grant),
            Some(Ok(Polled::Lent(lent))) => self.goes_on_elsewhere(lent),
            Some(Err(Refusal::TimedOut)) | None => {}
            Some(Err(refusal)) => return Err(refused(refusal)),
        }
        Ok(PollActivityTaskQueueResponse::default())
    }

    fn poller(
        &self,
        namespace: &str,
        queue: Option<TaskQueue>,
        identity: String,
        worker_instance_key: String,
        build: Build,
        max_tasks_per_second: Option<f64>,
    ) -> RpcResult<Poller> {
        let namespace = NamespaceKey(self.namespace(namespace)?.key);
        validate::identity(&identity)?;
        let queue = validate::task_queue(queue)?;
        let is_sticky = queue.kind() == TaskQueueKind::Sticky;
        Ok(Poller {
            namespace,
            queue: queue.name,
            normal_queue: is_sticky.then_some(queue.normal_name),
            identity,
            worker_version: build.stamp,
            deployment: build.deployment,
            worker_instance_key,
            max_tasks_per_second,
        })
    }
}

/// The build of a worker, as it sent it.
struct Build {
    stamp: Option<WorkerVersionStamp>,
    deployment: Option<WorkerDeploymentOptions>,
}

impl Build {
    /// Refuses workers with versioning: the server doesn't route tasks by build, so they would get tasks of any.
    fn read(
        capabilities: Option<WorkerVersionCapabilities>,
        deployment: Option<WorkerDeploymentOptions>,
    ) -> RpcResult<Self> {
        let is_versioned = |it: &WorkerDeploymentOptions| {
            it.worker_versioning_mode() == WorkerVersioningMode::Versioned
        };
        if capabilities.as_ref().is_some_and(|it| it.use_versioning)
            || deployment.as_ref().is_some_and(is_versioned)
        {
            return invalid(
                "this server doesn't route tasks by worker version yet: start the worker without \
                 versioning (in the SDKs: no use_worker_versioning, no UseBuildIDForVersioning)",
            );
        }
        let sent = capabilities.filter(|sent| !sent.build_id.is_empty());
        let stamp =
            sent.map(|sent| WorkerVersionStamp { build_id: sent.build_id, use_versioning: false });
        // Older workers send their build only in their capabilities.
        let deployment = deployment.or_else(|| {
            let build_id = stamp.as_ref()?.build_id.clone();
            Some(WorkerDeploymentOptions { build_id, ..WorkerDeploymentOptions::default() })
        });
        Ok(Self { stamp, deployment })
    }
}
