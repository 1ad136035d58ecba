//! Wake-ups of a range of slots.

use perennial_engine::{EntityId, EntityKey, EntityRef, NamespaceKey, SlotRange, Time};
use tokio_postgres::{Client, Row};
use uuid::Uuid;

use super::load::kind_of_number;
use super::statement::{Statement, int4, int8, limit as limit_of};
use crate::{Error, Wake};

pub(super) async fn page(
    client: &Client,
    slots: SlotRange,
    after: (Time, EntityKey),
    up_to: Time,
    limit: usize,
) -> Result<Vec<Wake>, Error> {
    let parameters = vec![
        int8(after.0.0),
        int8(after.1.0),
        int8(up_to.0),
        int4(slots.first().0.into()),
        int4(slots.last().0.into()),
        limit_of(limit),
    ];
    let rows =
        Statement::new(include_str!("sql/page_of_wakes.sql"), parameters).query(client).await?;
    rows.iter().map(wake).collect()
}

fn wake(row: &Row) -> Result<Wake, Error> {
    let key = EntityKey(row.try_get(1)?);
    let kind = kind_of_number(row.try_get(2)?, key)?;
    let (namespace, id): (Option<i64>, Option<String>) = (row.try_get(3)?, row.try_get(4)?);
    let Some((namespace, id)) = namespace.map(NamespaceKey).zip(id) else {
        return Err(Error::Corrupt(format!("there is a wake-up of {}, which isn't there", key.0)));
    };
    let run_id: Option<Uuid> = row.try_get(5)?;
    let run_id = run_id.map(|id| id.to_string());
    let id = EntityId { namespace, kind, id };
    Ok(Wake { at: Time(row.try_get(0)?), key, entity: EntityRef { id, run_id } })
}
