//! Workers and clients of the official SDK, with its defaults.

use futures::future::try_join_all;
use temporalio_client::{Client, ClientOptions, ConnectionOptions, Url};
use temporalio_sdk::{Runtime, Worker, WorkerOptions};

/// Runs `work` beside a worker, and returns what it found when both have ended. With several addresses, as in
/// `host:port,host:port`, each of these nodes has a worker and a client of its own.
pub(crate) async fn beside_workers<T>(
    addresses: &str,
    options: WorkerOptions,
    work: impl AsyncFnOnce(Vec<Client>) -> T,
) -> T {
    let clients = try_join_all(addresses.split(',').map(connect)).await;
    let clients = clients.expect("the server answers");
    let runtime = Runtime::from_current_tokio(Default::default()).expect("a runtime of the SDK");
    let worker =
        |client: &Client| Worker::new(&runtime, client.clone(), options.clone()).expect("a worker");
    let mut workers: Vec<Worker> = clients.iter().map(worker).collect();
    let shutdowns: Vec<_> = workers.iter().map(Worker::shutdown_handle).collect();
    let work = async {
        let found = work(clients).await;
        shutdowns.iter().for_each(|shutdown| shutdown());
        found
    };
    let (ran, found) = tokio::join!(try_join_all(workers.iter_mut().map(Worker::run)), work);
    ran.expect("the workers end when they are told to");
    found
}

async fn connect(address: &str) -> Result<Client, Box<dyn std::error::Error>> {
    let target = Url::parse(&format!("http://{address}"))?;
    let connection = ConnectionOptions::new(target).build();
    Ok(Client::connect(connection, ClientOptions::new("default").build()).await?)
}
