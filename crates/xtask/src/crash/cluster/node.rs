//! A node of the cluster: a process with ports of its own, which it keeps when it starts again.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::dev_server::{check_alive, free_address, launch};
use crate::process;

/// How long a node that is told to stop may need: less than the ten seconds that it grants requests that don't end.
const STOPPED_MAX: Duration = Duration::from_secs(8);

/// A node. Dropping it ends its process.
pub(super) struct Node {
    binary: PathBuf,
    database: String,
    address: SocketAddr,
    http_address: SocketAddr,
    log: PathBuf,
    process: Child,
}

impl Node {
    /// Starts a node, and returns when it responds.
    pub(super) fn start(binary: &Path, database: &str, log: PathBuf) -> Result<Self> {
        let (address, http_address) = (free_address()?, free_address()?);
        File::create(&log).with_context(|| format!("cannot create {}", log.display()))?;
        let process = run(binary, database, [address, http_address], &log)?;
        let (binary, database) = (binary.to_owned(), database.to_owned());
        Ok(Self { binary, database, address, http_address, log, process })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn http_address(&self) -> SocketAddr {
        self.http_address
    }

    /// Starts the node again after it has ended.
    pub(super) fn start_again(&mut self) -> Result<()> {
        let ports = [self.address, self.http_address];
        self.process = run(&self.binary, &self.database, ports, &self.log)?;
        Ok(())
    }

    /// Ends the node at once, as a crash would.
    pub(super) fn kill(&mut self) -> Result<()> {
        self.process.kill().context("cannot kill a node")?;
        self.process.wait().context("cannot wait for a node's end")?;
        Ok(())
    }

    /// Tells the node to stop, and waits until it has.
    pub(super) fn stop(&mut self) -> Result<()> {
        self.signal("TERM")?;
        let began = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().context("cannot ask after a node")? {
                ensure!(status.success(), "a node that was told to stop failed ({status})");
                return Ok(());
            }
            if began.elapsed() > STOPPED_MAX {
                bail!("a node that was told to stop runs on after {STOPPED_MAX:?}");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The process does nothing until it is resumed.
    pub(super) fn suspend(&self) -> Result<()> {
        self.signal("STOP")
    }

    pub(super) fn resume(&self) -> Result<()> {
        self.signal("CONT")
    }

    pub(super) fn check_alive(&mut self) -> Result<()> {
        check_alive(&mut self.process, self.address)
    }

    fn signal(&self, signal: &str) -> Result<()> {
        let id = self.process.id().to_string();
        process::run(Command::new("kill").args(["-s", signal, &id]))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Both fail if it has ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn run(
    binary: &Path,
    database: &str,
    [address, http_address]: [SocketAddr; 2],
    log: &Path,
) -> Result<Child> {
    let log = File::options().append(true).open(log).context("cannot open a node's log")?;
    let mut command = Command::new(binary);
    command
        .args(["server", "--db", database, "--allow-fsync-off", "--log-level", "info"])
        .args(["--ip", &address.ip().to_string(), "--port", &address.port().to_string()])
        .args(["--http-port", &http_address.port().to_string()])
        .stdout(log.try_clone().context("cannot open a node's log")?)
        .stderr(log);
    Ok(launch(&mut command, address)?.0)
}
