//! PageTokens of a history, cut from stored fragments.

use perennial_engine::run::Run;
use perennial_proto::temporal::history::v1::{History, HistoryEvent};
use perennial_runtime::Runtime;
use perennial_store::Fragment;
use prost::Message;
use prost::encoding::{WireType, decode_key, decode_varint};
use tonic::Status;

use crate::errors::{RpcResult, refused, refused_about};

/// The limits of one page. The page ends at whichever is reached first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageLimits {
    /// The number of events.
    pub(crate) events: usize,
    /// The approximate number of bytes.
    pub(crate) bytes: usize,
}

impl PageLimits {
    /// A size that every client accepts.
    const BYTES: usize = 2 * 1024 * 1024;
    /// The most events in a page that a client requests.
    const EVENTS: usize = 1_000;

    /// The limits of a page of `size` events; 0 or less means the maximum.
    pub(crate) fn of(size: i32) -> Self {
        let events = usize::try_from(size).ok().filter(|size| *size > 0);
        Self {
            events: events.map_or(Self::EVENTS, |size| size.min(Self::EVENTS)),
            bytes: Self::BYTES,
        }
    }

    /// The limits of the history in a workflow task.
    pub(crate) fn of_task() -> Self {
        Self { events: usize::MAX, bytes: Self::BYTES }
    }
}

/// The run's events from `first` to `last`, as many as the limits allow, at least one. Reads the store unless
/// `at_hand` begins early enough.
pub(crate) async fn read_forwards(
    runtime: &Runtime,
    run: &Run,
    at_hand: Vec<Fragment>,
    first: i64,
    last: i64,
    limits: PageLimits,
) -> RpcResult<Events> {
    if first > last {
        return Ok(Events::default());
    }
    let fragments = if at_hand.first().is_some_and(|it| it.first_event_id <= first) {
        at_hand
    } else {
        let read = runtime.history(run, first, last, limits.bytes, false).await;
        read.map_err(refused)?
    };
    let events = Events::cut(&fragments, first, last, limits.events)?;
    if events.last_event_id.is_none() {
        Err(missing_events(runtime, run).await)
    } else {
        Ok(events)
    }
}

/// The run's events from `last` backwards, as many as the limits allow, at least one.
pub(crate) async fn read_backwards(
    runtime: &Runtime,
    run: &Run,
    last: i64,
    limits: PageLimits,
) -> RpcResult<Vec<HistoryEvent>> {
    if last < 1 {
        return Ok(Vec::new());
    }
    let fragments = runtime.history(run, 1, last, limits.bytes, true).await;
    let mut fragments = fragments.map_err(refused)?;
    fragments.reverse();
    let mut events = Events::cut(&fragments, 1, last, usize::MAX)?.decoded()?.events;
    events.reverse();
    events.truncate(limits.events);
    if events.is_empty() { Err(missing_events(runtime, run).await) } else { Ok(events) }
}

/// The events of a workflow task that aren't in the history yet, because it is a retry or was made for an update
/// alone. A worker gets them as if they were.
pub(crate) fn transient_events(run: &Run) -> Vec<HistoryEvent> {
    match &run.head.workflow_task {
        Some(task) if task.scheduled_event_id > run.last_event_id() => run.unwritten_task_events(),
        Some(_) | None => Vec::new(),
    }
}

/// Encoded events, one after the other: the form in which they are stored and sent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Events {
    bytes: Vec<u8>,
    /// `None` without events.
    pub(crate) last_event_id: Option<i64>,
}

impl Events {
    /// The events `first..=last` of ordered fragments, at most `count_max` of them. The first fragment may begin
    /// before `first`, and the last one end after `last`.
    fn cut(fragments: &[Fragment], first: i64, last: i64, count_max: usize) -> RpcResult<Self> {
        let mut events = Self::default();
        let mut left = count_max;
        for fragment in fragments {
            let mut rest = fragment.bytes.as_ref();
            while !rest.is_empty() {
                let (whole, event_id) =
                    take_event(&mut rest).ok_or_else(|| unreadable(fragment))?;
                if (first..=last).contains(&event_id) {
                    if left == 0 {
                        return Ok(events);
                    }
                    left -= 1;
                    events.bytes.extend_from_slice(whole);
                    events.last_event_id = Some(event_id);
                }
            }
        }
        Ok(events)
    }

    /// Adds an event at the end.
    pub(crate) fn push(&mut self, event: &HistoryEvent) {
        prost::encoding::message::encode(EVENTS, event, &mut self.bytes);
        self.last_event_id = Some(event.event_id);
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn decoded(&self) -> RpcResult<History> {
        History::decode(self.bytes.as_slice())
            .map_err(|error| Status::data_loss(format!("events can't be read: {error}")))
    }
}

/// The number of a history's field for events.
const EVENTS: u32 = 1;
/// The number of an event's field for its id. It is always encoded first.
const EVENT_ID: u32 = 1;

/// Splits the first event off an encoded history: its bytes, key included, and its id.
fn take_event<'a>(history: &mut &'a [u8]) -> Option<(&'a [u8], i64)> {
    let all = *history;
    if decode_key(history).ok()? != (EVENTS, WireType::LengthDelimited) {
        return None;
    }
    let length = usize::try_from(decode_varint(history).ok()?).ok()?;
    let mut event = history.split_off(..length)?;
    let whole = &all[..all.len() - history.len()];
    let is_id = decode_key(&mut event).ok()? == (EVENT_ID, WireType::Varint);
    let id = decode_varint(&mut event).ok()?;
    is_id.then_some((whole, id.cast_signed()))
}

fn unreadable(fragment: &Fragment) -> Status {
    Status::data_loss(format!(
        "events {} to {} can't be read",
        fragment.first_event_id, fragment.last_event_id
    ))
}

/// The error for missing events. Either the run was deleted meanwhile, or the events are lost: then an empty page would
/// make clients ask for ever.
async fn missing_events(runtime: &Runtime, run: &Run) -> Status {
    if let Err(refusal) = runtime.read(run.name()).await {
        return refused_about(refusal, &run.name());
    }
    Status::data_loss(format!(
        "the history of workflow {} run {} has fewer than {} events",
        run.head.workflow_id,
        run.head.run_id,
        run.last_event_id()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(first: i64, last: i64) -> Fragment {
        let events = (first..=last)
            .map(|event_id| HistoryEvent { event_id, ..HistoryEvent::default() })
            .collect();
        let bytes = History { events }.encode_to_vec();
        Fragment { first_event_id: first, last_event_id: last, bytes: bytes.into() }
    }

    fn ids(fragments: Vec<Fragment>, first: i64, last: i64) -> Vec<i64> {
        of(&Events::cut(&fragments, first, last, usize::MAX).unwrap())
    }

    fn of(events: &Events) -> Vec<i64> {
        events.decoded().unwrap().events.into_iter().map(|event| event.event_id).collect()
    }

    #[test]
    fn fragments_are_cut_to_the_requested_events() {
        let fragments = || vec![fragment(1, 3), fragment(4, 4), fragment(5, 8)];
        assert_eq!(ids(fragments(), 1, 8), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(ids(fragments(), 3, 6), [3, 4, 5, 6]);
        assert_eq!(ids(fragments(), 4, 4), [4]);
        assert_eq!(ids(vec![fragment(1, 9)], 4, 6), [4, 5, 6]);
    }

    #[test]
    fn page_ends_at_the_limit_of_events() {
        let fragments = [fragment(1, 3), fragment(4, 300)];
        for count in [0, 2, 3, 4, 299, 300, 301] {
            let events = Events::cut(&fragments, 1, 300, count).unwrap();
            let last = i64::try_from(count.min(300)).unwrap();
            assert_eq!(of(&events), (1..=last).collect::<Vec<_>>());
            assert_eq!(events.last_event_id, (last > 0).then_some(last));
        }
    }

    #[test]
    fn fragment_that_is_no_history_is_a_loss_of_data() {
        let whole = fragment(1, 2);
        let torn = whole.bytes.slice(..whole.bytes.len() - 1);
        for bytes in [vec![0xff].into(), vec![0x08, 1].into(), torn] {
            let broken = Fragment { first_event_id: 1, last_event_id: 2, bytes };
            let status = Events::cut(&[broken], 1, 2, usize::MAX).unwrap_err();
            assert_eq!(status.code(), tonic::Code::DataLoss);
        }
    }

    #[test]
    fn page_sizes_are_bounded() {
        assert_eq!(PageLimits::of(0).events, 1_000);
        assert_eq!(PageLimits::of(-1).events, 1_000);
        assert_eq!(PageLimits::of(3).events, 3);
        assert_eq!(PageLimits::of(5_000).events, 1_000);
    }
}
