//! The PostgreSQL server of these tests.

use std::sync::LazyLock;

use perennial_test_postgres::{Session, TestPostgres};

/// One server for all tests, each of which has databases of its own.
pub(crate) fn postgres() -> &'static TestPostgres {
    static SERVER: LazyLock<TestPostgres> = LazyLock::new(|| TestPostgres::start().unwrap());
    &SERVER
}

/// A fresh database: its name, and its URL.
pub(super) fn database() -> (String, String) {
    let url = postgres().create_database().unwrap();
    let name = url.rsplit('/').next().unwrap().to_owned();
    (name, url)
}

/// A transaction that has run these statements, and hasn't ended.
pub(super) fn open_transaction(name: &str, statements: &[&str]) -> Session {
    let mut session = postgres().session(name).unwrap();
    session.send("BEGIN").unwrap();
    for statement in statements {
        session.send(statement).unwrap();
    }
    let last = statements[statements.len() - 1].replace('\'', "''");
    let is_open = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
         AND state = 'idle in transaction' AND query LIKE '{last}%'"
    );
    while postgres().sql(name, &is_open).unwrap() != "1" {}
    session
}

/// Waits until somebody waits for a lock.
pub(super) fn until_a_lock_is_waited_for(name: &str) {
    let waiting = "SELECT count(*) FROM pg_stat_activity \
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while postgres().sql(name, waiting).unwrap() != "1" {}
}
