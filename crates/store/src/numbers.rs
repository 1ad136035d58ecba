//! Numbers that stand for variants in tables. They are only added, never changed.

use crate::{Log, RecordKind};

/// The number of a kind of record.
pub(crate) fn record_kind_number(kind: RecordKind) -> u8 {
    match kind {
        RecordKind::Namespace => 1,
        RecordKind::BatchJob => 2,
        RecordKind::Cluster => 3,
        RecordKind::ApiKey => 4,
    }
}

/// The number of a log.
pub(crate) fn log_number(log: Log) -> u8 {
    match log {
        Log::Audit => 1,
        Log::Ledger => 2,
        Log::ManualLedger => 3,
    }
}
