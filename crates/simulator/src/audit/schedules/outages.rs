//! Outages: when nothing evaluated schedules, before a server began and while its machine slept.
//!
//! The simulator reports when servers begin and when their machines wake up. Which times were missed follows from that
//! alone, without asking a server.

use std::collections::BTreeMap;

use perennial_store::{CellId, Epoch};

/// The number of a server, and one of its cells.
type Evaluator = (u64, CellId);

/// The outages; see the module's documentation.
#[derive(Default)]
pub(super) struct Outages {
    /// Whether schedules are evaluated only on demand, so that nothing is ever missed.
    on_demand: bool,
    evaluators: BTreeMap<Evaluator, Since>,
    /// The holder of each lease.
    leases: BTreeMap<Epoch, Evaluator>,
}

/// Since when a cell evaluates. A clock that is put back, and a machine that slept for a while that may or may not
/// count, leave only bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Since {
    pub(super) server: u64,
    /// Times that were due before this were missed.
    pub(super) earliest: i64,
    /// Times that were due then or later weren't missed.
    pub(super) latest: i64,
}

impl Outages {
    pub(super) fn set_on_demand(&mut self) {
        self.on_demand = true;
    }

    pub(super) fn is_on_demand(&self) -> bool {
        self.on_demand
    }

    /// Notes that a cell of a server begins to evaluate.
    pub(super) fn began(&mut self, server: u64, cell: CellId, now: i64) {
        self.evaluators.insert((server, cell), Since { server, earliest: now, latest: now });
    }

    /// Notes that a cell took its first turn after its machine slept.
    pub(super) fn woke(&mut self, server: u64, cell: CellId, now: i64) {
        if let Some(since) = self.evaluators.get_mut(&(server, cell)) {
            since.latest = since.latest.max(now);
        }
    }

    /// The clock was put back: what comes until it is where it was is evaluated too.
    pub(super) fn put_back(&mut self, now: i64) {
        for since in self.evaluators.values_mut() {
            since.earliest = since.earliest.min(now);
        }
    }

    pub(super) fn leased(&mut self, epoch: Epoch, server: u64, cell: CellId) {
        self.leases.insert(epoch, (server, cell));
    }

    /// Since when the writer of a batch evaluates; `None` if nothing can be missed.
    pub(super) fn since(&self, epoch: Epoch) -> Option<Since> {
        let evaluator = self.leases.get(&epoch).filter(|_| !self.on_demand)?;
        self.evaluators.get(evaluator).copied()
    }

    /// Whether some server began between two instants.
    pub(super) fn began_between(&self, from: i64, to: i64) -> bool {
        self.evaluators.values().any(|since| since.earliest > from && since.earliest < to)
    }
}
