//! `perennial task-queue list-partition`.

use perennial_proto::temporal::enums::v1::TaskQueueKind;
use perennial_proto::temporal::taskqueue::v1::{TaskQueue, TaskQueuePartitionMetadata};
use perennial_proto::temporal::workflowservice::v1::ListTaskQueuePartitionsRequest;

use super::TaskQueueArgs;
use crate::output::{Column, Row};
use crate::session::Session;

/// List the partitions of a task queue (Perennial has one)
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  perennial task-queue list-partition --task-queue main\n")]
pub(super) struct Args {
    #[command(flatten)]
    queue: TaskQueueArgs,
}

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let request = ListTaskQueuePartitionsRequest {
        namespace: session.client.namespace.clone(),
        task_queue: Some(TaskQueue {
            name: args.queue.get(),
            kind: TaskQueueKind::Normal.into(),
            ..TaskQueue::default()
        }),
    };
    let answer = session.client.workflow().list_task_queue_partitions(request).await?.into_inner();
    session.output.message(&answer, |output| {
        let columns = ["Kind", "Key", "OwnerHostName"].map(Column::new).to_vec();
        let row = |kind: &str, partition: &TaskQueuePartitionMetadata| {
            let TaskQueuePartitionMetadata { key, owner_host_name } = partition.clone();
            Row::from([kind.to_owned(), key, owner_host_name])
        };
        let workflow = answer.workflow_task_queue_partitions.iter().map(|it| row("workflow", it));
        let activity = answer.activity_task_queue_partitions.iter().map(|it| row("activity", it));
        Ok(output.table(columns, workflow.chain(activity))?)
    })
}
