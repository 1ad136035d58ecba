//! Events of a branch, and lines of a log.

use perennial_engine::EntityKey;
use tokio_postgres::Client;

use super::statement::{Statement, int2, int8, limit as limit_of};
use crate::numbers::log_number;
use crate::{Error, Fragment, HistoryRange, Log, LogLine};

/// Fragments that one statement looks at.
const PAGE_FRAGMENTS: usize = 1_000;

pub(super) async fn read(
    client: &Client,
    range: HistoryRange,
    max_bytes: usize,
    reverse: bool,
) -> Result<Vec<Fragment>, Error> {
    let sql = match reverse {
        false => include_str!("sql/read_history.sql"),
        true => include_str!("sql/read_history_backwards.sql"),
    };
    let HistoryRange { branch, mut first_event_id, mut last_event_id } = range;
    let mut fragments: Vec<Fragment> = Vec::new();
    let mut bytes = 0_usize;
    while first_event_id <= last_event_id {
        let left = i64::try_from(max_bytes.saturating_sub(bytes)).unwrap_or(i64::MAX);
        let parameters = vec![
            int8(branch.0),
            int8(first_event_id),
            int8(last_event_id),
            int8(left),
            limit_of(PAGE_FRAGMENTS),
        ];
        let rows = Statement::new(sql, parameters).query(client).await?;
        for row in &rows {
            let contents: Vec<u8> = row.try_get(2)?;
            bytes = bytes.saturating_add(contents.len());
            // A page begins with a fragment that may not fit.
            if bytes > max_bytes && !fragments.is_empty() {
                return Ok(fragments);
            }
            fragments.push(Fragment {
                first_event_id: row.try_get(0)?,
                last_event_id: row.try_get(1)?,
                bytes: contents.into(),
            });
        }
        let Some(last) = fragments.last().filter(|_| rows.len() == PAGE_FRAGMENTS) else { break };
        match reverse {
            false => first_event_id = last.last_event_id.saturating_add(1),
            true => last_event_id = last.first_event_id - 1,
        }
    }
    Ok(fragments)
}

pub(super) async fn log(
    client: &Client,
    key: EntityKey,
    log: Log,
    positions: (i64, i64),
    limit: usize,
    reverse: bool,
) -> Result<Vec<LogLine>, Error> {
    let sql = match reverse {
        false => include_str!("sql/read_log.sql"),
        true => include_str!("sql/read_log_backwards.sql"),
    };
    let (first, last) = positions;
    let log_kind = int2(log_number(log).into());
    let parameters = vec![int8(key.0), log_kind, int8(first), int8(last), limit_of(limit)];
    let rows = Statement::new(sql, parameters).query(client).await?;
    rows.iter()
        .map(|row| Ok(LogLine { log, position: row.try_get(0)?, value: row.try_get(1)? }))
        .collect()
}
