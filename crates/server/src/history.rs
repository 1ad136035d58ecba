//! Pages of a history, cut from the fragments that are stored.

use perennial_engine::run::Run;
use perennial_proto::temporal::history::v1::{History, HistoryEvent};
use perennial_runtime::Runtime;
use perennial_store::Fragment;
use prost::Message;
use prost::encoding::{WireType, decode_key, decode_varint};
use tonic::Status;

use crate::errors::{RpcResult, refused, refused_about};

/// How much of a history goes into one answer. Whatever comes first ends the page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageLimits {
    /// So many events.
    pub(crate) events: usize,
    /// About so many bytes.
    pub(crate) bytes: usize,
}

impl PageLimits {
    /// What any client takes in one answer without trouble.
    const BYTES: usize = 2 * 1024 * 1024;
    /// The most events in a page that somebody asks for.
    const EVENTS: usize = 1_000;

    /// Of a page of `size` events; none or less means as many as there may be.
    pub(crate) fn of(size: i32) -> Self {
        let events = usize::try_from(size).ok().filter(|size| *size > 0);
        Self {
            events: events.map_or(Self::EVENTS, |size| size.min(Self::EVENTS)),
            bytes: Self::BYTES,
        }
    }

    /// Of what comes with a workflow task.
    pub(crate) fn of_task() -> Self {
        Self { events: usize::MAX, bytes: Self::BYTES }
    }
}

/// The run's events from `first` on, up to `last` or as many as the limits allow; at least one. What is
/// at hand isn't read.
pub(crate) async fn forwards(
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
    if events.last_event_id.is_none() { Err(missing(runtime, run).await) } else { Ok(events) }
}

/// The run's events from `last` backwards, as many as the limits allow; at least one.
pub(crate) async fn backwards(
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
    if events.is_empty() { Err(missing(runtime, run).await) } else { Ok(events) }
}

/// The events of a workflow task that stand in no history yet: it is a retry, or there for an update
/// alone. A worker gets them as if they did.
pub(crate) fn unwritten_events(run: &Run) -> Vec<HistoryEvent> {
    match &run.head.workflow_task {
        Some(task) if task.scheduled_event_id > run.last_event_id() => run.unwritten_task_events(),
        Some(_) | None => Vec::new(),
    }
}

/// Events one after the other, as they are stored and as clients get them: an encoded history.
#[derive(Debug, Clone, Default)]
pub(crate) struct Events {
    bytes: Vec<u8>,
    /// `None` if there are none.
    pub(crate) last_event_id: Option<i64>,
}

impl Events {
    /// The events `first..=last` of fragments in order, but no more than so many: the first fragment may begin
    /// before them, the last end after them.
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

    /// Adds one at the end.
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

/// The field of a history that holds its events.
const EVENTS: u32 = 1;
/// The field of an event that holds its id, which is always written first.
const EVENT_ID: u32 = 1;

/// Takes an event off an encoded history: all that it takes there, and its id.
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

/// Events aren't there. The run may have been deleted since it was read; otherwise they are lost, and an empty page
/// would let clients ask for ever.
async fn missing(runtime: &Runtime, run: &Run) -> Status {
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
    fn fragments_are_cut_to_the_events_that_are_wanted() {
        let fragments = || vec![fragment(1, 3), fragment(4, 4), fragment(5, 8)];
        assert_eq!(ids(fragments(), 1, 8), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(ids(fragments(), 3, 6), [3, 4, 5, 6]);
        assert_eq!(ids(fragments(), 4, 4), [4]);
        assert_eq!(ids(vec![fragment(1, 9)], 4, 6), [4, 5, 6]);
    }

    #[test]
    fn page_ends_with_as_many_events_as_are_wanted() {
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
