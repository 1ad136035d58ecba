//! How Perennial is set up.

use std::path::PathBuf;
use std::sync::Arc;

use perennial_runtime::RuntimeConfig;
use perennial_server::{NewSearchAttribute, ServerConfig};
use perennial_store::{SqliteOptions, Store};

use crate::system_zones::system_zones;

/// How Perennial is set up.
pub struct Config {
    /// Where state is kept.
    pub storage: Storage,
    /// Limits, memory and time zones.
    pub runtime: RuntimeConfig,
    /// How requests are served. The cluster id is read from the store.
    pub server: ServerConfig,
    /// Namespaces that are created unless they exist.
    pub namespaces: Vec<String>,
    /// Search attributes that each of these namespaces gets unless it has them.
    pub search_attributes: Vec<NewSearchAttribute>,
}

/// Where state is kept.
pub enum Storage {
    /// In memory: gone when Perennial is closed.
    Memory,
    /// In one SQLite file, created unless it exists.
    File {
        /// The file's path.
        path: PathBuf,
        /// How the file is opened.
        options: SqliteOptions,
    },
    /// In a store that the caller has opened.
    Store(Arc<dyn Store>),
}

impl Config {
    /// The defaults, with the namespace `default` and the time zones of this machine.
    ///
    /// Reads the system's time zone database; nothing else comes from the machine.
    pub fn new(storage: Storage) -> Self {
        Self {
            storage,
            runtime: RuntimeConfig::new(Arc::new(system_zones())),
            server: ServerConfig::default(),
            namespaces: vec!["default".to_owned()],
            search_attributes: Vec::new(),
        }
    }
}
