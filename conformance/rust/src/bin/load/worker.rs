//! A worker and a client of the official SDK, with its defaults.

use temporalio_client::{Client, ClientOptions, ConnectionOptions, Url};
use temporalio_sdk::{Runtime, Worker, WorkerOptions};

/// Runs `work` beside the worker, and returns what it found when both have ended.
pub(crate) async fn beside_worker<T>(
    address: &str,
    worker: WorkerOptions,
    work: impl AsyncFnOnce(Client) -> T,
) -> T {
    let target = Url::parse(&format!("http://{address}")).expect("an address is host:port");
    let connection = ConnectionOptions::new(target).build();
    let client = Client::connect(connection, ClientOptions::new("default").build())
        .await
        .expect("the server answers");
    let runtime = Runtime::from_current_tokio(Default::default()).expect("a runtime of the SDK");
    let mut worker = Worker::new(&runtime, client.clone(), worker).expect("a worker");
    let shutdown = worker.shutdown_handle();
    let work = async {
        let found = work(client).await;
        shutdown();
        found
    };
    let (ran, found) = tokio::join!(worker.run(), work);
    ran.expect("the worker ends when it is told to");
    found
}
