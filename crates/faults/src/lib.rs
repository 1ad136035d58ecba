//! A disk that fails, fills up and loses power: for tests of stores, never part of the product.
//!
//! [`FaultyDisk`] is a folder whose files are written through it, by SQLite (as a VFS) and by the store (as a
//! [`FileSystem`](perennial_store::file_system::FileSystem)). It knows what of each file is durable and what was only
//! written, so it can say what a power failure at this moment would leave. Start there.
//!
//! ```
//! use perennial_faults::FaultyDisk;
//! use perennial_store::{CellId, Durability, SqliteOptions, SqliteStore, Store};
//!
//! let disk = FaultyDisk::new();
//! let options = |disk: &FaultyDisk| SqliteOptions {
//!     files: disk.files(),
//!     ..SqliteOptions::from(Durability::PowerLoss)
//! };
//! let store = SqliteStore::open(disk.path("perennial.db"), options(&disk))?;
//! let epoch = store.lease(CellId::FIRST, "test")?.epoch;
//! // The power goes, and comes back.
//! let after = disk.lose_power(7);
//! drop(store);
//! let store = SqliteStore::open(after.path("perennial.db"), options(&after))?;
//! assert!(store.lease(CellId::FIRST, "test")?.epoch > epoch, "a lease is durable when it is given");
//! # Ok::<(), perennial_store::Error>(())
//! ```

mod disk;
mod files;
mod model;
mod vfs;

pub use disk::FaultyDisk;
pub use model::Fault;
