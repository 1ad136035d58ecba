//! A stream whose small writes leave together.
//!
//! A write to a socket costs more than making a small response, and wakes the process that reads. So the writes of a
//! busy connection are collected, and sent in one write after all tasks that are ready have had their turn.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// With this many bytes unsent, the next write waits until they are sent. No write takes more at once.
const BATCH_BYTES_MAX: usize = 256 * 1024;
/// A connection is busy if its last send is less than this long ago. Others send at once.
const BUSY_WINDOW: Duration = Duration::from_micros(200);
/// The buffer's capacity that is kept between sends.
const BUFFER_BYTES_KEPT: usize = 32 * 1024;

/// Splits a stream into a part to read from and write to, and a driver that sends what was written.
pub(super) fn batched<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
) -> (BatchedWriter<S>, WriteDriver<S>) {
    let batch = Batch { stream, unsent: Vec::new(), sent: 0, is_flushed: true, failure: None };
    let batch = Arc::new(Mutex::new(batch));
    let driver = WriteDriver { batch: Arc::clone(&batch), last_send: None, has_yielded: false };
    (BatchedWriter { batch }, driver)
}

/// Reads from a stream, and keeps what is written for its [`WriteDriver`].
pub(super) struct BatchedWriter<S> {
    batch: Arc<Mutex<Batch<S>>>,
}

/// Sends what was written to a [`BatchedWriter`]. Both belong to one task, so that nobody waits for the lock.
pub(super) struct WriteDriver<S> {
    batch: Arc<Mutex<Batch<S>>>,
    last_send: Option<Instant>,
    /// Whether the other tasks that are ready have had their turn since there is something to send.
    has_yielded: bool,
}

/// A stream, and what was written but not sent.
struct Batch<S> {
    stream: S,
    unsent: Vec<u8>,
    /// How many bytes of `unsent` the stream has taken.
    sent: usize,
    /// False while the stream may hold bytes in a buffer of its own, as with TLS.
    is_flushed: bool,
    /// Why a send failed. The next write returns it.
    failure: Option<io::Error>,
}

impl<S: AsyncWrite + Unpin> WriteDriver<S> {
    /// Polls a connection to its end, and sends what it writes.
    pub(super) fn drive<C: Future>(
        &mut self,
        mut connection: Pin<&mut C>,
    ) -> impl Future<Output = C::Output> {
        poll_fn(move |context| self.poll_with(connection.as_mut(), Instant::now(), context))
    }

    /// Polls the connection, and sends what it has written. A busy connection first lets the other tasks of this
    /// thread run: they may have more to send.
    fn poll_with<C: Future>(
        &mut self,
        connection: Pin<&mut C>,
        now: Instant,
        context: &mut Context<'_>,
    ) -> Poll<C::Output> {
        // A connection that has ended has shut its stream down, which sends everything.
        if let Poll::Ready(ended) = connection.poll(context) {
            return Poll::Ready(ended);
        }
        let mut batch = lock(&self.batch);
        if batch.unsent.is_empty() && batch.is_flushed {
            return Poll::Pending;
        }
        let is_busy = self.last_send.is_some_and(|last| now.duration_since(last) < BUSY_WINDOW);
        self.has_yielded = is_busy && !self.has_yielded;
        if self.has_yielded {
            // A task that wakes itself is polled after all others that are ready.
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.last_send = Some(now);
        if let Poll::Ready(Err(error)) = batch.poll_send(context) {
            batch.failure = Some(error);
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl<S: AsyncWrite + Unpin> Batch<S> {
    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.unsent.len() {
            let rest = &self.unsent[self.sent..];
            let sent = ready!(Pin::new(&mut self.stream).poll_write(context, rest))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.sent += sent;
            self.is_flushed = false;
        }
        self.sent = 0;
        self.unsent.clear();
        self.unsent.shrink_to(BUFFER_BYTES_KEPT);
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        self.is_flushed = true;
        Poll::Ready(Ok(()))
    }
}

fn lock<S>(batch: &Mutex<Batch<S>>) -> MutexGuard<'_, Batch<S>> {
    batch.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S: AsyncRead + Unpin> AsyncRead for BatchedWriter<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut lock(&self.batch).stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for BatchedWriter<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut batch = lock(&self.batch);
        if let Some(error) = batch.failure.take() {
            return Poll::Ready(Err(error));
        }
        if batch.unsent.len() >= BATCH_BYTES_MAX {
            ready!(batch.poll_send(context))?;
        }
        let taken = bytes.len().min(BATCH_BYTES_MAX);
        batch.unsent.extend_from_slice(&bytes[..taken]);
        Poll::Ready(Ok(taken))
    }

    /// Does nothing: the driver sends.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut batch = lock(&self.batch);
        ready!(batch.poll_send(context))?;
        Pin::new(&mut batch.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Waker;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    async fn pair() -> (BatchedWriter<TcpStream>, WriteDriver<TcpStream>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let connecting = TcpStream::connect(listener.local_addr().unwrap());
        let (client, accepted) = tokio::join!(connecting, listener.accept());
        let (stream, driver) = batched(accepted.unwrap().0);
        (stream, driver, client.unwrap())
    }

    #[tokio::test]
    async fn writes_of_a_busy_connection_leave_together_after_other_tasks_ran() {
        let (mut stream, mut driver, mut client) = pair().await;
        let connection = async {
            for piece in [b"lone", b"one.", b"two.", b"six."] {
                stream.write_all(piece).await?;
                stream.flush().await?;
                if piece == b"lone" {
                    tokio::task::yield_now().await;
                }
            }
            std::future::pending::<io::Result<()>>().await
        };
        let mut connection = pin!(connection);
        let mut context = Context::from_waker(Waker::noop());
        let mut poll =
            |now| assert!(driver.poll_with(connection.as_mut(), now, &mut context).is_pending());
        let mut received = [0; 12];

        let now = Instant::now();
        poll(now);
        client.read_exact(&mut received[..4]).await.unwrap();
        assert_eq!(&received[..4], b"lone");

        poll(now + BUSY_WINDOW / 2);
        let early = client.try_read(&mut received).unwrap_err();
        assert_eq!(early.kind(), io::ErrorKind::WouldBlock);
        poll(now + BUSY_WINDOW / 2);
        client.read_exact(&mut received).await.unwrap();
        assert_eq!(&received, b"one.two.six.");
    }

    #[tokio::test]
    async fn stream_with_a_buffer_is_flushed() {
        let (client, server) = tokio::io::duplex(8);
        let (mut stream, mut driver) = batched(tokio::io::BufWriter::new(server));
        let connection = async {
            stream.write_all(b"longer than the pipe").await?;
            stream.flush().await?;
            std::future::pending::<io::Result<()>>().await
        };
        let (connection, mut client, mut received) = (pin!(connection), client, [0; 20]);
        tokio::select! {
            ended = driver.drive(connection) => panic!("{ended:?}"),
            read = client.read_exact(&mut received) => assert_eq!(read.unwrap(), 20),
        }
        assert_eq!(&received, b"longer than the pipe");
    }

    #[tokio::test]
    async fn more_than_one_batch_arrives_whole() {
        let (mut stream, mut driver, mut client) = pair().await;
        let sent: Vec<u8> = (0..40 * BATCH_BYTES_MAX).map(|n| (n % 251) as u8).collect();
        let connection = async {
            let (small, large) = sent.split_at(5 * BATCH_BYTES_MAX);
            for piece in small.chunks(10_000).chain([large]) {
                stream.write_all(piece).await?;
            }
            stream.shutdown().await
        };
        let (connection, mut received) = (pin!(connection), Vec::new());
        let (ended, read) =
            tokio::join!(driver.drive(connection), client.read_to_end(&mut received));
        ended.unwrap();
        assert_eq!(read.unwrap(), sent.len());
        assert!(received == sent);
        assert!(lock(&driver.batch).unsent.capacity() <= BUFFER_BYTES_KEPT);
    }

    #[tokio::test]
    async fn write_after_a_failed_send_returns_its_error() {
        let (mut stream, mut driver, client) = pair().await;
        drop(client);
        let connection = async {
            loop {
                if let Err(error) = stream.write_all(&[0; 1_000]).await {
                    return error;
                }
                // As a connection does that waits for its next response.
                tokio::task::yield_now().await;
            }
        };
        let error = driver.drive(pin!(connection)).await;
        let gone = [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset];
        assert!(gone.contains(&error.kind()), "{error}");
    }
}
