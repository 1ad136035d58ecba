//! Runs a server from its plan to its end.

use std::convert::Infallible;
use std::io::Write;
use std::pin::pin;
use std::sync::Arc;

use anyhow::Context;
use perennial_library::{
    ClientAuth, Config, Credentials, Listeners, Metrics, OtlpConfig, Perennial, SERVER_VERSION,
    Tls, Tracer,
};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::metrics_port::MetricsAddress;
use super::shutdown;
use crate::failure::Usage;
use crate::logging::{self, LogFormat, LogLevel};

/// Everything a server is started with, from flags, environment and file.
pub(super) struct Plan {
    pub(super) config: Config,
    pub(super) ip: String,
    pub(super) port: u16,
    /// `None` serves no HTTP.
    pub(super) http_port: Option<u16>,
    pub(super) open_to_all: OpenToAll,
    /// `None` serves plain text.
    pub(super) tls: Option<Arc<Tls>>,
    /// `None` serves no metrics.
    pub(super) metrics: Option<MetricsAddress>,
    /// `None` records no traces.
    pub(super) traces: Option<OtlpConfig>,
    pub(super) log_level: LogLevel,
    pub(super) log_format: LogFormat,
    /// Settings that were given and have no effect on this server.
    pub(super) without_effect: Vec<String>,
}

/// What happens if the server would listen beyond this machine and ask nobody for credentials or a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenToAll {
    Allowed,
    /// It starts, and says so.
    Warned,
    /// It doesn't start.
    Refused,
}

impl OpenToAll {
    /// Checks the address of a listener.
    fn check(self, listener: &TcpListener, knows_callers: bool) -> anyhow::Result<()> {
        let address = listener.local_addr()?;
        if address.ip().is_loopback() || knows_callers {
            return Ok(());
        }
        match self {
            Self::Allowed => Ok(()),
            Self::Warned => {
                tracing::warn!(
                    "everybody who reaches {address} may do everything; ask for credentials with \
                     `--auth required`"
                );
                Ok(())
            }
            Self::Refused => Err(Usage::new(format!(
                "everybody who reaches {address} could do everything: ask for credentials with `--auth \
                 required`, listen on 127.0.0.1, or pass --allow-unauthenticated"
            ))
            .into()),
        }
    }
}

/// Serves until a signal stops the process. Everything that was acknowledged is durable at the end.
pub(super) fn launch(mut plan: Plan, out: &mut impl Write) -> anyhow::Result<()> {
    let log_levels = logging::start(plan.log_level, plan.log_format)?;
    plan.config.server.log_levels = Some(log_levels);
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

async fn run(mut plan: Plan, out: &mut impl Write) -> anyhow::Result<()> {
    let signal = shutdown::listen().context("cannot listen for signals")?;
    let reloading =
        shutdown::reload_on_hangup(plan.tls.clone()).context("cannot listen for signals")?;
    let grpc = listen(&plan.ip, plan.port).await?;
    let http = match plan.http_port {
        Some(port) => Some(listen(&plan.ip, port).await?),
        None => None,
    };
    let needs_certificate =
        plan.tls.as_ref().is_some_and(|tls| tls.client_auth() == Some(ClientAuth::Required));
    let knows_callers =
        plan.config.server.access.credentials == Credentials::Required || needs_certificate;
    for listener in [Some(&grpc), http.as_ref()].into_iter().flatten() {
        plan.open_to_all.check(listener, knows_callers)?;
    }
    let metrics = match &plan.metrics {
        Some(MetricsAddress { ip, port }) => Some(listen(ip, *port).await?),
        None => None,
    };
    if metrics.is_some() {
        plan.config.runtime.metrics = Metrics::enabled();
    }
    let tracer = match &plan.traces {
        Some(otlp) => Tracer::otlp(otlp)?,
        None => Tracer::disabled(),
    };
    plan.config.runtime.tracer = tracer.clone();
    let place = plan.config.storage.to_string();
    // A node waits for its cells: whoever stops it meanwhile needn't wait too.
    let mut signal = pin!(signal);
    let perennial = tokio::select! {
        opened = Perennial::open(plan.config) => opened?,
        () = signal.as_mut() => return Ok(()),
    };

    let port = grpc.local_addr()?.port();
    let host = host_name(&plan.ip);
    writeln!(
        out,
        "Perennial {} (Temporal API {SERVER_VERSION})\n\n\
         Perennial Server:      {host}:{port}",
        env!("CARGO_PKG_VERSION")
    )?;
    if let Some(http) = &http {
        writeln!(out, "Perennial HTTP:        {host}:{}", http.local_addr()?.port())?;
    }
    if let Some(tls) = &plan.tls {
        let clients = match tls.client_auth() {
            Some(ClientAuth::Required) => "clients need a certificate",
            Some(ClientAuth::Optional) => "clients may have a certificate",
            None => "clients need no certificate",
        };
        writeln!(out, "Perennial TLS:         {clients}")?;
    }
    if let (Some(metrics), Some(address)) = (&metrics, &plan.metrics) {
        let port = metrics.local_addr()?.port();
        writeln!(out, "Perennial Metrics:     {}:{port}/metrics", host_name(&address.ip))?;
    }
    // The last line: scripts that wait for the server read up to here.
    writeln!(out, "Perennial Persistence: {place}")?;
    out.flush()?;

    tracing::info!(place, port, "the server has started");
    let (stop, stopped) = oneshot::channel::<()>();
    let waiting = async move {
        signal.await;
        tracing::info!("stopping on a signal");
        drop(stop);
        std::future::pending::<Infallible>().await
    };
    let stopped = async move { drop(stopped.await) };
    let listeners = match plan.tls {
        Some(tls) => Listeners::tls(grpc, http, tls),
        None => Listeners::tcp(grpc, http),
    }
    .with_metrics(metrics);
    tokio::select! {
        () = perennial.serve(listeners, stopped) => {}
        never = waiting => match never {},
        never = reloading => match never {},
    }
    let closed = perennial.close().await;
    // Blocks until the last spans are exported.
    tokio::task::spawn_blocking(move || tracer.close()).await?;
    closed.context("the server had to stop")?;
    tracing::info!("the server has stopped");
    Ok(())
}

/// An address as people write it.
fn host_name(ip: &str) -> &str {
    if ip == "127.0.0.1" { "localhost" } else { ip }
}

async fn listen(ip: &str, port: u16) -> anyhow::Result<TcpListener> {
    TcpListener::bind((ip, port))
        .await
        .with_context(|| format!("cannot listen on {ip}:{port}; is another server running there?"))
}
