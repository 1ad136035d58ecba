//! The commands of a workflow that a schedule started: few, as there are many such runs.

use perennial_engine::run::Run;
use perennial_proto::temporal::command::v1::Command;

use super::{SCHEDULED, wanted};
use crate::sim::Actor;

pub(super) fn is_it(run: &Run) -> bool {
    run.started.workflow_type.as_ref().is_some_and(|it| it.name == SCHEDULED)
}

/// Random commands: the run ends at once, after a timer, or waits for ever.
pub(super) fn commands(actor: &Actor, run: &Run) -> Vec<Command> {
    let chance = &actor.chance;
    if !wanted::is_idle(run) && chance.percent(80) {
        return Vec::new();
    }
    if run.head.cancel_requested && chance.percent(70) {
        return vec![wanted::cancel()];
    }
    match chance.below(20) {
        0..9 => vec![wanted::complete()],
        9..12 => vec![wanted::fail()],
        12 => vec![wanted::continue_as_new()],
        13 => Vec::new(),
        _ => vec![wanted::timer(&actor.fresh_id("timer"), chance.between(0, 15_000))],
    }
}
