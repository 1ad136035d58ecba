//! Opening a database: the first time, at the same time, and when something is wrong.

use std::thread;

use perennial_store::{CellId, Error, PostgresOptions, PostgresStore, Store};

use super::server::postgres;
use crate::conformance::backends::options;
use crate::conformance::cluster::with_nodes;
use crate::writing::{Owner, current, load, new_run};

#[test]
fn nodes_that_start_at_once_make_the_tables_once() {
    let url = postgres().create_database().unwrap();
    thread::scope(|scope| {
        let nodes: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| PostgresStore::open(&options(&url)).map(|store| store.cells())))
            .collect();
        for node in nodes {
            assert_eq!(node.join().unwrap().unwrap().unwrap().len(), 1);
        }
    });
}

#[test]
fn new_database_has_as_many_cells_as_asked_for() {
    let mut options = options(&postgres().create_database().unwrap());
    options.first_cells = 16;
    assert_eq!(PostgresStore::open(&options).unwrap().cells().unwrap().len(), 16);
    options.first_cells = 4;
    let cells = PostgresStore::open(&options).unwrap().cells().unwrap();
    assert_eq!(cells.len(), 16, "the slots of an existing database stay as they are divided");
}

fn refused(options: &PostgresOptions) -> Error {
    PostgresStore::open(options).err().unwrap()
}

#[test]
fn tables_of_the_first_version_get_the_nodes_and_keep_their_rows() {
    let url = postgres().create_database().unwrap();
    Owner::first(&PostgresStore::open(&options(&url)).unwrap())
        .commit(current(new_run(1, "order")));
    let name = url.rsplit('/').next().unwrap();
    let first_version =
        "DROP TABLE perennial.nodes; DELETE FROM perennial.migrations WHERE version > 1";
    postgres().sql(name, first_version).unwrap();
    let version = || PostgresStore::schema_version(&options(&url)).unwrap().found;
    assert_eq!(version(), 1);
    let store = PostgresStore::open(&options(&url)).unwrap();
    assert_eq!(version(), 2);
    with_nodes(&store, &["a"]).take_cell(CellId::FIRST, "a").unwrap().unwrap();
    assert!(load(&store, "order").is_some());
}

#[test]
fn tables_of_a_newer_version_are_refused_and_left_alone() {
    let url = postgres().create_database().unwrap();
    drop(PostgresStore::open(&options(&url)).unwrap());
    let name = url.rsplit('/').next().unwrap();
    postgres().sql(name, "INSERT INTO perennial.migrations VALUES (99)").unwrap();
    let error = refused(&options(&url));
    assert!(matches!(error, Error::Fenced(_)), "{error:?}");
    assert!(error.to_string().contains("version 99"), "{error}");
}

#[test]
fn schema_of_something_else_is_refused_and_left_alone() {
    let url = postgres().create_database().unwrap();
    let name = url.rsplit('/').next().unwrap();
    let theirs = "CREATE SCHEMA perennial; CREATE TABLE perennial.runs (theirs TEXT)";
    postgres().sql(name, theirs).unwrap();
    let error = refused(&options(&url));
    assert!(matches!(error, Error::Fenced(_)), "{error:?}");
    assert!(error.to_string().contains("schema `perennial`"), "{error}");
    let tables = "SELECT string_agg(tablename, ' ') FROM pg_tables WHERE schemaname = 'perennial'";
    assert_eq!(postgres().sql(name, tables).unwrap(), "runs");
}

#[test]
fn server_that_may_lose_acknowledged_work_is_refused() {
    let mut options = options(&postgres().create_database().unwrap());
    options.allow_fsync_off = false;
    let error = refused(&options);
    assert!(error.to_string().contains("fsync = off"), "{error}");
}

#[test]
fn unreachable_and_unknown_databases_are_named_without_the_password() {
    let here = postgres().url("nothing_here").replace("postgres@", "postgres:secret@");
    for (url, expected) in [
        (here.as_str(), "database \"nothing_here\" does not exist"),
        // Nothing listens on this port.
        ("postgres://me:secret@127.0.0.1:1/payroll", "Connection refused"),
    ] {
        let error = refused(&options(url));
        assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
        assert!(error.to_string().contains(expected), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

#[test]
fn account_that_may_not_change_tables_is_told_so_and_works_when_they_are_there() {
    let url = postgres().create_database().unwrap();
    let name = url.rsplit('/').next().unwrap();
    let account = format!("account_of_{name}");
    postgres().sql(name, &format!("CREATE ROLE {account} LOGIN")).unwrap();
    let limited = options(&url.replace("postgres@", &format!("{account}@")));
    let error = refused(&limited);
    assert!(matches!(error, Error::Fenced(_)), "{error:?}");
    assert!(error.to_string().contains("`perennial database migrate`"), "{error}");

    drop(PostgresStore::open(&options(&url)).unwrap());
    let grants = format!(
        "GRANT USAGE ON SCHEMA perennial TO {account}; \
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA perennial TO {account}"
    );
    postgres().sql(name, &grants).unwrap();
    let store = PostgresStore::open(&limited).unwrap();
    Owner::first(&store).commit(current(new_run(1, "order")));
}
