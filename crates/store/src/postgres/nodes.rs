//! The nodes that share the database.

use std::time::Duration;

use perennial_engine::Time;
use tokio_postgres::{Client, Row};

use super::cells;
use super::statement::{Statement, boolean, float8, int8, text};
use super::transaction;
use crate::cluster::FORGOTTEN_AFTER;
use crate::{ClusterView, Error, NodeRegistration, StoredNode};

/// Registers a node or renews its lease, and reads all nodes and cells: one round trip.
///
/// The read comes after the renewal in one transaction. A node that takes a cell locks the row of the owner whose lease
/// has ended, so either it sees that the lease runs again, or the owner sees here that its cell was taken.
pub(super) async fn renew(
    client: &Client,
    node: &NodeRegistration,
    lease: Duration,
) -> Result<ClusterView, Error> {
    let NodeRegistration {
        id,
        address,
        protocol,
        oldest_protocol,
        version,
        is_leaving,
        started_at,
    } = node;
    let row = vec![
        text(id),
        text(address),
        int8(i64::from(*protocol)),
        int8(i64::from(*oldest_protocol)),
        text(version),
        boolean(*is_leaving),
        int8(started_at.0),
        float8(lease.as_secs_f64()),
    ];
    let forgotten_after = vec![float8(FORGOTTEN_AFTER.as_secs_f64())];
    let writes = [
        Statement::new(include_str!("sql/renew_node.sql"), row),
        Statement::new(include_str!("sql/forget_nodes.sql"), forgotten_after),
    ];
    view(&transaction::pipelined_read(client, &writes, &read_cluster()).await?)
}

/// All nodes and cells.
pub(super) async fn read_all(client: &Client) -> Result<ClusterView, Error> {
    view(&read_cluster().query(client).await?)
}

/// Removes a node, and frees its cells.
pub(super) async fn remove(client: &Client, id: &str) -> Result<(), Error> {
    let statements = [
        // An update alone would lock the cells in any order.
        Statement::new(include_str!("sql/lock_cells_of_node.sql"), vec![text(id)]),
        Statement::new(include_str!("sql/free_cells_of_node.sql"), vec![text(id)]),
        Statement::new(include_str!("sql/delete_node.sql"), vec![text(id)]),
    ];
    Ok(transaction::pipelined(client, &statements).await?)
}

/// Whether a node is registered and its lease runs.
pub(super) async fn has_running_lease(client: &Client, node: &str) -> Result<bool, Error> {
    Ok(lease(client, node).await?.unwrap_or(false))
}

/// Whether a node isn't registered, or its lease has ended. Then the lease isn't renewed before the transaction ends.
pub(super) async fn has_ended(client: &Client, node: &str) -> Result<bool, Error> {
    match lease(client, node).await? {
        None => Ok(true),
        // Takes no lock: the transaction of a node that is cut off must not stop the others' renewals.
        Some(true) => Ok(false),
        Some(false) => {
            let sql = include_str!("sql/lock_ended_node.sql");
            Ok(!Statement::new(sql, vec![text(node)]).query(client).await?.is_empty())
        }
    }
}

/// Whether a node's lease runs, if the node is registered.
async fn lease(client: &Client, node: &str) -> Result<Option<bool>, Error> {
    let sql = include_str!("sql/has_running_lease.sql");
    let rows = Statement::new(sql, vec![text(node)]).query(client).await?;
    Ok(rows.first().map(|row| row.try_get(0)).transpose()?)
}

fn read_cluster() -> Statement {
    Statement::new(include_str!("sql/read_cluster.sql"), vec![])
}

fn view(rows: &[Row]) -> Result<ClusterView, Error> {
    let Some(first) = rows.first() else {
        return Err(Error::Corrupt("the table `cells` has no row".to_owned()));
    };
    let now: i64 = first.try_get(5)?;
    let mut view = ClusterView { now: Time(now * 1_000), nodes: Vec::new(), cells: Vec::new() };
    for row in rows {
        match row.try_get::<_, Option<String>>(6)? {
            Some(id) => view.nodes.push(node(id, row)?),
            None => view.cells.push(cells::stored(row)?),
        }
    }
    Ok(view)
}

fn node(id: String, row: &Row) -> Result<StoredNode, Error> {
    let protocol = |number: i64| {
        let problem = || Error::Corrupt(format!("node {id} speaks protocol {number}"));
        u32::try_from(number).map_err(|_| problem())
    };
    let (protocol, oldest_protocol) = (protocol(row.try_get(8)?)?, protocol(row.try_get(9)?)?);
    let left: i64 = row.try_get(13)?;
    let registration = NodeRegistration {
        id,
        address: row.try_get(7)?,
        protocol,
        oldest_protocol,
        version: row.try_get(10)?,
        is_leaving: row.try_get(11)?,
        started_at: Time(row.try_get(12)?),
    };
    let lease_left = Duration::from_micros(u64::try_from(left).unwrap_or(0));
    Ok(StoredNode { registration, lease_left })
}
