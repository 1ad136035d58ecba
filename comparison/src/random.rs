//! Seeded random numbers: every run of a test has the same cases.

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Equal seeds give equal numbers.
    pub fn seeded(seed: u64) -> Self {
        Random(seed)
    }

    /// A number within `low..=high`.
    pub fn within(&mut self, low: i64, high: i64) -> i64 {
        let choices = low.abs_diff(high) as u128 + 1;
        low + ((u128::from(self.number()) * choices) >> 64) as i64
    }

    /// True once in `of` times.
    pub fn once_in(&mut self, of: i64) -> bool {
        self.within(1, of) == 1
    }

    /// A random element.
    pub fn pick<'t, T>(&mut self, choices: &'t [T]) -> &'t T {
        &choices[self.within(0, choices.len() as i64 - 1) as usize]
    }

    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }
}
