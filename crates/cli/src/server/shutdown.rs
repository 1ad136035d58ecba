//! Shutdown signals.

use std::io;

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
