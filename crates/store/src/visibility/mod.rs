//! Visibility: Temporal's list filters over a table of runs and schedules.
//!
//! A filter is text (`WorkflowType = 'Order' AND StartTime > '2026-01-01T00:00:00Z'`). [`Query::parse`]
//! checks it against the [`Attributes`] of a namespace and makes a [`Filter`], which knows nothing of
//! any database: [`Filter::matches`] asks it of a [`Row`] in memory, `sqlite` and `postgres` ask it of a
//! table. All answer the same for every filter and every row; a property test holds them to it.
//!
//! The language is the one Temporal's server understands, a corner of MySQL's, and refusals read as
//! Temporal's do, since people search for those words. The grammar is ours and not a crate's: the
//! general SQL crates accept another language, can't say where Temporal would have stopped reading,
//! and build trees deep enough to overflow a stack.
//!
//! Where the reference server (SQLite) answers by accident we answer by rule:
//!
//! - prefixes and keyword lists are compared exactly; there, both ignore case;
//! - quotes, backslashes and control characters in a value are themselves; there, they match nothing;
//! - custom times are compared to the microsecond; there, to the millisecond, and one whose
//!   milliseconds end in zero equals nothing;
//! - several values where one is expected are refused; there, the database fails;
//! - a name that is a word of SQL's but not a reserved one keeps its case; there, it loses it;
//! - a `HAVING` clause is refused; there, it is ignored.
//!
//! `conformance/workflows/test_list_filters_generated.py` holds all else against that server.
//!
//! Start reading at `query.rs`, then `check.rs`.

mod attributes;
mod check;
mod column;
mod datetime;
mod duration;
mod error;
mod filter;
mod grammar;
mod lex;
mod literal;
mod matches;
mod order;
mod page;
pub(crate) mod postgres;
mod query;
mod row;
mod sql;
pub(crate) mod sqlite;
mod status;
mod syntax;
mod text_tokens;

pub use attributes::{AttributeError, Attributes};
pub use column::{AttributeColumn, Column, Predefined, ValueType};
pub use error::QueryError;
pub use filter::{Comparison, Filter, Operand};
pub use order::{InvalidPageToken, Position};
pub use page::{Count, Group, GroupKey, Page};
pub use query::{GroupBy, Query};
pub use row::{Closed, Execution, ExecutionKey, Row, Value, ValueTypeMismatch, Values};
