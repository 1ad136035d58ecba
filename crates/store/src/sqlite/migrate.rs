//! Migrates the schema of a database to the latest version.

use rusqlite::{Connection, TransactionBehavior};

use crate::{Error, visibility};

/// The migrations, in order. A released migration never changes. A new one goes to the end, together with rows of its
/// version in the tests below.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_first_tables.sql"),
    visibility::sqlite::CREATE_TABLE,
    include_str!("migrations/0003_schedules.sql"),
    visibility::sqlite::ADD_LABELS,
    visibility::sqlite::DROP_ATTRIBUTE_INDEXES,
    include_str!("migrations/0006_redo.sql"),
    include_str!("migrations/0007_redo_state.sql"),
    include_str!("migrations/0008_cells_and_entities.sql"),
];

/// SQLite's application id of our files: "PREN".
const APPLICATION_ID: i32 = 0x5052_454e;

/// Runs the migrations that are missing, all in one transaction.
///
/// Refuses a database of another program, and one of a newer version of this program.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), Error> {
    migrate_to(connection, MIGRATIONS.len())
}

/// Refuses a database of another program, and one of a newer version of this program.
pub(super) fn refuse_foreign(connection: &Connection) -> Result<(), Error> {
    stored_version(connection).map(|_| ())
}

/// Runs the migrations up to a version. Tests begin with databases of earlier versions.
pub(super) fn migrate_to(connection: &mut Connection, version: usize) -> Result<(), Error> {
    if stored_version(connection)? == version {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let stored = stored_version(&transaction)?;
    for migration in MIGRATIONS.iter().take(version).skip(stored) {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", version as i64)?;
    transaction.commit()?;
    Ok(())
}

/// How many migrations have been run on the database.
fn stored_version(connection: &Connection) -> Result<usize, Error> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    let tables: i64 =
        connection.query_row("SELECT COUNT(*) FROM sqlite_schema", (), |row| row.get(0))?;
    if tables == 0 {
        return Ok(0);
    }
    if application != APPLICATION_ID {
        let problem = "it is a database of another program; choose another file";
        return Err(Error::Corrupt(problem.to_owned()));
    }
    match usize::try_from(version) {
        Ok(version) if version <= MIGRATIONS.len() => Ok(version),
        _ => Err(Error::Corrupt(format!(
            "its schema has version {version} and this program knows versions up to {}; run the \
             newer program that wrote it",
            MIGRATIONS.len()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::{MIGRATIONS, migrate, migrate_to};

    /// Rows as each version wrote them, the first for version 1.
    const ROWS: &[&str] = &[
        include_str!("migrations/rows/0001.sql"),
        include_str!("migrations/rows/0002.sql"),
        include_str!("migrations/rows/0003.sql"),
        include_str!("migrations/rows/0004.sql"),
        // Versions 5 and 6 have the same rows.
        include_str!("migrations/rows/0004.sql"),
        include_str!("migrations/rows/0004.sql"),
        include_str!("migrations/rows/0007.sql"),
        include_str!("migrations/rows/0008.sql"),
    ];

    /// The first column of all rows that a query gives.
    fn column(connection: &Connection, sql: &str) -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        statement.query_map((), |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    fn schema(connection: &Connection) -> Vec<String> {
        let sql = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name";
        column(connection, sql)
    }

    #[test]
    fn every_earlier_version_arrives_at_the_same_schema_with_its_rows() {
        assert_eq!(ROWS.len(), MIGRATIONS.len(), "each version has rows to start from");
        let mut fresh = Connection::open_in_memory().unwrap();
        migrate(&mut fresh).unwrap();
        for (index, rows) in ROWS.iter().enumerate() {
            let mut connection = Connection::open_in_memory().unwrap();
            migrate_to(&mut connection, index + 1).unwrap();
            connection.execute_batch(rows).unwrap();
            migrate(&mut connection).unwrap();
            assert_eq!(schema(&connection), schema(&fresh), "from version {}", index + 1);
            let head: Vec<u8> =
                connection.query_row("SELECT head FROM runs", (), |row| row.get(0)).unwrap();
            assert_eq!(head, b"head", "from version {}", index + 1);
        }
    }

    #[test]
    fn version_7_keeps_the_rows_of_every_table() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate_to(&mut connection, 7).unwrap();
        connection.execute_batch(ROWS[6]).unwrap();
        let tables =
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
        for table in column(&connection, tables) {
            let rows = column(&connection, &format!("SELECT '' FROM {table}"));
            assert!(!rows.is_empty(), "version 7 has rows in {table}");
        }
        migrate(&mut connection).unwrap();
        for (rows, expected) in [
            (
                "format('%d-%d of %Q, %d %d', first_slot, last_slot, owner, epoch, sequence) FROM cells",
                &["0-16383 of '', 5 3"][..],
            ),
            (
                "format('%d: %s %d %s %d %s %s', run_key, workflow_id, slot, hex(run_id), first_branch, \
                 ifnull(wake_at, '-'), CAST(head AS TEXT)) FROM runs",
                &[
                    "1: order 7 0190163D8694739BAEA5966C26F8AD91 1 1000 head",
                    "3: order 7 0190163D8694739BAEA5966C26F8AD93 1 - reset",
                ],
            ),
            ("format('%s %d', workflow_id, run_key) FROM current_runs", &["order 3"]),
            (
                "format('%d: %d %d %s %d %s %s', key, namespace, kind, id, slot, ifnull(wake_at, '-'), \
                 CAST(head AS TEXT)) FROM entities",
                &["2: 1 2 nightly 9 2000 schedule head", "4: 1 2 nightly 9 - created again"],
            ),
            (
                "format('%d: %d %s %s', key, kind, hex(id), CAST(value AS TEXT)) FROM parts",
                &["1: 1 0000000000000005 activity", "4: 32  config"],
            ),
            (
                "format('%d: %d %d %s', key, log, position, CAST(value AS TEXT)) FROM logs",
                &["4: 1 1 audit", "4: 2 -5 ledger"],
            ),
            (
                "format('%d: %d-%d %s', branch, first_event_id, last_event_id, CAST(bytes AS TEXT)) FROM history",
                &["1: 1-3 events", "3: 4-5 more"],
            ),
            ("format('%d from %d', run_key, branch) FROM branch_references", &["3 from 1"]),
            ("format('%d %d %s', key, slot, CAST(value AS TEXT)) FROM tasks", &["1 7 task"]),
            ("format('%d %d %s', key, slot, CAST(value AS TEXT)) FROM messages", &["2 9 message"]),
            (
                "format('%d %s %s', kind, key, CAST(value AS TEXT)) FROM records",
                &["1 default namespace"],
            ),
            (
                "format('%d %s %s', run_key, workflow_id, PerennialLabels) FROM visibility",
                &["1 order [\"team=billing\"]"],
            ),
            ("format('%d %d %d', length(database_id), in_use, settled) FROM redo", &["16 1 9"]),
        ] {
            assert_eq!(column(&connection, &format!("SELECT {rows}")), expected, "{rows}");
        }
    }

    #[test]
    fn migrating_twice_changes_nothing() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection).unwrap();
        let before = schema(&connection);
        migrate(&mut connection).unwrap();
        assert_eq!(schema(&connection), before);
    }

    #[test]
    fn newer_database_is_refused() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection).unwrap();
        connection.pragma_update(None, "user_version", MIGRATIONS.len() as i64 + 1).unwrap();
        let error = migrate(&mut connection).unwrap_err().to_string();
        assert!(error.contains("run the newer program"), "{error}");
    }

    #[test]
    fn database_of_another_program_is_refused() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE recipes (name TEXT)").unwrap();
        let error = migrate(&mut connection).unwrap_err().to_string();
        assert!(error.contains("another program"), "{error}");
    }
}
