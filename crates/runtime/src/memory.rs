//! How much memory a node takes, in bytes, and who gets which part of it.
//!
//! Sizes are those of the encoded messages and a constant for each thing: cheap to say, and close enough where
//! it matters, which is large payloads.

use std::sync::{Arc, Mutex, PoisonError};

use crate::api::Refusal;

/// The parts of a node's memory budget.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shares {
    /// Entities in the caches of all cells.
    pub(crate) entities: usize,
    /// Requests that aren't answered: as they arrive, in inboxes, and put aside until something is loaded.
    pub(crate) requests: usize,
    /// What is on its way from the store to all cells.
    pub(crate) loads: usize,
    /// Pages of completions in all cells.
    pub(crate) pages: usize,
    /// Tasks in memory that wait for workers.
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

    /// A cell's part of what all cells of a node have together.
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

/// Lets requests in by their size as long as there is memory for them.
pub(crate) struct Door {
    bytes_max: usize,
    inside: Mutex<Inside>,
}

#[derive(Default)]
struct Inside {
    bytes: usize,
    has_large: bool,
}

impl Door {
    pub(crate) fn new(bytes_max: usize) -> Arc<Self> {
        Arc::new(Self { bytes_max, inside: Mutex::default() })
    }

    /// Lets a request in, or refuses it for now.
    ///
    /// One that takes more than half of the memory is let in whatever else is there, if no other such is: so
    /// every request is served at some time, however large it is and however busy the node.
    pub(crate) fn admit(self: &Arc<Self>, bytes: usize) -> Result<Admitted, Refusal> {
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        let is_large = bytes > self.bytes_max / 2;
        let has_room = match is_large {
            true => !inside.has_large,
            false => inside.bytes.saturating_add(bytes) <= self.bytes_max,
        };
        if !has_room {
            return Err(Refusal::Overloaded(format!(
                "the server holds {} bytes of unanswered requests, and no more than {} fit its memory budget: \
                 this one of {bytes} bytes has to be sent again later",
                inside.bytes, self.bytes_max
            )));
        }
        inside.bytes = inside.bytes.saturating_add(bytes);
        inside.has_large |= is_large;
        Ok(Admitted { door: Arc::clone(self), bytes, is_large })
    }
}

/// A request's place in a node's memory. Dropped when the request is answered.
pub struct Admitted {
    door: Arc<Door>,
    bytes: usize,
    is_large: bool,
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut inside = self.door.inside.lock().unwrap_or_else(PoisonError::into_inner);
        inside.bytes = inside.bytes.saturating_sub(self.bytes);
        inside.has_large &= !self.is_large;
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
        let door = Door::new(1_000);
        let first = door.admit(400).unwrap();
        let _second = door.admit(400).unwrap();
        let refused = door.admit(300).unwrap_err();
        assert!(matches!(refused, Refusal::Overloaded(_)), "{refused:?}");
        drop(first);
        door.admit(300).unwrap();
    }

    #[test]
    fn request_larger_than_all_memory_is_let_in_one_at_a_time() {
        let door = Door::new(1_000);
        let _small = door.admit(400).unwrap();
        let large = door.admit(5_000).unwrap();
        assert!(door.admit(5_000).is_err() && door.admit(1).is_err());
        drop(large);
        door.admit(5_000).unwrap();
    }
}
