//! Starts the server as a child process, for benchmarks and for the suites in other languages.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::certificates::Certificates;
use crate::repository::Repository;

/// A running server with an empty database. Dropping it ends its process and removes its files.
pub(crate) struct DevServer {
    address: SocketAddr,
    process: Child,
    folder: PathBuf,
    ready_in: Duration,
    credentials: Option<Credentials>,
}

/// What clients of a secured server need.
pub(crate) struct Credentials {
    pub(crate) certificates: Certificates,
    pub(crate) api_key: String,
}

impl DevServer {
    /// Starts `binary`, ours or another one with the same command line, and returns when it responds.
    pub(crate) fn start(repository: &Repository, binary: &Path) -> Result<Self> {
        let folder = repository.target.join("conformance").join(free_address()?.port().to_string());
        Self::start_in(folder, binary)
    }

    /// Starts our `binary` with TLS, for clients with both a certificate and an API key.
    pub(crate) fn start_secured(repository: &Repository, binary: &Path) -> Result<Self> {
        let folder = repository.target.join("conformance").join(free_address()?.port().to_string());
        let certificates = Certificates::create(&folder)?;
        let api_key = create_api_key(binary, &folder.join(DATABASE))?;
        Self::start_with(folder, binary, Some(Credentials { certificates, api_key }))
    }

    /// Starts a server with its files in this folder, which is created.
    pub(crate) fn start_in(folder: PathBuf, binary: &Path) -> Result<Self> {
        Self::start_with(folder, binary, None)
    }

    fn start_with(
        folder: PathBuf,
        binary: &Path,
        credentials: Option<Credentials>,
    ) -> Result<Self> {
        let address = free_address()?;
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let (process, ready_in) = Self::launch(binary, address, &folder, credentials.as_ref())?;
        Ok(Self { address, process, folder, ready_in, credentials })
    }

    fn launch(
        binary: &Path,
        address: SocketAddr,
        folder: &Path,
        credentials: Option<&Credentials>,
    ) -> Result<(Child, Duration)> {
        let mut command = Command::new(binary);
        command
            .args(["server", "start-dev", "--headless", "--log-level", "error"])
            .args(["--ip", &address.ip().to_string(), "--port", &address.port().to_string()])
            .arg("--db-filename")
            .arg(folder.join(DATABASE));
        if let Some(Credentials { certificates, api_key: _ }) = credentials {
            let Certificates { ca, server, client: _ } = certificates;
            command.arg("--tls-cert").arg(&server.certificate).arg("--tls-key").arg(&server.key);
            command.arg("--tls-client-ca").arg(ca).args(["--auth", "required"]);
        }
        launch(&mut command, address)
    }

    /// Ends the process at once, as a crash would, and starts `binary` on what it left.
    pub(crate) fn restart(&mut self, binary: &Path) -> Result<()> {
        self.process.kill().context("cannot end the server")?;
        self.process.wait().context("cannot wait for the server's end")?;
        (self.process, self.ready_in) =
            Self::launch(binary, self.address, &self.folder, self.credentials.as_ref())?;
        Ok(())
    }

    /// What clients of a secured server need.
    pub(crate) fn credentials(&self) -> Option<&Credentials> {
        self.credentials.as_ref()
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// From the start of its process to its first answer.
    pub(crate) fn ready_in(&self) -> Duration {
        self.ready_in
    }

    /// Total size of the database files.
    pub(crate) fn bytes_on_disk(&self) -> Result<u64> {
        let mut bytes = 0;
        for file in fs::read_dir(&self.folder).context("cannot list the server's files")? {
            let file = file.context("cannot list the server's files")?;
            // The reserve file holds no data.
            if !file.file_name().to_string_lossy().ends_with("-reserve") {
                bytes += file.metadata().context("cannot read a size")?.len();
            }
        }
        Ok(bytes)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Fails when the process has ended by itself: whatever its clients then say isn't the cause.
    pub(crate) fn check_alive(&mut self) -> Result<()> {
        check_alive(&mut self.process, self.address)
    }
}

/// Starts a server, and returns when it responds. Also says how long that took.
pub(crate) fn launch(command: &mut Command, address: SocketAddr) -> Result<(Child, Duration)> {
    let began = Instant::now();
    let mut process = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
    while began.elapsed() < READY_MAX {
        check_alive(&mut process, address)?;
        if answers(address).is_ok() {
            return Ok((process, began.elapsed()));
        }
        std::thread::sleep(RETRY_EVERY);
    }
    let _ = process.kill();
    let _ = process.wait();
    bail!("the server doesn't answer at {address} after {READY_MAX:?}");
}

/// Creates an API key for everything on a server, in a database file that no server uses yet.
fn create_api_key(binary: &Path, database: &Path) -> Result<String> {
    let mut command = Command::new(binary);
    command
        .args(["operator", "api-key", "create", "--name", "suites", "--role", "admin"])
        .args(["--whole-server", "--output", "json", "--db"])
        .arg(database);
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let created: serde_json::Value =
        serde_json::from_slice(&output.stdout).context("the new API key is not in JSON")?;
    created["secret"].as_str().map(str::to_owned).context("the new API key has no secret")
}

/// Fails when the server has ended by itself.
pub(crate) fn check_alive(process: &mut Child, address: SocketAddr) -> Result<()> {
    if let Some(status) = process.try_wait().context("cannot ask after the server")? {
        bail!("the server at {address} has ended by itself ({status})");
    }
    Ok(())
}

/// Opens an HTTP/2 connection and waits for the server's first frame, or for the TLS alert of a server that requires
/// TLS. A process that has only bound the port sends nothing.
fn answers(address: SocketAddr) -> std::io::Result<()> {
    const PREFACE_AND_EMPTY_SETTINGS: &[u8] =
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let mut stream = TcpStream::connect_timeout(&address, READY_MAX)?;
    stream.set_read_timeout(Some(READY_MAX))?;
    stream.write_all(PREFACE_AND_EMPTY_SETTINGS)?;
    stream.read_exact(&mut [0])
}

impl Drop for DevServer {
    fn drop(&mut self) {
        // Each fails only where there is nothing left to do: the process or the folder is gone.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Name of the database file in the server's folder.
const DATABASE: &str = "server.db";
const READY_MAX: Duration = Duration::from_secs(30);
const RETRY_EVERY: Duration = Duration::from_millis(1);

/// A port that nobody uses now. Somebody may take it before the server does, which then says so.
pub(crate) fn free_address() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    listener.and_then(|listener| listener.local_addr()).context("cannot find a free port")
}
