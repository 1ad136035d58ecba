//! The stores under test.

use perennial_store::{
    Durability, MemoryStore, PostgresOptions, PostgresStore, SqliteStore, Store, StoreWrapper,
};
use tempfile::TempDir;

use crate::postgres::server::postgres;

/// A store, and how to close and open it.
pub(crate) trait Backend: Sized {
    /// An empty one.
    fn fresh() -> Self;
    fn store(&self) -> &dyn Store;
}

/// A backend whose rows outlive it.
pub(crate) trait Lasting: Backend {
    fn reopen(self) -> Self;
}

pub(crate) struct Memory(MemoryStore);

impl Backend for Memory {
    fn fresh() -> Self {
        Self(MemoryStore::new())
    }

    fn store(&self) -> &dyn Store {
        &self.0
    }
}

impl Lasting for Memory {
    fn reopen(self) -> Self {
        Self(MemoryStore::with_disk(self.0.disk()))
    }
}

/// A wrapper that overrides nothing.
pub(crate) struct Wrapped(MemoryStore);

impl StoreWrapper for Wrapped {
    fn inner(&self) -> &dyn Store {
        &self.0
    }
}

impl Backend for Wrapped {
    fn fresh() -> Self {
        Self(MemoryStore::new())
    }

    fn store(&self) -> &dyn Store {
        self
    }
}

pub(crate) struct SqliteFile {
    store: SqliteStore,
    folder: TempDir,
}

impl SqliteFile {
    fn open(folder: TempDir) -> Self {
        let file = folder.path().join("perennial.db");
        // The facts are the same; only the waiting for the disk isn't.
        let store = SqliteStore::open(file, Durability::ProcessCrash).unwrap();
        Self { store, folder }
    }
}

impl Backend for SqliteFile {
    fn fresh() -> Self {
        Self::open(TempDir::new().unwrap())
    }

    fn store(&self) -> &dyn Store {
        &self.store
    }
}

impl Lasting for SqliteFile {
    fn reopen(self) -> Self {
        let Self { store, folder } = self;
        drop(store);
        Self::open(folder)
    }
}

pub(crate) struct SqliteMemory(SqliteStore);

impl Backend for SqliteMemory {
    fn fresh() -> Self {
        Self(SqliteStore::in_memory().unwrap())
    }

    fn store(&self) -> &dyn Store {
        &self.0
    }
}

pub(crate) struct Postgres {
    store: PostgresStore,
    url: String,
}

impl Postgres {
    fn open(url: String) -> Self {
        Self { store: PostgresStore::open(&options(&url)).unwrap(), url }
    }
}

/// One cell, as other stores begin with.
pub(crate) fn options(url: &str) -> PostgresOptions {
    let mut options = PostgresOptions::parse(url).unwrap();
    (options.first_cells, options.allow_fsync_off) = (1, true);
    options
}

impl Backend for Postgres {
    fn fresh() -> Self {
        Self::open(postgres().create_database().unwrap())
    }

    fn store(&self) -> &dyn Store {
        &self.store
    }
}

impl Lasting for Postgres {
    fn reopen(self) -> Self {
        let Self { store, url } = self;
        drop(store);
        Self::open(url)
    }
}
