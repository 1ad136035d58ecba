//! The database that a command works on: a file, or PostgreSQL.

use std::ffi::OsString;

use perennial_library::{PostgresOptions, SqliteOptions, Storage};

use crate::failure::Usage;

/// Whether a PostgreSQL server has to wait for its disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fsync {
    Required,
    MayBeOff,
}

/// Reads the value of `--db`. clap doesn't, because its error would repeat the password in a URL.
pub(crate) fn storage(
    db: OsString,
    options: SqliteOptions,
    fsync: Fsync,
) -> Result<Storage, Usage> {
    let Some(url) = db.to_str().filter(|url| is_postgres(url)) else {
        return Ok(Storage::File { path: db.into(), options });
    };
    let mut options =
        PostgresOptions::parse(url).map_err(|problem| Usage::new(format!("--db: {problem}")))?;
    options.allow_fsync_off = fsync == Fsync::MayBeOff;
    Ok(Storage::Postgres(options.into()))
}

fn is_postgres(db: &str) -> bool {
    ["postgres://", "postgresql://"].iter().any(|scheme| db.starts_with(scheme))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(db: &str) -> Result<String, String> {
        let storage = storage(db.into(), SqliteOptions::default(), Fsync::Required);
        storage.map(|it| it.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn value_is_a_file_or_a_url() {
        assert_eq!(shown("state/perennial.db").unwrap(), "state/perennial.db");
        assert_eq!(shown("postgres://me:secret@db/x").unwrap(), "postgres://db/x");
        assert_eq!(shown("postgresql://db:6432/x").unwrap(), "postgres://db:6432/x");
        let refused = shown("postgres://me:secret@db").unwrap_err();
        assert!(refused.contains("--db") && !refused.contains("secret"), "{refused}");
    }
}
