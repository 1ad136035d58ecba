//! A TCP proxy that can be cut or paused.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Passes bytes on between clients and one server.
pub(crate) struct Proxy {
    pub(crate) address: String,
    copies: Arc<Mutex<JoinSet<()>>>,
    accepted: Arc<AtomicUsize>,
    paused: watch::Sender<bool>,
}

impl Proxy {
    pub(crate) async fn to(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (copies, accepted) = (Arc::new(Mutex::new(JoinSet::new())), Arc::default());
        let (paused, is_paused) = watch::channel(false);
        let proxy = Self { address, copies, accepted, paused };
        let (server, copies) = (server.to_owned(), Arc::clone(&proxy.copies));
        let accepted = Arc::clone(&proxy.accepted);
        tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                accepted.fetch_add(1, Ordering::Relaxed);
                let (client_in, client_out) = client.into_split();
                let server = TcpStream::connect(&server).await.unwrap();
                let (server_in, server_out) = server.into_split();
                let mut copies = copies.lock().unwrap();
                copies.spawn(copy(client_in, server_out, is_paused.clone()));
                copies.spawn(copy(server_in, client_out, is_paused.clone()));
            }
        });
        proxy
    }

    /// Closes all connections.
    pub(crate) fn cut(&self) {
        self.copies.lock().unwrap().abort_all();
    }

    /// Reads and writes nothing any more, and keeps all connections open: both ends see a silent node.
    pub(crate) fn pause(&self) {
        self.paused.send_replace(true);
    }

    /// How many connections there have been.
    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::Relaxed)
    }
}

async fn copy(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut paused: watch::Receiver<bool>) {
    let mut bytes = vec![0; 64 * 1024];
    loop {
        let read = tokio::select! {
            read = from.read(&mut bytes) => read,
            () = is_set(&mut paused) => std::future::pending().await,
        };
        match read {
            Ok(1..) => {}
            // Dropping this half closes its direction only; the other copy notices by itself.
            Ok(0) | Err(_) => return,
        }
        let length = read.unwrap();
        if to.write_all(&bytes[..length]).await.is_err() {
            return;
        }
    }
}

async fn is_set(paused: &mut watch::Receiver<bool>) {
    let _ = paused.wait_for(|paused| *paused).await;
}
