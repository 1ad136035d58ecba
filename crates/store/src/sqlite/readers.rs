//! Connections that read while the writer writes.

use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use super::{SqliteOptions, connection};
use crate::Error;

/// Reads share the processor with everything else: more at once would only wait inside SQLite.
const READERS_MAX: usize = 4;

/// A few connections, opened when first needed. Who finds none free waits for one.
#[derive(Debug)]
pub(super) struct Readers {
    file: PathBuf,
    options: SqliteOptions,
    pool: Mutex<Pool>,
    returned: Condvar,
}

#[derive(Debug, Default)]
struct Pool {
    idle: Vec<Connection>,
    /// Idle or lent.
    open: usize,
}

impl Readers {
    pub(super) fn of(file: PathBuf, options: SqliteOptions) -> Self {
        Self { file, options, pool: Mutex::default(), returned: Condvar::new() }
    }

    /// Lends a connection to `read`.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let lent = self.lend()?;
        match &lent.connection {
            Some(connection) => read(connection),
            None => Err(Error::Unavailable("a reader was lent without its connection".into())),
        }
    }

    fn lend(&self) -> Result<Lent<'_>, Error> {
        let mut pool = self.lock();
        loop {
            if let Some(connection) = pool.idle.pop() {
                return Ok(Lent { readers: self, connection: Some(connection) });
            }
            if pool.open < READERS_MAX {
                pool.open += 1;
                break;
            }
            pool = self.returned.wait(pool).unwrap_or_else(PoisonError::into_inner);
        }
        drop(pool);
        let mut lent = Lent { readers: self, connection: None };
        lent.connection = Some(connection::reader(&self.file, &self.options)?);
        Ok(lent)
    }

    fn lock(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the pool. Given back when dropped, also by a panic or a connection that wouldn't open.
struct Lent<'a> {
    readers: &'a Readers,
    connection: Option<Connection>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut pool = self.readers.lock();
        match self.connection.take() {
            Some(connection) => pool.idle.push(connection),
            None => pool.open -= 1,
        }
        drop(pool);
        self.readers.returned.notify_one();
    }
}
