//! A client terminates the run.

use perennial_proto::temporal::history::v1::WorkflowExecutionTerminatedEventAttributes;

use super::Decided;
use super::close::after_close;
use super::fail_workflow_task::abandon_task;
use crate::run::draft::Draft;
use crate::run::event::{Attributes, event};
use crate::run::{Context, Reply, Run, Terminate};

pub(super) fn decide(run: &Run, request: Terminate, cx: &Context<'_>) -> Decided {
    run.open()?;
    let mut draft = run.draft(cx);
    terminate(&mut draft, request);
    Ok(draft.done(Reply::Done))
}

pub(super) fn terminate(draft: &mut Draft<'_>, request: Terminate) {
    abandon_task(draft);
    let mut terminated = event(Attributes::WorkflowExecutionTerminatedEventAttributes(
        WorkflowExecutionTerminatedEventAttributes {
            reason: request.reason,
            details: request.details,
            identity: request.identity,
        },
    ));
    terminated.links = request.links;
    draft.record_event(terminated);
    after_close(draft);
}
