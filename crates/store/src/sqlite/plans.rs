//! Tests of SQLite's query plans for our statements.

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
        // Cells are few.
        let bad = |line: &&String| line.starts_with("SCAN") && *line != "SCAN cells";
        assert_eq!(lines.iter().find(bad), None, "{name}");
        assert!(lines.iter().all(|line| !line.contains("TEMP B-TREE")), "{name}: {lines:?}");
        statements += 1;
    }
    assert!(statements > 20, "only {statements} statements were found");
}

#[test]
fn page_of_wakes_begins_where_the_one_before_ended() {
    let lines = plan(&database(), include_str!("sql/page_of_wakes.sql"));
    for table in ["runs", "entities"] {
        for range in ["wake_at=? AND rowid>?", "wake_at>? AND wake_at<?"] {
            let search = format!("SEARCH {table} USING INDEX {table}_by_wake_at ({range})");
            assert!(lines.contains(&search), "{search} isn't in {lines:?}");
        }
    }
}

#[test]
fn latest_entity_is_the_last_of_its_id_in_the_index() {
    let lines = plan(&database(), include_str!("sql/load_latest_entity.sql"));
    let search = "SEARCH entities USING INDEX entities_by_id (namespace=? AND kind=? AND id=?)";
    assert_eq!(lines, [search]);
}

#[test]
fn log_is_read_from_the_first_position_asked_for() {
    for sql in [include_str!("sql/read_log.sql"), include_str!("sql/read_log_backwards.sql")] {
        let lines = plan(&database(), sql);
        let range = "key=? AND log=? AND position>? AND position<?";
        assert_eq!(lines, [format!("SEARCH logs USING PRIMARY KEY ({range})")]);
    }
}
