//! Memory that requests share: each takes what it needs, and one that finds too little is refused.

use std::sync::Arc;

use perennial_runtime::Refusal;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::Status;

use crate::errors::refused;

/// A number of bytes that may be in use at a time.
#[derive(Debug, Clone)]
pub(crate) struct MemoryBudget {
    /// What they are used for, as the refusal says it.
    purpose: &'static str,
    bytes: usize,
    free: Arc<Semaphore>,
}

/// Bytes that are in use until this is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: MemoryBudget,
    permit: OwnedSemaphorePermit,
}

impl MemoryBudget {
    /// `purpose` completes the sentence "the memory for … is in use".
    pub(crate) fn new(bytes: usize, purpose: &'static str) -> Self {
        // The most that one permit can count.
        let bytes = bytes.min(u32::MAX as usize);
        Self { purpose, bytes, free: Arc::new(Semaphore::new(bytes)) }
    }

    /// Nothing yet; it can [grow](Reservation::grow).
    pub(crate) fn empty_reservation(&self) -> Reservation {
        let permit = Arc::clone(&self.free).try_acquire_many_owned(0);
        let permit = permit.expect("nothing is always there, and nobody closes the semaphore");
        Reservation { budget: self.clone(), permit }
    }

    /// Waits until so many bytes are free. Refuses what will never fit.
    pub(crate) async fn wait_for(&self, bytes: usize) -> Result<Reservation, Status> {
        let Some(count) = self.fitting(bytes) else {
            return Err(Status::resource_exhausted(format!(
                "it takes {bytes} bytes of memory, more than the {} for {}; ask for less, as with a \
                 smaller page, or over gRPC",
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

    fn used_up(&self) -> Status {
        refused(Refusal::Overloaded(format!(
            "the memory for {} ({} bytes) is in use; try again in a moment",
            self.purpose, self.bytes
        )))
    }
}

impl Reservation {
    /// Takes more, if it is there.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), Status> {
        let count = u32::try_from(bytes).unwrap_or(u32::MAX);
        let more = Arc::clone(&self.budget.free).try_acquire_many_owned(count);
        self.permit.merge(more.map_err(|_| self.budget.used_up())?);
        Ok(())
    }

    /// Gives back all but so many bytes.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        drop(self.permit.split(self.permit.num_permits().saturating_sub(bytes)));
    }
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;

    #[tokio::test]
    async fn requests_get_no_more_than_there_is_and_give_it_back() {
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
