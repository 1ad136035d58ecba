//! An entity of any kind, as the runtime and the store see it: an id, and rows.
//!
//! What a kind does is in its own module ([`crate::run`], [`crate::schedule`]). A new kind adds a variant here, and
//! the compiler names the places that have to know it.

use std::sync::Arc;

use perennial_calendar::Zones;

use crate::run::Run;
use crate::schedule::Schedule;
use crate::{EntityId, EntityKey, Kind, PartId};

/// The state of an entity. Cheap to clone.
#[derive(Debug, Clone)]
pub enum Entity {
    /// A run of a workflow.
    Run(Arc<Run>),
    /// A schedule.
    Schedule(Arc<Schedule>),
}

/// The rows of an entity, as a store gives them back.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    /// Its key.
    pub key: EntityKey,
    /// The row that every entity has.
    pub head: &'a [u8],
    /// The rows of its parts.
    pub parts: &'a [(PartId, Vec<u8>)],
    /// For a run, the fragment of history that begins with its first event; else nothing.
    pub first_fragment: &'a [u8],
}

/// Rows that don't make an entity. Only damage to the store leads here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} {}: {what} can't be read: {why}", kind.name(), key.0)]
pub struct Unreadable {
    /// The kind of the entity.
    pub kind: Kind,
    /// The key of the entity.
    pub key: EntityKey,
    /// The row that is damaged.
    pub what: &'static str,
    /// The reason.
    pub why: String,
}

impl Entity {
    /// An entity from its rows.
    pub fn from_rows(kind: Kind, rows: Rows<'_>, zones: &Zones) -> Result<Self, Unreadable> {
        match kind {
            Kind::Run => Run::from_rows(rows).map(|run| Self::Run(Arc::new(run))),
            Kind::Schedule => {
                Schedule::from_rows(rows, zones).map(|schedule| Self::Schedule(Arc::new(schedule)))
            }
        }
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Run(_) => Kind::Run,
            Self::Schedule(_) => Kind::Schedule,
        }
    }

    /// Its key.
    pub fn key(&self) -> EntityKey {
        match self {
            Self::Run(run) => run.key,
            Self::Schedule(schedule) => schedule.key,
        }
    }

    /// Its id.
    pub fn id(&self) -> EntityId {
        match self {
            Self::Run(run) => run.id(),
            Self::Schedule(schedule) => schedule.id(),
        }
    }

    /// Its run id, if it is a run.
    pub fn run_id(&self) -> Option<&str> {
        match self {
            Self::Run(run) => Some(&run.head.run_id),
            Self::Schedule(_) => None,
        }
    }

    /// Its head as it is stored.
    pub fn head_row(&self) -> Vec<u8> {
        match self {
            Self::Run(run) => run.head_row(),
            Self::Schedule(schedule) => schedule.head_row(),
        }
    }

    /// A part as it is stored; `None` if the entity has it no longer.
    pub fn part_row(&self, part: &PartId) -> Option<Vec<u8>> {
        match self {
            Self::Run(run) => run.part_row(&crate::RunPart::from_row_id(part)?),
            Self::Schedule(schedule) => schedule.part_row(&crate::SchedulePart::from_row_id(part)?),
        }
    }
}
