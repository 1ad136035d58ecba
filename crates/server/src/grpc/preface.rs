//! The connection preface: the first bytes of an HTTP/2 connection.
//!
//! hyper waits for the preface without a limit. So it is read here within a bounded time, and then replayed to hyper.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

use crate::listen::ConnectionError;

/// The preface of every HTTP/2 client (RFC 9113, 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Reads the preface.
pub(super) async fn read(
    stream: &mut (impl AsyncRead + Unpin),
    time: Duration,
) -> Result<(), ConnectionError> {
    let mut begun = [0; PREFACE.len()];
    let reading = async {
        let mut length = 0;
        while length < PREFACE.len() {
            let more = stream.read(&mut begun[length..]).await?;
            length += more;
            // The connection of a browser or a port scanner is closed at its first wrong byte.
            if more == 0 || !PREFACE.starts_with(&begun[..length]) {
                return Err(ConnectionError::NotHttp2);
            }
        }
        Ok(())
    };
    tokio::time::timeout(time, reading).await.unwrap_or(Err(ConnectionError::Silent(time)))
}

/// A stream that replays the preface, which [`read`] has taken from it.
pub(super) fn with_preface<S>(stream: S) -> PrefacedStream<S> {
    PrefacedStream { left: PREFACE, stream }
}

pub(super) struct PrefacedStream<S> {
    left: &'static [u8],
    stream: S,
}

impl<S: AsyncRead + Unpin> AsyncRead for PrefacedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.left.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, into);
        }
        let (now, later) = self.left.split_at(self.left.len().min(into.remaining()));
        into.put_slice(now);
        self.left = later;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PrefacedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
