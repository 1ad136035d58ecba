//! A memory budget that requests share. A request that doesn't fit is refused.

use std::sync::Arc;

use perennial_runtime::Refusal;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::Status;

use crate::errors::refused;

/// A limit on the bytes that are reserved at a time.
#[derive(Debug, Clone)]
pub(crate) struct MemoryBudget {
    /// What the bytes are used for, as the error message names it.
    purpose: &'static str,
    bytes: usize,
    free: Arc<Semaphore>,
}

/// Bytes that are reserved until this is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: MemoryBudget,
    permit: OwnedSemaphorePermit,
}

impl MemoryBudget {
    /// `purpose` completes the sentence "the memory for … is in use".
    pub(crate) fn new(bytes: usize, purpose: &'static str) -> Self {
        // A permit counts up to this number.
        let bytes = bytes.min(u32::MAX as usize);
        Self { purpose, bytes, free: Arc::new(Semaphore::new(bytes)) }
    }

    /// A reservation of no bytes, which can [grow](Reservation::grow).
    pub(crate) fn empty_reservation(&self) -> Reservation {
        let permit = Arc::clone(&self.free).try_acquire_many_owned(0);
        let permit = permit.expect("no permits are always free, and nobody closes the semaphore");
        Reservation { budget: self.clone(), permit }
    }

    /// Waits until this many bytes are free, and reserves them. Refuses more than the whole budget.
    pub(crate) async fn wait_for(&self, bytes: usize) -> Result<Reservation, Status> {
        let Some(count) = self.fitting(bytes) else {
            return Err(Status::resource_exhausted(format!(
                "the response takes {bytes} bytes of memory, more than the {} bytes for {}; request less, \
                 for instance a smaller page, or call over gRPC",
                self.bytes, self.purpose
            )));
        };
        let permit = Arc::clone(&self.free).acquire_many_owned(count).await;
        let permit = permit.expect("nobody closes the semaphore");
        Ok(Reservation { budget: self.clone(), permit })
    }

    fn fitting(&self, bytes: usize) -> Option<u32> {
        u32::try_from(bytes).ok().filter(|_| bytes <= self.bytes)
    }

    fn exhausted(&self) -> Status {
        refused(Refusal::Overloaded(format!(
            "the memory for {} ({} bytes) is in use; try again in a moment",
            self.purpose, self.bytes
        )))
    }
}

impl Reservation {
    /// Reserves more bytes, or refuses if they aren't free.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), Status> {
        let count = u32::try_from(bytes).unwrap_or(u32::MAX);
        let more = Arc::clone(&self.budget.free).try_acquire_many_owned(count);
        self.permit.merge(more.map_err(|_| self.budget.exhausted())?);
        Ok(())
    }

    /// Releases all but this many bytes.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        drop(self.permit.split(self.permit.num_permits().saturating_sub(bytes)));
    }
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;

    #[tokio::test]
    async fn reservations_never_exceed_the_budget() {
        let budget = MemoryBudget::new(100, "tests");
        let (mut one, mut other) = (budget.empty_reservation(), budget.empty_reservation());
        one.grow(60).unwrap();
        let refusal = other.grow(50).unwrap_err();
        assert_eq!(refusal.code(), Code::ResourceExhausted);
        let words = "the memory for tests (100 bytes) is in use; try again in a moment";
        assert_eq!(refusal.message(), words);
        other.grow(40).unwrap();
        drop(one);
        other.grow(60).unwrap();
        other.shrink_to(30);
        let mut third = budget.empty_reservation();
        third.grow(70).unwrap();
        third.grow(1).unwrap_err();
        drop((other, third));
        budget.wait_for(100).await.unwrap();
        assert_eq!(budget.wait_for(101).await.unwrap_err().code(), Code::ResourceExhausted);
    }
}
