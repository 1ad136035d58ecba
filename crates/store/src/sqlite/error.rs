//! SQLite's errors as errors of the store.

use std::path::Path;

use rusqlite::ErrorCode;

use crate::Error;

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        let message = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full(message),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt(message),
            Some(ErrorCode::ConstraintViolation | ErrorCode::TooBig) => Self::Conflict(message),
            // I/O, locks, memory, permissions: the problem may go away.
            Some(_) => Self::Unavailable(message),
            // A column has another type than it was written with.
            None => Self::Corrupt(message),
        }
    }
}

/// The same error, with the name of the file.
pub(super) fn about_file(error: Error, file: &Path) -> Error {
    let named = |message: String| format!("{}: {message}", file.display());
    match error {
        Error::Fenced(message) => Error::Fenced(named(message)),
        Error::Conflict(message) => Error::Conflict(named(message)),
        Error::Unavailable(message) => Error::Unavailable(named(message)),
        Error::Full(message) => Error::Full(named(message)),
        Error::Corrupt(message) => Error::Corrupt(named(message)),
    }
}
