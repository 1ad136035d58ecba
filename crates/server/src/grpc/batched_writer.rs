//! A connection whose answers leave together.
//!
//! A write to a socket wakes whoever reads from it, and costs more than the making of a small answer. So what a
//! busy connection is to send is gathered, and leaves in one write when everything that was ready had its turn.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

/// With so much waiting, what comes next is taken only when some of it has left; and no more than that at a time.
const BATCH_BYTES_MAX: usize = 256 * 1024;
/// A connection is busy if it has sent something less than this long ago: an answer that is alone leaves at once.
const BUSY_WINDOW: Duration = Duration::from_micros(200);
/// Memory that is kept for the next answers.
const BUFFER_BYTES_KEPT: usize = 32 * 1024;

/// The two sides of a stream whose answers are gathered: one to read and write, one that sends what was written.
pub(super) fn batched(stream: TcpStream) -> (BatchedWriter, WriteDriver) {
    let (reading, writing) = stream.into_split();
    let outgoing = Outgoing { writing, bytes: Vec::new(), sent: 0, failed: None };
    let outgoing = Arc::new(Mutex::new(outgoing));
    let driver =
        WriteDriver { outgoing: Arc::clone(&outgoing), last_sent: None, has_waited: false };
    (BatchedWriter { reading, outgoing }, driver)
}

/// Reads from a socket, and keeps what is written for its [`WriteDriver`].
pub(super) struct BatchedWriter {
    reading: OwnedReadHalf,
    outgoing: Arc<Mutex<Outgoing>>,
}

/// Sends what has been gathered.
pub(super) struct WriteDriver {
    outgoing: Arc<Mutex<Outgoing>>,
    last_sent: Option<Instant>,
    /// Whether all else that was ready has had its turn since there was something to send.
    has_waited: bool,
}

/// What has been written and not sent.
struct Outgoing {
    writing: OwnedWriteHalf,
    bytes: Vec<u8>,
    /// How many of them are on their way.
    sent: usize,
    /// Why nothing more can be sent. Whoever writes next is told.
    failed: Option<io::Error>,
}

impl WriteDriver {
    /// Drives a connection to its end, and sends what it writes.
    pub(super) fn drive<C: Future>(
        &mut self,
        mut connection: Pin<&mut C>,
    ) -> impl Future<Output = C::Output> {
        poll_fn(move |context| self.poll_with(connection.as_mut(), Instant::now(), context))
    }

    /// Polls the connection. What it has written is sent, if it is busy once the other tasks of this thread that
    /// are ready have been polled too.
    fn poll_with<C: Future>(
        &mut self,
        connection: Pin<&mut C>,
        now: Instant,
        context: &mut Context<'_>,
    ) -> Poll<C::Output> {
        // One that has ended has seen to it that everything was sent.
        if let Poll::Ready(ended) = connection.poll(context) {
            return Poll::Ready(ended);
        }
        let mut outgoing = lock(&self.outgoing);
        if outgoing.is_empty() {
            return Poll::Pending;
        }
        let is_busy = self.last_sent.is_some_and(|last| now.duration_since(last) < BUSY_WINDOW);
        self.has_waited = is_busy && !self.has_waited;
        if self.has_waited {
            // A task that wakes itself comes after all that are ready.
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.last_sent = Some(now);
        if let Poll::Ready(Err(error)) = outgoing.poll_send(context) {
            outgoing.failed = Some(error);
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl Outgoing {
    fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.bytes.len() {
            let rest = &self.bytes[self.sent..];
            let sent = ready!(Pin::new(&mut self.writing).poll_write(context, rest))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.sent += sent;
        }
        self.sent = 0;
        self.bytes.clear();
        self.bytes.shrink_to(BUFFER_BYTES_KEPT);
        Poll::Ready(Ok(()))
    }
}

fn lock(outgoing: &Mutex<Outgoing>) -> MutexGuard<'_, Outgoing> {
    outgoing.lock().unwrap_or_else(PoisonError::into_inner)
}

impl AsyncRead for BatchedWriter {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.reading).poll_read(context, into)
    }
}

impl AsyncWrite for BatchedWriter {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut outgoing = lock(&self.outgoing);
        if let Some(error) = outgoing.failed.take() {
            return Poll::Ready(Err(error));
        }
        if outgoing.bytes.len() >= BATCH_BYTES_MAX {
            ready!(outgoing.poll_send(context))?;
        }
        let taken = bytes.len().min(BATCH_BYTES_MAX);
        outgoing.bytes.extend_from_slice(&bytes[..taken]);
        Poll::Ready(Ok(taken))
    }

    /// It will be sent: its driver sees to that.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut outgoing = lock(&self.outgoing);
        ready!(outgoing.poll_send(context))?;
        Pin::new(&mut outgoing.writing).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Waker;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    async fn pair() -> (BatchedWriter, WriteDriver, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let connecting = TcpStream::connect(listener.local_addr().unwrap());
        let (client, accepted) = tokio::join!(connecting, listener.accept());
        let (stream, driver) = batched(accepted.unwrap().0);
        (stream, driver, client.unwrap())
    }

    #[tokio::test]
    async fn answers_of_a_busy_connection_leave_together_after_all_else_had_its_turn() {
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
    async fn more_than_is_gathered_at_once_arrives_whole() {
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
        assert!(lock(&driver.outgoing).bytes.capacity() <= BUFFER_BYTES_KEPT);
    }

    #[tokio::test]
    async fn whoever_writes_is_told_that_nobody_reads() {
        let (mut stream, mut driver, client) = pair().await;
        drop(client);
        let connection = async {
            loop {
                if let Err(error) = stream.write_all(&[0; 1_000]).await {
                    return error;
                }
                // As a connection does that has to wait for something to send.
                tokio::task::yield_now().await;
            }
        };
        let error = driver.drive(pin!(connection)).await;
        let gone = [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset];
        assert!(gone.contains(&error.kind()), "{error}");
    }
}
