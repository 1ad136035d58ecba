//! A stream that can be closed from elsewhere.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;

use crate::socket::Stream;

/// A stream that ends when its [`StreamOwner`] is dropped. hyper drives the bytes of a client's connection on a task
/// of its own, so dropping hyper's handles ends the connection only after its calls.
pub(crate) struct ClosableStream {
    stream: Stream,
    /// `None` once the stream is closed.
    owner: Option<oneshot::Receiver<()>>,
}

/// Keeps a [`ClosableStream`] open.
pub(crate) struct StreamOwner {
    _owned: oneshot::Sender<()>,
}

impl ClosableStream {
    pub(crate) fn new(stream: Stream) -> (Self, StreamOwner) {
        let (owned, owner) = oneshot::channel();
        (Self { stream, owner: Some(owner) }, StreamOwner { _owned: owned })
    }

    /// The stream while it is open. The task of `context` is woken when it is closed.
    fn open(&mut self, context: &mut Context<'_>) -> io::Result<Pin<&mut Stream>> {
        if let Some(owner) = &mut self.owner
            && Pin::new(owner).poll(context).is_ready()
        {
            self.owner = None;
        }
        match self.owner {
            Some(_) => Ok(Pin::new(&mut self.stream)),
            None => Err(io::Error::new(io::ErrorKind::ConnectionAborted, "this node closed it")),
        }
    }
}

impl AsyncRead for ClosableStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.open(context)?.poll_read(context, into)
    }
}

impl AsyncWrite for ClosableStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.open(context)?.poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.open(context)?.poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.open(context)?.poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.open(context)?.poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
