//! Statements and their parameters.

use std::borrow::Cow;

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};
use uuid::Uuid;

use crate::Error;

/// A value for a `$1` of a statement. Its type is sent along, so no round trip asks for it.
pub(crate) type Parameter = (Box<dyn ToSql + Sync + Send>, Type);

/// A statement with its parameters. It is not prepared on the server: a pooler may give the next one to another
/// connection.
#[derive(Debug)]
pub(crate) struct Statement {
    sql: Cow<'static, str>,
    parameters: Vec<Parameter>,
}

impl Statement {
    pub(crate) fn new(sql: impl Into<Cow<'static, str>>, parameters: Vec<Parameter>) -> Self {
        Self { sql: sql.into(), parameters }
    }

    /// Runs it, and returns how many rows it changed or found.
    pub(crate) async fn execute(&self, client: &Client) -> Result<u64, tokio_postgres::Error> {
        client.execute_typed(&self.sql, &self.parameters()).await
    }

    /// Runs it, and returns its rows.
    pub(crate) async fn query(&self, client: &Client) -> Result<Vec<Row>, Error> {
        Ok(self.rows(client).await?)
    }

    /// Does the same as [`Statement::query`], with PostgreSQL's error.
    pub(crate) async fn rows(&self, client: &Client) -> Result<Vec<Row>, tokio_postgres::Error> {
        client.query_typed(&self.sql, &self.parameters()).await
    }

    fn parameters(&self) -> Vec<(&(dyn ToSql + Sync), Type)> {
        self.parameters
            .iter()
            .map(|(value, ty)| (value.as_ref() as &(dyn ToSql + Sync), ty.clone()))
            .collect()
    }
}

pub(crate) fn boolean(value: bool) -> Parameter {
    (Box::new(value), Type::BOOL)
}

pub(crate) fn int2(value: i16) -> Parameter {
    (Box::new(value), Type::INT2)
}

pub(crate) fn int4(value: i32) -> Parameter {
    (Box::new(value), Type::INT4)
}

pub(crate) fn int8(value: i64) -> Parameter {
    (Box::new(value), Type::INT8)
}

pub(crate) fn float8(value: f64) -> Parameter {
    (Box::new(value), Type::FLOAT8)
}

pub(crate) fn text(value: impl Into<String>) -> Parameter {
    (Box::new(value.into()), Type::TEXT)
}

pub(crate) fn bytea(value: impl Into<Vec<u8>>) -> Parameter {
    (Box::new(value.into()), Type::BYTEA)
}

pub(crate) fn int2s(values: Vec<i16>) -> Parameter {
    (Box::new(values), Type::INT2_ARRAY)
}

pub(crate) fn int8s(values: Vec<i64>) -> Parameter {
    (Box::new(values), Type::INT8_ARRAY)
}

pub(crate) fn float8s(values: Vec<f64>) -> Parameter {
    (Box::new(values), Type::FLOAT8_ARRAY)
}

pub(crate) fn texts(values: Vec<String>) -> Parameter {
    (Box::new(values), Type::TEXT_ARRAY)
}

pub(crate) fn byteas(values: Vec<Vec<u8>>) -> Parameter {
    (Box::new(values), Type::BYTEA_ARRAY)
}

pub(crate) fn uuids(values: Vec<Uuid>) -> Parameter {
    (Box::new(values), Type::UUID_ARRAY)
}

/// A limit as a parameter.
pub(crate) fn limit(limit: usize) -> Parameter {
    int8(i64::try_from(limit).unwrap_or(i64::MAX))
}
