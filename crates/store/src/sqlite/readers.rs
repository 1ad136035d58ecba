//! A pool of connections for reads.

use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use super::{SqliteOptions, connection};
use crate::Error;

/// More reads at once would only wait for the processor.
const READERS_MAX: usize = 4;

/// A pool of connections, opened when first needed. A read waits until one is free.
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
    /// Idle or borrowed.
    open: usize,
}

impl Readers {
    pub(super) fn of(file: PathBuf, options: SqliteOptions) -> Self {
        Self { file, options, pool: Mutex::default(), returned: Condvar::new() }
    }

    /// Runs `read` with a connection of the pool.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let borrowed = self.borrow()?;
        match &borrowed.connection {
            Some(connection) => read(connection),
            None => Err(Error::Unavailable("a connection for reads is missing".into())),
        }
    }

    fn borrow(&self) -> Result<Borrowed<'_>, Error> {
        let mut pool = self.lock();
        loop {
            if let Some(connection) = pool.idle.pop() {
                return Ok(Borrowed { readers: self, connection: Some(connection) });
            }
            if pool.open < READERS_MAX {
                pool.open += 1;
                break;
            }
            pool = self.returned.wait(pool).unwrap_or_else(PoisonError::into_inner);
        }
        drop(pool);
        let mut borrowed = Borrowed { readers: self, connection: None };
        borrowed.connection = Some(connection::reader(&self.file, &self.options)?);
        Ok(borrowed)
    }

    fn lock(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A borrowed place in the pool. It is returned on drop, also after a panic or a connection that failed to open.
struct Borrowed<'a> {
    readers: &'a Readers,
    connection: Option<Connection>,
}

impl Drop for Borrowed<'_> {
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
