//! The order of lists, and positions in it.

use std::cmp::Ordering;

use super::row::{Execution, to_micros};

/// A place in a list. Open runs come first, then the last to close; among those the last to start; then
/// by run id.
///
/// Positions compare in the order of the list: `executions.sort_by_key(Position::of)` makes a list, and a page after a
/// position holds greater positions. Encoded as [bytes](Position::to_token) it is a page token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// `NEVER` for an open run.
    pub(super) close_micros: i64,
    pub(super) start_micros: i64,
    pub(super) run_id: String,
}

/// A page token that no list gave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid next page token: start again without one")]
pub struct InvalidPageToken;

/// Close time of an open run.
pub(super) const NEVER: i64 = i64::MAX;

impl Position {
    /// The position of a run.
    pub fn of(execution: &Execution) -> Self {
        let closed = execution.closed.as_ref();
        Self {
            close_micros: closed.map_or(NEVER, |closed| to_micros(closed.time_nanos)),
            start_micros: to_micros(execution.start_time_nanos),
            run_id: execution.run_id.clone(),
        }
    }

    /// As a page token.
    pub fn to_token(&self) -> Vec<u8> {
        let times = [self.close_micros.to_be_bytes(), self.start_micros.to_be_bytes()];
        [times.as_flattened(), self.run_id.as_bytes()].concat()
    }

    /// From a page token.
    pub fn from_token(token: &[u8]) -> Result<Self, InvalidPageToken> {
        let (close, rest) = token.split_first_chunk().ok_or(InvalidPageToken)?;
        let (start, run_id) = rest.split_first_chunk().ok_or(InvalidPageToken)?;
        Ok(Self {
            close_micros: i64::from_be_bytes(*close),
            start_micros: i64::from_be_bytes(*start),
            run_id: String::from_utf8(run_id.to_vec()).map_err(|_| InvalidPageToken)?,
        })
    }
}

impl Ord for Position {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_close = other.close_micros.cmp(&self.close_micros);
        let by_start = || other.start_micros.cmp(&self.start_micros);
        by_close.then_with(by_start).then_with(|| self.run_id.cmp(&other.run_id))
    }
}

impl PartialOrd for Position {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(close_micros: i64, start_micros: i64, run_id: &str) -> Position {
        Position { close_micros, start_micros, run_id: run_id.to_owned() }
    }

    #[test]
    fn open_runs_come_first_then_the_latest() {
        let listed = [
            position(NEVER, 9, "a"),
            position(NEVER, 8, "a"),
            position(NEVER, 8, "b"),
            position(7, 1, "c"),
            position(6, 2, "a"),
            position(6, 1, "a"),
        ];
        assert!(listed.is_sorted());
    }

    #[test]
    fn a_token_names_its_position_and_garbage_none() {
        let here = position(NEVER, -5, "0193-é");
        assert_eq!(Position::from_token(&here.to_token()), Ok(here));
        for garbage in [&b""[..], b"garbage", &[0xff; 17]] {
            assert_eq!(Position::from_token(garbage), Err(InvalidPageToken));
        }
    }
}
