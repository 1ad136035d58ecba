//! The older lists, of open and of closed runs, said as a list filter.

use perennial_engine::Time;
use perennial_proto::Timestamp;
use perennial_proto::temporal::enums::v1::WorkflowExecutionStatus;
use perennial_proto::temporal::filter::v1::StartTimeFilter;
use perennial_proto::temporal::workflowservice::v1::{
    ListClosedWorkflowExecutionsRequest, ListOpenWorkflowExecutionsRequest,
    list_closed_workflow_executions_request, list_open_workflow_executions_request,
};

use crate::errors::Answer;
use crate::validate::invalid;

/// Of the open runs that a request asks for.
pub(super) fn open_filter(request: &ListOpenWorkflowExecutionsRequest) -> Answer<String> {
    use list_open_workflow_executions_request::Filters;
    let mut parts = vec!["ExecutionStatus = 'Running'".to_owned()];
    parts.extend(times(request.start_time_filter.as_ref(), "StartTime")?);
    match &request.filters {
        Some(Filters::ExecutionFilter(filter)) => {
            parts.push(format!("WorkflowId = {}", quoted(&filter.workflow_id)));
            if !filter.run_id.is_empty() {
                parts.push(format!("RunId = {}", quoted(&filter.run_id)));
            }
        }
        Some(Filters::TypeFilter(filter)) => {
            parts.push(format!("WorkflowType = {}", quoted(&filter.name)));
        }
        None => {}
    }
    Ok(parts.join(" AND "))
}

/// Of the closed runs that a request asks for.
pub(super) fn closed_filter(request: &ListClosedWorkflowExecutionsRequest) -> Answer<String> {
    use list_closed_workflow_executions_request::Filters;
    let mut parts = vec!["ExecutionStatus != 'Running'".to_owned()];
    parts.extend(times(request.start_time_filter.as_ref(), "CloseTime")?);
    match &request.filters {
        Some(Filters::ExecutionFilter(filter)) => {
            parts.push(format!("WorkflowId = {}", quoted(&filter.workflow_id)));
            if !filter.run_id.is_empty() {
                parts.push(format!("RunId = {}", quoted(&filter.run_id)));
            }
        }
        Some(Filters::TypeFilter(filter)) => {
            parts.push(format!("WorkflowType = {}", quoted(&filter.name)));
        }
        Some(Filters::StatusFilter(filter)) => match status_name(filter.status) {
            Some(name) if name != "Running" => parts.push(format!("ExecutionStatus = '{name}'")),
            _ => return invalid("StatusFilter must be specified and must be not Running."),
        },
        None => {}
    }
    Ok(parts.join(" AND "))
}

/// A status as filters name it; none for an unknown one.
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

fn times(filter: Option<&StartTimeFilter>, attribute: &str) -> Answer<Option<String>> {
    let Some(filter) = filter else {
        return Ok(None);
    };
    let nanos = |time: Option<Timestamp>| time.map(Time::from);
    let (earliest, latest) = (nanos(filter.earliest_time), nanos(filter.latest_time));
    Ok(match (earliest, latest) {
        (Some(earliest), Some(latest)) if earliest > latest => {
            return invalid(
                "EarliestTime in StartTimeFilter should not be larger than LatestTime.",
            );
        }
        (Some(earliest), Some(latest)) => {
            Some(format!("{attribute} BETWEEN {} AND {}", earliest.0, latest.0))
        }
        (Some(earliest), None) => Some(format!("{attribute} >= {}", earliest.0)),
        (None, Some(latest)) => Some(format!("{attribute} <= {}", latest.0)),
        (None, None) => None,
    })
}

/// As text in a filter: both signs that mean something there are doubled.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use perennial_proto::temporal::filter::v1::{
        StatusFilter, WorkflowExecutionFilter, WorkflowTypeFilter,
    };

    use super::*;

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
        expect![[r#"ExecutionStatus = 'Running' AND StartTime BETWEEN 1000000000 AND 2000000000 AND WorkflowId = 'it''s\\'"#]]
            .assert_eq(&open_filter(&request).unwrap());
    }

    #[test]
    fn closed_runs_are_filtered_by_type_or_status() {
        use list_closed_workflow_executions_request::Filters;
        let filter = |filters| {
            closed_filter(&ListClosedWorkflowExecutionsRequest {
                filters: Some(filters),
                ..ListClosedWorkflowExecutionsRequest::default()
            })
        };
        let by_type = Filters::TypeFilter(WorkflowTypeFilter { name: "Order".to_owned() });
        expect!["ExecutionStatus != 'Running' AND WorkflowType = 'Order'"]
            .assert_eq(&filter(by_type).unwrap());
        let by_status = |status| Filters::StatusFilter(StatusFilter { status });
        expect!["ExecutionStatus != 'Running' AND ExecutionStatus = 'Failed'"]
            .assert_eq(&filter(by_status(3)).unwrap());
        for bad in [0, 1, 99] {
            assert_eq!(
                filter(by_status(bad)).unwrap_err().message(),
                "StatusFilter must be specified and must be not Running."
            );
        }
    }

    #[test]
    fn times_that_cross_are_refused() {
        let at = |seconds| Some(Timestamp { seconds, nanos: 0 });
        let crossed = StartTimeFilter { earliest_time: at(2), latest_time: at(1) };
        assert_eq!(
            times(Some(&crossed), "StartTime").unwrap_err().message(),
            "EarliestTime in StartTimeFilter should not be larger than LatestTime."
        );
    }
}
