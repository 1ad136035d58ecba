//! Output of a cell: the open batch, the batch in flight, and the releases that wait for each of them.

use perennial_store::Batch;

use super::cache::WaitFor;
use super::held_lease::HeldLease;
use super::open_batch::OpenBatch;
use super::request::Release;

/// See the module's documentation.
#[derive(Default)]
pub(super) struct Output {
    pub(super) open: OpenBatch,
    /// Replies, tasks and messages held back until the in-flight batch is durable.
    in_flight: Option<Vec<Release>>,
    /// Replies that saw only durable state: released at the end of the step.
    ready: Vec<Release>,
}

impl Output {
    pub(super) fn is_empty(&self) -> bool {
        self.in_flight.is_none() && self.open.is_empty()
    }

    pub(super) fn is_in_flight(&self) -> bool {
        self.in_flight.is_some()
    }

    /// Sends a release once the batch it waits for is durable.
    pub(super) fn release_after(&mut self, wait_for: WaitFor, release: Release) {
        match wait_for {
            WaitFor::Nothing => self.ready.push(release),
            WaitFor::OpenBatch => self.open.release(release),
            WaitFor::BatchInFlight => match &mut self.in_flight {
                Some(releases) => releases.push(release),
                None => self.open.release(release),
            },
        }
    }

    pub(super) fn release_ready(&mut self, releases: &mut Vec<Release>) {
        releases.append(&mut self.ready);
    }

    /// Seals the open batch. Without writes, its releases are sent immediately.
    pub(super) fn seal(
        &mut self,
        lease: &mut HeldLease,
        releases: &mut Vec<Release>,
    ) -> Option<Batch> {
        let (batch, held) = self.open.seal(lease.cell(), lease.epoch(), lease.next_sequence());
        match &batch {
            Some(_) => {
                lease.count_batch();
                self.in_flight = Some(held);
            }
            None => releases.extend(held),
        }
        batch
    }

    /// The batch in flight is durable. Returns its releases.
    pub(super) fn committed(&mut self) -> Vec<Release> {
        self.in_flight.take().unwrap_or_default()
    }

    /// Returns all pending releases when the cell ends.
    pub(super) fn take_all(&mut self) -> Vec<Release> {
        let mut lost = self.committed();
        lost.extend(self.open.take_releases());
        lost.append(&mut self.ready);
        lost
    }
}
