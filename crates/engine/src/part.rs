//! Parts of an entity that are stored in rows of their own.

/// The id of a part's row in the store: a number for the kind of part, and bytes that tell parts of one kind apart.
///
/// Kind numbers are unique among all kinds of entities. The order of the bytes is the order of the parts, as long as
/// the numbers in them aren't negative.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartId {
    /// The number of the kind of part.
    pub kind: u8,
    /// The id within the kind: a number in big-endian order, a text, or nothing.
    pub id: Vec<u8>,
}

/// A part of a run. A separate row for each part means that completing one of two thousand pending activities rewrites
/// one row, not all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunPart {
    /// A pending activity, by the id of the event that scheduled it.
    Activity(i64),
    /// A pending timer, by the id of the event that started it.
    Timer(i64),
    /// A pending child workflow, by the id of the event that initiated it.
    Child(i64),
    /// A signal to another workflow, by the id of the event that initiated it.
    Signal(i64),
    /// A cancel request to another workflow, by the id of the event that initiated it.
    Cancel(i64),
    /// A request that took effect, by its request id.
    Request(String),
    /// An accepted update, by its update id.
    Update(String),
    /// A buffered event, by its sequence number in the buffer.
    Buffered(i64),
}

impl RunPart {
    /// The id of the part's row.
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

    /// The part with this row id; `None` if a run has no such part.
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

/// A part of a schedule, in a row of its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SchedulePart {
    /// The configuration, as users gave it.
    Config,
    /// The last result and the last failure, which the next run receives.
    LastOutcome,
    /// An open run that the schedule started, by its run id.
    Running(String),
    /// A buffered start, by its sequence number.
    Buffered(i64),
    /// A backfill, by its sequence number.
    Backfill(i64),
    /// A nominal time in the future that a backfill has already started, by that time.
    Ahead(i64),
}

impl SchedulePart {
    /// The id of the part's row.
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

    /// The part with this row id; `None` if a schedule has no such part.
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
