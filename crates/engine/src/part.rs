//! What hangs on a run in rows of its own.

/// Which row of a run. One of two thousand pending activities completing rewrites one row, not all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PartKey {
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

impl PartKey {
    /// A number for the kind and bytes for the rest, as stores keep them. Order of bytes is order of keys.
    pub fn encode(&self) -> (u8, Vec<u8>) {
        match self {
            Self::Activity(id) => (1, id.to_be_bytes().to_vec()),
            Self::Timer(id) => (2, id.to_be_bytes().to_vec()),
            Self::Child(id) => (3, id.to_be_bytes().to_vec()),
            Self::Signal(id) => (4, id.to_be_bytes().to_vec()),
            Self::Cancel(id) => (5, id.to_be_bytes().to_vec()),
            Self::Request(id) => (6, id.as_bytes().to_vec()),
            Self::Update(id) => (7, id.as_bytes().to_vec()),
            Self::Buffered(sequence) => (8, sequence.to_be_bytes().to_vec()),
        }
    }

    /// The key that `encode` gave, or `None` if it can't have.
    pub fn decode(kind: u8, id: &[u8]) -> Option<Self> {
        let number = || id.try_into().ok().map(i64::from_be_bytes);
        let text = || String::from_utf8(id.to_vec()).ok();
        match kind {
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

/// A row as it is written: its key, and its encoded value or nothing if it is gone.
pub type PartWrite = (PartKey, Option<Vec<u8>>);
