//! Terminates a run whose history exceeds its limit, since no worker could replay it.

use super::SERVER_IDENTITY;
use super::terminate::terminate;
use crate::run::draft::{Draft, Effect};
use crate::run::{Context, Decision, Terminate, Transition};

/// Terminates the run if the decision makes its history too long.
pub(super) fn enforce(decision: Decision, cx: &Context<'_>) -> Decision {
    let Decision { transition, reply } = decision;
    let transition = transition.map(|step| match exceeded(&step, cx) {
        Some(reason) => end(step, reason, cx),
        None => step,
    });
    Decision { transition, reply }
}

fn exceeded(step: &Transition, cx: &Context<'_>) -> Option<&'static str> {
    if !step.run.is_open() {
        return None;
    }
    if step.run.head.history_bytes > cx.limits.history_bytes {
        return Some("Workflow history size exceeds limit.");
    }
    let is_too_long = step.run.last_event_id() > cx.limits.history_events;
    is_too_long.then_some("Workflow history count exceeds limit.")
}

fn end(step: Transition, reason: &str, cx: &Context<'_>) -> Transition {
    let mut draft = Draft::resume(step, cx);
    // No worker may take a task of a closed run.
    draft.effects.retain(|effect| matches!(effect, Effect::Send(_)));
    let identity = SERVER_IDENTITY.to_owned();
    terminate(
        &mut draft,
        Terminate { reason: reason.to_owned(), identity, ..Terminate::default() },
    );
    draft.into_transition()
}
