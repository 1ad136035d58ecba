//! Fetches the tree, level by level.

use std::collections::HashMap;

use perennial_proto::temporal::common::v1::WorkflowExecution;
use tokio::task::{JoinSet, LocalSet};

use super::super::describe::describe;
use super::super::history::{Events, ReadMode};
use super::tree::{Step, Workflow};
use super::{Extent, Fold};
use crate::client::Client;

/// Fetches the workflow and its children, down to the requested depth.
pub(super) async fn fetch(
    client: &Client,
    execution: WorkflowExecution,
    extent: &Extent,
) -> anyhow::Result<Workflow> {
    let mut root = fetch_one(client.clone(), execution).await?;
    let mut level = 0;
    while extent.depth.is_none_or(|depth| level < depth) {
        let wanted = children_at(&root, level, extent);
        if wanted.is_empty() {
            break;
        }
        let mut fetched = HashMap::new();
        for part in wanted.chunks(extent.concurrency) {
            for child in LocalSet::new().run_until(fetch_together(client, part)).await? {
                fetched.insert(child.run_id.clone(), child);
            }
        }
        put(&mut root, &mut fetched);
        level += 1;
    }
    Ok(root)
}

async fn fetch_together(
    client: &Client,
    executions: &[WorkflowExecution],
) -> anyhow::Result<Vec<Workflow>> {
    let mut fetching = JoinSet::new();
    for execution in executions {
        fetching.spawn_local(fetch_one(client.clone(), execution.clone()));
    }
    let mut fetched = Vec::with_capacity(executions.len());
    while let Some(done) = fetching.join_next().await {
        fetched.push(done??);
    }
    Ok(fetched)
}

async fn fetch_one(client: Client, execution: WorkflowExecution) -> anyhow::Result<Workflow> {
    let described = describe(&client, execution.clone()).await?;
    let info = described.workflow_execution_info.clone().unwrap_or_default();
    let execution = info.execution.unwrap_or(execution);
    let mut events = Events::of(&client, execution, ReadMode::Forwards);
    let mut history = Vec::new();
    while let Some(event) = events.next().await? {
        history.push(event);
    }
    Ok(Workflow::read(&described, &history))
}

/// The children at this level that are to be fetched.
fn children_at(workflow: &Workflow, level: u64, extent: &Extent) -> Vec<WorkflowExecution> {
    let wanted = workflow.steps.iter().filter(|step| !is_folded(step, &extent.folded));
    match level {
        0 => wanted.filter_map(Step::child).collect(),
        _ => wanted
            .filter_map(|step| step.workflow.as_ref())
            .flat_map(|child| children_at(child, level - 1, extent))
            .collect(),
    }
}

fn is_folded(step: &Step, folded: &[Fold]) -> bool {
    let status = match step.status.as_str() {
        "Completed" => Fold::Completed,
        "Failed" => Fold::Failed,
        "Canceled" => Fold::Canceled,
        "Terminated" => Fold::Terminated,
        "TimedOut" => Fold::TimedOut,
        "ContinuedAsNew" => Fold::ContinueAsNew,
        _ => Fold::Running,
    };
    folded.contains(&status)
}

fn put(workflow: &mut Workflow, fetched: &mut HashMap<String, Workflow>) {
    for step in &mut workflow.steps {
        match &mut step.workflow {
            Some(child) => put(child, fetched),
            None => step.workflow = fetched.remove(&step.run_id),
        }
    }
}
