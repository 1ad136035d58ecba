//! Why a query was refused.

use perennial_engine::search_attributes::how_to_create;

/// A query that can't be answered, in the words Temporal's server uses. The gRPC code is
/// INVALID_ARGUMENT.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid query: {0}")]
pub struct QueryError(String);

impl QueryError {
    /// The text is not in the language at all.
    pub(super) fn malformed(why: impl std::fmt::Display) -> Self {
        Self(format!("malformed SQL query: {why}"))
    }

    /// In the language, but nothing that makes sense.
    pub(super) fn invalid(why: impl std::fmt::Display) -> Self {
        Self(format!("invalid expression: {why}"))
    }

    /// Makes sense, but is not answered.
    pub(super) fn unsupported(what: impl std::fmt::Display) -> Self {
        Self(format!("operation is not supported: {what}"))
    }

    /// No attribute of this name in the namespace.
    pub(super) fn unknown_attribute(name: &str) -> Self {
        Self(format!("invalid search attribute: {name}{}", how_to_create(name)))
    }
}
