//! Being told to stop.

use std::io;

/// Hears from now on when the process is told to stop: by ctrl-c, or by the system. Whoever waits for the
/// server to be ready may tell it to stop right then, so this comes before it says that it is.
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

/// Hears from now on when the process is told to stop by ctrl-c.
#[cfg(windows)]
pub(super) fn listen() -> io::Result<impl Future<Output = ()>> {
    let mut interrupt = tokio::signal::windows::ctrl_c()?;
    Ok(async move {
        interrupt.recv().await;
    })
}
