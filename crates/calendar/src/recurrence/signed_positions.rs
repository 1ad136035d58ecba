//! Sets of positions, counted from the first or, if negative, from the last.

/// A set of positions such as `1,15,-1`, in sequences of any length: -1 is the last position.
#[derive(Clone, Copy, Debug)]
pub(super) struct SignedPositions<const WORDS: usize> {
    from_first: [u64; WORDS],
    from_last: [u64; WORDS],
}

impl<const WORDS: usize> SignedPositions<WORDS> {
    pub(super) const EMPTY: Self =
        SignedPositions { from_first: [0; WORDS], from_last: [0; WORDS] };

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

    /// Whether the set contains `place` (from 1) of a sequence of this length.
    pub(super) fn contains(&self, place: u16, length: u16) -> bool {
        self.has(place, length + 1 - place)
    }

    /// The same, for a place given by its distance from both ends; the ends themselves are 1.
    pub(super) fn has(&self, from_first: u16, from_last: u16) -> bool {
        let bit = |words: &[u64; WORDS], place: u16| {
            words[usize::from(place / 64)] & 1 << (place % 64) != 0
        };
        bit(&self.from_first, from_first) || bit(&self.from_last, from_last)
    }
}

impl SignedPositions<1> {
    /// All places in a sequence of this length (at most 62) as bits; bit 1 is the first. Bits past the
    /// end may be set.
    pub(super) fn places(&self, length: u8) -> u64 {
        self.from_first[0] | self.from_last[0].reverse_bits() >> (62 - length)
    }
}
