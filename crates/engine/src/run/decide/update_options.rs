//! A client changes the options of a run.

use perennial_proto::temporal::history::v1::WorkflowExecutionOptionsUpdatedEventAttributes;

use super::Decided;
use crate::run::event::Attributes;
use crate::run::{Context, Decision, Reply, Run, UpdateOptions};

pub(super) fn decide(run: &Run, update: UpdateOptions, cx: &Context<'_>) -> Decided {
    run.open()?;
    let changes = update.priority.as_ref().is_some_and(|wanted| run.priority() != Some(wanted));
    if !changes {
        return Ok(Decision { transition: None, reply: Ok(Reply::Done) });
    }
    let mut draft = run.draft(cx);
    draft.record_or_buffer(Attributes::WorkflowExecutionOptionsUpdatedEventAttributes(
        WorkflowExecutionOptionsUpdatedEventAttributes {
            priority: update.priority,
            identity: update.identity,
            ..WorkflowExecutionOptionsUpdatedEventAttributes::default()
        },
    ));
    Ok(draft.done(Reply::Done))
}
