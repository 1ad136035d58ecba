//! Transactions.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use tokio_postgres::{Client, Row};

use super::statement::Statement;
use crate::{CUT_OFF_AFTER, Error};

/// Begins a transaction.
///
/// A commit must not be undone by a crash of the database, whatever its default is. And a node that is cut off must not
/// hold its locks for long: another one waits for them. Settings end with the transaction.
fn begin() -> String {
    let milliseconds = CUT_OFF_AFTER.as_millis();
    format!(
        "BEGIN; SET LOCAL synchronous_commit = on; SET LOCAL statement_timeout = {milliseconds}; \
         SET LOCAL lock_timeout = {milliseconds}; \
         SET LOCAL idle_in_transaction_session_timeout = {milliseconds}"
    )
}

/// Runs the statements in one transaction, each sent without waiting for the one before: one round trip. On an error
/// nothing is stored, unless the connection was lost: then everything may be.
pub(super) async fn pipelined(
    client: &Client,
    statements: &[Statement],
) -> Result<(), tokio_postgres::Error> {
    pipelined_with(client, statements, None).await.map(drop)
}

/// Runs the statements in the same way, then `read`, and returns what that has found.
pub(super) async fn pipelined_read(
    client: &Client,
    statements: &[Statement],
    read: &Statement,
) -> Result<Vec<Row>, tokio_postgres::Error> {
    pipelined_with(client, statements, Some(read)).await
}

async fn pipelined_with(
    client: &Client,
    statements: &[Statement],
    read: Option<&Statement>,
) -> Result<Vec<Row>, tokio_postgres::Error> {
    let begin = begin();
    let no_rows = |()| Vec::new();
    let mut sent: Vec<Pin<Box<dyn Future<Output = _> + Send + '_>>> = Vec::new();
    sent.push(Box::pin(async { client.batch_execute(&begin).await.map(no_rows) }));
    for statement in statements {
        sent.push(Box::pin(async { statement.execute(client).await.map(|_| Vec::new()) }));
    }
    if let Some(read) = read {
        sent.push(Box::pin(read.rows(client)));
    }
    // After an error this rolls back, and says nothing.
    sent.push(Box::pin(async { client.batch_execute("COMMIT").await.map(no_rows) }));
    let results = join_in_order(sent).await;
    // The first error is the cause: statements behind it fail because it did.
    let rows: Result<Vec<_>, _> = results.into_iter().collect();
    Ok(rows?.into_iter().flatten().collect())
}

/// Runs `act` in one transaction, for statements that depend on the results of others. On an error nothing is stored,
/// unless the connection was lost at the end: then everything may be.
pub(super) async fn interactive<T>(
    client: &Client,
    act: impl AsyncFnOnce(&Client) -> Result<T, Error>,
) -> Result<T, Error> {
    client.batch_execute(&begin()).await?;
    let done = act(client).await;
    let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = client.batch_execute(end).await;
    let value = done?;
    ended?;
    Ok(value)
}

/// Waits for all futures. Polls them in their order: a statement is sent when it is polled for the first time.
async fn join_in_order<T>(
    mut futures: Vec<Pin<Box<dyn Future<Output = T> + Send + '_>>>,
) -> Vec<T> {
    let mut results: Vec<Option<T>> = futures.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (future, result) in futures.iter_mut().zip(&mut results) {
            if result.is_none()
                && let Poll::Ready(ready) = future.as_mut().poll(context)
            {
                *result = Some(ready);
            }
        }
        if results.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    results.into_iter().flatten().collect()
}
