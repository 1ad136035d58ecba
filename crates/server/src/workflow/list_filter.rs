//! List filters for the older RPCs that list open or closed runs.

use perennial_engine::Time;
use perennial_proto::Timestamp;
use perennial_proto::temporal::enums::v1::WorkflowExecutionStatus;
use perennial_proto::temporal::filter::v1::{StartTimeFilter, WorkflowExecutionFilter};
use perennial_proto::temporal::workflowservice::v1::{
    ListClosedWorkflowExecutionsRequest, ListOpenWorkflowExecutionsRequest,
    list_closed_workflow_executions_request, list_open_workflow_executions_request,
};
use perennial_store::visibility::{Column, Comparison, Filter, Query};

use crate::errors::RpcResult;
use crate::validate::invalid;

const RUNNING: i32 = WorkflowExecutionStatus::Running as i32;

/// The filter of a request for open runs.
pub(super) fn open_runs(request: &ListOpenWorkflowExecutionsRequest) -> RpcResult<Query> {
    use list_open_workflow_executions_request::Filters;
    let mut filters = vec![Filter::status(Comparison::Equal, RUNNING)];
    filters.extend(times(request.start_time_filter.as_ref(), Column::StartTime)?);
    match &request.filters {
        Some(Filters::ExecutionFilter(filter)) => filters.extend(execution(filter)),
        Some(Filters::TypeFilter(filter)) => {
            filters.push(Filter::is_keyword(Column::WorkflowType, &filter.name));
        }
        None => {}
    }
    Ok(Query::of_runs(filters))
}

/// The filter of a request for closed runs.
pub(super) fn closed_runs(request: &ListClosedWorkflowExecutionsRequest) -> RpcResult<Query> {
    use list_closed_workflow_executions_request::Filters;
    let mut filters = vec![Filter::status(Comparison::NotEqual, RUNNING)];
    filters.extend(times(request.start_time_filter.as_ref(), Column::CloseTime)?);
    match &request.filters {
        Some(Filters::ExecutionFilter(filter)) => filters.extend(execution(filter)),
        Some(Filters::TypeFilter(filter)) => {
            filters.push(Filter::is_keyword(Column::WorkflowType, &filter.name));
        }
        Some(Filters::StatusFilter(filter)) => {
            if filter.status == RUNNING || status_name(filter.status).is_none() {
                return invalid("StatusFilter must be specified and must be not Running.");
            }
            filters.push(Filter::status(Comparison::Equal, filter.status));
        }
        None => {}
    }
    Ok(Query::of_runs(filters))
}

/// The filter for a workflow, or for one of its runs.
fn execution(filter: &WorkflowExecutionFilter) -> Vec<Filter> {
    let mut filters = vec![Filter::is_keyword(Column::WorkflowId, &filter.workflow_id)];
    if !filter.run_id.is_empty() {
        filters.push(Filter::is_keyword(Column::RunId, &filter.run_id));
    }
    filters
}

/// The name of a status in filters; `None` for an unknown one.
pub(super) fn status_name(status: i32) -> Option<&'static str> {
    Some(match WorkflowExecutionStatus::try_from(status).ok()? {
        WorkflowExecutionStatus::Unspecified => return None,
        WorkflowExecutionStatus::Running => "Running",
        WorkflowExecutionStatus::Completed => "Completed",
        WorkflowExecutionStatus::Failed => "Failed",
        WorkflowExecutionStatus::Canceled => "Canceled",
        WorkflowExecutionStatus::Terminated => "Terminated",
        WorkflowExecutionStatus::ContinuedAsNew => "ContinuedAsNew",
        WorkflowExecutionStatus::TimedOut => "TimedOut",
        WorkflowExecutionStatus::Paused => "Paused",
    })
}

fn times(filter: Option<&StartTimeFilter>, column: Column) -> RpcResult<Option<Filter>> {
    let Some(filter) = filter else {
        return Ok(None);
    };
    let nanos = |time: Option<Timestamp>| time.map(|time| Time::from(time).0);
    let (earliest, latest) = (nanos(filter.earliest_time), nanos(filter.latest_time));
    if let (Some(earliest), Some(latest)) = (earliest, latest)
        && earliest > latest
    {
        return invalid("EarliestTime in StartTimeFilter should not be larger than LatestTime.");
    }
    Ok(Filter::time_between(column, earliest, latest))
}

#[cfg(test)]
mod tests {
    use perennial_proto::temporal::filter::v1::{StatusFilter, WorkflowTypeFilter};
    use perennial_store::visibility::Attributes;

    use super::*;

    /// Checks that a query equals the parsed text.
    fn says(query: Query, text: &str) {
        assert_eq!(query, {
            // Flattens nested conjunctions.
            let scope = match Query::parse(text, &Attributes::builtin()).unwrap().filter {
                Filter::And(filters) => filters,
                other => vec![other],
            };
            let flat = scope.into_iter().flat_map(|filter| match filter {
                Filter::And(filters) => filters,
                other => vec![other],
            });
            Query { filter: Filter::And(flat.collect()), group_by: None }
        });
    }

    #[test]
    fn open_runs_are_filtered_by_start_and_name() {
        use list_open_workflow_executions_request::Filters;
        let at = |seconds| Some(Timestamp { seconds, nanos: 0 });
        let request = ListOpenWorkflowExecutionsRequest {
            start_time_filter: Some(StartTimeFilter { earliest_time: at(1), latest_time: at(2) }),
            filters: Some(Filters::ExecutionFilter(WorkflowExecutionFilter {
                workflow_id: "it's\\".to_owned(),
                run_id: String::new(),
            })),
            ..ListOpenWorkflowExecutionsRequest::default()
        };
        says(
            open_runs(&request).unwrap(),
            "ExecutionStatus = 'Running' AND StartTime BETWEEN 1000000000 AND 2000000000 \
             AND WorkflowId = 'it''s\\\\'",
        );
    }

    #[test]
    fn closed_runs_are_filtered_by_type_or_status() {
        use list_closed_workflow_executions_request::Filters;
        let found = |filters| {
            closed_runs(&ListClosedWorkflowExecutionsRequest {
                filters: Some(filters),
                ..ListClosedWorkflowExecutionsRequest::default()
            })
        };
        let by_type = Filters::TypeFilter(WorkflowTypeFilter { name: "Order".to_owned() });
        says(found(by_type).unwrap(), "ExecutionStatus != 'Running' AND WorkflowType = 'Order'");
        let by_status = |status| Filters::StatusFilter(StatusFilter { status });
        says(
            found(by_status(3)).unwrap(),
            "ExecutionStatus != 'Running' AND ExecutionStatus = 'Failed'",
        );
        for bad in [0, 1, 99] {
            assert_eq!(
                found(by_status(bad)).unwrap_err().message(),
                "StatusFilter must be specified and must be not Running."
            );
        }
    }

    #[test]
    fn times_that_cross_are_refused() {
        let at = |seconds| Some(Timestamp { seconds, nanos: 0 });
        let crossed = StartTimeFilter { earliest_time: at(2), latest_time: at(1) };
        assert_eq!(
            times(Some(&crossed), Column::StartTime).unwrap_err().message(),
            "EarliestTime in StartTimeFilter should not be larger than LatestTime."
        );
    }
}
