//! Perennial in a program: the one place where store, runtime and services are set up.
//!
//! The binary uses it to run a server, and tests to run one in their own process. It never parses settings, prints,
//! or ends the process: that is up to the program.
//!
//! Start reading at [`Perennial::open`].

mod config;
mod perennial;
mod system_zones;

pub use config::{Config, Storage};
pub use perennial::{Failed, OpenError, Perennial};
pub use perennial_engine::run::Limits;
pub use perennial_runtime::{Evaluation, Runtime, RuntimeConfig};
pub use perennial_server::{
    CallContext, ConnectionLimits, HttpConfig, Listeners, NewSearchAttribute, SERVER_VERSION,
    ServerConfig, Services,
};
pub use perennial_store::{Durability, OnDamage, SqliteOptions, Store};
