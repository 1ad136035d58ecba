//! Describes task queues, and ends the polls of workers that shut down.

use std::collections::HashMap;

use perennial_engine::run::Command;
use perennial_engine::{NamespaceKey, Span};
use perennial_proto::temporal::enums::v1::{
    DescribeTaskQueueMode, RateLimitSource, TaskQueueKind, TaskQueueType,
};
use perennial_proto::temporal::taskqueue::v1::{
    PollerInfo, TaskIdBlock, TaskQueuePartitionMetadata, TaskQueueStats, TaskQueueStatus,
    TaskQueueTypeInfo, TaskQueueVersionInfo, TaskQueueVersioningInfo,
};
use perennial_proto::temporal::workflowservice::v1::describe_task_queue_response::EffectiveRateLimit;
use perennial_proto::temporal::workflowservice::v1::{
    DescribeTaskQueueRequest, DescribeTaskQueueResponse, ListTaskQueuePartitionsRequest,
    ListTaskQueuePartitionsResponse, ResetStickyTaskQueueRequest, ResetStickyTaskQueueResponse,
    ShutdownWorkerRequest, ShutdownWorkerResponse,
};
use perennial_runtime::{LeavingWorker, QueueDescription};

use crate::call::Call;
use crate::errors::RpcResult;
use crate::validate::{self, invalid};

/// The priority of tasks without one.
const DEFAULT_PRIORITY: i32 = 3;

impl Call<'_> {
    #[allow(deprecated, reason = "tools still ask in the old modes")]
    pub(crate) async fn describe_task_queue(
        &self,
        request: DescribeTaskQueueRequest,
    ) -> RpcResult<DescribeTaskQueueResponse> {
        let namespace = self.namespace_key(&request.namespace)?;
        let queue = validate::task_queue(request.task_queue.clone())?;
        let describe = |kind| self.runtime().describe_queue(namespace, &queue.name, kind);
        if request.api_mode() == DescribeTaskQueueMode::Enhanced {
            if queue.kind() == TaskQueueKind::Sticky {
                return invalid(
                    "Enhanced DescribeTaskQueue is not valid for a sticky queue, use \
                     api_mode=UNSPECIFIED or a normal queue.",
                );
            }
            let both = [TaskQueueType::Workflow, TaskQueueType::Activity];
            let requested: Vec<_> = request.task_queue_types().collect();
            let kinds = if requested.is_empty() { both.to_vec() } else { requested };
            let types_info = kinds.into_iter().map(|kind| {
                let described = describe(kind);
                let info = TaskQueueTypeInfo {
                    pollers: if request.report_pollers { pollers(&described) } else { vec![] },
                    stats: request.report_stats.then(|| stats(&described)),
                };
                (kind.into(), info)
            });
            // The empty build id is for unversioned tasks.
            let unversioned =
                TaskQueueVersionInfo { types_info: types_info.collect(), task_reachability: 0 };
            return Ok(DescribeTaskQueueResponse {
                versions_info: [(String::new(), unversioned)].into(),
                ..DescribeTaskQueueResponse::default()
            });
        }

        let kind = match request.task_queue_type() {
            TaskQueueType::Unspecified => TaskQueueType::Workflow,
            given => given,
        };
        let described = describe(kind);
        let stats = request.report_stats.then(|| stats(&described));
        Ok(DescribeTaskQueueResponse {
            pollers: pollers(&described),
            stats_by_priority_key: stats
                .map_or_else(HashMap::new, |stats| [(DEFAULT_PRIORITY, stats)].into()),
            stats,
            versioning_info: Some(TaskQueueVersioningInfo {
                current_version: "__unversioned__".to_owned(),
                ..TaskQueueVersioningInfo::default()
            }),
            effective_rate_limit: request.report_config.then(|| EffectiveRateLimit {
                requests_per_second: UNLIMITED as f32,
                rate_limit_source: RateLimitSource::System.into(),
            }),
            task_queue_status: request.include_task_queue_status.then(|| TaskQueueStatus {
                backlog_count_hint: described.backlog,
                rate_per_second: UNLIMITED,
                task_id_block: Some(TaskIdBlock::default()),
                ..TaskQueueStatus::default()
            }),
            ..DescribeTaskQueueResponse::default()
        })
    }

    pub(crate) async fn list_task_queue_partitions(
        &self,
        request: ListTaskQueuePartitionsRequest,
    ) -> RpcResult<ListTaskQueuePartitionsResponse> {
        let queue = validate::task_queue(request.task_queue)?;
        self.namespace(&request.namespace)?;
        // Queues have no partitions here.
        let only =
            vec![TaskQueuePartitionMetadata { key: queue.name, owner_host_name: String::new() }];
        Ok(ListTaskQueuePartitionsResponse {
            activity_task_queue_partitions: only.clone(),
            workflow_task_queue_partitions: only,
        })
    }

    pub(crate) async fn reset_sticky_task_queue(
        &self,
        request: ResetStickyTaskQueueRequest,
    ) -> RpcResult<ResetStickyTaskQueueResponse> {
        let target = self.run_name(&request.namespace, request.execution)?;
        self.send(target, Command::ResetSticky).await?;
        Ok(ResetStickyTaskQueueResponse {})
    }

    pub(crate) async fn shutdown_worker(
        &self,
        request: ShutdownWorkerRequest,
    ) -> RpcResult<ShutdownWorkerResponse> {
        let namespace = NamespaceKey(self.namespace(&request.namespace)?.key);
        // A worker that names no kind of task leaves the queue for all kinds.
        let leaves = |kind: TaskQueueType| {
            let mut kinds = request.task_queue_types();
            request.task_queue_types.is_empty() || kinds.any(|left| left == kind)
        };
        // If the setting is off, the worker knows that it has to end its polls itself.
        let ends_polls = self.shared().config.ends_polls_of_leaving_workers;
        self.runtime().end_polls(&LeavingWorker {
            namespace,
            leaves_workflow_tasks: leaves(TaskQueueType::Workflow),
            leaves_activities: leaves(TaskQueueType::Activity),
            worker_instance_key: request.worker_instance_key,
            queue: if ends_polls { request.task_queue } else { String::new() },
            sticky_queue: request.sticky_task_queue,
        });
        Ok(ShutdownWorkerResponse {})
    }
}

/// The rate that Temporal's server reports for a queue without a limit.
const UNLIMITED: f64 = 100_000.0;

fn stats(described: &QueueDescription) -> TaskQueueStats {
    TaskQueueStats {
        approximate_backlog_count: described.backlog,
        approximate_backlog_age: Some(Span(described.backlog_age_nanos).into()),
        tasks_add_rate: described.tasks_add_rate,
        tasks_dispatch_rate: described.tasks_dispatch_rate,
        ..TaskQueueStats::default()
    }
}

fn pollers(described: &QueueDescription) -> Vec<PollerInfo> {
    let pollers = described.pollers.iter();
    pollers
        .map(|(identity, polled_at, rate_per_second, deployment)| PollerInfo {
            last_access_time: Some((*polled_at).into()),
            identity: identity.clone(),
            rate_per_second: *rate_per_second,
            deployment_options: deployment.clone(),
            ..PollerInfo::default()
        })
        .collect()
}
