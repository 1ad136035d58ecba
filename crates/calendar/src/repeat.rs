//! Repeats anchored at a date of their own (ISO 8601 `R/<start>/<duration>`).

/// A repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeat {}
