//! Checks between runs: a message takes effect once, and its sender records that effect.

use std::collections::BTreeMap;

use perennial_proto::temporal::common::v1::WorkflowExecution;
use perennial_proto::temporal::enums::v1::WorkflowExecutionStatus;
use perennial_proto::temporal::history::v1::history_event::Attributes;

use super::histories::Recorded;
use super::{Auditor, Violation};

const PROMISE: &str = "a message between runs takes effect once";

pub(super) fn check(
    recorded: &Recorded,
    all: &BTreeMap<String, Recorded>,
    auditor: &Auditor,
) -> Option<Violation> {
    let own = recorded.events.iter().filter(|it| it.event_id >= recorded.first_own_event_id);
    own.filter_map(|event| event.attributes.as_ref()).find_map(|attributes| match attributes {
        Attributes::ChildWorkflowExecutionStartedEventAttributes(started) => {
            let child = started.workflow_execution.as_ref()?;
            is_missing(child, all, auditor).then(|| {
                let what = format!("child {} is said to run, and is nowhere", child.run_id);
                recorded.violation(PROMISE, what)
            })
        }
        Attributes::ExternalWorkflowExecutionSignaledEventAttributes(signaled) => {
            let id = signaled.initiated_event_id;
            let request_id = format!("{}:{id}", recorded.run.head.run_id);
            let target = signaled.workflow_execution.as_ref()?;
            let is_taken = all.values().any(|run| run.signals(&request_id) > 0);
            let may_be_gone = auditor.may_lack_runs(&target.workflow_id);
            let is_own = id >= recorded.first_own_event_id;
            (is_own && !is_taken && !may_be_gone).then(|| {
                let what = format!("signal {request_id} is said to be delivered, and is nowhere");
                recorded.violation(PROMISE, what)
            })
        }
        other => {
            let (child, wanted) = child_closed(other)?;
            let status = all.get(&child.run_id)?.run.head.status();
            (status != wanted).then(|| {
                let what =
                    format!("child {} is said to be {wanted:?}, and is {status:?}", child.run_id);
                recorded.violation(PROMISE, what)
            })
        }
    })
}

fn is_missing(
    child: &WorkflowExecution,
    all: &BTreeMap<String, Recorded>,
    auditor: &Auditor,
) -> bool {
    !all.contains_key(&child.run_id) && !auditor.may_be_deleted.contains(&child.run_id)
}

fn child_closed(attributes: &Attributes) -> Option<(&WorkflowExecution, WorkflowExecutionStatus)> {
    let (child, status) = match attributes {
        Attributes::ChildWorkflowExecutionCompletedEventAttributes(it) => {
            (&it.workflow_execution, WorkflowExecutionStatus::Completed)
        }
        Attributes::ChildWorkflowExecutionFailedEventAttributes(it) => {
            (&it.workflow_execution, WorkflowExecutionStatus::Failed)
        }
        Attributes::ChildWorkflowExecutionCanceledEventAttributes(it) => {
            (&it.workflow_execution, WorkflowExecutionStatus::Canceled)
        }
        Attributes::ChildWorkflowExecutionTimedOutEventAttributes(it) => {
            (&it.workflow_execution, WorkflowExecutionStatus::TimedOut)
        }
        Attributes::ChildWorkflowExecutionTerminatedEventAttributes(it) => {
            (&it.workflow_execution, WorkflowExecutionStatus::Terminated)
        }
        _ => return None,
    };
    Some((child.as_ref()?, status))
}
