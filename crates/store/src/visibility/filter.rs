//! A condition on runs that makes sense.

use super::column::Column;

/// A checked condition, independent of any database. Made by [`Query::parse`](super::Query::parse).
///
/// It is true, false or unknown of a row, as in SQL: comparing with what a row doesn't have is unknown,
/// and so is its negation. A row matches if the answer is true. Operands fit their columns: text for
/// keywords, numbers for the rest; booleans are 0 and 1, times are microseconds since the epoch,
/// statuses are their numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// All of them.
    And(Vec<Filter>),
    /// Any of them.
    Or(Vec<Filter>),
    /// Not so; still unknown if it was.
    Not(Box<Filter>),
    /// The row's value stands so to the operand.
    Compare {
        /// Neither a list nor text.
        column: Column,
        /// How they compare.
        comparison: Comparison,
        /// What it is compared with.
        operand: Operand,
    },
    /// The row's value is neither below nor above.
    Between {
        /// Neither a list nor text.
        column: Column,
        /// The least there may be.
        low: Operand,
        /// The most there may be.
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
