//! Parts of an entity that are stored in rows of their own.

/// The name of a part's row, as stores keep it: a number for its kind, and bytes that tell it from others.
///
/// No kind of part has a number that another has, of any entity. Order of bytes is order of parts, as long as
/// numbers in them aren't negative.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartId {
    /// The kind of part.
    pub kind: u8,
    /// The rest: a number in big-endian order, a text, or nothing.
    pub id: Vec<u8>,
}

/// A part of a run. Completing one of two thousand pending activities rewrites one row, not all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunPart {
    /// By the event that scheduled it.
    Activity(i64),
    /// By the event that started it.
    Timer(i64),
    /// By the event that initiated it.
    Child(i64),
    /// A signal to another workflow, by the event that initiated it.
    Signal(i64),
    /// A cancel request to another workflow, by the event that initiated it.
    Cancel(i64),
    /// A request that took effect, by its id.
    Request(String),
    /// By its id.
    Update(String),
    /// By its place in the buffer.
    Buffered(i64),
}

impl RunPart {
    /// The name of its row.
    pub fn row_id(&self) -> PartId {
        let (kind, id) = match self {
            Self::Activity(id) => (1, id.to_be_bytes().to_vec()),
            Self::Timer(id) => (2, id.to_be_bytes().to_vec()),
            Self::Child(id) => (3, id.to_be_bytes().to_vec()),
            Self::Signal(id) => (4, id.to_be_bytes().to_vec()),
            Self::Cancel(id) => (5, id.to_be_bytes().to_vec()),
            Self::Request(id) => (6, id.as_bytes().to_vec()),
            Self::Update(id) => (7, id.as_bytes().to_vec()),
            Self::Buffered(sequence) => (8, sequence.to_be_bytes().to_vec()),
        };
        PartId { kind, id }
    }

    /// The part whose row has this name, or `None` if there is none.
    pub fn from_row_id(PartId { kind, id }: &PartId) -> Option<Self> {
        let number = || id.as_slice().try_into().ok().map(i64::from_be_bytes);
        let text = || String::from_utf8(id.clone()).ok();
        match *kind {
            1 => number().map(Self::Activity),
            2 => number().map(Self::Timer),
            3 => number().map(Self::Child),
            4 => number().map(Self::Signal),
            5 => number().map(Self::Cancel),
            6 => text().map(Self::Request),
            7 => text().map(Self::Update),
            8 => number().map(Self::Buffered),
            _ => None,
        }
    }
}

/// A part of a schedule: a row beside its head.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SchedulePart {
    /// What people say it is.
    Config,
    /// What the next run is told of those before it.
    LastOutcome,
    /// A run that hasn't ended, by its run id.
    Running(String),
    /// A start that waits, by its sequence number.
    Buffered(i64),
    /// By its sequence number.
    Backfill(i64),
    /// A time still to come that has been started by hand already, by that time.
    Ahead(i64),
}

impl SchedulePart {
    /// The name of its row.
    pub fn row_id(&self) -> PartId {
        let (kind, id) = match self {
            Self::Config => (32, Vec::new()),
            Self::LastOutcome => (33, Vec::new()),
            Self::Running(run_id) => (34, run_id.as_bytes().to_vec()),
            Self::Buffered(sequence) => (35, sequence.to_be_bytes().to_vec()),
            Self::Backfill(sequence) => (36, sequence.to_be_bytes().to_vec()),
            Self::Ahead(nominal) => (37, nominal.to_be_bytes().to_vec()),
        };
        PartId { kind, id }
    }

    /// The part whose row has this name, or `None` if there is none.
    pub fn from_row_id(PartId { kind, id }: &PartId) -> Option<Self> {
        let number = || id.as_slice().try_into().ok().map(i64::from_be_bytes);
        match *kind {
            32 if id.is_empty() => Some(Self::Config),
            33 if id.is_empty() => Some(Self::LastOutcome),
            34 => String::from_utf8(id.clone()).ok().map(Self::Running),
            35 => number().map(Self::Buffered),
            36 => number().map(Self::Backfill),
            37 => number().map(Self::Ahead),
            _ => None,
        }
    }
}
