//! Loads entities with their parts.

use std::collections::BTreeMap;

use perennial_engine::{EntityKey, EntityRef, Kind, PartId};
use tokio_postgres::{Client, Row};
use uuid::Uuid;

use super::statement::{Statement, int2s, int8s, texts, uuids};
use crate::check::run_id_bytes;
use crate::{Error, Fragment, StoredEntity};

/// Entities by their ids: a result for each, in order.
pub(super) async fn load(
    client: &Client,
    wanted: &[EntityRef],
) -> Result<Vec<Result<Option<StoredEntity>, Error>>, Error> {
    let mut current = Ids::default();
    let mut latest = (Ids::default(), Vec::new());
    let mut by_run_id = (Ids::default(), Vec::new());
    for (place, EntityRef { id, run_id }) in (0..).zip(wanted) {
        // No text in the tables has this character, and PostgreSQL refuses to look for one.
        if id.id.contains('\0') {
            continue;
        }
        match (id.kind == Kind::Run, run_id) {
            (true, None) => current.push(place, id.namespace.0, &id.id),
            (true, Some(run_id)) => {
                if let Some(bytes) = run_id_bytes(run_id) {
                    by_run_id.0.push(place, id.namespace.0, &id.id);
                    by_run_id.1.push(Uuid::from_bytes(bytes));
                }
            }
            (false, None) => {
                latest.0.push(place, id.namespace.0, &id.id);
                latest.1.push(i16::from(id.kind.number()));
            }
            // Only runs have run ids.
            (false, Some(_)) => {}
        }
    }
    let mut found = Found::default();
    if !current.places.is_empty() {
        let Ids { places, namespaces, ids } = current;
        let parameters = vec![int8s(places), int8s(namespaces), texts(ids)];
        let sql = include_str!("sql/load_current_runs.sql");
        found.add_runs(&Statement::new(sql, parameters).query(client).await?)?;
    }
    if !by_run_id.1.is_empty() {
        let (Ids { places, namespaces, ids }, run_ids) = by_run_id;
        let parameters = vec![int8s(places), int8s(namespaces), texts(ids), uuids(run_ids)];
        let sql = include_str!("sql/load_runs_by_id.sql");
        found.add_runs(&Statement::new(sql, parameters).query(client).await?)?;
    }
    if !latest.1.is_empty() {
        let (Ids { places, namespaces, ids }, kinds) = latest;
        let parameters = vec![int8s(places), int8s(namespaces), int2s(kinds), texts(ids)];
        let sql = include_str!("sql/load_latest_entities.sql");
        found.add_entities(&Statement::new(sql, parameters).query(client).await?)?;
    }
    let take = |(place, _): (i64, &EntityRef)| found.0.remove(&place).transpose();
    Ok((0..).zip(wanted).map(take).collect())
}

/// Entities by their keys, in the order asked for; unknown keys are left out.
pub(super) async fn load_by_keys(
    client: &Client,
    keys: &[EntityKey],
) -> Result<Vec<StoredEntity>, Error> {
    let places: Vec<i64> = (0..).zip(keys).map(|(place, _)| place).collect();
    let keys: Vec<i64> = keys.iter().map(|key| key.0).collect();
    let mut found = Found::default();
    let parameters = vec![int8s(places.clone()), int8s(keys.clone())];
    let sql = include_str!("sql/load_entities_by_key.sql");
    found.add_entities(&Statement::new(sql, parameters).query(client).await?)?;
    let sql = include_str!("sql/load_runs_by_key.sql");
    let parameters = vec![int8s(places), int8s(keys)];
    found.add_runs(&Statement::new(sql, parameters).query(client).await?)?;
    found.0.into_values().collect()
}

/// The kind of an entity by its number.
pub(super) fn kind_of_number(number: i16, key: EntityKey) -> Result<Kind, Error> {
    let kind = u8::try_from(number).ok().and_then(Kind::from_number);
    kind.ok_or_else(|| Error::Corrupt(format!("entity {} has kind {number}", key.0)))
}

/// Ids to look up, each with its place in the request.
#[derive(Debug, Default)]
struct Ids {
    places: Vec<i64>,
    namespaces: Vec<i64>,
    ids: Vec<String>,
}

impl Ids {
    fn push(&mut self, place: i64, namespace: i64, id: &str) {
        self.places.push(place);
        self.namespaces.push(namespace);
        self.ids.push(id.to_owned());
    }
}

/// What was found, by its place in the request.
#[derive(Debug, Default)]
struct Found(BTreeMap<i64, Result<StoredEntity, Error>>);

impl Found {
    fn add_runs(&mut self, rows: &[Row]) -> Result<(), Error> {
        for row in rows {
            self.0.insert(row.try_get(0)?, run(row));
        }
        Ok(())
    }

    fn add_entities(&mut self, rows: &[Row]) -> Result<(), Error> {
        for row in rows {
            self.0.insert(row.try_get(0)?, entity(row));
        }
        Ok(())
    }
}

fn run(row: &Row) -> Result<StoredEntity, Error> {
    let key = EntityKey(row.try_get(1)?);
    let Some(first_event_id) = row.try_get(4)? else {
        let branch: i64 = row.try_get(3)?;
        let problem = format!("run {} begins in branch {branch}, which has no first event", key.0);
        return Err(Error::Corrupt(problem));
    };
    let bytes = row.try_get::<_, Vec<u8>>(6)?.into();
    let first_fragment = Some(Fragment { first_event_id, last_event_id: row.try_get(5)?, bytes });
    Ok(StoredEntity {
        kind: Kind::Run,
        key,
        head: row.try_get(2)?,
        parts: parts(row, 8)?,
        first_fragment,
        is_current: row.try_get(7)?,
    })
}

fn entity(row: &Row) -> Result<StoredEntity, Error> {
    let key = EntityKey(row.try_get(1)?);
    Ok(StoredEntity {
        kind: kind_of_number(row.try_get(2)?, key)?,
        key,
        head: row.try_get(3)?,
        parts: parts(row, 5)?,
        first_fragment: None,
        is_current: row.try_get(4)?,
    })
}

/// The parts in three columns: kinds, ids and values. They are missing if there is no part.
fn parts(row: &Row, first_column: usize) -> Result<Vec<(PartId, Vec<u8>)>, Error> {
    let kinds: Option<Vec<i16>> = row.try_get(first_column)?;
    let ids: Option<Vec<Vec<u8>>> = row.try_get(first_column + 1)?;
    let values: Option<Vec<Vec<u8>>> = row.try_get(first_column + 2)?;
    let kinds = kinds.unwrap_or_default().into_iter();
    let ids = kinds.zip(ids.unwrap_or_default());
    let part = |((kind, id), value): ((i16, _), _)| {
        let kind =
            u8::try_from(kind).map_err(|_| Error::Corrupt(format!("a part has kind {kind}")))?;
        Ok((PartId { kind, id }, value))
    };
    ids.zip(values.unwrap_or_default()).map(part).collect()
}
