//! How SQLite goes about our statements.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

use super::connection;
use super::migrate::migrate;

/// Each line of the plan of a statement in `sql/`.
fn plan(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    // Parameters may stay unset: plans don't depend on them.
    let mut rows = statement.raw_query();
    let mut lines = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        lines.push(row.get(3).unwrap());
    }
    lines
}

fn database() -> Connection {
    let mut connection = connection::in_memory().unwrap();
    migrate(&mut connection).unwrap();
    connection
}

#[test]
fn no_statement_reads_or_sorts_a_whole_table() {
    let connection = database();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sqlite/sql");
    let mut statements = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let lines = plan(&connection, &fs::read_to_string(&path).unwrap());
        // The leases are as few as the cells.
        let bad = |line: &&String| line.starts_with("SCAN") && *line != "SCAN leases";
        assert_eq!(lines.iter().find(bad), None, "{name}");
        assert!(lines.iter().all(|line| !line.contains("TEMP B-TREE")), "{name}: {lines:?}");
        statements += 1;
    }
    assert!(statements > 20, "only {statements} statements were found");
}

#[test]
fn page_of_wakes_begins_where_the_one_before_ended() {
    let lines = plan(&database(), include_str!("sql/page_of_wakes.sql"));
    let begin = "SEARCH runs USING INDEX runs_by_wake_at (wake_at=? AND rowid>?)";
    assert!(lines.iter().any(|line| line == begin), "{lines:?}");
}
