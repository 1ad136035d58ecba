//! Connections: where the database is, who asks, and what is expected of the server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{
    Client, Manager, ManagerConfig, Pool, PoolError, RecyclingMethod, Runtime, TimeoutType,
};
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

use super::error::text;
use crate::{CUT_OFF_AFTER, Error};

/// Threads that serve the connections.
pub(super) const RUNTIME_THREADS: usize = 2;

/// Connections for commits and leases.
pub(super) const URGENT_MAX: usize = 4;

/// How long a call waits for a connection: to be free, or to be made.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// How long a connection may be silent though data was sent, before it counts as lost.
const SILENCE_MAX: Duration = CUT_OFF_AFTER;

/// PostgreSQL's port, unless another one is given.
const DEFAULT_PORT: u16 = 5432;

/// The oldest server that is known to work.
const OLDEST_SERVER: i32 = 140_000;

/// Where a PostgreSQL database is, and how it is used.
///
/// ```
/// use perennial_store::PostgresOptions;
///
/// let options = PostgresOptions::parse("postgres://perennial@localhost/perennial").unwrap();
/// assert_eq!(options.to_string(), "postgres://localhost/perennial");
/// ```
#[derive(Debug, Clone)]
pub struct PostgresOptions {
    config: Config,
    /// Certificates that the server's may be signed by; without, those that the system trusts.
    root_certificate: Option<PathBuf>,
    /// The maximum number of connections for reads. A few more are reserved for commits and leases.
    pub connections_max: usize,
    /// The number of cells that a new database begins with.
    pub first_cells: u32,
    /// Accepts a server that doesn't wait for its disk. For tests: after a power failure it has lost what it acknowledged.
    pub allow_fsync_off: bool,
}

impl PostgresOptions {
    /// Reads a URL: `postgres://user:password@host:port/database?sslmode=require&sslrootcert=ca.pem`.
    ///
    /// Without `sslmode` a server on another machine has to speak TLS. The server's certificate is always verified.
    pub fn parse(url: &str) -> Result<Self, String> {
        let (address, query) = url.split_once('?').unwrap_or((url, ""));
        let mut ssl_mode = None;
        let mut root_certificate = None;
        let mut others = Vec::new();
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some(("sslmode", "disable")) => ssl_mode = Some(SslMode::Disable),
                Some(("sslmode", "prefer")) => ssl_mode = Some(SslMode::Prefer),
                Some(("sslmode", "require" | "verify-ca" | "verify-full")) => {
                    ssl_mode = Some(SslMode::Require);
                }
                Some(("sslmode", other)) => {
                    return Err(format!(
                        "sslmode is `{other}`; it may be disable, prefer, require or verify-full"
                    ));
                }
                Some(("sslrootcert", path)) => root_certificate = Some(PathBuf::from(path)),
                Some(_) | None => others.push(parameter),
            }
        }
        let rest = if others.is_empty() {
            address.to_owned()
        } else {
            format!("{address}?{}", others.join("&"))
        };
        // The error never repeats the URL, which may hold a password.
        let mut config: Config = rest
            .parse()
            .map_err(|error| format!("the URL of the database can't be read: {}", text(&error)))?;
        if config.get_hosts().is_empty() {
            return Err("the URL of the database names no host".to_owned());
        }
        if config.get_dbname().is_none() {
            return Err(
                "the URL of the database names no database: postgres://host/database".to_owned()
            );
        }
        let is_here = config.get_hosts().iter().all(is_this_machine);
        let default = if is_here { SslMode::Prefer } else { SslMode::Require };
        config.ssl_mode(ssl_mode.unwrap_or(default));
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(WAIT_MAX);
        }
        if config.get_application_name().is_none() {
            config.application_name("perennial");
        }
        config.keepalives_idle(SILENCE_MAX).tcp_user_timeout(SILENCE_MAX);
        Ok(Self {
            config,
            root_certificate,
            connections_max: 16,
            first_cells: 16,
            allow_fsync_off: false,
        })
    }
}

/// The URL without user, password and parameters.
impl std::fmt::Display for PostgresOptions {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let host = match self.config.get_hosts().first() {
            Some(Host::Tcp(name)) => name.clone(),
            #[cfg(unix)]
            Some(Host::Unix(path)) => path.display().to_string(),
            None => String::new(),
        };
        write!(out, "postgres://{host}")?;
        if let Some(port) = self.config.get_ports().first().filter(|port| **port != DEFAULT_PORT) {
            write!(out, ":{port}")?;
        }
        write!(out, "/{}", self.config.get_dbname().unwrap_or_default())
    }
}

fn is_this_machine(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

/// Connections, which are made when they are needed.
pub(super) fn pool(options: &PostgresOptions, connections_max: usize) -> Result<Pool, Error> {
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let config = options.config.clone();
    let manager = match options.config.get_ssl_mode() {
        SslMode::Disable => Manager::from_config(config, NoTls, recycling),
        _ => Manager::from_config(config, tls(options)?, recycling),
    };
    let pool = Pool::builder(manager)
        .max_size(connections_max)
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(WAIT_MAX))
        .create_timeout(Some(WAIT_MAX))
        .build();
    pool.map_err(|error| Error::Unavailable(format!("no connections: {error}")))
}

fn tls(options: &PostgresOptions) -> Result<MakeRustlsConnect, Error> {
    let mut roots = RootCertStore::empty();
    if let Some(path) = &options.root_certificate {
        let problem = |error: &dyn std::fmt::Display| {
            Error::Unavailable(format!("the certificates in {}: {error}", path.display()))
        };
        let certificates = CertificateDer::pem_file_iter(path).map_err(|error| problem(&error))?;
        for certificate in certificates {
            let certificate = certificate.map_err(|error| problem(&error))?;
            roots.add(certificate).map_err(|error| problem(&error))?;
        }
        if roots.is_empty() {
            return Err(problem(&"there are none"));
        }
    } else {
        // Those that can't be read are left out, as other programs do.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let provider = Arc::new(crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Unavailable(format!("TLS: {error}")))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// A connection. Waits a while if all are in use.
pub(super) async fn get(pool: &Pool) -> Result<Client, Error> {
    pool.get().await.map_err(|error| match error {
        PoolError::Backend(error) => {
            let problem = format!("no connection to the database: {}", text(&error));
            Error::Unavailable(problem)
        }
        PoolError::Timeout(TimeoutType::Wait) => {
            let size = pool.status().max_size;
            Error::Unavailable(format!("all {size} connections to the database are in use"))
        }
        other => Error::Unavailable(format!("no connection to the database: {other}")),
    })
}

/// Asks the server for a sign of life.
pub(super) async fn ping(client: &Client) -> Result<(), Error> {
    match tokio::time::timeout(WAIT_MAX, client.simple_query("SELECT 1")).await {
        Ok(answer) => Ok(answer.map(drop)?),
        Err(_) => Err(Error::Unavailable("the database doesn't answer".to_owned())),
    }
}

/// The size of the database in bytes.
pub(super) async fn database_bytes(client: &Client) -> Result<u64, Error> {
    let sql = "SELECT pg_database_size(current_database())";
    let bytes: i64 = client.query_typed_one(sql, &[]).await?.try_get(0)?;
    Ok(bytes.unsigned_abs())
}

/// Refuses a server that is too old, or that may lose what it acknowledged.
pub(super) async fn check_server(client: &Client, options: &PostgresOptions) -> Result<(), Error> {
    let version: i32 = setting(client, "server_version_num").await?.parse().unwrap_or(0);
    if version < OLDEST_SERVER {
        let (found, needed) = (version / 10_000, OLDEST_SERVER / 10_000);
        let problem = format!("the server is PostgreSQL {found}; {needed} or later is needed");
        return Err(Error::Fenced(problem));
    }
    let encoding = setting(client, "server_encoding").await?;
    if encoding != "UTF8" {
        let problem = format!("the database has the encoding {encoding}; UTF8 is needed");
        return Err(Error::Fenced(problem));
    }
    let waits_for_disk = setting(client, "fsync").await? == "on";
    if !waits_for_disk && !options.allow_fsync_off {
        let problem = "the server has fsync = off: it would lose acknowledged work when the power fails; \
                       set it to on";
        return Err(Error::Fenced(problem.to_owned()));
    }
    Ok(())
}

async fn setting(client: &Client, name: &str) -> Result<String, Error> {
    let row = client.query_typed_one(&format!("SHOW {name}"), &[]).await?;
    Ok(row.try_get(0)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(url: &str) -> SslMode {
        PostgresOptions::parse(url).unwrap().config.get_ssl_mode()
    }

    #[test]
    fn server_on_another_machine_has_to_speak_tls_unless_told() {
        assert_eq!(mode("postgres://db.example.com/payroll"), SslMode::Require);
        assert_eq!(mode("postgres://a,127.0.0.1/payroll"), SslMode::Require);
        assert_eq!(mode("postgres://127.0.0.1:5432/payroll"), SslMode::Prefer);
        assert_eq!(mode("postgres://localhost/payroll?sslmode=verify-full"), SslMode::Require);
        let other = "postgres://db.example.com/payroll?application_name=a&sslmode=disable";
        assert_eq!(mode(other), SslMode::Disable);
    }

    #[test]
    fn refused_url_is_not_repeated() {
        for (url, expected) in [
            ("postgres://me:secret@/payroll", "no host"),
            ("postgres://me:secret@db", "no database"),
            ("postgres://me:secret@db/x?sslmode=maybe", "sslmode is `maybe`"),
            ("postgres://me:secret@db/x?colour=red", "can't be read"),
        ] {
            let refused = PostgresOptions::parse(url).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
            assert!(!refused.contains("secret"), "{refused}");
        }
    }

    #[test]
    fn shown_url_has_no_secret() {
        let options = PostgresOptions::parse("postgres://me:secret@db:6432/x").unwrap();
        assert_eq!(options.to_string(), "postgres://db:6432/x");
        assert!(!format!("{options:?}").contains("secret"));
    }
}
