//! Turns the writes of a batch into statements for many rows.
//!
//! Writes of different entities don't depend on each other, so those to one table become one statement. A **stage**
//! collects them; it ends where the order matters: before an entity that the stage has already, and between writes and
//! deletions.

use std::collections::{BTreeMap, HashSet};

use perennial_engine::{Kind, PartId, Time};
use uuid::Uuid;

use super::statement::{Statement, byteas, int2s, int8s, texts, uuids};
use super::{queues, records};
use crate::numbers::log_number;
use crate::visibility::{self, Row};
use crate::{Batch, EntityWrite, Fragment, Listed, LogLine, NewEntity};

/// The statements that write a batch's rows. Tasks, messages and records are in it once each.
pub(super) fn statements(batch: Batch) -> Vec<Statement> {
    let Batch { entities, tasks, messages, records, .. } = batch;
    let mut statements = Vec::new();
    let (mut writes, mut deletions) = (Writes::default(), Deletions::default());
    for write in entities {
        let key = write.key.0;
        if write.deleted {
            std::mem::take(&mut writes).add_to(&mut statements);
            deletions.add(write.kind, key);
            continue;
        }
        std::mem::take(&mut deletions).add_to(&mut statements);
        if !writes.keys.insert(key) {
            std::mem::take(&mut writes).add_to(&mut statements);
            writes.keys.insert(key);
        }
        writes.add(write);
    }
    writes.add_to(&mut statements);
    deletions.add_to(&mut statements);
    queues::add_tasks(tasks, &mut statements);
    queues::add_messages(messages, &mut statements);
    records::add(records, &mut statements);
    statements
}

/// Entities to delete with all their rows.
#[derive(Debug, Default)]
struct Deletions {
    runs: Vec<i64>,
    entities: (Vec<i64>, Vec<i16>),
}

impl Deletions {
    fn add(&mut self, kind: Kind, key: i64) {
        if kind == Kind::Run {
            self.runs.push(key);
        } else {
            self.entities.0.push(key);
            self.entities.1.push(kind.number().into());
        }
    }

    fn add_to(self, statements: &mut Vec<Statement>) {
        if !self.runs.is_empty() {
            for sql in [
                include_str!("sql/delete_current_pointers.sql"),
                include_str!("sql/delete_runs.sql"),
                include_str!("sql/delete_unused_history.sql"),
            ] {
                statements.push(Statement::new(sql, vec![int8s(self.runs.clone())]));
            }
        }
        let (keys, kinds) = self.entities;
        if !keys.is_empty() {
            let sql = include_str!("sql/delete_entities.sql");
            statements.push(Statement::new(sql, vec![int8s(keys), int2s(kinds)]));
        }
    }
}

/// Rows to write, by table. An entity is in it once.
#[derive(Debug, Default)]
struct Writes {
    keys: HashSet<i64>,
    new_runs: NewRuns,
    references: (Vec<i64>, Vec<i64>),
    new_entities: NewEntities,
    run_heads: (Vec<i64>, Vec<Vec<u8>>),
    entity_heads: (Vec<i64>, Vec<i16>, Vec<Vec<u8>>),
    /// Runs that have to be there, though their heads don't change.
    expected_runs: Vec<i64>,
    expected_entities: (Vec<i64>, Vec<i16>),
    run_wakes: (Vec<i64>, Vec<i64>),
    entity_wakes: (Vec<i64>, Vec<i64>),
    no_wakes: Vec<i64>,
    current: Vec<i64>,
    parts: Parts,
    no_parts: (Vec<i64>, Vec<i16>, Vec<Vec<u8>>),
    history: Fragments,
    log: LogLines,
    shown: Vec<Row>,
    closed: visibility::postgres::ClosedRows,
}

#[derive(Debug, Default)]
struct NewRuns {
    key: Vec<i64>,
    namespace: Vec<i64>,
    workflow_id: Vec<String>,
    run_id: Vec<Uuid>,
    slot: Vec<i16>,
    first_branch: Vec<i64>,
    head: Vec<Vec<u8>>,
}

#[derive(Debug, Default)]
struct NewEntities {
    key: Vec<i64>,
    namespace: Vec<i64>,
    kind: Vec<i16>,
    id: Vec<String>,
    slot: Vec<i16>,
    head: Vec<Vec<u8>>,
}

#[derive(Debug, Default)]
struct Parts {
    key: Vec<i64>,
    kind: Vec<i16>,
    id: Vec<Vec<u8>>,
    value: Vec<Vec<u8>>,
}

#[derive(Debug, Default)]
struct Fragments {
    branch: Vec<i64>,
    first_event_id: Vec<i64>,
    last_event_id: Vec<i64>,
    bytes: Vec<Vec<u8>>,
}

#[derive(Debug, Default)]
struct LogLines {
    key: Vec<i64>,
    log: Vec<i16>,
    position: Vec<i64>,
    value: Vec<Vec<u8>>,
}

impl Writes {
    fn add(&mut self, write: EntityWrite) {
        let EntityWrite {
            kind,
            key,
            created,
            deleted: _,
            becomes_current,
            head,
            parts,
            history,
            log,
            wake_at,
            visibility,
        } = write;
        let key = key.0;
        let is_new = created.is_some();
        match created {
            Some(created) => self.create(key, created, head.unwrap_or_default()),
            None => self.update(kind, key, head),
        }
        match wake_at {
            Some(Time::NONE) if is_new => {}
            Some(Time::NONE) => self.no_wakes.push(key),
            Some(wake_at) => {
                let (keys, times) = match kind == Kind::Run {
                    true => &mut self.run_wakes,
                    false => &mut self.entity_wakes,
                };
                keys.push(key);
                times.push(wake_at.0);
            }
            None => {}
        }
        if becomes_current {
            self.current.push(key);
        }
        self.add_parts(key, parts);
        for Fragment { first_event_id, last_event_id, bytes } in history {
            self.history.branch.push(key);
            self.history.first_event_id.push(first_event_id);
            self.history.last_event_id.push(last_event_id);
            self.history.bytes.push(bytes.into());
        }
        // The last line of a position wins.
        let lines: BTreeMap<_, _> = log
            .into_iter()
            .map(|LogLine { log, position, value }| ((log, position), value))
            .collect();
        for ((log, position), value) in lines {
            self.log.key.push(key);
            self.log.log.push(log_number(log).into());
            self.log.position.push(position);
            self.log.value.push(value);
        }
        match visibility {
            Some(Listed::Row(row)) => self.shown.push(*row),
            Some(Listed::Closed { status, closed }) => self.closed.push(key, status, closed),
            None => {}
        }
    }

    fn create(&mut self, key: i64, created: NewEntity, head: Vec<u8>) {
        let NewEntity { id, run } = created;
        // Slots are below 16,384.
        let slot = id.slot().0 as i16;
        let Some(run) = run else {
            self.new_entities.key.push(key);
            self.new_entities.namespace.push(id.namespace.0);
            self.new_entities.kind.push(id.kind.number().into());
            self.new_entities.id.push(id.id);
            self.new_entities.slot.push(slot);
            self.new_entities.head.push(head);
            return;
        };
        self.new_runs.key.push(key);
        self.new_runs.namespace.push(id.namespace.0);
        self.new_runs.workflow_id.push(id.id);
        // The batch was checked: it is a UUID.
        self.new_runs.run_id.push(Uuid::try_parse(&run.run_id).unwrap_or_default());
        self.new_runs.slot.push(slot);
        self.new_runs.first_branch.push(run.first_branch.0);
        self.new_runs.head.push(head);
        for ancestor in run.ancestors {
            self.references.0.push(key);
            self.references.1.push(ancestor.0);
        }
    }

    fn update(&mut self, kind: Kind, key: i64, head: Option<Vec<u8>>) {
        let number = i16::from(kind.number());
        match (kind == Kind::Run, head) {
            (true, Some(head)) => {
                self.run_heads.0.push(key);
                self.run_heads.1.push(head);
            }
            (true, None) => self.expected_runs.push(key),
            (false, Some(head)) => {
                self.entity_heads.0.push(key);
                self.entity_heads.1.push(number);
                self.entity_heads.2.push(head);
            }
            (false, None) => {
                self.expected_entities.0.push(key);
                self.expected_entities.1.push(number);
            }
        }
    }

    fn add_parts(&mut self, key: i64, parts: Vec<(PartId, Option<Vec<u8>>)>) {
        // The last write of a part wins.
        let parts: BTreeMap<PartId, Option<Vec<u8>>> = parts.into_iter().collect();
        for (PartId { kind, id }, value) in parts {
            match value {
                Some(value) => {
                    self.parts.key.push(key);
                    self.parts.kind.push(kind.into());
                    self.parts.id.push(id);
                    self.parts.value.push(value);
                }
                None => {
                    self.no_parts.0.push(key);
                    self.no_parts.1.push(kind.into());
                    self.no_parts.2.push(id);
                }
            }
        }
    }

    fn add_to(self, statements: &mut Vec<Statement>) {
        let mut add = |is_empty: bool, sql: &'static str, parameters| {
            if !is_empty {
                statements.push(Statement::new(sql, parameters));
            }
        };
        let NewRuns { key, namespace, workflow_id, run_id, slot, first_branch, head } =
            self.new_runs;
        add(
            key.is_empty(),
            include_str!("sql/create_runs.sql"),
            vec![
                int8s(key),
                int8s(namespace),
                texts(workflow_id),
                uuids(run_id),
                int2s(slot),
                int8s(first_branch),
                byteas(head),
            ],
        );
        let (keys, branches) = self.references;
        add(
            keys.is_empty(),
            include_str!("sql/refer_to_branches.sql"),
            vec![int8s(keys), int8s(branches)],
        );
        let NewEntities { key, namespace, kind, id, slot, head } = self.new_entities;
        add(
            key.is_empty(),
            include_str!("sql/create_entities.sql"),
            vec![int8s(key), int8s(namespace), int2s(kind), texts(id), int2s(slot), byteas(head)],
        );
        let (keys, heads) = self.run_heads;
        add(
            keys.is_empty(),
            include_str!("sql/update_run_heads.sql"),
            vec![int8s(keys), byteas(heads)],
        );
        let (keys, kinds, heads) = self.entity_heads;
        add(
            keys.is_empty(),
            include_str!("sql/update_entity_heads.sql"),
            vec![int8s(keys), int2s(kinds), byteas(heads)],
        );
        add(
            self.expected_runs.is_empty(),
            include_str!("sql/expect_runs.sql"),
            vec![int8s(self.expected_runs)],
        );
        let (keys, kinds) = self.expected_entities;
        add(
            keys.is_empty(),
            include_str!("sql/expect_entities.sql"),
            vec![int8s(keys), int2s(kinds)],
        );
        let (keys, times) = self.run_wakes;
        add(
            keys.is_empty(),
            include_str!("sql/put_run_wakes.sql"),
            vec![int8s(keys), int8s(times)],
        );
        let (keys, times) = self.entity_wakes;
        add(
            keys.is_empty(),
            include_str!("sql/put_entity_wakes.sql"),
            vec![int8s(keys), int8s(times)],
        );
        add(
            self.no_wakes.is_empty(),
            include_str!("sql/delete_wakes.sql"),
            vec![int8s(self.no_wakes)],
        );
        add(
            self.current.is_empty(),
            include_str!("sql/become_current.sql"),
            vec![int8s(self.current)],
        );
        let (keys, kinds, ids) = self.no_parts;
        add(
            keys.is_empty(),
            include_str!("sql/delete_parts.sql"),
            vec![int8s(keys), int2s(kinds), byteas(ids)],
        );
        let Parts { key, kind, id, value } = self.parts;
        add(
            key.is_empty(),
            include_str!("sql/put_parts.sql"),
            vec![int8s(key), int2s(kind), byteas(id), byteas(value)],
        );
        let Fragments { branch, first_event_id, last_event_id, bytes } = self.history;
        add(
            branch.is_empty(),
            include_str!("sql/add_history.sql"),
            vec![int8s(branch), int8s(first_event_id), int8s(last_event_id), byteas(bytes)],
        );
        let LogLines { key, log, position, value } = self.log;
        add(
            key.is_empty(),
            include_str!("sql/put_log_lines.sql"),
            vec![int8s(key), int2s(log), int8s(position), byteas(value)],
        );
        statements.extend(visibility::postgres::put(&self.shown));
        statements.extend(self.closed.statement());
    }
}
