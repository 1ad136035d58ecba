//! The PostgreSQL server of these tests.

use std::sync::LazyLock;

use perennial_test_postgres::TestPostgres;

/// One server for all tests, each of which has databases of its own.
pub(crate) fn postgres() -> &'static TestPostgres {
    static SERVER: LazyLock<TestPostgres> = LazyLock::new(|| TestPostgres::start().unwrap());
    &SERVER
}
