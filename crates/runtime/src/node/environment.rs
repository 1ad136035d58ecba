//! The environment of a node: clocks, randomness, and whether it has threads.
//!
//! A server uses the system's. A simulation has its own, so that every step follows from its seed.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use perennial_engine::{FreshIds, Time};
use rustix::time::{ClockId, clock_gettime};

use crate::clock::Monotonic;

/// See the module's documentation.
pub(crate) enum Environment {
    /// Clocks, threads and randomness of the system.
    System,
    /// A settable clock, seeds derived from the first one, and no threads.
    Simulated { now: Arc<AtomicI64>, since_boot: Arc<AtomicI64>, seed: AtomicU64 },
}

impl Environment {
    /// The time that entities see.
    pub(crate) fn now(&self) -> Time {
        match self {
            Self::System => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                Time(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
            }
            Self::Simulated { now, .. } => Time(now.load(Ordering::SeqCst)),
        }
    }

    /// Real time, which only goes forward.
    pub(crate) fn monotonic(&self) -> Monotonic {
        Monotonic::at(match self {
            Self::System => boot_clock(),
            Self::Simulated { since_boot, .. } => {
                Duration::from_nanos(since_boot.load(Ordering::SeqCst).unsigned_abs())
            }
        })
    }

    /// How long the machine has been suspended in all.
    pub(crate) fn suspended(&self) -> Duration {
        match self {
            Self::System => boot_clock().saturating_sub(clock(ClockId::Monotonic)),
            Self::Simulated { .. } => Duration::ZERO,
        }
    }

    /// A seed that is unique in this process; in a server, random.
    pub(crate) fn fresh_seed(&self) -> u64 {
        use std::hash::{BuildHasher, Hasher};
        match self {
            Self::System => std::collections::hash_map::RandomState::new().build_hasher().finish(),
            // The id generator advances by a constant. Another constant and a rotation keep the sequences apart.
            Self::Simulated { seed, .. } => {
                seed.fetch_add(0xd134_2543_de82_ef95, Ordering::SeqCst).rotate_left(17)
            }
        }
    }

    /// Ids for the node itself.
    pub(crate) fn fresh_ids(&self) -> FreshIds {
        FreshIds::from_seed(self.fresh_seed())
    }

    /// Whether everything runs on the caller's thread, so that blocking on the store is allowed.
    pub(crate) fn is_simulated(&self) -> bool {
        matches!(self, Self::Simulated { .. })
    }
}

fn boot_clock() -> Duration {
    #[cfg(target_os = "linux")]
    return clock(ClockId::Boottime);
    // Other systems don't report suspended time. There, a late turn shows the gap.
    #[cfg(not(target_os = "linux"))]
    return clock(ClockId::Monotonic);
}

fn clock(id: ClockId) -> Duration {
    let now = clock_gettime(id);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}
