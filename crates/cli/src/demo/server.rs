//! The server of the demonstration: this very program, as a process of its own.

use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// The ports people expect, taken if they are free.
const GRPC_PORT: u16 = 7233;
const HTTP_PORT: u16 = 7243;

/// It says where it listens at once, or something is wrong.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// A server that ends with the demonstration.
pub(super) struct DemoServer {
    process: Child,
    pub(super) address: String,
    /// Where it serves HTTP, if it does.
    pub(super) http: Option<String>,
}

impl DemoServer {
    pub(super) async fn start(file: Option<&Path>, port: Option<u16>) -> anyhow::Result<Self> {
        let port = port.unwrap_or_else(|| if is_free(GRPC_PORT) { GRPC_PORT } else { 0 });
        let http_port = if is_free(HTTP_PORT) { HTTP_PORT } else { free_port()? };
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut command = Command::new(program);
        command
            .args(["server", "start-dev", "--log-level", "warn"])
            .args(["--port", &port.to_string(), "--http-port", &http_port.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        if let Some(file) = file {
            command.arg("--db-filename").arg(file);
        }
        let mut process = command.spawn().context("cannot start a server")?;
        let said = process.stdout.take().context("a server's output is piped")?;
        let ready = tokio::time::timeout(READY_WITHIN, read_greeting(said)).await;
        let Ok(Some((address, http))) = ready else {
            bail!("the server didn't start; what it says is above");
        };
        Ok(DemoServer { process, address, http })
    }

    /// Ends it, and waits until it has.
    pub(super) async fn stop(&mut self) -> anyhow::Result<()> {
        ask_to_stop(&mut self.process)?;
        self.process.wait().await.context("cannot wait for the server")?;
        Ok(())
    }
}

/// The addresses it names, up to the last line of its greeting.
async fn read_greeting(said: tokio::process::ChildStdout) -> Option<(String, Option<String>)> {
    let mut lines = BufReader::new(said).lines();
    let (mut address, mut http) = (None, None);
    while let Ok(Some(line)) = lines.next_line().await {
        if let Some(place) = line.strip_prefix("Perennial Server:") {
            address = Some(place.trim().to_owned());
        } else if let Some(place) = line.strip_prefix("Perennial HTTP:") {
            http = Some(place.trim().to_owned());
        } else if line.starts_with("Perennial Persistence:") {
            break;
        }
    }
    // What it may still say is read, so that it never waits for a reader.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    address.map(|address| (address, http))
}

fn is_free(port: u16) -> bool {
    TcpListener::bind(("127.0.0.1", port)).is_ok()
}

fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("no port is free")?;
    Ok(listener.local_addr()?.port())
}

#[cfg(unix)]
fn ask_to_stop(process: &mut Child) -> anyhow::Result<()> {
    use rustix::process::{Pid, Signal, kill_process};
    let id = process.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    // One that has ended needs no telling: ctrl-c reaches it too.
    if let Some(id) = id {
        let _ = kill_process(id, Signal::TERM);
    }
    Ok(())
}

#[cfg(not(unix))]
fn ask_to_stop(process: &mut Child) -> anyhow::Result<()> {
    Ok(process.start_kill()?)
}
