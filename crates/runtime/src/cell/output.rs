//! What leaves a cell: the batch it collects, the batch on its way, and what each of them holds back.

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
    /// Replies that saw only durable state: they leave at the end of the step.
    ready: Vec<Release>,
}

impl Output {
    pub(super) fn is_empty(&self) -> bool {
        self.in_flight.is_none() && self.open.is_empty()
    }

    pub(super) fn is_in_flight(&self) -> bool {
        self.in_flight.is_some()
    }

    /// Lets something leave after the commit that it has to wait for.
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

    /// Sends the open batch on its way. If there is nothing to write, what it held back leaves at once.
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

    /// The batch in flight is durable: what it held back.
    pub(super) fn committed(&mut self) -> Vec<Release> {
        self.in_flight.take().unwrap_or_default()
    }

    /// The cell is over: everything that hasn't left.
    pub(super) fn take_all(&mut self) -> Vec<Release> {
        let mut lost = self.committed();
        lost.extend(self.open.take_releases());
        lost.append(&mut self.ready);
        lost
    }
}
