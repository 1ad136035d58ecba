//! Filters never widen a list beyond its scope.

use perennial_proto::temporal::filter::v1::WorkflowExecutionFilter;
use perennial_proto::temporal::workflowservice::v1::list_open_workflow_executions_request::Filters;
use perennial_proto::temporal::workflowservice::v1::{
    CountSchedulesRequest, DeleteScheduleRequest, ListOpenWorkflowExecutionsRequest,
    ListSchedulesRequest,
};
use tonic::{Code, Status};

use crate::api::test_server::{Client, client, schedule, start};

/// Two schedules, one of them deleted, and a workflow.
async fn populated_server() -> Client {
    let mut client = client().await;
    client.start_workflow_execution(start("order")).await.unwrap();
    for id in ["present", "deleted"] {
        client.create_schedule(schedule(id)).await.unwrap();
    }
    let delete = DeleteScheduleRequest {
        namespace: "default".to_owned(),
        schedule_id: "deleted".to_owned(),
        ..DeleteScheduleRequest::default()
    };
    client.delete_schedule(delete).await.unwrap();
    client
}

async fn schedules(client: &mut Client, query: &str) -> Result<Vec<String>, Status> {
    let request = ListSchedulesRequest {
        namespace: "default".to_owned(),
        query: query.to_owned(),
        ..ListSchedulesRequest::default()
    };
    let listed = client.list_schedules(request).await?.into_inner().schedules;
    Ok(listed.into_iter().map(|it| it.schedule_id).collect())
}

#[tokio::test]
async fn text_cannot_escape_from_the_list_of_schedules() {
    let mut client = populated_server().await;
    assert_eq!(schedules(&mut client, "").await.unwrap(), ["present"]);
    let escapes = [
        "WorkflowType = 'x') OR (WorkflowType = 'Order'",
        "WorkflowId = 'x') OR (TemporalNamespaceDivision = 'TemporalScheduler'",
    ];
    for query in escapes {
        let refused = schedules(&mut client, query).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{query}");
    }
    // A filter on a division or another status still finds only schedules that exist.
    let either = "ExecutionStatus = 'Completed' OR TemporalNamespaceDivision IS NULL OR \
                  WorkflowId STARTS_WITH 'p'";
    assert_eq!(schedules(&mut client, either).await.unwrap(), ["present"]);
    let deleted = "ExecutionStatus = 'Completed'";
    assert!(schedules(&mut client, deleted).await.unwrap().is_empty());
}

#[tokio::test]
async fn schedules_are_counted_in_groups() {
    let mut client = populated_server().await;
    for query in ["GROUP BY ExecutionStatus", "WorkflowId = 'present' GROUP BY ExecutionStatus"] {
        let request =
            CountSchedulesRequest { namespace: "default".to_owned(), query: query.to_owned() };
        let counted = client.count_schedules(request).await.unwrap().into_inner();
        let groups: Vec<_> = counted.groups.iter().map(|group| group.count).collect();
        assert_eq!((counted.count, groups), (1, vec![1]), "{query}");
    }
}

#[tokio::test]
async fn workflow_id_of_an_older_list_is_no_part_of_a_filter() {
    let mut client = populated_server().await;
    let mut found = async |workflow_id: &str| {
        let by_id = WorkflowExecutionFilter {
            workflow_id: workflow_id.to_owned(),
            ..WorkflowExecutionFilter::default()
        };
        let request = ListOpenWorkflowExecutionsRequest {
            namespace: "default".to_owned(),
            filters: Some(Filters::ExecutionFilter(by_id)),
            ..ListOpenWorkflowExecutionsRequest::default()
        };
        let listed = client.list_open_workflow_executions(request).await.unwrap().into_inner();
        listed.executions.len()
    };
    assert_eq!(found("order").await, 1);
    for text in ["x' OR WorkflowId = 'order", "x\\' OR WorkflowId = 'order", "x') OR ('1' = '1"] {
        assert_eq!(found(text).await, 0, "{text}");
    }
}
