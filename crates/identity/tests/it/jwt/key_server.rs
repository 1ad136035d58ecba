//! An HTTP server that publishes a key set.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

/// A server on this machine. It ends when it is dropped.
pub(crate) struct KeyServer {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    task: AbortHandle,
}

#[derive(Default)]
pub(crate) struct Shared {
    answer: Mutex<String>,
    requests: AtomicUsize,
}

impl KeyServer {
    pub(crate) async fn start(key_set: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let served = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            loop {
                let (connection, _) = listener.accept().await.unwrap();
                serve(connection, &served).await;
            }
        });
        let server = Self { address, shared, task: task.abort_handle() };
        server.publish(key_set);
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/keys?v=1", self.address)
    }

    /// Publishes another key set.
    pub(crate) fn publish(&self, key_set: &str) {
        self.answer_with(answer("200 OK", key_set));
    }

    /// Gives any answer from now on.
    pub(crate) fn answer_with(&self, answer: String) {
        *self.shared.answer.lock().unwrap() = answer;
    }

    /// How often it was asked.
    pub(crate) fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::SeqCst)
    }
}

impl Drop for KeyServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    pub(crate) fn of(answer: String) -> Self {
        Self { answer: Mutex::new(answer), ..Self::default() }
    }
}

pub(crate) fn answer(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// Answers one request.
pub(crate) async fn serve(mut connection: impl AsyncRead + AsyncWrite + Unpin, shared: &Shared) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        match connection.read_u8().await {
            Ok(byte) => request.push(byte),
            Err(_) => return,
        }
    }
    assert!(request.starts_with(b"GET /keys?v=1 HTTP/1.1\r\n"));
    shared.requests.fetch_add(1, Ordering::SeqCst);
    let answer = shared.answer.lock().unwrap().clone();
    // The client may close before it has read everything, which is its right.
    if connection.write_all(answer.as_bytes()).await.is_ok() {
        connection.shutdown().await.ok();
    }
}
