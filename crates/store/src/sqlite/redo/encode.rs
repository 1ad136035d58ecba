//! Encodes and decodes batches.
//!
//! Numbers have their full width in little-endian order; texts and bytes come after their length. A record has a
//! checksum and the version of its file, so bytes that can't be decoded are damage. A test pins the encoding.

use bytes::Bytes;
use perennial_engine::{EntityId, EntityKey, Kind, NamespaceKey, PartId, Slot, Time};

use crate::visibility::{AttributeColumn, Closed, Execution, ExecutionKey, Row, Value, Values};
use crate::{
    Batch, CellId, EntityWrite, Epoch, Fragment, Listed, Log, LogLine, MessageWrite, NewEntity,
    NewRun, RecordKind, RecordWrite, TaskRow, TaskWrite,
};

/// Appends batches to a record.
pub(super) fn encode(batches: &[Batch], out: &mut Vec<u8>) {
    put_all(batches, out);
}

/// The batches of a record, or `None` if it isn't one.
pub(in crate::sqlite) fn decode(mut record: &[u8]) -> Option<Vec<Batch>> {
    let batches = Encoded::take(&mut record)?;
    record.is_empty().then_some(batches)
}

pub(super) trait Encoded: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn take(from: &mut &[u8]) -> Option<Self>;
}

/// An element of a list. `u8` isn't one: byte strings are copied as a whole.
pub(super) trait Item: Encoded {}

fn put_all<T: Item>(items: &[T], out: &mut Vec<u8>) {
    (items.len() as u64).put(out);
    items.iter().for_each(|item| item.put(out));
}

fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    (bytes.len() as u64).put(out);
    out.extend_from_slice(bytes);
}

fn take_bytes<'a>(from: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(u64::take(from)?).ok()?;
    from.split_off(..length)
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Encoded for $number {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                let bytes = from.split_off(..size_of::<Self>())?;
                bytes.try_into().ok().map(Self::from_le_bytes)
            }
        }
    )*};
}

numbers! { u8 u16 u32 u64 i32 i64 f64 }

/// Implements [`Encoded`] for types that wrap a number.
macro_rules! named_numbers {
    ($($name:ident)*) => {$(
        impl Encoded for $name {
            fn put(&self, out: &mut Vec<u8>) {
                self.0.put(out);
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                Encoded::take(from).map(Self)
            }
        }
    )*};
}

named_numbers! { CellId Epoch NamespaceKey EntityKey Slot Time }

/// Implements [`Encoded`] for structs: one field after the other.
macro_rules! structs {
    ($($name:ident { $($field:ident)* })*) => {$(
        impl Encoded for $name {
            fn put(&self, out: &mut Vec<u8>) {
                let Self { $($field),* } = self;
                $($field.put(out);)*
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                $(let $field = Encoded::take(from)?;)*
                Some(Self { $($field),* })
            }
        }
    )*};
}

structs! {
    Batch { cell epoch sequence entities tasks messages records }
    EntityWrite { kind key created deleted becomes_current head parts history log wake_at visibility }
    NewEntity { id run }
    EntityId { namespace kind id }
    NewRun { run_id ancestors first_branch }
    PartId { kind id }
    Fragment { first_event_id last_event_id bytes }
    LogLine { log position value }
    TaskRow { key slot value }
    RecordWrite { kind key value }
    Row { namespace execution values }
    Execution {
        run_key workflow_id run_id workflow_type task_queue status start_time_nanos
        execution_time_nanos closed parent root memo search_attributes
    }
    ExecutionKey { workflow_id run_id }
    Closed {
        time_nanos execution_duration_nanos history_length history_size_bytes
        state_transition_count
    }
}

/// Implements [`Encoded`] for enums: the number of the variant, then its fields. A number is never reused.
macro_rules! enums {
    ($($name:ident { $($number:literal $variant:ident $(($($held:ident),*))? $({$($field:ident)*})?)* })*) => {$(
        impl Encoded for $name {
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$variant $(($($held),*))? $({$($field),*})? => {
                        out.push($number);
                        $($($held.put(out);)*)?
                        $($($field.put(out);)*)?
                    })*
                }
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                match u8::take(from)? {
                    $($number => {
                        $($(let $held = Encoded::take(from)?;)*)?
                        $($(let $field = Encoded::take(from)?;)*)?
                        Some(Self::$variant $(($($held),*))? $({$($field),*})?)
                    })*
                    _ => None,
                }
            }
        }
    )*};
}

enums! {
    Listed { 1 Row(row) 2 Closed { status closed } }
    Log { 1 Audit 2 Ledger 3 ManualLedger }
    TaskWrite { 1 Put(row) 2 Delete(key) }
    MessageWrite { 1 Put { key slot value } 2 Delete(key) }
    RecordKind { 1 Namespace 2 BatchJob 3 Cluster 4 ApiKey }
    Value {
        1 Keyword(text) 2 KeywordList(texts) 3 Text(text) 4 Int(number) 5 Double(number)
        6 Bool(truth) 7 Datetime(nanos)
    }
}

impl Encoded for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        match u8::take(from)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Encoded for String {
    fn put(&self, out: &mut Vec<u8>) {
        put_bytes(self.as_bytes(), out);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        std::str::from_utf8(take_bytes(from)?).ok().map(str::to_owned)
    }
}

impl Encoded for Vec<u8> {
    fn put(&self, out: &mut Vec<u8>) {
        put_bytes(self, out);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        take_bytes(from).map(<[u8]>::to_vec)
    }
}

impl Encoded for Bytes {
    fn put(&self, out: &mut Vec<u8>) {
        put_bytes(self, out);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        take_bytes(from).map(Self::copy_from_slice)
    }
}

impl<T: Encoded> Encoded for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        if bool::take(from)? { T::take(from).map(Some) } else { Some(None) }
    }
}

impl<T: Encoded> Encoded for Box<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.as_ref().put(out);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        T::take(from).map(Self::new)
    }
}

impl<A: Encoded, B: Encoded> Encoded for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Some((A::take(from)?, B::take(from)?))
    }
}

impl<T: Item> Encoded for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        put_all(self, out);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let length = u64::take(from)?;
        (0..length).map(|_| T::take(from)).collect()
    }
}

impl Item for Batch {}
impl Item for EntityWrite {}
impl Item for Fragment {}
impl Item for LogLine {}
impl Item for TaskWrite {}
impl Item for MessageWrite {}
impl Item for RecordWrite {}
impl Item for EntityKey {}
impl Item for String {}
impl<A: Encoded, B: Encoded> Item for (A, B) {}

impl Encoded for Kind {
    fn put(&self, out: &mut Vec<u8>) {
        self.number().put(out);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        u8::take(from).and_then(Self::from_number)
    }
}

impl Encoded for AttributeColumn {
    fn put(&self, out: &mut Vec<u8>) {
        self.field_name().into_owned().put(out);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let name = String::take(from)?;
        Self::all().find(|column| column.field_name() == name)
    }
}

impl Encoded for Values {
    fn put(&self, out: &mut Vec<u8>) {
        (self.iter().count() as u64).put(out);
        for (column, value) in self.iter() {
            column.put(out);
            value.put(out);
        }
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let mut values = Self::default();
        for _ in 0..u64::take(from)? {
            let column = AttributeColumn::take(from)?;
            values.set(column, Value::take(from)?).ok()?;
        }
        Some(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Row {
        let mut values = Values::default();
        for column in AttributeColumn::all() {
            use crate::visibility::ValueType;
            let value = match column.value_type() {
                ValueType::Keyword => Value::Keyword("k".into()),
                ValueType::KeywordList => Value::KeywordList(vec!["a".into(), String::new()]),
                ValueType::Text => Value::Text("\0é".into()),
                ValueType::Int => Value::Int(i64::MIN),
                ValueType::Double => Value::Double(-0.5),
                ValueType::Bool => Value::Bool(true),
                ValueType::Datetime => Value::Datetime(i64::MAX),
            };
            values.set(column, value).unwrap();
        }
        let named = |id: &str| ExecutionKey { workflow_id: id.into(), run_id: "r".into() };
        let execution = Execution {
            run_key: 7,
            workflow_id: "order".into(),
            run_id: "run".into(),
            workflow_type: "type".into(),
            task_queue: "queue".into(),
            status: -1,
            start_time_nanos: 1,
            execution_time_nanos: 2,
            closed: Some(closed()),
            parent: Some(named("parent")),
            root: named("root"),
            memo: vec![1, 2],
            search_attributes: vec![],
        };
        Row { namespace: 3, execution, values }
    }

    fn closed() -> Closed {
        Closed {
            time_nanos: 1,
            execution_duration_nanos: 2,
            history_length: 3,
            history_size_bytes: 4,
            state_transition_count: 5,
        }
    }

    /// A batch with every kind of row and value.
    fn batch() -> Batch {
        let new_run = NewRun {
            run_id: "run".into(),
            ancestors: vec![EntityKey(5), EntityKey(6)],
            first_branch: EntityKey(5),
        };
        let id = EntityId::workflow(NamespaceKey(1), "order");
        let new = NewEntity { id, run: Some(new_run) };
        let part = |kind, id: &[u8]| PartId { kind, id: id.to_vec() };
        let run = |created, visibility| EntityWrite {
            created,
            becomes_current: true,
            head: Some(vec![1; 300]),
            parts: vec![
                (part(1, &[255; 8]), Some(vec![2])),
                (part(6, "é".as_bytes()), None),
                (part(7, &[]), Some(vec![])),
            ],
            history: vec![Fragment { first_event_id: 1, last_event_id: 3, bytes: vec![3].into() }],
            wake_at: Some(Time::NONE),
            visibility,
            ..EntityWrite::of(Kind::Run, EntityKey(7))
        };
        let id = EntityId::schedule(NamespaceKey(1), "nightly");
        let schedule = EntityWrite {
            created: Some(NewEntity { id, run: None }),
            deleted: true,
            parts: vec![(part(32, &[]), None), (part(37, &[0, 0, 0, 9]), Some(vec![4]))],
            log: [Log::Audit, Log::Ledger, Log::ManualLedger]
                .map(|log| LogLine { log, position: -1, value: vec![5] })
                .to_vec(),
            visibility: Some(Listed::Row(Box::new(row()))),
            ..EntityWrite::of(Kind::Schedule, EntityKey(8))
        };
        let kinds = [RecordKind::Namespace, RecordKind::BatchJob, RecordKind::Cluster];
        Batch {
            cell: CellId(Slot(1)),
            epoch: Epoch(2),
            sequence: 3,
            entities: vec![
                run(Some(new), Some(Listed::Row(Box::new(row())))),
                run(None, Some(Listed::Closed { status: 2, closed: closed() })),
                run(None, None),
                schedule,
            ],
            tasks: vec![
                TaskWrite::Put(TaskRow { key: 1, slot: Slot(2), value: vec![6] }),
                TaskWrite::Delete(2),
            ],
            messages: vec![
                MessageWrite::Put { key: 3, slot: Slot(4), value: vec![7] },
                MessageWrite::Delete(4),
            ],
            records: kinds
                .map(|kind| RecordWrite { kind, key: "key".into(), value: Some(vec![8]) })
                .to_vec(),
        }
    }

    fn encoded(batches: &[Batch]) -> Vec<u8> {
        let mut record = Vec::new();
        encode(batches, &mut record);
        record
    }

    #[test]
    fn batches_are_read_as_they_were_written() {
        for batches in [vec![], vec![batch()], vec![batch(), batch()]] {
            let read = decode(&encoded(&batches)).unwrap();
            assert_eq!(format!("{read:?}"), format!("{batches:?}"));
        }
    }

    /// A server reads records that another build of the same version wrote. If this fails, raise `VERSION` of the file
    /// and update the bytes.
    #[test]
    fn batches_are_written_as_they_always_were() {
        let hex: String = encoded(&[batch()]).iter().map(|byte| format!("{byte:02x}")).collect();
        let lines: Vec<_> =
            hex.as_bytes().chunks(96).map(|it| str::from_utf8(it).unwrap()).collect();
        assert_eq!(lines, include_str!("golden/batch.hex").lines().collect::<Vec<_>>());
    }

    #[test]
    fn truncated_or_longer_record_is_refused() {
        let whole = encoded(&[batch()]);
        for length in 0..whole.len() {
            assert!(decode(&whole[..length]).is_none(), "{length} of {} bytes", whole.len());
        }
        let more = [whole, vec![0]].concat();
        assert!(decode(&more).is_none());
    }
}
