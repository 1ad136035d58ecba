//! Checks for task queues of schedules and running workflows that no worker polls.

use std::collections::BTreeMap;

use perennial_proto::perennial::{DescribeScheduleResponse, ScheduleStatus};
use perennial_proto::temporal::enums::v1::TaskQueueType;
use perennial_proto::temporal::schedule::v1::schedule_action::Action;
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use perennial_proto::temporal::workflowservice::v1::{
    DescribeTaskQueueRequest, ListWorkflowExecutionsRequest,
};

use super::findings::{Findings, counted, join_names};
use crate::client::Client;

/// Running workflows whose task queues are checked: the newest ones.
const WORKFLOWS_MAX: i32 = 200;
/// Task queues that are checked.
const QUEUES_MAX: usize = 50;

/// Checks that a worker polls each task queue: otherwise its runs wait for ever.
pub(super) async fn check(
    client: &Client,
    schedules: &[DescribeScheduleResponse],
    findings: &mut Findings,
) {
    let mut users = queues_of_schedules(schedules);
    for (queue, workflow_id) in queues_of_workflows(client).await {
        users.entry(queue).or_insert(workflow_id);
    }
    let checked = users.len().min(QUEUES_MAX);
    let mut unpolled = Vec::new();
    for (queue, user) in users.iter().take(QUEUES_MAX) {
        let request = DescribeTaskQueueRequest {
            namespace: client.namespace.clone(),
            task_queue: Some(TaskQueue { name: queue.clone(), ..TaskQueue::default() }),
            task_queue_type: TaskQueueType::Workflow.into(),
            ..DescribeTaskQueueRequest::default()
        };
        let answer = client.workflow().describe_task_queue(request).await;
        if answer.is_ok_and(|answer| answer.get_ref().pollers.is_empty()) {
            unpolled.push(format!("{queue} (of {user})"));
        }
    }
    if !unpolled.is_empty() {
        let effect = "runs wait until a worker polls it";
        findings.bad("workers", format!("no worker polls {}; {effect}", join_names(unpolled)));
    } else if checked > 0 {
        let queues = counted(i64::try_from(checked).unwrap_or(i64::MAX), "task queue");
        findings
            .good("workers", format!("{queues} of schedules and running workflows: all polled"));
    }
}

/// The task queues of active schedules, each with a schedule that uses it.
fn queues_of_schedules(schedules: &[DescribeScheduleResponse]) -> BTreeMap<String, String> {
    let mut users = BTreeMap::new();
    for it in schedules.iter().filter(|it| it.status() == ScheduleStatus::Active) {
        let action = it.schedule.as_ref().and_then(|it| it.schedule.as_ref()?.action.as_ref());
        if let Some(Action::StartWorkflow(action)) = action.and_then(|it| it.action.as_ref()) {
            let queue = action.task_queue.clone().unwrap_or_default().name;
            users.entry(queue).or_insert_with(|| it.schedule_id.clone());
        }
    }
    users
}

/// The task queues of running workflows, each with a workflow that uses it. Another check reports it if lists fail.
async fn queues_of_workflows(client: &Client) -> BTreeMap<String, String> {
    let request = ListWorkflowExecutionsRequest {
        namespace: client.namespace.clone(),
        page_size: WORKFLOWS_MAX,
        query: "ExecutionStatus = 'Running'".to_owned(),
        ..ListWorkflowExecutionsRequest::default()
    };
    let listed = client.workflow().list_workflow_executions(request).await;
    let listed = listed.map(|answer| answer.into_inner().executions).unwrap_or_default();
    let used =
        listed.into_iter().map(|it| (it.task_queue, it.execution.unwrap_or_default().workflow_id));
    used.filter(|(queue, _)| !queue.is_empty()).collect()
}
