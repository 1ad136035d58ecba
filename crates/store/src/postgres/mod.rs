//! A store in a PostgreSQL database, which several nodes may share.
//!
//! One transaction commits a batch: its statements, each for many rows, are sent at once and cost one round trip. The
//! first one is the fence: it fails if the cell has another owner. The SQL is portable: there are no advisory locks,
//! notifications, triggers, sequences, temporary tables or settings of a session, so a connection pooler may stand
//! between. All tables are in the schema `perennial`.
//!
//! Start with [`PostgresStore`], then `commit.rs`.

mod cells;
mod commit;
mod connection;
mod error;
mod history;
mod load;
mod migrate;
mod nodes;
mod queues;
mod records;
mod refusal;
mod stage;
pub(crate) mod statement;
mod transaction;
mod wakes;

pub use connection::PostgresOptions;
pub use migrate::SchemaVersion;

use std::future::Future;
use std::time::Duration;

use deadpool_postgres::{Client, Pool};
use perennial_engine::{EntityKey, EntityRef, NamespaceKey, SlotRange, Time};
use tokio::runtime::Runtime;

use crate::visibility::{self, Count, Page, Position, Query};
use crate::{
    Batch, CellId, ClusterStore, ClusterView, DiskUsage, Epoch, Error, FileSize, Fragment,
    HistoryRange, Lease, Log, LogLine, NodeRegistration, RecordKind, RecordWrite, Store,
    StoredCell, StoredEntity, StoredMessage, TaskRow, Wake, check,
};

/// A store in a PostgreSQL database, version 14 or later.
///
/// Methods block the calling thread, while a small runtime of the store's own serves the connections. The number of
/// connections is bounded: a call that finds none free waits, and fails after a while.
#[derive(Debug)]
pub struct PostgresStore {
    /// Taken when the store is dropped.
    runtime: Option<Runtime>,
    /// For reads, and for what isn't urgent.
    pool: Pool,
    /// For commits, and for the node's lease: many slow reads must not hold them up.
    urgent: Pool,
    /// The address of the database, without secrets.
    place: String,
}

impl PostgresStore {
    /// Connects to the database, and creates or upgrades the tables. Refuses a server that is too old or might lose
    /// acknowledged commits, and tables of a newer version.
    pub fn open(options: &PostgresOptions) -> Result<Self, Error> {
        let store = Self::connect(options)?;
        store.run(async |client| {
            connection::check_server(&client, options).await?;
            migrate::migrate(&client, options.first_cells).await
        })?;
        Ok(store)
    }

    /// The version of the tables. Changes nothing.
    pub fn schema_version(options: &PostgresOptions) -> Result<SchemaVersion, Error> {
        let store = Self::connect(options)?;
        store.run(async |client| SchemaVersion::read(&client).await)
    }

    fn connect(options: &PostgresOptions) -> Result<Self, Error> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(connection::RUNTIME_THREADS)
            .thread_name("postgres")
            .enable_io()
            .enable_time()
            .build()
            .map_err(|error| Error::Unavailable(format!("no threads for connections: {error}")))?;
        let pool = connection::pool(options, options.connections_max)?;
        let urgent = connection::pool(options, connection::URGENT_MAX)?;
        Ok(Self { runtime: Some(runtime), pool, urgent, place: options.to_string() })
    }

    /// Runs `act` with a connection, and waits for it.
    fn run<T>(&self, act: impl AsyncFnOnce(Client) -> Result<T, Error>) -> Result<T, Error> {
        self.block_on(async {
            let client = connection::get(&self.pool).await?;
            act(client).await
        })
    }

    /// Runs `act` with a connection that reads don't use.
    fn run_urgently<T>(
        &self,
        act: impl AsyncFnOnce(Client) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.block_on(async {
            let client = connection::get(&self.urgent).await?;
            act(client).await
        })
    }

    /// Waits for a future on this thread, which may belong to another runtime: tokio's own `block_on` would panic there.
    fn block_on<T>(&self, act: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        match &self.runtime {
            Some(runtime) => {
                let _context = runtime.enter();
                pollster::block_on(act)
            }
            None => Err(Error::Unavailable("the store is closed".to_owned())),
        }
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.pool.close();
        self.urgent.close();
        if let Some(runtime) = self.runtime.take() {
            // Doesn't wait, so that the store may be dropped on a thread of another runtime.
            runtime.shutdown_background();
        }
    }
}

impl ClusterStore for PostgresStore {
    fn renew_node(&self, node: &NodeRegistration, lease: Duration) -> Result<ClusterView, Error> {
        check::check_node(node)?;
        self.run_urgently(async |client| nodes::renew(&client, node, lease).await)
    }

    fn cluster_view(&self) -> Result<ClusterView, Error> {
        self.run_urgently(async |client| nodes::read_all(&client).await)
    }

    fn remove_node(&self, id: &str) -> Result<(), Error> {
        self.run_urgently(async |client| nodes::remove(&client, id).await)
    }

    fn take_cell(&self, cell: CellId, node: &str) -> Result<Option<Lease>, Error> {
        self.run_urgently(async |client| cells::take(&client, cell, node).await)
    }

    fn release_cell(&self, cell: CellId, epoch: Epoch) -> Result<bool, Error> {
        self.run_urgently(async |client| cells::release(&client, cell, epoch).await)
    }

    fn replace_cells(&self, old: &[(CellId, Epoch)], new: &[SlotRange]) -> Result<bool, Error> {
        self.run_urgently(async |client| cells::replace(&client, old, new).await)
    }
}

impl Store for PostgresStore {
    fn cells(&self) -> Result<Vec<StoredCell>, Error> {
        self.run(async |client| cells::read_all(&client).await)
    }

    fn lease(&self, cell: CellId, owner: &str) -> Result<Lease, Error> {
        self.run_urgently(async |client| cells::take_lease(&client, cell, owner).await)
    }

    fn divide(&self, ranges: &[SlotRange]) -> Result<(), Error> {
        check::check_coverage(ranges)?;
        self.run(async |client| cells::divide(&client, ranges).await)
    }

    fn cluster(&self) -> Option<&dyn ClusterStore> {
        Some(self)
    }

    fn compare_and_set(
        &self,
        record: &RecordWrite,
        expected: Option<&[u8]>,
    ) -> Result<bool, Error> {
        check::check_record(record)?;
        self.run(async |client| records::compare_and_set(&client, record, expected).await)
    }

    fn health(&self) -> Result<(), Error> {
        self.run(async |client| connection::ping(&client).await)
    }

    fn file_sizes(&self) -> Vec<FileSize> {
        let size = self.run(async |client| connection::database_bytes(&client).await);
        size.into_iter().map(|bytes| FileSize { name: "database", bytes }).collect()
    }

    fn place(&self) -> Option<String> {
        Some(self.place.clone())
    }

    fn disk_usage(&self) -> Option<DiskUsage> {
        None
    }

    fn commit(&self, batches: &[Batch]) -> Result<(), Error> {
        batches.iter().try_for_each(check::check_batch)?;
        if batches.is_empty() {
            return Ok(());
        }
        self.run_urgently(async |client| commit::commit(&client, batches).await)
    }

    fn load(&self, wanted: &[EntityRef]) -> Vec<Result<Option<StoredEntity>, Error>> {
        match self.run(async |client| load::load(&client, wanted).await) {
            Ok(found) => found,
            Err(error) => wanted.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    fn load_by_keys(&self, keys: &[EntityKey]) -> Result<Vec<StoredEntity>, Error> {
        self.run(async |client| load::load_by_keys(&client, keys).await)
    }

    fn history(
        &self,
        range: HistoryRange,
        max_bytes: usize,
        reverse: bool,
    ) -> Result<Vec<Fragment>, Error> {
        self.run(async |client| history::read(&client, range, max_bytes, reverse).await)
    }

    fn log(
        &self,
        key: EntityKey,
        log: Log,
        positions: (i64, i64),
        limit: usize,
        reverse: bool,
    ) -> Result<Vec<LogLine>, Error> {
        self.run(async |client| history::log(&client, key, log, positions, limit, reverse).await)
    }

    fn wakes(
        &self,
        slots: SlotRange,
        after: (Time, EntityKey),
        up_to: Time,
        limit: usize,
    ) -> Result<Vec<Wake>, Error> {
        self.run(async |client| wakes::page(&client, slots, after, up_to, limit).await)
    }

    fn tasks(&self, slots: SlotRange, after: i64, limit: usize) -> Result<Vec<TaskRow>, Error> {
        self.run(async |client| queues::tasks(&client, slots, after, limit).await)
    }

    fn messages(
        &self,
        slots: SlotRange,
        after: i64,
        limit: usize,
    ) -> Result<Vec<StoredMessage>, Error> {
        self.run(async |client| queues::messages(&client, slots, after, limit).await)
    }

    fn records(
        &self,
        kind: RecordKind,
        prefix: &str,
        after: &str,
        limit: usize,
    ) -> Result<Vec<(String, Vec<u8>)>, Error> {
        self.run(async |client| records::page(&client, kind, prefix, after, limit).await)
    }

    fn list(
        &self,
        namespace: NamespaceKey,
        query: &Query,
        page_size: usize,
        after: Option<&Position>,
    ) -> Result<Page, Error> {
        let statement = visibility::postgres::list(namespace.0, &query.filter, after, page_size);
        let rows = self.run(async |client| statement.query(&client).await)?;
        let listed = rows.iter().map(visibility::postgres::decode).collect::<Result<_, _>>()?;
        Ok(Page::of(listed, page_size))
    }

    fn count(&self, namespace: NamespaceKey, query: &Query) -> Result<Count, Error> {
        let statement = visibility::postgres::count(namespace.0, query);
        let rows = self.run(async |client| statement.query(&client).await)?;
        visibility::postgres::decode_count(&rows, query)
    }
}
