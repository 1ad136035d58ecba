//! Describes a run.

use std::collections::HashMap;

use perennial_engine::run::Run;
use perennial_engine::{Span, Time};
use perennial_proto::temporal::common::v1::WorkflowExecution;
use perennial_proto::temporal::enums::v1::TaskQueueKind;
use perennial_proto::temporal::history::v1::HistoryEvent;
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use perennial_proto::temporal::workflow::v1::{
    RequestIdInfo, WorkflowExecutionConfig, WorkflowExecutionExtendedInfo, WorkflowExecutionInfo,
    WorkflowExecutionPauseInfo,
};
use perennial_proto::temporal::workflowservice::v1::{
    DescribeWorkflowExecutionRequest, DescribeWorkflowExecutionResponse,
};

use super::pending;
use crate::call::Call;
use crate::errors::RpcResult;
use crate::history::{PageLimits, read_forwards};

impl Call<'_> {
    pub(crate) async fn describe_workflow_execution(
        &self,
        request: DescribeWorkflowExecutionRequest,
    ) -> RpcResult<DescribeWorkflowExecutionResponse> {
        let target = self.run_name(&request.namespace, request.execution)?;
        let run = self.read(target).await?;
        let first =
            read_forwards(self.runtime(), &run, Vec::new(), 1, 1, PageLimits::of(1)).await?;
        let first = first.decoded()?.events.into_iter().next().unwrap_or_default();
        let now = self.runtime().now();
        // What was pending when the run closed.
        let left = run.head.pending_at_close.as_ref();
        let activities = run.activities.values().map(|activity| &**activity);
        let activities = activities.chain(left.into_iter().flat_map(|left| &left.activities));
        let children = run.children.values().map(|child| &**child);
        let children = children.chain(left.into_iter().flat_map(|left| &left.children));
        let left_task = || left.and_then(|left| left.workflow_task.as_ref());
        let workflow_task = run.head.workflow_task.as_ref().or_else(left_task);
        Ok(DescribeWorkflowExecutionResponse {
            execution_config: Some(config(&run, &first)),
            workflow_execution_info: Some(info(&run)),
            pending_activities: activities
                .map(|activity| pending::activity(activity, now))
                .collect(),
            pending_children: children.map(pending::child).collect(),
            pending_workflow_task: workflow_task.map(pending::workflow_task),
            workflow_extended_info: Some(extended_info(&run, &first)),
            ..DescribeWorkflowExecutionResponse::default()
        })
    }
}

fn config(run: &Run, first: &HistoryEvent) -> WorkflowExecutionConfig {
    let started = &run.started;
    WorkflowExecutionConfig {
        task_queue: started.task_queue.as_ref().map(|queue| TaskQueue {
            name: queue.name.clone(),
            kind: TaskQueueKind::Normal.into(),
            normal_name: String::new(),
        }),
        workflow_execution_timeout: started.workflow_execution_timeout,
        workflow_run_timeout: started.workflow_run_timeout,
        default_workflow_task_timeout: started.workflow_task_timeout,
        user_metadata: first.user_metadata.clone(),
    }
}

#[allow(deprecated, reason = "tools still show the build of the last worker from here")]
fn info(run: &Run) -> WorkflowExecutionInfo {
    let (head, started) = (&run.head, &run.started);
    let own =
        WorkflowExecution { workflow_id: head.workflow_id.clone(), run_id: head.run_id.clone() };
    let root = started.root_workflow_execution.clone().unwrap_or_else(|| own.clone());
    let closed_at = Time(head.closed_at).get();
    WorkflowExecutionInfo {
        execution: Some(own),
        r#type: started.workflow_type.clone(),
        start_time: Some(Time(head.started_at).into()),
        close_time: closed_at.map(Into::into),
        status: head.status,
        history_length: run.last_event_id(),
        parent_namespace_id: started.parent_workflow_namespace_id.clone(),
        parent_execution: started.parent_workflow_execution.clone(),
        execution_time: Some(execution_time(run).into()),
        memo: Some(head.memo.clone().unwrap_or_default()),
        search_attributes: Some(run.shown_search_attributes()),
        auto_reset_points: Some(head.reset_points.clone().unwrap_or_default()),
        task_queue: started.task_queue.clone().unwrap_or_default().name,
        state_transition_count: head.state_transitions,
        history_size_bytes: head.history_bytes,
        most_recent_worker_version_stamp: head.worker_version.clone(),
        // Negative if the run closed before its first task was due.
        execution_duration: closed_at
            .map(|closed_at| Span(closed_at.0.saturating_sub(execution_time(run).0)).into()),
        root_execution: Some(root),
        first_run_id: started.first_execution_run_id.clone(),
        priority: head.priority.clone().or_else(|| started.priority.clone()),
        ..WorkflowExecutionInfo::default()
    }
}

/// When the run's first workflow task is or was due.
fn execution_time(run: &Run) -> Time {
    Time(run.head.first_task_at.max(run.head.started_at))
}

fn extended_info(run: &Run, first: &HistoryEvent) -> WorkflowExecutionExtendedInfo {
    let head = &run.head;
    let requests = run.requests.iter().map(|(id, seen)| {
        // A buffered event has no id yet.
        let buffered = seen.event_id <= 0;
        let info = RequestIdInfo {
            event_type: seen.event_type,
            event_id: if buffered { 0 } else { seen.event_id },
            buffered,
        };
        (id.clone(), info)
    });
    let mut request_id_infos: HashMap<_, _> = requests.collect();
    if !head.start_request_id.is_empty() {
        let started = RequestIdInfo { event_type: 1, event_id: 1, buffered: false };
        request_id_infos.entry(head.start_request_id.clone()).or_insert(started);
    }
    let is_reset = !head.ancestors.is_empty();
    WorkflowExecutionExtendedInfo {
        execution_expiration_time: Time(head.execution_expires_at).get().map(Into::into),
        run_expiration_time: Time(head.run_expires_at).get().map(Into::into),
        cancel_requested: head.cancel_requested,
        last_reset_time: is_reset.then(|| Time(head.started_at).into()),
        original_start_time: first.event_time,
        reset_run_id: head.reset_run_id.clone(),
        request_id_infos,
        pause_info: head.paused.as_ref().map(|paused| WorkflowExecutionPauseInfo {
            identity: paused.identity.clone(),
            paused_time: Some(Time(paused.paused_at).into()),
            reason: paused.reason.clone(),
        }),
        ..WorkflowExecutionExtendedInfo::default()
    }
}
