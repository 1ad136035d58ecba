//! Checked conditions on rows.

use super::column::Column;
use super::row::to_micros;

/// A checked condition, independent of any database. Made by [`Query::parse`](super::Query::parse), and by code that
/// needs a query of its own. Conditions are combined as trees, never as text.
///
/// A filter is true, false or unknown of a row, as in SQL: a comparison with a missing value is unknown,
/// and so is its negation. A row matches if the answer is true. Operands fit their columns: text for
/// keywords, numbers for the rest; booleans are 0 and 1, times are microseconds since the epoch,
/// statuses are their numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// All of them.
    And(Vec<Filter>),
    /// Any of them.
    Or(Vec<Filter>),
    /// The negation; unknown stays unknown.
    Not(Box<Filter>),
    /// Compares the row's value with the operand.
    Compare {
        /// Neither a list nor text.
        column: Column,
        /// How they compare.
        comparison: Comparison,
        /// The value to compare with.
        operand: Operand,
    },
    /// The row's value lies between two operands, both included.
    Between {
        /// Neither a list nor text.
        column: Column,
        /// The lower bound.
        low: Operand,
        /// The upper bound.
        high: Operand,
    },
    /// The row's value is one of these.
    In {
        /// Neither a list nor text.
        column: Column,
        /// At least one.
        operands: Vec<Operand>,
    },
    /// The row's value begins with this.
    StartsWith {
        /// A keyword.
        column: Column,
        /// The beginning.
        prefix: String,
    },
    /// The row's list has one of these; false if there is no list.
    HasAny {
        /// A keyword list.
        column: Column,
        /// At least one.
        keywords: Vec<String>,
    },
    /// The row's text has one of these phrases; false if there is no text.
    Mentions {
        /// A text.
        column: Column,
        /// Each as `text_tokens` makes it. None at all is never mentioned.
        phrases: Vec<String>,
    },
    /// The row has no such value.
    IsNull(Column),
}

impl Filter {
    /// The row's value is `keyword`.
    pub fn is_keyword(column: Column, keyword: impl Into<String>) -> Self {
        let operand = Operand::Text(keyword.into());
        Self::Compare { column, comparison: Comparison::Equal, operand }
    }

    /// Compares the row's status with the one of this number.
    pub fn status(comparison: Comparison, status: i32) -> Self {
        let operand = Operand::Integer(status.into());
        Self::Compare { column: Column::ExecutionStatus, comparison, operand }
    }

    /// The row's time isn't before the first and isn't after the second, in nanoseconds since the epoch.
    pub fn time_between(
        column: Column,
        earliest: Option<i64>,
        latest: Option<i64>,
    ) -> Option<Self> {
        let micros = |nanos| Operand::Integer(to_micros(nanos));
        let compare =
            |comparison, nanos| Some(Self::Compare { column, comparison, operand: micros(nanos) });
        match (earliest, latest) {
            (Some(earliest), Some(latest)) => {
                Some(Self::Between { column, low: micros(earliest), high: micros(latest) })
            }
            (Some(earliest), None) => compare(Comparison::GreaterOrEqual, earliest),
            (None, Some(latest)) => compare(Comparison::LessOrEqual, latest),
            (None, None) => None,
        }
    }
}

/// How two values compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A value of a query, in the form values are compared in.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    /// Compared byte by byte.
    Text(String),
    /// A whole number, a boolean, a time or a status.
    Integer(i64),
    /// Any finite number.
    Real(f64),
}
