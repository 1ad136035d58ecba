//! A server of the product in a process of its own, for the suites of other languages.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::repository::Repository;

/// A running server with an empty database. Dropping it ends its process and removes its files.
pub(crate) struct DevServer {
    address: SocketAddr,
    process: Child,
    folder: PathBuf,
}

impl DevServer {
    /// Starts `binary` and returns when it accepts connections.
    pub(crate) fn start(repository: &Repository, binary: &Path) -> Result<Self> {
        let address = free_address()?;
        let folder = repository.target.join("conformance").join(address.port().to_string());
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let mut command = Command::new(binary);
        command
            .args(["server", "start-dev", "--headless", "--log-level", "error"])
            .args(["--ip", &address.ip().to_string(), "--port", &address.port().to_string()])
            .arg("--db-filename")
            .arg(folder.join("server.db"));
        let process = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        let mut server = Self { address, process, folder };
        server.wait_until_ready()?;
        Ok(server)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Fails when the process has ended by itself: whatever its clients then say isn't the cause.
    pub(crate) fn check_alive(&mut self) -> Result<()> {
        if let Some(status) = self.process.try_wait().context("cannot ask after the server")? {
            bail!("the server at {} has ended by itself ({status})", self.address);
        }
        Ok(())
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let asked = Instant::now();
        while asked.elapsed() < READY_MAX {
            self.check_alive()?;
            if TcpStream::connect_timeout(&self.address, RETRY_EVERY).is_ok() {
                return Ok(());
            }
            std::thread::sleep(RETRY_EVERY);
        }
        bail!("the server doesn't listen at {} after {READY_MAX:?}", self.address);
    }
}

impl Drop for DevServer {
    fn drop(&mut self) {
        // Each fails only where there is nothing left to do: the process or the folder is gone.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

const READY_MAX: Duration = Duration::from_secs(30);
const RETRY_EVERY: Duration = Duration::from_millis(20);

/// A port that nobody uses now. Somebody may take it before the server does, which then says so.
fn free_address() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    listener.and_then(|listener| listener.local_addr()).context("cannot find a free port")
}
