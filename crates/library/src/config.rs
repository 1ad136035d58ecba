//! How Perennial is set up.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use perennial_peer::PeerTls;
use perennial_runtime::{ClusterConfig, RuntimeConfig};
use perennial_server::{NewSearchAttribute, ServerConfig};
use perennial_store::{PostgresOptions, PostgresStore, SqliteOptions, SqliteStore, Store};

use crate::system_zones::system_zones;

/// How Perennial is set up.
pub struct Config {
    /// Where state is kept.
    pub storage: Storage,
    /// How this server and others work together on one PostgreSQL database. Unused for other storage.
    pub node: NodeConfig,
    /// Limits, memory and time zones.
    pub runtime: RuntimeConfig,
    /// How requests are served. The cluster id is read from the store.
    pub server: ServerConfig,
    /// Namespaces that are created unless they exist.
    pub namespaces: Vec<String>,
    /// Search attributes that each of these namespaces gets unless it has them.
    pub search_attributes: Vec<NewSearchAttribute>,
}

/// How a server takes part in the cluster of its database.
#[derive(Debug, Clone)]
pub struct NodeConfig {
    /// Where it listens for the other nodes. Port 0 stands for any free port.
    pub listen: SocketAddr,
    /// The address at which the others reach it; without, the one where it listens.
    pub address: Option<String>,
    /// How long the cells of a node that hangs stay its own.
    pub lease: Duration,
    /// Encrypts the calls between nodes.
    pub tls: Option<PeerTls>,
}

impl Default for NodeConfig {
    /// For nodes on one machine.
    fn default() -> Self {
        let lease = ClusterConfig::new(String::new()).lease;
        Self { listen: (Ipv4Addr::LOCALHOST, 0).into(), address: None, lease, tls: None }
    }
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
    /// In a PostgreSQL database.
    Postgres(Box<PostgresOptions>),
    /// In a store that the caller has opened.
    Store(Arc<dyn Store>),
}

impl Storage {
    /// Temporal's name of the database, by which its web UI knows what can be searched for.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Memory | Self::File { .. } | Self::Store(_) => "sqlite",
            Self::Postgres(_) => "postgres12",
        }
    }

    /// Opens the store. Blocks the calling thread.
    pub(crate) fn open(self) -> Result<Arc<dyn Store>, perennial_store::Error> {
        Ok(match self {
            Self::Memory => Arc::new(SqliteStore::in_memory()?),
            Self::File { path, options } => Arc::new(SqliteStore::open(path, options)?),
            Self::Postgres(options) => Arc::new(PostgresStore::open(&options)?),
            Self::Store(store) => store,
        })
    }
}

/// The place of the data, without secrets.
impl std::fmt::Display for Storage {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Memory | Self::Store(_) => out.write_str("in-memory"),
            Self::File { path, .. } => path.display().fmt(out),
            Self::Postgres(options) => options.fmt(out),
        }
    }
}

impl Config {
    /// The defaults, with the namespace `default` and the time zones of this machine.
    ///
    /// Reads the system's time zone database; nothing else comes from the machine.
    pub fn new(storage: Storage) -> Self {
        Self {
            storage,
            node: NodeConfig::default(),
            runtime: RuntimeConfig::new(Arc::new(system_zones())),
            server: ServerConfig::default(),
            namespaces: vec!["default".to_owned()],
            search_attributes: Vec::new(),
        }
    }
}
