//! The names of entities: keys, ids, and references to look one up.

use std::fmt;

use perennial_proto::store::{Address, EntityKind};

use crate::{NamespaceKey, Slot};

/// The kinds of entities. Each has a state machine of its own; everything else about them is alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A run of a workflow. Its id is the workflow id, and several runs may have had it.
    Run,
    /// A schedule. A schedule that is created again under the same id is another entity.
    Schedule,
}

impl Kind {
    /// The number by which stores know the kind. Numbers are only added, never changed.
    pub fn number(self) -> u8 {
        match self {
            Self::Run => 1,
            Self::Schedule => 2,
        }
    }

    /// The kind with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        [Self::Run, Self::Schedule].into_iter().find(|kind| kind.number() == number)
    }

    /// The kind of an address. Addresses of earlier versions name no kind; they are addresses of runs.
    pub fn of(address: &Address) -> Self {
        match address.kind() {
            EntityKind::Unspecified | EntityKind::Run => Self::Run,
            EntityKind::Schedule => Self::Schedule,
        }
    }

    /// The kind's name in error messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Schedule => "schedule",
        }
    }
}

/// The number of an entity, unique among all kinds.
///
/// Keys ascend in the order of creation, so that new rows lie together on disk. A run's key also names the branch
/// of history that holds its own events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityKey(pub i64);

/// The id that users give an entity.
///
/// Several entities may have the same id, one after the other; one of them is current. The id decides the slot, and so
/// the cell that owns all of them.
///
/// ```
/// use perennial_engine::{EntityId, Kind, NamespaceKey, Slot};
///
/// let id = EntityId::schedule(NamespaceKey(1), "payroll");
/// assert_eq!(id.kind, Kind::Schedule);
/// assert_eq!(id.slot(), Slot::of(NamespaceKey(1), "payroll"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityId {
    /// The namespace of the entity.
    pub namespace: NamespaceKey,
    /// The entity's kind. Entities of different kinds may have the same `id` text.
    pub kind: Kind,
    /// The workflow id or the schedule id.
    pub id: String,
}

impl EntityId {
    /// The id of a workflow's runs.
    pub fn workflow(namespace: NamespaceKey, workflow_id: impl Into<String>) -> Self {
        Self { namespace, kind: Kind::Run, id: workflow_id.into() }
    }

    /// The id of a schedule.
    pub fn schedule(namespace: NamespaceKey, schedule_id: impl Into<String>) -> Self {
        Self { namespace, kind: Kind::Schedule, id: schedule_id.into() }
    }

    /// The id in an address.
    pub fn of(address: &Address) -> Self {
        let Address { namespace, id, .. } = address;
        Self { namespace: NamespaceKey(*namespace), kind: Kind::of(address), id: id.clone() }
    }

    /// The slot that owns the entity. The kind has no influence on it.
    pub fn slot(&self) -> Slot {
        Slot::of(self.namespace, &self.id)
    }
}

/// Written as `workflow "order-1"`.
impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Run => "workflow",
            Kind::Schedule => "schedule",
        };
        write!(f, "{kind} {:?}", self.id)
    }
}

/// A reference to look up an entity: the current one of an id, or a certain run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityRef {
    /// The entity's id.
    pub id: EntityId,
    /// The wanted run; `None` for the current entity. Only runs have run ids.
    pub run_id: Option<String>,
}

impl EntityRef {
    /// The current entity of an id.
    pub fn current(id: EntityId) -> Self {
        Self { id, run_id: None }
    }

    /// Refers to a run; an empty run id stands for the current one.
    pub fn run(namespace: NamespaceKey, workflow_id: &str, run_id: &str) -> Self {
        let run_id = (!run_id.is_empty()).then(|| run_id.to_owned());
        Self { id: EntityId::workflow(namespace, workflow_id), run_id }
    }

    /// Refers to the entity at an address. Other fields of the address have to be compared with the entity itself.
    pub fn of(address: &Address) -> Self {
        let run_id = (!address.run_id.is_empty()).then(|| address.run_id.clone());
        Self { id: EntityId::of(address), run_id }
    }
}
