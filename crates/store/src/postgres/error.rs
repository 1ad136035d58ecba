//! PostgreSQL's errors as errors of the store.

use std::error::Error as _;

use tokio_postgres::error::SqlState;

use crate::Error;

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        let message = text(&error);
        let Some(code) = error.code() else {
            // The connection failed; or a column has another type than it was written with, which ends the same way.
            return Self::Unavailable(message);
        };
        match code {
            &SqlState::DISK_FULL => Self::Full(message),
            &SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED => Self::Corrupt(message),
            _ if is_refusal(code) => Self::Conflict(message),
            // Connections, resources, locks, timeouts, operators: the problem may go away.
            _ => Self::Unavailable(message),
        }
    }
}

/// Whether PostgreSQL will refuse the same statement again: the values or the stored rows are in the way.
pub(super) fn is_refusal(code: &SqlState) -> bool {
    // Data exceptions, violated constraints, exceeded limits.
    ["22", "23", "54"].contains(&code.code().get(..2).unwrap_or_default())
}

/// The error with its causes: its own text is only "db error".
pub(super) fn text(error: &tokio_postgres::Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        message = format!("{message}: {error}");
        cause = error.source();
    }
    message
}
