//! Memory limits of a node in bytes, and admission control for requests.
//!
//! A size is the length of the encoded message plus a constant: cheap to compute, and accurate for large payloads.

use std::sync::{Arc, Mutex, PoisonError};

use crate::api::Refusal;

/// The parts of a node's memory budget.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shares {
    /// Entities in the caches of all cells.
    pub(crate) entities: usize,
    /// Unanswered requests: being received, in inboxes, and waiting for a load.
    pub(crate) requests: usize,
    /// Loads in flight from the store to all cells.
    pub(crate) loads: usize,
    /// Pages of workflow task completions in all cells.
    pub(crate) pages: usize,
    /// Waiting tasks in memory.
    pub(crate) tasks: usize,
}

impl Shares {
    pub(crate) fn of(budget: usize) -> Self {
        let eighth = budget / 8;
        Self {
            entities: 3 * eighth,
            requests: eighth / 2,
            loads: eighth / 2,
            pages: eighth,
            tasks: eighth,
        }
    }

    /// The part of one cell.
    pub(crate) fn of_one_cell(self, cells: usize) -> Self {
        let cells = cells.max(1);
        let Self { entities, requests, loads, pages, tasks } = self;
        Self {
            entities: entities / cells,
            loads: loads / cells,
            pages: pages / cells,
            requests,
            tasks,
        }
    }
}

/// Admission control: admits requests by size while the memory limit allows.
pub(crate) struct Admission {
    bytes_max: usize,
    in_use: Mutex<InUse>,
}

#[derive(Default)]
struct InUse {
    bytes: usize,
    has_large: bool,
}

impl Admission {
    pub(crate) fn new(bytes_max: usize) -> Arc<Self> {
        Arc::new(Self { bytes_max, in_use: Mutex::default() })
    }

    /// Admits a request, or refuses it with [`Refusal::Overloaded`].
    ///
    /// A request that needs more than half of the limit is admitted if no other such request is in flight. So every
    /// request is served eventually, however large it is and however busy the node.
    pub(crate) fn admit(self: &Arc<Self>, bytes: usize) -> Result<Admitted, Refusal> {
        let mut in_use = self.in_use.lock().unwrap_or_else(PoisonError::into_inner);
        let is_large = bytes > self.bytes_max / 2;
        let has_room = match is_large {
            true => !in_use.has_large,
            false => in_use.bytes.saturating_add(bytes) <= self.bytes_max,
        };
        if !has_room {
            return Err(Refusal::Overloaded(format!(
                "the server has {} bytes of unanswered requests and a limit of {} bytes: \
                 retry this request of {bytes} bytes later",
                in_use.bytes, self.bytes_max
            )));
        }
        in_use.bytes = in_use.bytes.saturating_add(bytes);
        in_use.has_large |= is_large;
        Ok(Admitted { admission: Arc::clone(self), bytes, is_large })
    }
}

/// The memory reserved for a request. Dropped when the request is answered.
pub struct Admitted {
    admission: Arc<Admission>,
    bytes: usize,
    is_large: bool,
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut in_use = self.admission.in_use.lock().unwrap_or_else(PoisonError::into_inner);
        in_use.bytes = in_use.bytes.saturating_sub(self.bytes);
        in_use.has_large &= !self.is_large;
    }
}

impl std::fmt::Debug for Admitted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Admitted").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_without_room_is_refused_until_another_is_answered() {
        let admission = Admission::new(1_000);
        let first = admission.admit(400).unwrap();
        let _second = admission.admit(400).unwrap();
        let refused = admission.admit(300).unwrap_err();
        assert!(matches!(refused, Refusal::Overloaded(_)), "{refused:?}");
        drop(first);
        admission.admit(300).unwrap();
    }

    #[test]
    fn request_larger_than_all_memory_is_let_in_one_at_a_time() {
        let admission = Admission::new(1_000);
        let _small = admission.admit(400).unwrap();
        let large = admission.admit(5_000).unwrap();
        assert!(admission.admit(5_000).is_err() && admission.admit(1).is_err());
        drop(large);
        admission.admit(5_000).unwrap();
    }
}
