//! Records: namespaces, keys and other single rows.

use tokio_postgres::Client;

use super::statement::{Statement, bytea, byteas, int2, int2s, limit as limit_of, text, texts};
use crate::numbers::record_kind_number;
use crate::{Error, RecordKind, RecordWrite};

/// Adds the statements that write records. A key is among them once.
pub(super) fn add(records: Vec<RecordWrite>, statements: &mut Vec<Statement>) {
    let (mut kinds, mut keys, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let (mut deleted_kinds, mut deleted_keys) = (Vec::new(), Vec::new());
    for RecordWrite { kind, key, value } in records {
        let kind = i16::from(record_kind_number(kind));
        match value {
            Some(value) => {
                kinds.push(kind);
                keys.push(key);
                values.push(value);
            }
            None => {
                deleted_kinds.push(kind);
                deleted_keys.push(key);
            }
        }
    }
    if !keys.is_empty() {
        let parameters = vec![int2s(kinds), texts(keys), byteas(values)];
        statements.push(Statement::new(include_str!("sql/put_records.sql"), parameters));
    }
    if !deleted_keys.is_empty() {
        let parameters = vec![int2s(deleted_kinds), texts(deleted_keys)];
        statements.push(Statement::new(include_str!("sql/delete_records.sql"), parameters));
    }
}

/// Writes a record if the stored one is the expected one.
pub(super) async fn compare_and_set(
    client: &Client,
    record: &RecordWrite,
    expected: Option<&[u8]>,
) -> Result<bool, Error> {
    let RecordWrite { kind, key, value } = record;
    let mut parameters = vec![int2(record_kind_number(*kind).into()), text(key)];
    let sql = match (expected, value) {
        (None, None) => include_str!("sql/record_is_missing.sql"),
        (None, Some(value)) => {
            parameters.push(bytea(value.as_slice()));
            include_str!("sql/create_record_if_missing.sql")
        }
        (Some(expected), None) => {
            parameters.push(bytea(expected));
            include_str!("sql/delete_record_if_unchanged.sql")
        }
        (Some(expected), Some(value)) => {
            parameters.push(bytea(value.as_slice()));
            parameters.push(bytea(expected));
            include_str!("sql/replace_record.sql")
        }
    };
    // Each is one statement, and so a transaction by itself.
    Ok(Statement::new(sql, parameters).execute(client).await? == 1)
}

pub(super) async fn page(
    client: &Client,
    kind: RecordKind,
    prefix: &str,
    after: &str,
    limit: usize,
) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let kind = int2(record_kind_number(kind).into());
    let parameters = vec![kind, text(prefix), text(after), limit_of(limit)];
    let rows =
        Statement::new(include_str!("sql/page_of_records.sql"), parameters).query(client).await?;
    let mut records = Vec::new();
    for row in &rows {
        let key: String = row.try_get(0)?;
        if !key.starts_with(prefix) {
            // Keys with the prefix lie together.
            break;
        }
        records.push((key, row.try_get(1)?));
    }
    Ok(records)
}
