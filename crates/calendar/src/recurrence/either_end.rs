//! Positions counted from the first, or, when negative, from the last.

/// A list like `1,15,-1`. How long a row is may vary: -1 is then its last place.
#[derive(Clone, Copy, Debug)]
pub(super) struct EitherEnd<const WORDS: usize> {
    from_first: [u64; WORDS],
    from_last: [u64; WORDS],
}

impl<const WORDS: usize> EitherEnd<WORDS> {
    pub(super) const EMPTY: Self = EitherEnd { from_first: [0; WORDS], from_last: [0; WORDS] };

    /// `None` for an empty list, which restricts nothing.
    pub(super) fn new<N: Into<i16> + Copy>(positions: &[N]) -> Option<Self> {
        let mut set = Self::EMPTY;
        for position in positions {
            set.insert((*position).into());
        }
        (!positions.is_empty()).then_some(set)
    }

    pub(super) fn insert(&mut self, position: i16) {
        let words = if position < 0 { &mut self.from_last } else { &mut self.from_first };
        let place = position.unsigned_abs();
        words[usize::from(place / 64)] |= 1 << (place % 64);
    }

    /// Whether `place` (from 1) of a row of `length` is meant.
    pub(super) fn contains(&self, place: u16, length: u16) -> bool {
        self.has(place, length + 1 - place)
    }

    /// The same, told how many places away from each end it is; the ends themselves are 1.
    pub(super) fn has(&self, from_first: u16, from_last: u16) -> bool {
        let bit = |words: &[u64; WORDS], place: u16| {
            words[usize::from(place / 64)] & 1 << (place % 64) != 0
        };
        bit(&self.from_first, from_first) || bit(&self.from_last, from_last)
    }
}

impl EitherEnd<1> {
    /// All places meant in a row of `length` (at most 62): bit 1 is the first. Places past the end
    /// may be among them.
    pub(super) fn places(&self, length: u8) -> u64 {
        self.from_first[0] | self.from_last[0].reverse_bits() >> (62 - length)
    }
}
