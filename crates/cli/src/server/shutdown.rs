//! Signals that stop the server, or let it read its certificates again.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use perennial_library::Tls;

/// Completes on ctrl-c or SIGTERM. Listens from this call on, which comes before the server reports that it is ready:
/// a signal may follow at once.
#[cfg(unix)]
pub(super) fn listen() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Completes on ctrl-c. Listens from this call on.
#[cfg(windows)]
pub(super) fn listen() -> io::Result<impl Future<Output = ()>> {
    let mut interrupt = tokio::signal::windows::ctrl_c()?;
    Ok(async move {
        interrupt.recv().await;
    })
}

/// Lets the server read its certificates again on every SIGHUP. Listens from this call on.
#[cfg(unix)]
pub(super) fn reload_on_hangup(
    tls: Option<Arc<Tls>>,
) -> io::Result<impl Future<Output = Infallible>> {
    use tokio::signal::unix::{SignalKind, signal};
    // Without certificates there is nothing to read again: the signal ends the process, as it does by default.
    let with_signal = match tls {
        Some(tls) => Some((tls, signal(SignalKind::hangup())?)),
        None => None,
    };
    Ok(async move {
        let Some((tls, mut hangup)) = with_signal else { return std::future::pending().await };
        while hangup.recv().await.is_some() {
            tls.request_reload();
        }
        std::future::pending().await
    })
}

/// There is no SIGHUP here: new files are noticed by themselves.
#[cfg(windows)]
pub(super) fn reload_on_hangup(
    _: Option<Arc<Tls>>,
) -> io::Result<impl Future<Output = Infallible>> {
    Ok(std::future::pending())
}
