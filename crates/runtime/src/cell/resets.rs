//! Resets: start a new run from a point in another run's history.

use perennial_engine::EntityKey;
use perennial_engine::run;

use super::request::{ReplyTo, ResetFrom, Response};
use super::{Cell, StepContext};
use crate::api::Refusal;

impl Cell {
    pub(super) fn reset(
        &mut self,
        key: EntityKey,
        reset: ResetFrom,
        reply: ReplyTo,
        world: &StepContext<'_>,
    ) {
        let Some(base) = self.run(key) else { return };
        if base.head.next_event_id != reset.next_event_id {
            let why = "the run went on while its history was read".to_owned();
            return self.answer(Some(key), reply, Err(Refusal::Unavailable(why)));
        }
        let current = self.cache.current_of(&base.id());
        let current_run = current.and_then(|key| self.run(key));
        let decided = {
            let cx = self.context(world);
            let ResetFrom { request, kept, later, .. } = reset;
            run::reset(&base, &kept, &later, current_run.as_deref(), request, &cx)
        };
        let mut seen = current.unwrap_or(key);
        let response = decided.map_err(Refusal::from).map(|decided| {
            for changed in [decided.base, decided.current].into_iter().flatten() {
                self.take(changed, false, world);
            }
            if let Some(created) = decided.created {
                seen = created.run.key;
                self.take_new(created, None, world);
            }
            Response::Reset(decided.run_id)
        });
        self.answer(Some(seen), reply, response);
    }
}
