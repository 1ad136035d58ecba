//! Damaged rows: reported as data loss, and everything else works.

use std::sync::Arc;

use perennial_engine::{EntityId, EntityRef, NamespaceKey, Slot, SlotRange};
use perennial_library::Storage;
use perennial_proto::temporal::common::v1::WorkflowExecution;
use perennial_proto::temporal::workflowservice::v1::{
    DeleteWorkflowExecutionRequest, DescribeScheduleRequest, DescribeWorkflowExecutionRequest,
    GetWorkflowExecutionHistoryRequest, GetWorkflowExecutionHistoryReverseRequest,
    ListSchedulesRequest, PollWorkflowTaskQueueRequest,
};
use perennial_runtime::DamageCount;
use perennial_store::{
    Batch, CellId, EntityWrite, MemoryStore, MessageWrite, RecordKind, RecordWrite, Store, TaskRow,
    TaskWrite,
};
use tonic::Code;

use crate::api::held_store::HeldStore;
use crate::api::test_server::{Client, client_of, config, queue, schedule, serving, start};

/// Bytes that no stored message decodes from.
const GARBAGE: [u8; 3] = [0xff; 3];

/// The key of the first namespace.
const DEFAULT: NamespaceKey = NamespaceKey(1);

/// Writes over the rows of the run and the schedule `damaged`, and adds a task, a message and a batch job.
fn damage(store: &dyn Store) {
    let ids = [EntityId::workflow(DEFAULT, "damaged"), EntityId::schedule(DEFAULT, "damaged")];
    let found = store.load(&ids.map(EntityRef::current));
    let slot = Slot::of(DEFAULT, "damaged");
    let (key, value) = (i64::MAX - 1, GARBAGE.to_vec());
    let damaged = found.into_iter().map(|found| {
        let found = found.unwrap().unwrap();
        EntityWrite { head: Some(GARBAGE.to_vec()), ..EntityWrite::of(found.kind, found.key) }
    });
    let epoch = store.lease(CellId::FIRST, "test").unwrap().epoch;
    let batch = Batch {
        entities: damaged.collect(),
        tasks: vec![TaskWrite::Put(TaskRow { key, slot, value: value.clone() })],
        messages: vec![MessageWrite::Put { key, slot, value: value.clone() }],
        records: vec![RecordWrite {
            kind: RecordKind::BatchJob,
            key: format!("{:010}/job", DEFAULT.0),
            value: Some(value),
        }],
        ..Batch::empty(CellId::FIRST, epoch, 1)
    };
    store.commit(&[batch]).unwrap();
}

fn execution(workflow_id: &str) -> Option<WorkflowExecution> {
    Some(WorkflowExecution { workflow_id: workflow_id.to_owned(), run_id: String::new() })
}

async fn described(client: &mut Client, workflow_id: &str) -> Code {
    let request = DescribeWorkflowExecutionRequest {
        namespace: "default".to_owned(),
        execution: execution(workflow_id),
    };
    let described = client.describe_workflow_execution(request).await;
    described.map_or_else(|status| status.code(), |_| Code::Ok)
}

#[tokio::test]
async fn damaged_rows_are_counted_and_reported_as_data_loss() {
    let store = Arc::new(MemoryStore::default());
    let mut before = client_of(store.clone()).await;
    for id in ["damaged", "whole"] {
        before.start_workflow_execution(start(id)).await.unwrap();
        before.create_schedule(schedule(id)).await.unwrap();
    }
    damage(store.as_ref());
    let (mut client, runtime) = serving(config(Storage::Store(store.clone()))).await;

    for _ in 0..2 {
        assert_eq!(described(&mut client, "damaged").await, Code::DataLoss);
        assert_eq!(described(&mut client, "whole").await, Code::Ok);
        let namespace = "default".to_owned();
        let request = DescribeScheduleRequest { namespace, schedule_id: "damaged".to_owned() };
        let refused = client.describe_schedule(request).await.unwrap_err();
        assert_eq!(refused.code(), Code::DataLoss);
        assert!(refused.message().starts_with("schedule \"damaged\" can't be read"), "{refused}");
        let request =
            ListSchedulesRequest { namespace: "default".to_owned(), ..Default::default() };
        let listed = client.list_schedules(request).await.unwrap().into_inner().schedules;
        let listed: Vec<_> = listed.into_iter().map(|it| it.schedule_id).collect();
        assert_eq!(listed, ["whole"]);
    }
    // A poll that gets the damaged run's task ends empty. The next one gets the other run's task.
    let mut found = String::new();
    while found.is_empty() {
        let poll = PollWorkflowTaskQueueRequest {
            namespace: "default".to_owned(),
            task_queue: queue(),
            ..PollWorkflowTaskQueueRequest::default()
        };
        let task = client.poll_workflow_task_queue(poll).await.unwrap().into_inner();
        found = task.workflow_execution.map(|it| it.workflow_id).unwrap_or_default();
    }
    assert_eq!(found, "whole");

    let counted = runtime.damage();
    let all = DamageCount { runs: 1, schedules: 1, tasks: 1, messages: 1, batch_jobs: 1 };
    // Once for its workflow id and, for its task, once for its run id.
    assert!((1..=2).contains(&counted.runs), "{counted:?}");
    assert_eq!(DamageCount { runs: 1, ..counted }, all);
    assert!(store.tasks(SlotRange::ALL, i64::MAX - 2, 1).unwrap().len() == 1, "it is kept");
    assert!(store.messages(SlotRange::ALL, i64::MAX - 2, 1).unwrap().len() == 1, "it is kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn history_that_is_deleted_while_it_is_read_is_not_found() {
    for is_reverse in [false, true] {
        let store = Arc::new(HeldStore::default());
        let mut client = client_of(store.clone()).await;
        client.start_workflow_execution(start("order")).await.unwrap();

        let held = store.hold_history();
        let mut reader = client.clone();
        let reading = tokio::spawn(async move {
            if is_reverse {
                let request = GetWorkflowExecutionHistoryReverseRequest {
                    namespace: "default".to_owned(),
                    execution: execution("order"),
                    ..Default::default()
                };
                reader.get_workflow_execution_history_reverse(request).await.map(|_| ())
            } else {
                let request = GetWorkflowExecutionHistoryRequest {
                    namespace: "default".to_owned(),
                    execution: execution("order"),
                    ..Default::default()
                };
                reader.get_workflow_execution_history(request).await.map(|_| ())
            }
        });
        let held = held.entered().await;
        let delete = DeleteWorkflowExecutionRequest {
            namespace: "default".to_owned(),
            workflow_execution: execution("order"),
        };
        client.delete_workflow_execution(delete).await.unwrap();
        while described(&mut client, "order").await != Code::NotFound {
            tokio::task::yield_now().await;
        }
        held.release();
        let refused = reading.await.unwrap().unwrap_err();
        assert_eq!(refused.code(), Code::NotFound, "{refused}");
    }
}
