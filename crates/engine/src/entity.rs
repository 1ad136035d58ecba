//! An entity of any kind, as the runtime and the store see it: an id, and rows.
//!
//! Each kind has a module of its own ([`crate::run`], [`crate::schedule`]). A new kind adds a variant here, and the
//! compiler names the places that have to handle it.

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
    /// The entity's key.
    pub key: EntityKey,
    /// The row that every entity has.
    pub head: &'a [u8],
    /// The rows of the entity's parts.
    pub parts: &'a [(PartId, Vec<u8>)],
    /// For a run, the history fragment that begins with its first event. Empty for other kinds.
    pub first_fragment: &'a [u8],
}

/// Rows that can't be decoded. Only a damaged store has such rows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} {}: {what} can't be read: {why}", kind.name(), key.0)]
pub struct Unreadable {
    /// The kind of the entity.
    pub kind: Kind,
    /// The key of the entity.
    pub key: EntityKey,
    /// The row that is damaged.
    pub what: &'static str,
    /// The reason, from the decoder.
    pub why: String,
}

impl Entity {
    /// Decodes an entity from its rows.
    pub fn from_rows(kind: Kind, rows: Rows<'_>, zones: &Zones) -> Result<Self, Unreadable> {
        match kind {
            Kind::Run => Run::from_rows(rows).map(|run| Self::Run(Arc::new(run))),
            Kind::Schedule => {
                Schedule::from_rows(rows, zones).map(|schedule| Self::Schedule(Arc::new(schedule)))
            }
        }
    }

    /// The entity's kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Run(_) => Kind::Run,
            Self::Schedule(_) => Kind::Schedule,
        }
    }

    /// The entity's key.
    pub fn key(&self) -> EntityKey {
        match self {
            Self::Run(run) => run.key,
            Self::Schedule(schedule) => schedule.key,
        }
    }

    /// The entity's id.
    pub fn id(&self) -> EntityId {
        match self {
            Self::Run(run) => run.id(),
            Self::Schedule(schedule) => schedule.id(),
        }
    }

    /// The run id; `None` unless the entity is a run.
    pub fn run_id(&self) -> Option<&str> {
        match self {
            Self::Run(run) => Some(&run.head.run_id),
            Self::Schedule(_) => None,
        }
    }

    /// The encoded head row.
    pub fn head_row(&self) -> Vec<u8> {
        match self {
            Self::Run(run) => run.head_row(),
            Self::Schedule(schedule) => schedule.head_row(),
        }
    }

    /// The encoded row of a part; `None` if the entity no longer has the part.
    pub fn part_row(&self, part: &PartId) -> Option<Vec<u8>> {
        match self {
            Self::Run(run) => run.part_row(&crate::RunPart::from_row_id(part)?),
            Self::Schedule(schedule) => schedule.part_row(&crate::SchedulePart::from_row_id(part)?),
        }
    }
}
