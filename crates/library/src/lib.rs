//! Perennial in a program: the one place where store, runtime and services are set up.
//!
//! The binary uses it to run a server, and tests to run one in their own process. It never parses settings, prints,
//! or ends the process: that is up to the program.
//!
//! Start reading at [`Perennial::open`].

mod config;
mod offline;
mod perennial;
mod system_zones;

pub use config::{Config, NodeConfig, Storage};
pub use offline::{CreatedApiKey, OfflineError, create_api_key, migrate, schema_version};
pub use perennial::{Failed, OpenError, Perennial};
pub use perennial_engine::run::Limits;
pub use perennial_identity::{InvalidPermission, Permission, jwt};
pub use perennial_peer::{PeerTls, PeerTlsError, PeerTlsFiles};
pub use perennial_runtime::{Evaluation, Runtime, RuntimeConfig};
pub use perennial_server::{
    AccessConfig, CallContext, CallLimits, CertificateFiles, CertificateRule, ClientAuth,
    ConnectionLimits, Credentials, HttpConfig, Listeners, NamespaceLimits, NewApiKey,
    NewSearchAttribute, PrincipalLimits, SERVER_VERSION, ServerConfig, Services, Tls, TlsConfig,
    TlsError, UsageLimits,
};
pub use perennial_store::{
    Durability, OnDamage, PostgresOptions, SchemaVersion, SqliteOptions, Store,
};
pub use perennial_telemetry::{InvalidTracing, LogLevels, Metrics, OtlpConfig, Tracer};
