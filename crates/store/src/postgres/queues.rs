//! Waiting tasks, and messages to other entities.

use perennial_engine::{Slot, SlotRange};
use tokio_postgres::{Client, Row};

use super::statement::{Statement, byteas, int2s, int4, int8, int8s, limit as limit_of};
use crate::{Error, MessageWrite, StoredMessage, TaskRow, TaskWrite};

/// Adds the statements that write tasks. A key is among them once.
pub(super) fn add_tasks(tasks: Vec<TaskWrite>, statements: &mut Vec<Statement>) {
    let (mut put, mut deleted) = (Rows::default(), Vec::new());
    for task in tasks {
        match task {
            TaskWrite::Put(TaskRow { key, slot, value }) => put.push(key, slot, value),
            TaskWrite::Delete(key) => deleted.push(key),
        }
    }
    add(put, include_str!("sql/put_tasks.sql"), statements);
    add_deleted(deleted, include_str!("sql/delete_tasks.sql"), statements);
}

/// Adds the statements that write messages. A key is among them once.
pub(super) fn add_messages(messages: Vec<MessageWrite>, statements: &mut Vec<Statement>) {
    let (mut put, mut deleted) = (Rows::default(), Vec::new());
    for message in messages {
        match message {
            MessageWrite::Put { key, slot, value } => put.push(key, slot, value),
            MessageWrite::Delete(key) => deleted.push(key),
        }
    }
    add(put, include_str!("sql/put_messages.sql"), statements);
    add_deleted(deleted, include_str!("sql/delete_messages.sql"), statements);
}

#[derive(Debug, Default)]
struct Rows {
    keys: Vec<i64>,
    slots: Vec<i16>,
    values: Vec<Vec<u8>>,
}

impl Rows {
    fn push(&mut self, key: i64, slot: Slot, value: Vec<u8>) {
        self.keys.push(key);
        // Slots are below 16,384.
        self.slots.push(slot.0 as i16);
        self.values.push(value);
    }
}

fn add(rows: Rows, sql: &'static str, statements: &mut Vec<Statement>) {
    if !rows.keys.is_empty() {
        let parameters = vec![int8s(rows.keys), int2s(rows.slots), byteas(rows.values)];
        statements.push(Statement::new(sql, parameters));
    }
}

fn add_deleted(keys: Vec<i64>, sql: &'static str, statements: &mut Vec<Statement>) {
    if !keys.is_empty() {
        statements.push(Statement::new(sql, vec![int8s(keys)]));
    }
}

pub(super) async fn tasks(
    client: &Client,
    slots: SlotRange,
    after: i64,
    limit: usize,
) -> Result<Vec<TaskRow>, Error> {
    let rows = page(client, include_str!("sql/page_of_tasks.sql"), slots, after, limit).await?;
    let task =
        |row: &Row| Ok(TaskRow { key: row.try_get(0)?, slot: slot(row)?, value: row.try_get(2)? });
    rows.iter().map(task).collect()
}

pub(super) async fn messages(
    client: &Client,
    slots: SlotRange,
    after: i64,
    limit: usize,
) -> Result<Vec<StoredMessage>, Error> {
    let rows = page(client, include_str!("sql/page_of_messages.sql"), slots, after, limit).await?;
    let message = |row: &Row| {
        Ok(StoredMessage { key: row.try_get(0)?, slot: slot(row)?, value: row.try_get(2)? })
    };
    rows.iter().map(message).collect()
}

async fn page(
    client: &Client,
    sql: &'static str,
    slots: SlotRange,
    after: i64,
    limit: usize,
) -> Result<Vec<Row>, Error> {
    let (first, last) = (int4(slots.first().0.into()), int4(slots.last().0.into()));
    Statement::new(sql, vec![int8(after), first, last, limit_of(limit)]).query(client).await
}

fn slot(row: &Row) -> Result<Slot, Error> {
    let number: i16 = row.try_get(1)?;
    let slot = u16::try_from(number).map(Slot);
    slot.map_err(|_| Error::Corrupt(format!("a row has slot {number}")))
}
