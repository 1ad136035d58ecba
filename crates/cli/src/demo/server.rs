//! The server of the demo: this program as a child process.

use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// The default ports, used if they are free.
const GRPC_PORT: u16 = 7233;
const HTTP_PORT: u16 = 7243;

/// Timeout for the start of the server.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// The server process. It stops with the demo.
pub(super) struct DemoServer {
    process: Child,
    pub(super) address: String,
    /// Address of the HTTP API, if it is served.
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
        let ready = tokio::time::timeout(START_TIMEOUT, read_greeting(said)).await;
        let Ok(Some((address, http))) = ready else {
            bail!("the server didn't start; see its messages above");
        };
        Ok(DemoServer { process, address, http })
    }

    /// Stops the server and waits for its end.
    pub(super) async fn stop(&mut self) -> anyhow::Result<()> {
        ask_to_stop(&mut self.process)?;
        self.process.wait().await.context("cannot wait for the server")?;
        Ok(())
    }
}

/// Reads the addresses from the server's startup message.
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
    // Read the rest of its output, so that the server never blocks on a full pipe.
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
    // The process may have stopped already: ctrl-c reaches it too.
    if let Some(id) = id {
        let _ = kill_process(id, Signal::TERM);
    }
    Ok(())
}

#[cfg(not(unix))]
fn ask_to_stop(process: &mut Child) -> anyhow::Result<()> {
    Ok(process.start_kill()?)
}
