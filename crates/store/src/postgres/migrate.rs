//! Creates the tables, and brings those of an earlier version up to date.

use perennial_engine::SlotRange;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::cells::put_cells;
use super::error::text;
use super::statement::{Statement, int4};
use crate::{Epoch, Error, visibility};

/// What turns the tables of one version into those of the next, in order.
const MIGRATIONS: [&[&str]; 2] = [
    &[include_str!("migrations/0001_tables.sql"), visibility::postgres::CREATE_TABLE],
    &[include_str!("migrations/0002_nodes.sql")],
];

/// The version of the tables in a database, and the one that this program needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaVersion {
    /// The version of the tables; 0 if there are none.
    pub found: usize,
    /// The newest version that this program knows.
    pub newest: usize,
}

impl SchemaVersion {
    pub(super) async fn read(client: &Client) -> Result<Self, Error> {
        Ok(Self { found: version(client).await?, newest: MIGRATIONS.len() })
    }
}

/// Attempts when nodes that start at once get in each other's way.
const ATTEMPTS: usize = 20;

/// Brings the tables up to date. Nodes may do so at the same time: each step is done by one of them, and the others
/// wait for it.
pub(super) async fn migrate(client: &Client, first_cells: u32) -> Result<(), Error> {
    for _ in 0..ATTEMPTS {
        let version = version(client).await?;
        if version == MIGRATIONS.len() {
            return Ok(());
        }
        let Some(steps) = MIGRATIONS.get(version) else {
            return Err(Error::Fenced(format!(
                "the tables have version {version}, and this program knows {}: use the newer one",
                MIGRATIONS.len()
            )));
        };
        if version == 0 && is_of_another_program(client).await? {
            let problem = "the schema `perennial` of this database belongs to something else; \
                           choose another database";
            return Err(Error::Fenced(problem.to_owned()));
        }
        match step(client, version + 1, steps, first_cells).await {
            Ok(()) => {}
            // Another node was faster: the row of the version, or the schema, is there already.
            Err(error) if is_taken(&error) => {}
            Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
                return Err(Error::Fenced(format!(
                    "the tables have version {version} and need {}, and this account may not change them; run \
                     `perennial database migrate` with one that may ({})",
                    MIGRATIONS.len(),
                    text(&error)
                )));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(Error::Unavailable("other nodes keep changing the tables".to_owned()))
}

/// The version of the tables: 0 if there are none.
async fn version(client: &Client) -> Result<usize, Error> {
    let sql = "SELECT MAX(version) FROM perennial.migrations";
    match client.query_typed_one(sql, &[]).await {
        Ok(row) => {
            let version: Option<i32> = row.try_get(0)?;
            Ok(usize::try_from(version.unwrap_or(0)).unwrap_or(usize::MAX))
        }
        Err(error)
            if [Some(&SqlState::UNDEFINED_TABLE), Some(&SqlState::INVALID_SCHEMA_NAME)]
                .contains(&error.code()) =>
        {
            Ok(0)
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether the schema has tables, but not ours.
async fn is_of_another_program(client: &Client) -> Result<bool, Error> {
    let sql = "SELECT count(*) FILTER (WHERE tablename = 'migrations') = 0 AND count(*) > 0 \
               FROM pg_catalog.pg_tables WHERE schemaname = 'perennial'";
    Ok(client.query_typed_one(sql, &[]).await?.try_get(0)?)
}

/// Makes the tables of a version, all or none.
async fn step(
    client: &Client,
    version: usize,
    steps: &[&str],
    first_cells: u32,
) -> Result<(), tokio_postgres::Error> {
    let done = async {
        client.batch_execute("BEGIN").await?;
        if version == 1 {
            let begin = "CREATE SCHEMA IF NOT EXISTS perennial; \
                         CREATE TABLE IF NOT EXISTS perennial.migrations (version INTEGER PRIMARY KEY)";
            client.batch_execute(begin).await?;
        }
        // A second node waits here until the first has committed, and is then refused.
        let row = "INSERT INTO perennial.migrations (version) VALUES ($1)";
        let version_number = i32::try_from(version).unwrap_or(i32::MAX);
        Statement::new(row, vec![int4(version_number)]).execute(client).await?;
        for step in steps {
            client.batch_execute(step).await?;
        }
        if version == 1 {
            let cluster = "INSERT INTO perennial.cluster (only_row, database_id, last_epoch) \
                           VALUES (1, gen_random_uuid(), 0)";
            client.batch_execute(cluster).await?;
            put_cells(&SlotRange::divided(first_cells), Epoch(0)).execute(client).await?;
        }
        client.batch_execute("COMMIT").await
    };
    let done = done.await;
    if done.is_err() {
        client.batch_execute("ROLLBACK").await?;
    }
    done
}

/// Whether another node has created the same at the same time.
fn is_taken(error: &tokio_postgres::Error) -> bool {
    [
        Some(&SqlState::UNIQUE_VIOLATION),
        Some(&SqlState::DUPLICATE_TABLE),
        Some(&SqlState::DUPLICATE_SCHEMA),
    ]
    .contains(&error.code())
}
