//! From a plan to a server that answers, and to its end.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail};
use perennial_engine::run::Limits;
use perennial_runtime::{Evaluation, Runtime, RuntimeConfig};
use perennial_server::{
    Listeners, NewSearchAttribute, SERVER_VERSION, ServerConfig, Services, ensure_namespace, serve,
};
use perennial_store::{Durability, OnDamage, SqliteOptions, SqliteStore};
use tokio::net::TcpListener;

use super::shutdown;
use crate::logging::{self, LogFormat, LogLevel};

/// Everything a server is started with, however it was said.
#[derive(Debug)]
pub(super) struct Plan {
    /// `None` keeps everything in memory.
    pub(super) file: Option<PathBuf>,
    pub(super) durability: Durability,
    pub(super) on_damage: OnDamage,
    pub(super) ip: String,
    pub(super) port: u16,
    /// `None` serves no HTTP.
    pub(super) http_port: Option<u16>,
    pub(super) namespaces: Vec<String>,
    pub(super) search_attributes: Vec<NewSearchAttribute>,
    pub(super) limits: Limits,
    pub(super) memory_budget: usize,
    pub(super) evaluation: Evaluation,
    pub(super) server: ServerConfig,
    pub(super) log_level: LogLevel,
    pub(super) log_format: LogFormat,
    /// Settings that were given and mean nothing here.
    pub(super) without_effect: Vec<String>,
}

/// Serves until the process is told to stop, and ends with everything durable that was acknowledged.
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
    let told = shutdown::listen().context("cannot hear when to stop")?;
    let grpc = listen(&plan.ip, plan.port).await?;
    let http = match plan.http_port {
        Some(port) => Some(listen(&plan.ip, port).await?),
        None => None,
    };
    let store = match &plan.file {
        Some(path) => {
            let (durability, on_damage) = (plan.durability, plan.on_damage);
            SqliteStore::open(path, SqliteOptions { durability, on_damage, ..Default::default() })
        }
        None => SqliteStore::in_memory(),
    };
    let store = Arc::new(store.context("cannot open the database")?);
    let config = RuntimeConfig {
        limits: plan.limits,
        evaluation: plan.evaluation,
        memory_budget: plan.memory_budget,
        ..RuntimeConfig::default()
    };
    let runtime = Runtime::open(store, &config).context("cannot begin")?;
    for namespace in &plan.namespaces {
        ensure_namespace(&runtime, namespace, &plan.search_attributes)
            .await
            .with_context(|| format!("cannot set up the namespace `{namespace}`"))?;
    }

    let cluster_id = runtime.cluster_id().await.context("cannot read the database")?;

    let port = grpc.local_addr()?.port();
    let host = if plan.ip == "127.0.0.1" { "localhost" } else { plan.ip.as_str() };
    let place = plan.file.as_ref().map_or("in-memory".into(), |path| path.display().to_string());
    writeln!(
        out,
        "Perennial {} (Temporal API {SERVER_VERSION})\n\n\
         Perennial Server:      {host}:{port}",
        env!("CARGO_PKG_VERSION")
    )?;
    if let Some(http) = &http {
        writeln!(out, "Perennial HTTP:        {host}:{}", http.local_addr()?.port())?;
    }
    // Whoever waits for the server to be there reads up to here.
    writeln!(out, "Perennial Persistence: {place}")?;
    out.flush()?;

    let server = ServerConfig { cluster_id, ..plan.server };
    tracing::info!(place, port, "the server has started");
    let failing = runtime.clone();
    let told = async move {
        tokio::select! {
            () = told => tracing::info!("told to stop"),
            _ = failing.failed() => {}
        }
    };
    let services = Services::open(runtime.clone(), server).await;
    serve(services, Listeners { grpc, http }, told).await;
    let failure = runtime.clone();
    // Everything that was acknowledged is durable when this returns.
    tokio::task::spawn_blocking(move || runtime.stop()).await?;
    if let Some(reason) = failure.failure() {
        bail!("the server had to stop: {reason}");
    }
    tracing::info!("the server has stopped");
    Ok(())
}

async fn listen(ip: &str, port: u16) -> anyhow::Result<TcpListener> {
    TcpListener::bind((ip, port))
        .await
        .with_context(|| format!("cannot listen on {ip}:{port}; is another server running there?"))
}
