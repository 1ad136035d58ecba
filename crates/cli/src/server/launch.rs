//! Runs a server from its plan to its end.

use std::io::Write;

use anyhow::Context;
use perennial_library::{Config, Listeners, Perennial, SERVER_VERSION, Storage};
use tokio::net::TcpListener;

use super::shutdown;
use crate::logging::{self, LogFormat, LogLevel};

/// Everything a server is started with, from flags, environment and file.
pub(super) struct Plan {
    pub(super) config: Config,
    pub(super) ip: String,
    pub(super) port: u16,
    /// `None` serves no HTTP.
    pub(super) http_port: Option<u16>,
    pub(super) log_level: LogLevel,
    pub(super) log_format: LogFormat,
    /// Settings that were given and have no effect on this server.
    pub(super) without_effect: Vec<String>,
}

/// Serves until a signal stops the process. Everything that was acknowledged is durable at the end.
pub(super) fn launch(plan: Plan, out: &mut impl Write) -> anyhow::Result<()> {
    logging::start(plan.log_level, plan.log_format)?;
    for setting in &plan.without_effect {
        tracing::info!("`{setting}` has no effect on this server");
    }
    // The cell has a processor to itself where there are several: more threads would only wake each other.
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(processors.saturating_sub(1).max(1))
        .enable_all()
        .build()?;
    threads.block_on(run(plan, out))
}

async fn run(plan: Plan, out: &mut impl Write) -> anyhow::Result<()> {
    let signal = shutdown::listen().context("cannot listen for signals")?;
    let grpc = listen(&plan.ip, plan.port).await?;
    let http = match plan.http_port {
        Some(port) => Some(listen(&plan.ip, port).await?),
        None => None,
    };
    let place = match &plan.config.storage {
        Storage::Memory | Storage::Store(_) => "in-memory".to_owned(),
        Storage::File { path, .. } => path.display().to_string(),
    };
    let perennial = Perennial::open(plan.config).await?;

    let port = grpc.local_addr()?.port();
    let host = if plan.ip == "127.0.0.1" { "localhost" } else { plan.ip.as_str() };
    writeln!(
        out,
        "Perennial {} (Temporal API {SERVER_VERSION})\n\n\
         Perennial Server:      {host}:{port}",
        env!("CARGO_PKG_VERSION")
    )?;
    if let Some(http) = &http {
        writeln!(out, "Perennial HTTP:        {host}:{}", http.local_addr()?.port())?;
    }
    // The last line: scripts that wait for the server read up to here.
    writeln!(out, "Perennial Persistence: {place}")?;
    out.flush()?;

    tracing::info!(place, port, "the server has started");
    let stop = async {
        signal.await;
        tracing::info!("stopping on a signal");
    };
    perennial.serve(Listeners::tcp(grpc, http), stop).await;
    perennial.close().await.context("the server had to stop")?;
    tracing::info!("the server has stopped");
    Ok(())
}

async fn listen(ip: &str, port: u16) -> anyhow::Result<TcpListener> {
    TcpListener::bind((ip, port))
        .await
        .with_context(|| format!("cannot listen on {ip}:{port}; is another server running there?"))
}
