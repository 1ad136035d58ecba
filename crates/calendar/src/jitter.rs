//! Jitter: a pseudo-random delay, always the same for the same schedule and time.

use std::time::Duration;

use crate::hash::fnv1a;

/// The identity of a schedule: schedules with equal specs get different delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seed(u64);

impl Seed {
    pub(crate) fn of(identity: &str) -> Self {
        Seed(fnv1a(identity.as_bytes()))
    }

    /// The delay of a nominal time: in whole milliseconds, evenly spread over `0..=bound`.
    pub(crate) fn delay(self, nominal: i64, bound: Duration) -> Duration {
        let milliseconds = u64::try_from(bound.as_millis()).unwrap_or(u64::MAX);
        let choices = u128::from(milliseconds) + 1;
        let hash = mix(self.0 ^ mix(nominal as u64));
        Duration::from_millis(((u128::from(hash) * choices) >> 64) as u64)
    }
}

/// The finalizer of SplitMix64: every input bit changes about half of the output's.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_never_change_between_versions() {
        let minute = Duration::from_secs(60);
        let delays =
            |id: &str| [0, 60, 1_790_000_000].map(|t| Seed::of(id).delay(t, minute).as_millis());
        assert_eq!(delays("payroll"), DELAYS_OF_PAYROLL);
        assert_ne!(delays("payroll"), delays("payroll-2"));
    }

    const DELAYS_OF_PAYROLL: [u128; 3] = [3_073, 35_865, 3_807];

    #[test]
    fn delays_fill_the_range_evenly_and_reach_both_ends() {
        let bound = Duration::from_millis(9);
        let mut counts = [0; 10];
        for nominal in 0..10_000 {
            counts[Seed::of("x").delay(nominal * 60, bound).as_millis() as usize] += 1;
        }
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    }

    #[test]
    fn no_bound_is_no_delay_and_the_longest_does_not_overflow() {
        assert_eq!(Seed::of("x").delay(5, Duration::ZERO), Duration::ZERO);
        assert!(Seed::of("x").delay(5, Duration::MAX) > Duration::from_secs(1));
    }
}
