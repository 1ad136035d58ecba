//! Retention: a closed run is deleted when its namespace's retention period has passed.
//!
//! The wake-up of a closed run is the end of its retention, so a due run is deleted when it wakes up.

use perennial_engine::run::Run;
use perennial_engine::{NamespaceKey, Span, Time};

use super::StepContext;

/// When a closed run is deleted; `None` if its namespace keeps runs forever or doesn't exist.
pub(super) fn retention_end(run: &Run, world: &StepContext<'_>) -> Option<Time> {
    let namespace = world.namespaces.by_key(NamespaceKey(run.head.namespace))?;
    Span(namespace.retention_nanos).get().map(|kept| Time(run.head.closed_at).after(kept))
}

/// Whether a run is closed and its retention period has passed.
pub(super) fn is_expired(run: &Run, world: &StepContext<'_>) -> bool {
    !run.is_open() && retention_end(run, world).is_some_and(|end| end <= world.now)
}
