//! A server and its databases.

use std::io::Write;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::programs;

/// The user that owns no files: `nobody` on most systems.
const UNPRIVILEGED: u32 = 65_534;

/// The time a server may take to start on a busy machine.
const READY_MAX: Duration = Duration::from_secs(60);

/// Serves until its input ends, which it does when the process that started it is gone, however it ended. Then removes
/// the folder. Each line of its input kills the server without a checkpoint, and starts it again.
const SERVE: &str = r#"folder=$1; postgres=$2; shift 2; "$postgres" "$@" & server=$!
while read -r _; do kill -QUIT "$server"; wait "$server"; "$postgres" "$@" & server=$!; done
kill -INT "$server"; wait "$server"; cd /; rm -rf "$folder""#;

/// A running server, which has no password and doesn't wait for the disk.
#[derive(Debug)]
pub struct TestPostgres {
    /// A shell around the server.
    process: Child,
    programs: PathBuf,
    folder: TempDir,
    databases: AtomicU64,
}

impl TestPostgres {
    /// Whether PostgreSQL's programs are on this machine.
    pub fn is_installed() -> bool {
        programs::folder().is_ok()
    }

    /// Starts a server with an empty cluster, and waits until it accepts connections.
    pub fn start() -> Result<Self> {
        let programs = programs::folder()?;
        let folder = TempDir::with_prefix("perennial-postgres-").context("no temporary folder")?;
        if is_root() {
            chown(folder.path(), Some(UNPRIVILEGED), Some(UNPRIVILEGED))?;
        }
        let data = folder.path().join("data");
        let made = unprivileged(programs.join("initdb"), folder.path())
            .args(["--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8"])
            .args(["--locale=C", "--pgdata"])
            .arg(&data)
            .output()
            .context("initdb can't be started")?;
        if !made.status.success() {
            bail!("initdb failed: {}", String::from_utf8_lossy(&made.stderr));
        }
        let sockets = format!("unix_socket_directories={}", folder.path().display());
        let process = unprivileged("sh", folder.path())
            .args(["-c", SERVE, "sh"])
            .arg(folder.path())
            .arg(programs.join("postgres"))
            .arg("-D")
            .arg(&data)
            .args(["-c", &sockets, "-c", "listen_addresses="])
            .args(["-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=300"])
            .args(["-c", "shared_buffers=64MB", "-c", "log_min_messages=fatal"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(folder.path().join("log"))?)
            .spawn()
            .context("postgres can't be started")?;
        let server = Self { process, programs, folder, databases: AtomicU64::new(0) };
        server.wait_until_ready()?;
        Ok(server)
    }

    /// Ends the server without a checkpoint, as `pg_ctl stop -m immediate` does, starts it again, and waits until it
    /// accepts connections. What was committed stays: the operating system goes on.
    pub fn crash_and_recover(&mut self) -> Result<()> {
        let started_at = "SELECT pg_postmaster_start_time()";
        let before = self.sql("postgres", started_at)?;
        let input = self.process.stdin.as_mut().context("the server has no input")?;
        writeln!(input, "restart").context("the server has ended")?;
        let began = Instant::now();
        // The old server may still accept a connection.
        while self.sql("postgres", started_at).is_ok_and(|at| at == before) {
            if began.elapsed() > READY_MAX {
                bail!("the server doesn't end");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.wait_until_ready()
    }

    /// Creates an empty database, and returns its URL.
    pub fn create_database(&self) -> Result<String> {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{number}");
        self.sql("postgres", &format!("CREATE DATABASE {name}"))?;
        Ok(self.url(&name))
    }

    /// Runs SQL in a database, and returns what `psql` prints: a line for each row, columns apart by `|`.
    pub fn sql(&self, database: &str, sql: &str) -> Result<String> {
        let mut psql = self.psql(database);
        let done = psql.args(["--command", sql]).output().context("psql can't be started")?;
        if !done.status.success() {
            bail!("`{sql}` failed: {}", String::from_utf8_lossy(&done.stderr));
        }
        Ok(String::from_utf8_lossy(&done.stdout).trim_end().to_owned())
    }

    /// A session of its own, which can hold a transaction open.
    pub fn session(&self, database: &str) -> Result<Session> {
        let process = self.psql(database).stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        Ok(Session { process: process.context("psql can't be started")? })
    }

    fn psql(&self, database: &str) -> Command {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--username=postgres"])
            .args(["--set=ON_ERROR_STOP=1", "--dbname", database, "--host"])
            .arg(self.folder.path());
        psql
    }

    /// The URL of a database of this server.
    pub fn url(&self, database: &str) -> String {
        let folder = self.folder.path().display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{folder}/{database}")
    }

    fn wait_until_ready(&self) -> Result<()> {
        let started = Instant::now();
        loop {
            match self.sql("postgres", "SELECT 1") {
                Ok(_) => return Ok(()),
                Err(_) if started.elapsed() < READY_MAX => {
                    std::thread::sleep(Duration::from_millis(20))
                }
                Err(error) => {
                    let log = std::fs::read_to_string(self.folder.path().join("log"));
                    return Err(error.context(log.unwrap_or_default()));
                }
            }
        }
    }
}

impl Drop for TestPostgres {
    fn drop(&mut self) {
        // The end of its input ends the server. Its folder may go only then.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// An open session of `psql`. It ends when it is dropped, and so does its transaction.
#[derive(Debug)]
pub struct Session {
    process: Child,
}

impl Session {
    /// Sends SQL, and doesn't wait for the result.
    pub fn send(&mut self, sql: &str) -> Result<()> {
        let input = self.process.stdin.as_mut().context("the session has no input")?;
        writeln!(input, "{sql};").context("the session has ended")
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// A program that doesn't run as root, with the folder as its working directory.
fn unprivileged(program: impl AsRef<std::ffi::OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).env("LC_ALL", "C");
    if is_root() {
        command.uid(UNPRIVILEGED).gid(UNPRIVILEGED);
    }
    command
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
